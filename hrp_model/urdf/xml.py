"""Short ways to write XML elements."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from ..rigid import Pose, matrix_rpy


def element(tag: str, *children: Element, text: str | float | bool = "", **names: str) -> Element:
    """Return an element with attributes and children.

    Args:
        tag: Its name.
        children: Elements below.
        text: Its text: a number is written with all its digits.
        names: Its attributes.
    """
    made = Element(tag, names)
    made.extend(children)
    if text != "":
        made.text = written(text)
    return made


def written(value: str | float | bool) -> str:
    """Return a value as XML has it; 0 for -0."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int)) else repr(float(value) + 0.0)


def param(name: str, value: str | float | bool) -> Element:
    """Return a parameter as ros2_control reads it."""
    return element("param", text=value, name=name)


def pose_text(pose: Pose) -> str:
    """Return a pose as SDF writes it: x, y, z in [m], then roll, pitch, yaw in [rad]."""
    return " ".join(repr(float(x) + 0.0) for x in (*pose.p, *matrix_rpy(pose.R)))
