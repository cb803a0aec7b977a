"""Short texts about joints and devices, for trees and tables."""

from __future__ import annotations

from math import degrees, isinf

from ..body import Joint, JointType, Link, Range
from ..devices import Device, GenericDevice


def joint_words(link: Link) -> str:
    """Return the joint of a link in words: type, name and id, axis and range of positions."""
    joint = link.joint
    words = [joint.type.value]
    if joint.name != link.name:
        words.append(f"'{joint.name}'")
    if joint.id is not None:
        words.append(f"id {joint.id}")
    if joint.type not in (JointType.FIXED, JointType.FREE):
        words.append(f"axis {axis_words(joint)}")
    if joint.moves:
        words.append(range_words(joint.position, in_degrees=joint.type is JointType.REVOLUTE))
    return " ".join(words)


def axis_words(joint: Joint) -> str:
    """Return the axis of a joint: "x", "-z", or its elements."""
    for index, letter in enumerate("xyz"):
        if abs(joint.axis[index]) > 1.0 - 1e-12:
            return ("-" if joint.axis[index] < 0.0 else "") + letter
    return "(" + ", ".join(f"{c:.4g}" for c in joint.axis) + ")"


def range_words(position: Range, *, in_degrees: bool) -> str:
    """Return a range of positions, such as "[-90°, ∞]" or "[0 m, 0.2 m]".

    Args:
        position: In [rad] or [m].
        in_degrees: Whether it is an angle.
    """

    def text(value: float) -> str:
        if isinf(value):
            return "-∞" if value < 0.0 else "∞"
        return f"{degrees(value):.4g}°" if in_degrees else f"{value:.4g} m"

    return f"[{text(position.lower)}, {text(position.upper)}]"


def device_words(device: Device) -> str:
    """Return the kind of a device and its id."""
    kind = device.type_name if isinstance(device, GenericDevice) else type(device).__name__
    return kind if device.id is None else f"{kind} id {device.id}"
