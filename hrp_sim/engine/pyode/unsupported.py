"""Checks for settings, shapes and joints that PyODE does not support."""

from __future__ import annotations

import numpy as np
import ode

from ..articulation.articulation import STATIC, Articulation, GeomKind, LoopKind, link_error
from ..articulation.extra_joints import LOOP_KINDS
from ..body_joints import BodyJoint
from ..engine import PhysicsError, PhysicsSettings, Solver
from ..ode import guard
from .joints import LOOP_JOINTS
from .shapes import SHAPES

_ADVICE = "use the engine 'ode' (--engine ode, or the parameter engine)"


def check_library() -> None:
    """Check that errors of PyODE's library do not abort the process.

    ODE aborts on errors unless a handler is installed, and PyODE installs none. The extension of
    the engine "ode" does, for the whole process (``guard``), if both are linked with the same
    library: then it receives ODE's message about an invalid mass.

    Raises:
        PhysicsError: PyODE is linked with another library.
    """
    guard.take_messages()
    ode.Mass().setParameters(-1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    if not guard.take_messages():
        raise PhysicsError(
            f"PyODE is linked with another ODE library than the engine 'ode', so its errors cannot "
            f"be handled; {_ADVICE}"
        )


def check_supported_settings(settings: PhysicsSettings) -> None:
    """Check that PyODE supports the settings of the solver ``quick``.

    Raises:
        PhysicsError: It does not.
    """
    default = PhysicsSettings()
    for name in ("over_relaxation", "seed"):
        value, supported = getattr(settings, name), getattr(default, name)
        if settings.solver is Solver.QUICK and value != supported:
            raise PhysicsError(
                f"{name} is {value:g}, but the solver quick of the engine 'pyode' supports only "
                f"{supported:g}; {_ADVICE}"
            )


def check_supported_joint(joint: BodyJoint) -> None:
    """Check that PyODE supports the type of a joint between bodies.

    Raises:
        PhysicsError: It does not.
    """
    if LOOP_KINDS[joint.type] not in LOOP_JOINTS:
        raise PhysicsError(
            f"joint '{joint.name}' is of type {joint.type.value}, but the engine 'pyode' supports "
            f"only ball, hinge and fixed; {_ADVICE}"
        )


def check_supported_body(articulation: Articulation) -> None:
    """Check that PyODE supports the shapes and extra joints of a body.

    Raises:
        PhysicsError: It does not; the message names the link.
    """
    placement = articulation.placement
    links = placement.body.links
    geoms, loops = articulation.geoms, articulation.loops
    for kind, link in zip(geoms.kind.tolist(), geoms.link.tolist(), strict=True):
        if kind not in SHAPES:
            problem = (
                f"its collision shape is a {GeomKind(kind).name.lower()} in the physics, but the "
                "engine 'pyode' supports only boxes, spheres, cylinders and capsules; "
                f"{_ADVICE}"
            )
            raise link_error(placement, links[link], problem)
    for i, kind in enumerate(loops.kind.tolist()):
        if kind not in LOOP_JOINTS:
            group = loops.b[i] if loops.a[i] == STATIC else loops.a[i]
            link = int(np.argmax(articulation.links.group == group))
            problem = (
                f"its extra joint is of type {LoopKind(kind).name.lower()}, but the engine 'pyode' "
                f"supports only ball, hinge and fixed; {_ADVICE}"
            )
            raise link_error(placement, links[link], problem)
