"""Bodies of one link with the shapes of a scene or mesh file."""

from __future__ import annotations

import json
from pathlib import Path

from hrp_model import Body, Diagnostic, Diagnostics, ModelError, Severity, load_body_text
from hrp_model.files.resources import resolve

from ...naming import simulated_body
from ..options import ProjectOptions
from .items import Item

# Formats that Choreonoid writes into items whose file is a scene or a mesh.
_FORMATS = frozenset(
    ("GENERAL-3D-MODEL", "AVAILABLE-SCENE-FILE", "CHOREONOID-SCENE", "VRML-FILE", "STL-FILE")
)
_SUFFIXES = frozenset((".dae", ".glb", ".gltf", ".obj", ".ply", ".scen", ".stl"))
_UNITS = ("length_unit_hint", "meshLengthUnitHint")
_AXES = ("upper_axis_hint", "meshUpperAxisHint")
# As in Choreonoid, a link has 1 kg and the inertia 1 kg m^2 about all axes.
_BODY = (
    "{{ format: ChoreonoidBody, format_version: 2.0, name: scene, links: [ {{ name: {link}, "
    "joint_type: {joint}, mass: 1.0, inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1], elements: [ {{ "
    "type: {kind}, elements: [ {{ type: Resource, uri: {file}, metadata: {metadata} }} ] }} ] }} ] "
    "}}"
)


def has_scene(item: Item, file: str) -> bool:
    """Return whether the file of a BodyItem is a scene or a mesh, by its format or suffix."""
    form = item.data.text("format", default="").upper()
    return form in _FORMATS or (not form and Path(file).suffix.lower() in _SUFFIXES)


def scene_body(item: Item, file: str, options: ProjectOptions, *, is_visual: bool) -> Body:
    """Return a body with the shapes of a scene.

    Args:
        item: A SceneItem or BodyItem.
        file: Its file, as written.
        options: How the project is read.
        is_visual: Whether it does not move and collides with nothing; else it is free.

    Raises:
        ResourceError: The file does not exist.
        ModelError: It has no shapes that can be read; the first diagnostic states why.
    """
    path = resolve(options.expanded(file, item.folder), item.folder)
    data = item.data
    metadata = {
        "length_unit": data.text(*_UNITS, default="meter"),
        "upper_axis": data.text(*_AXES, default="Z"),
    }
    written = {key: x for key, x in metadata.items() if x in ("millimeter", "inch", "Y")}
    text = _BODY.format(
        link="SCENE" if is_visual else "Root",
        joint="fixed" if is_visual else "free",
        kind="Visual" if is_visual else "Transform",
        file=json.dumps(str(path)),
        metadata=json.dumps(written),
    )
    found: list[Diagnostic] = []
    body = load_body_text(text, Diagnostics(listener=found.append), kind="body")
    if not body.root.visual:
        serious = [x for x in found if x.severity is not Severity.NOTE]
        empty = Diagnostic(Severity.ERROR, "unusable-scene", "its file has no shapes")
        raise ModelError([*serious, empty])
    return simulated_body(body)
