"""The <mujoco> block: compiler options for MuJoCo's own URDF reader.

See "compiler" in MuJoCo's XML reference. Other URDF readers ignore the block;
urdf_parser_py logs that it is unknown.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from ...body import Body, JointType, Link
from ...frames import BodyFrames
from ..options import UrdfOptions
from ..xml import element

# In [kg] and [kg m^2]: accepted by MuJoCo, and too small to have an effect.
_MIN_MASS = "1e-12"
# Rounding error of principal moments, relative to the largest.
_ROUNDING = 1e-9


def elements(body: Body, _frames: BodyFrames, options: UrdfOptions) -> list[Element]:
    """Return the block, if the options name a mesh folder for MuJoCo."""
    if options.mujoco_meshes is None:
        return []
    compiler = {
        # MuJoCo resolves neither file:// nor package://, but finds the file name in this folder.
        "meshdir": options.mujoco_meshes,
        "strippath": "true",
        # The default derives the mass of a massless link from its collision shapes.
        "inertiafromgeom": "false",
    }
    if not any(link.joint.type is JointType.FREE for link in body.links[1:]):
        # The default fuses links joined by fixed joints and loses their names. A floating link
        # needs it, since MuJoCo allows free joints at the top level only.
        compiler["fusestatic"] = "false"
    if any(map(_breaks_triangle_inequality, body.links)):
        compiler["balanceinertia"] = "true"  # rejected otherwise
    if any(map(_moves_without_inertia, body.links)):
        compiler |= {"boundmass": _MIN_MASS, "boundinertia": _MIN_MASS}  # rejected otherwise
    return [element("mujoco", element("compiler", **compiler))]


def _moves_without_inertia(link: Link) -> bool:
    return link.joint.moves and (link.mass == 0.0 or not link.inertia.any())


def _breaks_triangle_inequality(link: Link) -> bool:
    """Return whether no mass distribution has the link's principal moments.

    Flat bodies, where a + b = c, count too: whether MuJoCo rejects them depends on rounding.
    """
    a, b, c = np.linalg.eigvalsh(link.inertia).tolist()
    return bool(a + b < c * (1.0 + _ROUNDING))
