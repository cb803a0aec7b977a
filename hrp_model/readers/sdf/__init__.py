"""SDF, the models of Gazebo: XML to Body."""

from __future__ import annotations

from ...body import Body
from ...diagnostics import Span, listed
from ...read_context import ReadContext, TooLargeError
from ..xml_tree import Element
from .nesting import Nesting, as_newest
from .to_body import ModelReader, WorldReader

__all__ = ["read_model", "read_world"]

_MAX_LISTED = 8


def read_model(root: Element, context: ReadContext) -> Body | None:
    """Read the only model of an ``<sdf>`` element.

    Problems are reported to ``context.diagnostics``; None after an error.

    Raises:
        TooLargeError: The model exceeds a limit.
    """
    model = _model(root, context)
    if model is None:
        return None
    merged = Nesting(context).merged(model)
    if context.diagnostics.has_errors:
        return None
    bodies = ModelReader(merged, context).bodies(may_be_several=False)
    return bodies[0] if bodies else None


def read_world(root: Element, context: ReadContext) -> list[tuple[Body, Body]]:
    """Read all models of the world of an ``<sdf>`` element, or of the element itself.

    Problems are reported to ``context.diagnostics``.

    Returns:
        Each body in the world, and the same body at the origin, which is the same object for all
        that differ only in name and pose.
    """
    bodies: list[tuple[Body, Body]] = []
    try:
        if as_newest(root, context):
            bodies += WorldReader(root.first("world") or root, context).bodies()
    except (TooLargeError, RecursionError) as error:
        context.report_excess(error, Span(root.source, 0, 0))
    return bodies


def _model(root: Element, context: ReadContext) -> Element | None:
    """Return the model of a file, or None after reporting what the file contains."""
    world = root.first("world")
    models = list(root.all("model"))
    if world is None and len(models) == 1 and root.first("include") is None:
        return models[0] if as_newest(root, context) else None
    outer = root if world is None else world
    names = [x.attributes.get("name", "") for x in outer.all("model")]
    names += [x.text for include in outer.all("include") for x in include.all("uri")]
    shown = listed([f"'{name}'" for name in names], _MAX_LISTED)
    kind = "file" if world is None else "world"
    contents = f"with the models {shown}, not one model" if names else "without a model"
    hint = "run it with hrp-sim, or name" if world is not None else "name"
    message = f"this is an SDF {kind} {contents}: {hint} the file of one model"
    context.diagnostics.error("not-a-model", message, outer.span)
    return None
