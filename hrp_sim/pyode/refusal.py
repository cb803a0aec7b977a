"""What PyODE cannot do, said before anything of a body is made."""

from __future__ import annotations

import numpy as np

from ..articulation.articulation import STATIC, Articulation, GeomKind, LoopKind, link_error
from .loops import MAKERS

_SHAPES = {GeomKind.BOX, GeomKind.SPHERE, GeomKind.CYLINDER, GeomKind.CAPSULE}
_ADVICE = "use the engine 'ode' (--engine ode, or the parameter engine)"


def refuse_unknown(articulation: Articulation) -> None:
    """Raise PhysicsError, naming the link, where a body needs what PyODE does not have."""
    placement = articulation.placement
    links = placement.body.links
    geoms, loops = articulation.geoms, articulation.loops
    for kind, link in zip(geoms.kind.tolist(), geoms.link.tolist(), strict=True):
        if kind not in _SHAPES:
            shape = GeomKind(kind).name.lower()
            problem = (
                f"its collision shape is a {shape} to the physics, and the engine 'pyode' knows "
                f"boxes, spheres, cylinders and capsules only; {_ADVICE}"
            )
            raise link_error(placement, links[link], problem)
    for i, kind in enumerate(loops.kind.tolist()):
        if kind not in MAKERS:
            group = loops.b[i] if loops.a[i] == STATIC else loops.a[i]
            link = int(np.argmax(articulation.links.group == group))
            problem = (
                f"its extra joint is of type {LoopKind(kind).name.lower()}; the engine 'pyode' "
                f"knows ball, hinge and fixed only; {_ADVICE}"
            )
            raise link_error(placement, links[link], problem)
