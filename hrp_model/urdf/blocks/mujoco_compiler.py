"""The <mujoco> block: what MuJoCo's own reader of URDF has to be told to take the file as it is.

See "compiler" in MuJoCo's XML reference. Other readers of URDF pass over the block;
urdf_parser_py says that it does not know it.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from ...body import Body, JointType, Link
from ...frames import BodyFrames
from ..options import UrdfOptions
from ..xml import element

# In [kg] and [kg m^2]: enough for MuJoCo, and too little to be noticed.
_LEAST = "1e-12"
# Of principal moments, relative to the largest.
_ROUNDING = 1e-9


def elements(body: Body, _frames: BodyFrames, options: UrdfOptions) -> list[Element]:
    """Return the block, if the options say where MuJoCo finds the meshes."""
    if options.mujoco_meshes is None:
        return []
    compiler = {
        # It follows neither file:// nor package://, but finds the last part in this folder.
        "meshdir": options.mujoco_meshes,
        "strippath": "true",
        # It would give a link without mass that of its collision shapes, of water.
        "inertiafromgeom": "false",
    }
    if not any(link.joint.type is JointType.FREE for link in body.links[1:]):
        # It would make one body of links that do not move to each other, and lose their
        # names. But it lets links float on top only: if at all, when a fixed root is fused.
        compiler["fusestatic"] = "false"
    if any(map(_breaks_triangle_inequality, body.links)):
        compiler["balanceinertia"] = "true"  # it refuses them otherwise
    if any(map(_moves_without_inertia, body.links)):
        compiler |= {"boundmass": _LEAST, "boundinertia": _LEAST}  # likewise
    return [element("mujoco", element("compiler", **compiler))]


def _moves_without_inertia(link: Link) -> bool:
    return link.joint.moves and (link.mass == 0.0 or not link.inertia.any())


def _breaks_triangle_inequality(link: Link) -> bool:
    """Whether no distribution of mass has the link's principal moments.

    Those of a flat body, where a + b = c, are counted in: whether MuJoCo, which computes them
    in another way, refuses them depends on their last digits.
    """
    a, b, c = np.linalg.eigvalsh(link.inertia).tolist()
    return bool(a + b < c * (1.0 + _ROUNDING))
