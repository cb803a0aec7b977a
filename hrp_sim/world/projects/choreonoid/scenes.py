"""SceneItems as bodies that do not move and collide with nothing."""

from __future__ import annotations

from math import degrees

import numpy as np

from hrp_model import Diagnostics, ModelError, Pose
from hrp_model.files.resources import ResourceError
from hrp_model.rigid import Array

from ....engine.engine import Placement
from ...config import BodyEntry
from ..options import ProjectOptions
from .bodies import rotation_by_axis
from .controllers import is_checked
from .items import Item
from .scene_bodies import scene_body

SCENE = "SceneItem"


def read_scene(
    item: Item, name: str, diagnostics: Diagnostics, options: ProjectOptions
) -> BodyEntry | None:
    """Return the shapes of a SceneItem as a body, or None if it shows none.

    A scene that cannot be shown is a warning, since no motion depends on it.

    Args:
        item: The item.
        name: Of the body.
        diagnostics: Receives warnings.
        options: How the project is read.
    """
    if not is_checked(item):  # Choreonoid does not show it either
        return None
    data = item.data
    written = data.text("file", "filename", default="")
    at = data.at("file", "filename")
    try:
        body = scene_body(item, written, options, is_visual=True)
    except (ResourceError, ModelError) as error:
        reason = error.diagnostics[0].message if isinstance(error, ModelError) else str(error)
        if not written:
            reason = "it has no 'file'"
        diagnostics.warn("unusable-scene", f"the scene '{item.name}' is not shown: {reason}", at)
        return None
    X_WL = Pose(_rotation(item), data.numbers("translation", count=3, default=np.zeros(3)))
    return BodyEntry(placement=Placement(name=name, body=body, X_WL=X_WL, fixed=True))


def _rotation(item: Item) -> Array:
    data = item.data
    if "rotation" not in data:
        return np.eye(3)
    unit = degrees(1.0) if data.text("angle_unit", default="") != "degree" else 1.0
    R = rotation_by_axis(data, "rotation", unit)
    return np.eye(3) if R is None else R
