"""SceneItems as bodies that do not move and collide with nothing."""

from __future__ import annotations

import json
from math import degrees

import numpy as np

from hrp_model import Body, Diagnostic, Diagnostics, ModelError, Pose, Severity, load_body_text
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.rigid import Array

from ....physics.engine import Placement
from ...config import BodyEntry
from ...naming import simulated_body
from ..options import ProjectOptions
from .bodies import rotation_by_axis
from .controllers import is_checked
from .items import Item

SCENE = "SceneItem"
_BODY = (
    "{{ format: ChoreonoidBody, format_version: 2.0, name: scene, links: [ {{ name: SCENE, "
    "joint_type: fixed, elements: [ {{ type: Visual, elements: [ {{ type: Resource, "
    "uri: {file} }} ] }} ] }} ] }}"
)


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
        body = _visual_body(str(resolve(options.expanded(written), item.folder)))
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


def _visual_body(file: str) -> Body:
    """Return a body with the shapes of a file.

    Raises:
        ModelError: It has none that can be read; the first diagnostic states why.
    """
    found: list[Diagnostic] = []
    body = load_body_text(
        _BODY.format(file=json.dumps(file)), Diagnostics(listener=found.append), kind="body"
    )
    if not body.root.visual:
        serious = [x for x in found if x.severity is not Severity.NOTE]
        empty = Diagnostic(Severity.ERROR, "unusable-scene", "its file has no shapes")
        raise ModelError([*serious, empty])
    return simulated_body(body)
