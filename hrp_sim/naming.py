"""How the bodies of a world are told apart: a namespace and a frame prefix for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hrp_model import Body
from hrp_msgs.names import topic_token


@dataclass(frozen=True, slots=True)
class BodyNaming:
    """Where a body's topics and frames live.

    Attributes:
        namespace: Put before its topics; empty for the only robot of a world.
        frame_prefix: Put before its frames; empty for the only robot of a world.
    """

    namespace: str
    frame_prefix: str

    def topic(self, name: str) -> str:
        """Return one of the body's topics, in its namespace."""
        return f"{self.namespace}/{name}" if self.namespace else name


def name_bodies(
    bodies: Mapping[str, Body], frame_prefix: str = "", tokens: Mapping[str, str] | None = None
) -> dict[str, BodyNaming]:
    """Give the only robot of a world the plain names, and every other body its own.

    A robot is a body that can move. Where there are several, each has its namespace.

    Args:
        bodies: By name.
        frame_prefix: Put before all frames.
        tokens: What each body's name is as a part of a topic; None means the name itself.
    """
    robots = [name for name, body in bodies.items() if not body.is_static]
    tokens = tokens or {name: name for name in bodies}
    return {
        name: BodyNaming("", frame_prefix)
        if robots == [name]
        else BodyNaming(tokens[name], f"{frame_prefix}{tokens[name]}/")
        for name in bodies
    }


def late_naming(name: str, frame_prefix: str = "") -> BodyNaming:
    """Give a body that comes later its own namespace, so that no other is renamed."""
    token = topic_token(name)
    return BodyNaming(token, f"{frame_prefix}{token}/")
