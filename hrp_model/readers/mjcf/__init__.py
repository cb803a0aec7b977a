"""MJCF, the models of MuJoCo: compiled by MuJoCo itself, then read as a Body."""

from __future__ import annotations

from ...body import Body
from ...diagnostics import MissingLibraryError
from ...read_context import ReadContext
from ..xml_tree import Element

__all__ = ["read_model"]


def read_model(root: Element, context: ReadContext) -> Body | None:
    """Read the robot of a ``<mujoco>`` element.

    Problems are reported to ``context.diagnostics``; None after an error.

    Raises:
        MissingLibraryError: MuJoCo is not installed.
        TooLargeError: The model exceeds a limit.
    """
    try:
        from .compiler import compiled
        from .to_body import ModelReader
    except ModuleNotFoundError as error:
        if error.name != "mujoco":
            raise
        message = "reading MJCF needs mujoco: pip install 'hrp_ros[mjcf]'"
        raise MissingLibraryError(message) from None
    model = compiled(root, context)
    return None if model is None else ModelReader(model, context).body()
