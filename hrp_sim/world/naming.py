"""How the bodies of a world are told apart: a namespace and a frame prefix for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hrp_model import Body
from hrp_model.frames import with_joint_names
from hrp_model.validate import validated_as
from hrp_msgs.names import (
    NAMESPACED,
    STANDARD,
    NameCollisionError,
    namespace_objection,
    renamed,
    topic_token,
    topic_tokens,
)

# In topics of 247 characters, which also have the namespaces of body and node.
LONGEST_DEVICE = 80


class NamespaceError(NameCollisionError):
    """A body cannot have its namespace; the message says why."""


def simulated_body(model: Body) -> Body:
    """Return a model that was read, with joints named as its URDF names them."""
    return validated_as(with_joint_names(model), model)


@dataclass(frozen=True, slots=True)
class BodyNaming:
    """Where a body's topics and frames live.

    Attributes:
        namespace: Put before its topics; empty for the only robot of a world.
        frame_prefix: Put before its frames; empty for the only robot of a world.
        preset: Whose names its topics have, of ``hrp_msgs.names.NAMINGS``.
    """

    namespace: str
    frame_prefix: str
    preset: str = STANDARD

    def topic(self, name: str, token: str = "") -> str:
        """Return one of the body's topics, in its namespace.

        Args:
            name: Of ``hrp_msgs.names``; that of a device with its "{}".
            token: Topic token of the device.
        """
        return self.place(renamed(name, self.preset, token))

    def place(self, name: str) -> str:
        """Return a name in the body's namespace."""
        return f"{self.namespace}/{name}" if self.namespace else name

    def below(self, namespace: str) -> str:
        """Return the body's own namespace, in that of its node unless it begins with a slash."""
        if self.namespace.startswith("/"):
            return self.namespace
        return f"{namespace.rstrip('/')}/{self.namespace}".rstrip("/") or "/"


def name_bodies(
    bodies: Mapping[str, Body],
    frame_prefix: str = "",
    namespaces: Mapping[str, str | None] | None = None,
    preset: str = STANDARD,
) -> dict[str, BodyNaming]:
    """Give the only robot of a world the plain names, and every other body its own.

    A robot is a body that can move. Where there are several, each has its namespace.

    Args:
        bodies: By name.
        frame_prefix: Put before all frames.
        namespaces: What is wished for; what is None or not there follows the rule.
        preset: Whose names topics have. With some the only robot has its namespace, too; frames
            are the same with all.

    Raises:
        NameCollisionError: Two bodies would have the same namespace.
    """
    wishes = namespaces or {}
    robots = [name for name, body in bodies.items() if not body.is_static]
    tokens = topic_tokens(bodies)
    found: dict[str, BodyNaming] = {}
    for name in bodies:
        own = "" if robots == [name] else tokens[name]
        wish = wishes.get(name)
        space = tokens[name] if preset in NAMESPACED else own
        spaces = (space, own) if wish is None else (wish, wish)
        found[name] = _naming(name, *spaces, found, frame_prefix, preset)
    return found


def late_naming(
    name: str,
    namespace: str | None,
    taken: Mapping[str, BodyNaming],
    frame_prefix: str = "",
    preset: str = STANDARD,
) -> BodyNaming:
    """Give a body that comes later a namespace of its own, so that no other is renamed.

    Args:
        name: Of the body.
        namespace: What is wished for; None means its name.
        taken: Of the other bodies, by their names.
        frame_prefix: Put before all frames.
        preset: Whose names its topics have.

    Raises:
        NamespaceError: It is none, or that of another body.
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
    if objection := namespace_objection(namespace):
        raise NamespaceError(f"body '{name}': {objection}")
    relative = frames.lstrip("/")
    prefix = f"{frame_prefix}{relative}/" if relative else frame_prefix
    for other, naming in taken.items():
        if naming.frame_prefix == prefix or naming.namespace == namespace:
            where = f"namespace '{namespace}'" if namespace else "no namespace"
            message = f"'{other}' and '{name}' would both have {where}; give one of them another"
            raise NamespaceError(message)
    return BodyNaming(namespace, prefix, preset)
