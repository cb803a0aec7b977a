"""From a world file, or a model alone, to a world that can be simulated."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from hrp_model import BodyState, Diagnostics, ModelError, Pose, load_body
from hrp_model.diagnostics import Span
from hrp_model.measure import bounding_box
from hrp_model.reading import read_source
from hrp_model.resources import ResourceError, named_path, share_folder
from hrp_model.tessellate import shape_mesh
from hrp_model.yaml_nodes import Mapping
from hrp_model.yaml_tree import parse

from .config import BodyEntry, WorldConfig
from .engine import Placement
from .world_file import WorldReader

_MODEL_SUFFIXES = (".wrl", ".body")


def load_world(
    world: str | os.PathLike[str], diagnostics: Diagnostics | None = None
) -> WorldConfig:
    """Read a world file, or put a model alone on a floor.

    Args:
        world: Path of a world file (``.yaml`` with ``bodies``) or of a model, or its
            ``file://`` or ``package://`` URI.
        diagnostics: Where notes and warnings go; by default they are logged.

    Raises:
        ModelError: The world or a model in it cannot be used. It lists every problem
            with its place.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    try:
        path = named_path(world)
    except ResourceError as error:
        diagnostics.error("missing-world", str(error))
        raise ModelError(diagnostics.found) from None
    if path.suffix.lower() in _MODEL_SUFFIXES:
        return _alone_on_floor(path, diagnostics)
    real_path = Path(os.path.realpath(path))
    try:
        source = read_source(real_path, os.fspath(world))
    except OSError as error:
        reason = error.strerror or error
        diagnostics.error("unreadable-file", f"cannot read '{world}': {reason}")
        raise ModelError(diagnostics.found) from None
    root = parse(source, diagnostics)
    diagnostics.raise_errors()
    if isinstance(root, Mapping) and "bodies" in root:
        config = WorldReader(real_path.parent, diagnostics).read(root)
        diagnostics.raise_errors()
        return config
    if isinstance(root, Mapping) and ("modelFile" in root or "model_file" in root):
        return _alone_on_floor(path, diagnostics)
    place = Span(source, 0, 0) if root is None else root.span
    diagnostics.error("not-a-world", "a world file needs a list 'bodies'", place)
    raise ModelError(diagnostics.found)


def _alone_on_floor(path: Path, diagnostics: Diagnostics) -> WorldConfig:
    """Put one model on a floor, lifted if it would stick in it."""
    body = load_body(path, diagnostics)
    floor = load_body(share_folder() / "models" / "floor.body", diagnostics)
    placement = Placement(name=body.name, body=body, X_WL=body.root.X_PL, fixed=body.is_root_fixed)
    if not placement.fixed:
        below = min(0.0, _lowest_point(placement))
        lifted = placement.X_WL.p - np.array([0.0, 0.0, below])
        placement = replace(placement, X_WL=Pose(placement.X_WL.R, lifted))
    ground = Placement(name="floor", body=floor, X_WL=floor.root.X_PL, fixed=True)
    if body.name == ground.name:
        ground = replace(ground, name="ground")
    return WorldConfig(bodies=(BodyEntry(placement=ground), BodyEntry(placement=placement)))


def _lowest_point(placement: Placement) -> float:
    """Return the least height of a body's collision shapes where it is placed, in [m]."""
    state = BodyState(placement.body)
    state.q[:] = placement.initial_q
    state.p[0], state.R[0] = placement.X_WL.p, placement.X_WL.R
    state.calc_forward_kinematics()
    heights = [0.0]
    for i, link in enumerate(placement.body.links):
        T_WL = Pose(state.R[i], state.p[i]).matrix()
        for shape in link.collision:
            box = bounding_box(shape_mesh(shape.moved(T_WL)))
            heights += [] if box is None else [float(box[0][2])]
    return min(heights)
