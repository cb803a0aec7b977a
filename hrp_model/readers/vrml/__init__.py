"""OpenHRP models: VRML97 text to Body."""

from __future__ import annotations

from pathlib import Path

from ...body import Body
from ...diagnostics import Source, Span
from ...geometry import SceneNode
from ...read_context import ReadContext, TooLargeError, read_source
from .fields import known_types
from .nodes import Expander
from .parser import parse
from .shapes import SceneBuilder
from .to_body import BodyBuilder

__all__ = ["read_body", "read_scene"]


def read_body(source: Source, context: ReadContext) -> Body | None:
    """Read a robot; a file without a Humanoid node becomes one fixed link named "Root".

    Problems are reported to ``context.diagnostics``; None after an error.

    Raises:
        TooLargeError: The model exceeds a limit.
    """
    return BodyBuilder(context).body(parse(source, context.diagnostics, known_types()))


def read_scene(path: Path, context: ReadContext) -> SceneNode:
    """Read only the shapes of a file; groups and shapes keep their DEF names.

    Raises:
        OSError: The file cannot be read.
    """
    source = read_source(path)
    try:
        document = parse(source, context.diagnostics, known_types())
        return SceneBuilder(context, Expander(context.diagnostics)).scene(document.nodes)
    except (TooLargeError, RecursionError) as error:
        context.report_excess(error, Span(source, 0, 0))
        return SceneNode()
