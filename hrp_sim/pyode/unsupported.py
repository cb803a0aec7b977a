"""Refusals of what PyODE cannot simulate, before anything is made of it."""

from __future__ import annotations

import numpy as np
import ode

from ..articulation.articulation import STATIC, Articulation, GeomKind, LoopKind, link_error
from ..ode import guard
from ..physics.engine import PhysicsError, PhysicsSettings, Solver
from .joints import LOOP_JOINTS
from .shapes import SHAPES

_ADVICE = "use the engine 'ode' (--engine ode, or the parameter engine)"


def check_library() -> None:
    """Check that errors of PyODE's library do not end the process.

    ODE ends it unless somebody handles its errors; PyODE does not. The extension of the engine
    "ode" does, for the whole process (``guard``), if both are linked with the same library: then
    it hears ODE's complaint about an impossible mass.

    Raises:
        PhysicsError: PyODE is linked with another library.
    """
    guard.take_messages()
    ode.Mass().setParameters(-1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    if not guard.take_messages():
        raise PhysicsError(f"PyODE is linked with an ODE of its own; {_ADVICE}")


def check_supported_settings(settings: PhysicsSettings) -> None:
    """Check that PyODE can set what the solver ``quick`` needs.

    Raises:
        PhysicsError: It cannot.
    """
    default = PhysicsSettings()
    for name in ("over_relaxation", "seed"):
        value, only = getattr(settings, name), getattr(default, name)
        if settings.solver is Solver.QUICK and value != only:
            raise PhysicsError(
                f"{name} is {value:g}, and the solver quick of the engine 'pyode' knows {only:g} "
                f"only; {_ADVICE}"
            )


def check_supported_body(articulation: Articulation) -> None:
    """Check that PyODE has the shapes and extra joints of a body.

    Raises:
        PhysicsError: It has not; the message names the link.
    """
    placement = articulation.placement
    links = placement.body.links
    geoms, loops = articulation.geoms, articulation.loops
    for kind, link in zip(geoms.kind.tolist(), geoms.link.tolist(), strict=True):
        if kind not in SHAPES:
            problem = (
                f"its collision shape is a {GeomKind(kind).name.lower()} to the physics, and the "
                f"engine 'pyode' knows boxes, spheres, cylinders and capsules only; {_ADVICE}"
            )
            raise link_error(placement, links[link], problem)
    for i, kind in enumerate(loops.kind.tolist()):
        if kind not in LOOP_JOINTS:
            group = loops.b[i] if loops.a[i] == STATIC else loops.a[i]
            link = int(np.argmax(articulation.links.group == group))
            problem = (
                f"its extra joint is of type {LoopKind(kind).name.lower()}; the engine 'pyode' "
                f"knows ball, hinge and fixed only; {_ADVICE}"
            )
            raise link_error(placement, links[link], problem)
