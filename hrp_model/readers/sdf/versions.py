"""Versions of SDF: what they imply, or have replaced."""

from __future__ import annotations

import re

from ...reading import Reading
from ..xml_tree import Element
from .joints import AXES

_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})", re.ASCII)


def as_newest(root: Element, reading: Reading) -> bool:
    """Change an ``<sdf>`` of any version to what it means in the newest one.

    Returns:
        False after reporting an unreadable version.
    """
    version = parse_version(root.attributes.get("version", "1.7"))
    if version is None:
        message = f"the version is no number such as 1.9: '{root.attributes['version'][:20]}'"
        reading.diagnostics.error("unknown-version", message, root.at("version"))
        return False
    if version >= (1, 7):
        _leave_out_older(root, reading)
    elif version < (1, 5):
        _state_older(root)
    return True


def parse_version(text: str) -> tuple[int, int] | None:
    """Return a version, or None if it is none."""
    found = _VERSION.match(text.strip())
    return None if found is None else (int(found[1]), int(found[2]))


def _leave_out_older(root: Element, reading: Reading) -> None:
    """Leave out what SDF 1.7 has replaced; its programs ignore it, too."""
    for element in root.descendants():
        if element.tag == "pose" and "frame" in element.attributes:
            del element.attributes["frame"]
            message = "frame is ignored, since SDF 1.7 has replaced it: write relative_to"
            reading.diagnostics.warn("not-used", message, element.at("frame"))
        elif element.tag == "use_parent_model_frame" and element.text:
            element.text = ""
            message = f"<{element.tag}> is ignored, since SDF 1.7 has replaced it: write "
            message += '<xyz expressed_in="__model__">'
            reading.diagnostics.warn("not-used", message, element.span)


def _state_older(root: Element) -> None:
    """State what SDF before 1.5 implies: axes of joints are those of the model."""
    tag = "use_parent_model_frame"
    for axis in root.descendants():
        if axis.tag in AXES:
            axis.children.insert(0, Element(tag, {}, axis.source, axis.start, text="true"))
