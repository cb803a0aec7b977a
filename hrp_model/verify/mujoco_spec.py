"""A URDF made into a MuJoCo model, with as few changes as MuJoCo asks for.

MuJoCo is stricter than URDF: it refuses inertias that no rigid body has, moving links
without mass, shapes without a volume, and links that float below other links. What of that
is in the model is in its URDF too, as it should be; it is changed here, told, and kept out of
the comparison.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import frexp, ldexp
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from .reading import DYNAMICS, Quantity, ReadingError

# Shapes that it makes nothing of: flat meshes, and primitives without a size.
_NO_SHAPE = re.compile(
    r"coplanar vertices|at least 4 vertices|mesh volume is too small|size \d+ must be positive"
    r"|faces have inconsistent orientation|number of faces must be between"
)
_NO_FILE = re.compile(r"Error opening file '(file|package):")
_NO_MASS = re.compile(r"mass and inertia of moving bodies")
_NAMED = re.compile(r"Element name '([^']*)'")
_LEAST_MASS = 1e-6
# Of the largest principal moment. MuJoCo computes the moments by an algorithm of its own, so
# that a flat body, whose moments fulfil a + b = c, or a thin one, with a = 0, is refused or not
# by their last digits. This is more than rounding ever makes of them.
_INERTIA_MARGIN = 1e-9
# In [kg m^2]: MuJoCo takes moments for negative that are smaller than 1e-14.
_LEAST_MOMENT = 1e-12
_HANDED_OVER = (
    "its meshes were handed over, as MuJoCo knows no file:// or package://; "
    "a <mujoco> block (option --mujoco) tells it where they are"
)


@dataclass(eq=False)
class Adapted:
    """A MuJoCo model, and what had to be changed for it.

    Attributes:
        model: The MjModel; every link is a body of its own.
        refusal: What MuJoCo says of the file as it is; empty if it takes it.
        hint: How it would find the meshes, if they had to be handed over.
        unknown: Quantities that cannot be compared then.
        left_out: Collision shapes that are missing, by link and number in the link.
        changed_inertias: How the inertias of links were changed that it would refuse.
        welded: Links that float in the URDF.
    """

    model: Any = None
    refusal: str = ""
    hint: str = ""
    unknown: dict[Quantity, str] = field(default_factory=dict)
    left_out: dict[tuple[str, int], str] = field(default_factory=dict)
    changed_inertias: dict[str, InertiaChange] = field(default_factory=dict)
    welded: set[str] = field(default_factory=set)


class InertiaChange(NamedTuple):
    """What became of the principal moments of a link: each ``scale`` times itself + ``shift``.

    The principal axes stay, so that only the moments are to be put back.

    Attributes:
        scale: A power of two, so that scaling costs no digit.
        shift: In [kg m^2].
    """

    scale: float
    shift: float


def adapted_spec(
    urdf: Path, *, free_root: bool, files: Mapping[str, Path], massless: bool
) -> Adapted:
    """Return the MuJoCo model of a URDF.

    Args:
        urdf: The file.
        free_root: Whether to give the root a free joint.
        files: The files of its meshes by their URIs.
        massless: Whether links of the model move without mass or inertia.

    Raises:
        ReadingError: MuJoCo refuses the file for a reason that is not in the model.
    """
    assets = {path.name: path.read_bytes() for path in files.values() if path.suffix == ".stl"}
    made = Adapted(refusal=_refusal(urdf))
    if _NO_FILE.search(made.refusal) and assets:
        made.refusal, made.hint = _refusal(urdf, assets), _HANDED_OVER
    bound_mass = False
    for _ in range(2 + len(assets) + urdf.read_text(encoding="utf-8").count("<collision")):
        spec = _spec(urdf, assets)
        places = _named_shapes(spec)
        _drop_shapes(spec, places, made)
        _weld(spec, made)
        _change_inertias(spec, made)
        if free_root and len(spec.bodies) > 1:
            spec.bodies[1].add_freejoint()
        if bound_mass:
            spec.compiler.boundmass = spec.compiler.boundinertia = _LEAST_MASS
        try:
            made.model = spec.compile()
        except ValueError as error:
            if _NO_MASS.search(str(error)) and massless:
                bound_mass = True
                _note_no_mass(str(error), made)
            else:
                _note_no_shape(str(error), spec, places, made)
            continue
        return made
    raise ReadingError(made.refusal or "MuJoCo finds more and more to refuse")


def _refusal(urdf: Path, assets: Mapping[str, bytes] | None = None) -> str:
    try:
        mujoco.MjModel.from_xml_path(str(urdf), **({"assets": dict(assets)} if assets else {}))
    except ValueError as error:
        return _sentence(error)
    return ""


def _spec(urdf: Path, assets: Mapping[str, bytes]) -> Any:
    try:
        spec = mujoco.MjSpec.from_file(str(urdf), assets=dict(assets))
    except ValueError as error:
        raise ReadingError(_sentence(error)) from None
    spec.compiler.fusestatic = False  # every link is to be found again
    # It would give a link without <inertial> the mass of its collision shapes.
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    return spec


def _named_shapes(spec: Any) -> dict[str, tuple[str, int]]:
    """Give each shape a name, and return by it the link and the number in the link."""
    places: dict[str, tuple[str, int]] = {}
    for body in spec.bodies:
        for number, geom in enumerate(body.geoms):
            geom.name = f"{body.name} #{number}"
            places[geom.name] = body.name, number
    return places


def _drop_shapes(spec: Any, places: Mapping[str, tuple[str, int]], made: Adapted) -> None:
    for geom in list(spec.geoms):
        if places[geom.name] in made.left_out:
            spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        if mesh.name not in used:
            spec.delete(mesh)


def _weld(spec: Any, made: Adapted) -> None:
    """Hold links still that float below others: it lets them float on top only."""
    for joint in list(spec.joints):
        if joint.type == mujoco.mjtJoint.mjJNT_FREE and joint.parent.parent.name != "world":
            made.welded.add(joint.parent.name)
            spec.delete(joint)


def _change_inertias(spec: Any, made: Adapted) -> None:
    """Make the inertias such that MuJoCo takes them."""
    for body in spec.bodies:
        full = np.array(body.fullinertia)
        if np.isnan(full).any() or not full.any():
            continue
        xx, yy, zz, xy, xz, yz = full
        moments = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        largest = float(abs(moments).max())
        a, b, c = moments.tolist()
        if min(a, a + b - c) > _INERTIA_MARGIN * largest and a > _LEAST_MOMENT:
            continue
        scale = ldexp(1.0, -frexp(largest)[1])
        shift = max(c - a - b, -a, 0.0) * scale * 1.01 + 1e-6
        made.changed_inertias[body.name] = InertiaChange(scale, shift)
        body.fullinertia = full * scale + shift * np.array([1, 1, 1, 0, 0, 0])


def _note_no_mass(message: str, made: Adapted) -> None:
    reason = f"MuJoCo refuses link '{_name_in(message)}': it moves and has no mass or no inertia"
    for quantity in (Quantity.INERTIALS, Quantity.TOTAL_MASS, Quantity.CENTER_OF_MASS):
        made.unknown[quantity] = reason
    made.unknown |= dict.fromkeys(DYNAMICS, reason)


def _note_no_shape(
    message: str, spec: Any, places: Mapping[str, tuple[str, int]], made: Adapted
) -> None:
    """Note which shapes MuJoCo makes nothing of.

    Raises:
        ReadingError: It refuses something that is no shape.
    """
    name = _name_in(message)
    geoms = [geom for geom in spec.geoms if name and name in (geom.name, geom.meshname)]
    if not _NO_SHAPE.search(message) or not geoms:
        raise ReadingError(_sentence(message))
    shapes = [places[geom.name] for geom in geoms]
    made.left_out |= dict.fromkeys(shapes, _sentence(message))


def _name_in(message: str) -> str:
    found = _NAMED.search(message)
    return found.group(1) if found else ""


def _sentence(message: object) -> str:
    lines = str(message).removeprefix("Error: ").splitlines()
    return "; ".join(line.strip() for line in lines if line.strip())
