"""ROS namespace and TF frame prefix of each body of a world."""

from __future__ import annotations

from collections.abc import Mapping

from hrp_model import Body
from hrp_model.devices import Attachment, GenericDevice, Light
from hrp_model.frames import with_joint_names
from hrp_model.late_dataclass import dataclass
from hrp_model.validate import validated_as
from hrp_msgs.names import (
    NAMESPACED,
    STANDARD,
    NameCollisionError,
    namespace_error,
    topic_name,
    topic_token,
    topic_tokens,
)

# Topic names have up to 247 characters, including the namespaces of node and body.
MAX_DEVICE_NAME_LENGTH = 80
# Devices that neither measure nor act: a lamp or a block with a handle is no robot.
_IDLE_DEVICES = (Attachment, GenericDevice, Light)


class NamespaceError(NameCollisionError):
    """The namespace of a body is invalid or taken; the message gives the reason."""


def simulated_body(model: Body) -> Body:
    """Return a loaded model with the joint names of its URDF."""
    return validated_as(with_joint_names(model), model)


@dataclass(frozen=True, slots=True)
class BodyNaming:
    """Namespace, frame prefix and naming preset of a body.

    Attributes:
        namespace: Namespace of its topics; empty for the only robot of a world.
        frame_prefix: Prefix of its TF frames; empty for the only robot of a world.
        preset: Naming of its topics, a key of ``hrp_msgs.names.NAMINGS``.
    """

    namespace: str
    frame_prefix: str
    preset: str = STANDARD

    def topic(self, name: str, token: str = "") -> str:
        """Return a topic name of the body, with its namespace.

        Args:
            name: A name of ``hrp_msgs.names``; those of devices contain "{}".
            token: Topic token of the device.
        """
        return self.qualified(topic_name(name, self.preset, token))

    def qualified(self, name: str) -> str:
        """Return a name with the body's namespace."""
        return f"{self.namespace}/{name}" if self.namespace else name

    def absolute_namespace(self, namespace: str) -> str:
        """Return the body's full namespace.

        Args:
            namespace: Namespace of the node, which the body's is relative to unless it begins
                with a slash.
        """
        if self.namespace.startswith("/"):
            return self.namespace
        return f"{namespace.rstrip('/')}/{self.namespace}".rstrip("/") or "/"


def is_robot(body: Body) -> bool:
    """Return whether a body can move and has motors, sensors or devices that act."""
    has_motors = any(not link.joint.is_passive for link in body.jointed_links)
    has_devices = any(not isinstance(x, _IDLE_DEVICES) for x in body.devices)
    return not body.is_static and (has_motors or has_devices)


def robots(bodies: Mapping[str, Body]) -> list[str]:
    """Return the names of the robots of a world or, without any, of the bodies that can move."""
    found = [name for name, body in bodies.items() if is_robot(body)]
    return found or [name for name, body in bodies.items() if not body.is_static]


def name_bodies(
    bodies: Mapping[str, Body],
    frame_prefix: str = "",
    namespaces: Mapping[str, str | None] | None = None,
    preset: str = STANDARD,
) -> dict[str, BodyNaming]:
    """Assign a namespace and a frame prefix to each body of a world.

    The only robot of a world, see ``robots``, has no namespace; all other bodies have one like
    their names.

    Args:
        bodies: Models by body name.
        frame_prefix: Prefix of all frames.
        namespaces: Requested namespaces by body name; None or missing for the default.
        preset: Naming of the topics. Some namings give the only robot a namespace, too; frame
            names do not depend on it.

    Raises:
        NameCollisionError: Two bodies would have the same namespace.
    """
    requested = namespaces or {}
    the_robots = robots(bodies)
    tokens = topic_tokens(bodies)
    namings: dict[str, BodyNaming] = {}
    for name in bodies:
        frames = "" if the_robots == [name] else tokens[name]
        namespace = tokens[name] if preset in NAMESPACED else frames
        if (wanted := requested.get(name)) is not None:
            namespace = frames = wanted
        namings[name] = _naming(name, namespace, frames, namings, frame_prefix, preset)
    return namings


def spawned_naming(
    name: str,
    namespace: str | None,
    taken: Mapping[str, BodyNaming],
    frame_prefix: str = "",
    preset: str = STANDARD,
) -> BodyNaming:
    """Assign a namespace and a frame prefix to a spawned body, without changing those of others.

    Args:
        name: Name of the body.
        namespace: Requested namespace; None for one like its name.
        taken: Those of the other bodies, by name.
        frame_prefix: Prefix of all frames.
        preset: Naming of the topics.

    Raises:
        NamespaceError: The namespace is invalid or belongs to another body.
    """
    own = topic_token(name) if namespace is None else namespace
    return _naming(name, own, own, taken, frame_prefix, preset)


def _naming(
    name: str,
    namespace: str,
    frames: str,
    taken: Mapping[str, BodyNaming],
    frame_prefix: str,
    preset: str,
) -> BodyNaming:
    if problem := namespace_error(namespace):
        raise NamespaceError(f"body '{name}': {problem}")
    relative = frames.lstrip("/")
    prefix = f"{frame_prefix}{relative}/" if relative else frame_prefix
    for other, naming in taken.items():
        if naming.frame_prefix == prefix or naming.namespace == namespace:
            shared = f"namespace '{namespace}'" if namespace else "no namespace"
            message = f"'{other}' and '{name}' would both have {shared}; give one of them another"
            raise NamespaceError(message)
    return BodyNaming(namespace, prefix, preset)
