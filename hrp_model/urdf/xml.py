"""Helpers that make XML elements."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from ..rigid import Pose, matrix_rpy


def element(
    tag: str, *children: Element, text: str | float | bool = "", **attributes: str
) -> Element:
    """Return an element with attributes and children.

    Args:
        tag: Its name.
        children: Elements below it.
        text: Its text: a number is written with all its digits.
        attributes: Its attributes.
    """
    result = Element(tag, attributes)
    result.extend(children)
    if text != "":
        result.text = xml_text(text)
    return result


def xml_text(value: str | float | bool) -> str:
    """Return a value as text for XML; 0 for -0."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int)) else repr(float(value) + 0.0)


def param(name: str, value: str | float | bool) -> Element:
    """Return a <param> of ros2_control."""
    return element("param", text=value, name=name)


def pose_text(pose: Pose) -> str:
    """Return a pose as text for SDF: x, y, z in [m], then roll, pitch, yaw in [rad]."""
    return " ".join(repr(float(x) + 0.0) for x in (*pose.p, *matrix_rpy(pose.R)))
