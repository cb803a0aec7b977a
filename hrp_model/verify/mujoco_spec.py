"""A MuJoCo model of a URDF, with the changes that MuJoCo requires.

MuJoCo is stricter than URDF: it refuses inertias that no rigid body has, moving links
without mass, shapes without volume, and links that float below other links. A URDF has these if
the model does; they are changed here, reported, and left out of the comparison.
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

from ..readers.mjcf.compiler import quiet_libraries
from .library import DYNAMICS, LibraryError, Quantity

# MuJoCo's messages about flat meshes and primitives without a size.
_INVALID_SHAPE = re.compile(
    r"coplanar vertices|qhull error|at least 4 vertices|mesh volume is too small"
    r"|size \d+ must be positive|faces have inconsistent orientation"
    r"|number of faces must be between"
)
_NO_FILE = re.compile(r"Error opening file '(file|package):")
_NO_MASS = re.compile(r"mass and inertia of moving bodies")
_ELEMENT_NAME = re.compile(r"Element name '([^']*)'")
_MIN_MASS = 1e-6
# Relative to the largest principal moment. Whether MuJoCo refuses a flat body, with a + b = c,
# or a thin one, with a = 0, depends on rounding errors, which are smaller than this.
_INERTIA_MARGIN = 1e-9
# In [kg m^2]: MuJoCo treats moments below 1e-14 as negative.
_MIN_MOMENT = 1e-12
_MESHES_PASSED = (
    "its meshes were passed in memory, as MuJoCo does not resolve file:// or package://; "
    "a <mujoco> block (option --mujoco) sets the mesh folder"
)


@dataclass(eq=False)
class Adapted:
    """A MuJoCo model, and the changes that were necessary.

    Attributes:
        model: The MjModel; every link is a body of its own.
        refusal: MuJoCo's error for the file as it is; empty without one.
        hint: How MuJoCo would find the meshes, if they were passed in memory.
        unknown: Quantities that cannot be compared, and why.
        left_out: Removed collision shapes, by link and index, and why.
        changed_inertias: Changes of inertias, by link.
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
    """Change of the principal moments of a link: each becomes ``scale * moment + shift``.

    The principal axes do not change, so only the moments must be restored.

    Attributes:
        scale: A power of two, so that scaling is exact.
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
        files: Mesh files by URI.
        massless: Whether links of the model move without mass or inertia.

    Raises:
        LibraryError: MuJoCo refuses the file for a reason that is not in the model.
    """
    assets = {path.name: path.read_bytes() for path in files.values() if path.suffix == ".stl"}
    adapted = Adapted(refusal=_refusal(urdf))
    if _NO_FILE.search(adapted.refusal) and assets:
        adapted.refusal, adapted.hint = _refusal(urdf, assets), _MESHES_PASSED
    bound_mass = False
    for _ in range(2 + len(assets) + urdf.read_text(encoding="utf-8").count("<collision")):
        spec = _spec(urdf, assets)
        shapes = _name_shapes(spec)
        _drop_shapes(spec, shapes, adapted)
        _weld_floating_links(spec, adapted)
        _change_inertias(spec, adapted)
        if free_root and len(spec.bodies) > 1:
            spec.bodies[1].add_freejoint()
        if bound_mass:
            spec.compiler.boundmass = spec.compiler.boundinertia = _MIN_MASS
        try:
            with quiet_libraries():
                adapted.model = spec.compile()
        except ValueError as error:
            if _NO_MASS.search(str(error)) and massless:
                bound_mass = True
                _add_missing_mass(str(error), adapted)
            else:
                _add_invalid_shapes(str(error), spec, shapes, adapted)
            continue
        return adapted
    raise LibraryError(adapted.refusal or "MuJoCo refuses the file after every change")


def _refusal(urdf: Path, assets: Mapping[str, bytes] | None = None) -> str:
    try:
        with quiet_libraries():
            mujoco.MjModel.from_xml_path(str(urdf), **({"assets": dict(assets)} if assets else {}))
    except ValueError as error:
        return _sentence(error)
    return ""


def _spec(urdf: Path, assets: Mapping[str, bytes]) -> Any:
    try:
        spec = mujoco.MjSpec.from_file(str(urdf), assets=dict(assets))
    except ValueError as error:
        raise LibraryError(_sentence(error)) from None
    spec.compiler.fusestatic = False  # keep every link
    # The default derives the mass of a link without <inertial> from its collision shapes.
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    return spec


def _name_shapes(spec: Any) -> dict[str, tuple[str, int]]:
    """Give each shape a name, and return link and index by name."""
    shapes: dict[str, tuple[str, int]] = {}
    for body in spec.bodies:
        for number, geom in enumerate(body.geoms):
            geom.name = f"{body.name} #{number}"
            shapes[geom.name] = body.name, number
    return shapes


def _drop_shapes(spec: Any, shapes: Mapping[str, tuple[str, int]], adapted: Adapted) -> None:
    for geom in list(spec.geoms):
        if shapes[geom.name] in adapted.left_out:
            spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        if mesh.name not in used:
            spec.delete(mesh)


def _weld_floating_links(spec: Any, adapted: Adapted) -> None:
    """Weld links that float below others: MuJoCo allows free joints at the top level only."""
    for joint in list(spec.joints):
        if joint.type == mujoco.mjtJoint.mjJNT_FREE and joint.parent.parent.name != "world":
            adapted.welded.add(joint.parent.name)
            spec.delete(joint)


def _change_inertias(spec: Any, adapted: Adapted) -> None:
    """Change inertias that MuJoCo would refuse."""
    for body in spec.bodies:
        full = np.array(body.fullinertia)
        if np.isnan(full).any() or not full.any():
            continue
        xx, yy, zz, xy, xz, yz = full
        moments = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        largest = float(abs(moments).max())
        a, b, c = moments.tolist()
        if min(a, a + b - c) > _INERTIA_MARGIN * largest and a > _MIN_MOMENT:
            continue
        scale = ldexp(1.0, -frexp(largest)[1])
        shift = max(c - a - b, -a, 0.0) * scale * 1.01 + 1e-6
        adapted.changed_inertias[body.name] = InertiaChange(scale, shift)
        body.fullinertia = full * scale + shift * np.array([1, 1, 1, 0, 0, 0])


def _add_missing_mass(message: str, adapted: Adapted) -> None:
    reason = f"MuJoCo refuses link '{_name_in(message)}': it moves without mass or inertia"
    for quantity in (Quantity.INERTIALS, Quantity.TOTAL_MASS, Quantity.CENTER_OF_MASS):
        adapted.unknown[quantity] = reason
    adapted.unknown |= dict.fromkeys(DYNAMICS, reason)


def _add_invalid_shapes(
    message: str, spec: Any, shapes: Mapping[str, tuple[str, int]], adapted: Adapted
) -> None:
    """Add the shapes that MuJoCo refuses to those to be left out.

    Raises:
        LibraryError: The message is not about a shape.
    """
    name = _name_in(message)
    geoms = [geom for geom in spec.geoms if name and name in (geom.name, geom.meshname)]
    if not _INVALID_SHAPE.search(message) or not geoms:
        raise LibraryError(_sentence(message))
    adapted.left_out |= dict.fromkeys((shapes[geom.name] for geom in geoms), _sentence(message))


def _name_in(message: str) -> str:
    match = _ELEMENT_NAME.search(message)
    return match.group(1) if match else ""


def _sentence(message: object) -> str:
    lines = str(message).removeprefix("Error: ").splitlines()
    return "; ".join(line.strip() for line in lines if line.strip())
