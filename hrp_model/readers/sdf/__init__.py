"""SDF, the models of Gazebo: XML to Body."""

from __future__ import annotations

import re

from ...body import Body
from ...diagnostics import Span
from ...reading import Reading, TooLargeError
from ..xml_tree import Element
from .to_body import ModelReader

__all__ = ["read_model"]

_MAX_LISTED = 8
_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})", re.ASCII)


def read_model(root: Element, reading: Reading) -> Body | None:
    """Read the only model of an ``<sdf>`` element.

    Problems are reported to ``reading.diagnostics``; None after an error.
    """
    model = _model(root, reading)
    if model is None:
        return None
    try:
        return ModelReader(model, reading).body()
    except (TooLargeError, RecursionError) as error:
        reading.report_excess(error, Span(root.source, 0, 0))
        return None


def _model(root: Element, reading: Reading) -> Element | None:
    """Return the model of a file, or None after reporting what the file contains."""
    world = root.first("world")
    models = list(root.all("model"))
    if world is None and len(models) == 1 and root.first("include") is None:
        if _version(root) >= (1, 7):
            _leave_out_older(models[0], reading)
        if _version(root) >= (1, 5):
            return models[0]
        message = "SDF before 1.5 has other frames: convert it by 'gz sdf -p FILE'"
        reading.diagnostics.error("unknown-version", message, root.at("version"))
        return None
    outer = root if world is None else world
    names = [x.attributes.get("name", "") for x in outer.all("model")]
    names += [x.text for include in outer.all("include") for x in include.all("uri")]
    listed = ", ".join(f"'{name}'" for name in names[:_MAX_LISTED])
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    kind = "file" if world is None else "world"
    contents = f"with the models {listed}{more}, not one model" if names else "without a model"
    message = (
        f"this is an SDF {kind} {contents}: list the files of its robots in a world file of hrp-sim"
    )
    reading.diagnostics.error("not-a-model", message, outer.span)
    return None


def _leave_out_older(model: Element, reading: Reading) -> None:
    """Leave out what SDF 1.7 has replaced; its programs ignore it, too."""
    for element in model.descendants():
        if element.tag == "pose" and "frame" in element.attributes:
            del element.attributes["frame"]
            message = "frame is ignored, since SDF 1.7 has replaced it: write relative_to"
            reading.diagnostics.warn("not-used", message, element.at("frame"))
        elif element.tag == "use_parent_model_frame" and element.text:
            element.text = ""
            message = f"<{element.tag}> is ignored, since SDF 1.7 has replaced it: write "
            message += '<xyz expressed_in="__model__">'
            reading.diagnostics.warn("not-used", message, element.span)


def _version(root: Element) -> tuple[int, int]:
    """Return the version of a file; an unreadable one is (0, 0)."""
    found = _VERSION.match(root.attributes.get("version", "1.7"))
    return (0, 0) if found is None else (int(found[1]), int(found[2]))
