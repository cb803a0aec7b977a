"""The Engine interface on PyODE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import ode

from hrp_model.devices import Holder
from hrp_model.rigid import Array

from ..articulation.articulation import (
    STATIC,
    Articulation,
    GeomKind,
    LoopKind,
    link_error,
    overlap_remarks,
)
from ..articulation.collision_shapes import NO_RULE, RULE
from ..articulation.flatten import flatten, with_base_pose, with_placement
from ..engine import (
    AnyArray,
    PhysicsError,
    PhysicsSettings,
    Placement,
    Solver,
    check_ranges,
)
from ..ode import faults
from ..state import BodyJoint, ByName, ContactPoints, SimulatedBody, WorldState
from .body import ArticulatedBody, StepFaultError
from .contacts import SHAPES, Contacts
from .joints import LOOP_JOINTS

_MAX_RAY_LENGTH = 1e6  # [m]
_MAX_ROWS = 10_000  # of constraints: the matrices of ODE's exact solver grow with the square
_ADVICE = "use the engine 'ode' (--engine ode, or the parameter engine)"
# Worlds in which ODE has failed: they must not be used again, nor freed.
_abandoned: list[object] = []


class PyOdeEngine:
    """A PyODE world: boxes, spheres, cylinders and capsules, and the joints that PyODE has.

    It steps, joins and collides by ODE's own means, to compare simple worlds with ``OdeEngine``,
    whose results it approaches as the time step decreases. See ``Engine`` for the methods; there
    are no snapshots and no joints between bodies, and steps cannot be interrupted.

    Raises:
        PhysicsError: A setting is out of range or not supported by PyODE, or PyODE is linked with
            another ODE than the extension that handles its errors.
    """

    def __init__(self, settings: PhysicsSettings) -> None:
        check_ranges(settings)
        _check_settings(settings)
        _check_library()
        self._settings = settings
        self._initial: dict[str, Articulation] = {}
        # Replaced, never modified, so that any thread may iterate over it.
        self._simulated: Mapping[str, SimulatedBody] = MappingProxyType(ByName("body", {}))
        self._time_ns = 0
        self._record_contacts = False
        self._make_world()

    @property
    def settings(self) -> PhysicsSettings:
        """The settings of the world."""
        return self._settings

    @property
    def time_ns(self) -> int:
        """The simulation time, in [ns]."""
        return self._time_ns

    @property
    def state(self) -> WorldState:
        """The current state of the world; its arrays are live."""
        return WorldState(self._time_ns, self._simulated)

    @property
    def contacts(self) -> int:
        """Number of contact points in the last step."""
        return self._contacts.count

    @property
    def record_contacts(self) -> bool:
        """Whether steps record contact points and forces."""
        return self._record_contacts

    @record_contacts.setter
    def record_contacts(self, on: bool) -> None:
        self._record_contacts = self._contacts.record_forces = on
        self._contacts.discard_points()

    def contact_points(self) -> ContactPoints:
        """Return the contact points and forces that the last step recorded."""
        return self._contacts.points(self._time_ns)

    def add_body(self, placement: Placement) -> SimulatedBody:
        """Add a body to the world.

        Raises:
            PhysicsError: The name is taken, or PyODE cannot simulate the model; the message
                names the link, and nothing was added.
        """
        self._check_usable()
        name, body = placement.name, placement.body
        if name in self._initial:
            raise PhysicsError(f"the world has a body '{name}' already")
        flat = flatten(placement, self._settings)
        _check_body(flat)
        simulated = SimulatedBody.at_rest(name, body)
        try:
            overlapping = self._create(flat, simulated)
        except faults.OdeError as error:  # not detected by flatten
            self._destroy(name)
            raise PhysicsError(f"body '{name}' cannot be simulated: {error}") from error
        self._initial[name] = flat
        said = overlap_remarks(flat, overlapping)
        simulated = replace(simulated, remarks=said, overlapping=tuple(overlapping))
        known = ByName("body", {**self._simulated, name: simulated})
        self._simulated = MappingProxyType(known)
        return simulated

    def remove_body(self, name: str) -> None:
        """Remove a body from the world; its arrays keep their values."""
        self._check_usable()
        self._simulated[name]
        self._destroy(name)
        del self._initial[name]
        left = {k: simulated for k, simulated in self._simulated.items() if k != name}
        self._simulated = MappingProxyType(ByName("body", left))

    def move_body(self, placement: Placement) -> None:
        """Teleport the body ``placement.name`` between two steps."""
        self._check_usable()
        name = placement.name
        initial, simulated = self._initial[name], self._simulated[name]
        moved = with_placement(initial, placement)
        self._contacts.discard_points()
        if placement.fixed:  # what is static in it can only be created anew
            at_base = with_base_pose(initial, placement.X_WL, self._settings)
            contacts = self._bodies[name].contacts
            self._destroy(name)
            self._create(at_base, simulated)
            self._bodies[name].contacts = contacts
        self._bodies[name].start(moved)

    @property
    def joints(self) -> Mapping[str, BodyJoint]:
        """Nothing: there are no joints between bodies."""
        return {}

    def add_joint(self, joint: BodyJoint) -> None:
        """Raise an error: there are no joints between bodies."""
        raise PhysicsError(
            f"joint '{joint.name}' is between two bodies, which the engine 'pyode' does not "
            f"support; {_ADVICE}"
        )

    def remove_joint(self, name: str) -> None:
        """Raise an error: there are no joints between bodies."""
        raise KeyError(f"no joint between bodies '{name}'; the engine 'pyode' has none")

    def save(self) -> dict[str, AnyArray]:
        """Raise an error: the state of ODE's own objects cannot be saved."""
        raise PhysicsError(f"the engine 'pyode' cannot save its state; {_ADVICE}")

    def restore(self, _arrays: Mapping[str, AnyArray]) -> None:
        """Raise an error: the state of ODE's own objects cannot be restored."""
        raise PhysicsError(f"the engine 'pyode' cannot restore a state; {_ADVICE}")

    def reset(self) -> None:
        """Put every body back to its placement at time zero; drives stay."""
        self.close()
        self._make_world()
        for name, flat in self._initial.items():
            simulated = self._simulated[name]
            simulated.wrench.force[:] = simulated.wrench.torque[:] = 0.0
            simulated.motion.track_position[:] = 0.0
            self._create(flat, simulated)
        self._time_ns = 0

    def retime(self, time_ns: int) -> None:
        """Set the simulation time in [ns], at least 0; the state stays the same."""
        self._contacts.discard_points()
        self._time_ns = time_ns

    def interrupt(self) -> None:
        """Has no effect: PyODE cannot give up a step."""

    def step(self, count: int = 1) -> None:
        """Advance by ``count`` steps.

        Raises:
            ValueError: The count is negative.
            PhysicsError: A drive or wrench has a number that is not finite or too large, or a
                negative gain; or the resulting state is invalid. The world stays as it was
                before the failed step. It can continue when the cause is removed, and be reset.
        """
        self._check_usable()
        if count < 0:
            raise ValueError(f"the number of steps must not be negative, not {count}")
        self._contacts.discard_points()
        try:
            for body in self._bodies.values():
                body.check_inputs()
            for _ in range(count):
                self._step_once()
                self._time_ns += self._settings.step_ns
        except faults.OdeError:
            raise faults.solver_error(self._when()) from None
        except StepFaultError as fault:
            flat, simulated = self._initial[fault.body], self._simulated[fault.body]
            error = faults.body_error(fault.kind, fault.index, flat, simulated, self._when())
            raise error from None

    def cast_rays(
        self,
        origins: Array,
        directions: Array,
        max_distance: float,
        ignored: str | None = None,
        ignored_link: int | None = None,
    ) -> Array:
        """Return the distance to the nearest collision shape along each ray, in [m], shape (n,).

        The directions must be unit vectors.
        """
        reach = min(max_distance, _MAX_RAY_LENGTH)
        return self._contacts.cast_rays(origins, directions, reach, ignored, ignored_link)

    def close(self) -> None:
        """Free the ODE world. Nothing else may be called afterwards."""
        if self._is_broken:
            _abandoned.append((self._bodies, self._contacts, self._world))
            return
        for name in list(self._bodies):
            self._destroy(name)

    def _make_world(self) -> None:
        """Create a world without bodies."""
        settings = self._settings
        self._world = ode.World()
        self._world.setGravity(settings.gravity)
        self._world.setERP(settings.erp)
        self._world.setCFM(settings.cfm)
        self._world.setQuickStepNumIterations(settings.iterations)
        self._world.setContactMaxCorrectingVel(settings.correcting_velocity)
        self._world.setContactSurfaceLayer(settings.surface_layer)
        self._bodies: dict[str, ArticulatedBody] = {}
        self._contacts = Contacts(self._world, self._bodies, settings)
        self._contacts.record_forces = self._record_contacts
        self._is_broken = False  # whether ODE has failed during a step

    def _create(self, flat: Articulation, simulated: SimulatedBody) -> list[tuple[int, int]]:
        """Create a body in ODE; return which of its links overlap."""
        body = ArticulatedBody(flat, simulated, self._settings, self._world)
        self._bodies[body.name] = body
        self._contacts.add_shapes(body, flat)
        return self._contacts.disable_overlapping_pairs(body)

    def _destroy(self, name: str) -> None:
        """Remove a body from ODE, as far as it was created."""
        self._contacts.remove_shapes(name)
        if name in self._bodies:
            self._bodies.pop(name).remove()

    def _step_once(self) -> None:
        """Take a step, and write the motion of the bodies.

        Raises:
            StepFaultError: It failed because of a body; everything is as it was before.
            OdeError: Likewise, but ODE failed.
            PhysicsError: Likewise, but there are too many constraints.
        """
        bodies = self._bodies.values()
        is_done = False
        try:
            for body in bodies:
                body.prepare()
            self._advance()
            for body in bodies:
                body.check_state()
            is_done = True
        except faults.OdeError:
            self._is_broken = True
            raise
        finally:
            if not is_done:
                self._contacts.clear()
                for body in () if self._is_broken else bodies:
                    body.undo()
        self._contacts.finish()
        for body in bodies:
            body.finish()

    def _advance(self) -> None:
        """Step ODE once, with contacts."""
        self._contacts.make()
        rows = sum(body.rows for body in self._bodies.values()) + 3 * self.contacts
        is_quick = self._settings.solver is Solver.QUICK
        if not is_quick and rows > _MAX_ROWS:
            raise PhysicsError(
                f"the world has {rows} constraint rows {self._when()}, more than the {_MAX_ROWS} "
                f"that the engine 'pyode' supports with solver: world; use solver: quick, or "
                "the engine 'ode'"
            )
        solve = self._world.quickStep if is_quick else self._world.step
        faults.guarded(solve, self._settings.time_step)

    def _check_usable(self) -> None:
        if self._is_broken:
            raise PhysicsError("ODE has failed in a step; the world can only be reset")

    def _when(self) -> str:
        return f"at {self._time_ns / 1e9:.6g} s (step {self._time_ns // self._settings.step_ns})"


def _check_library() -> None:
    """Check that errors of PyODE's library do not abort the process.

    ODE aborts on errors unless a handler is installed, and PyODE installs none. The extension of
    the engine "ode" does, for the whole process (``faults``), if both are linked with the same
    library: then it receives ODE's message about an invalid mass.
    """
    faults.take_messages()
    ode.Mass().setParameters(-1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    if not faults.take_messages():
        raise PhysicsError(
            f"PyODE is linked with another ODE library than the engine 'ode', so its errors cannot "
            f"be handled; {_ADVICE}"
        )


def _check_settings(settings: PhysicsSettings) -> None:
    """Check that PyODE can apply the settings."""
    default = PhysicsSettings()
    of_quick = ("over_relaxation", "seed") if settings.solver is Solver.QUICK else ()
    for name in ("max_contacts", *of_quick):
        value, supported = getattr(settings, name), getattr(default, name)
        if value != supported:
            raise PhysicsError(
                f"{name} is {value:g}, but the engine 'pyode' cannot set it: with {supported:g} "
                f"ODE does what it always does; {_ADVICE}"
            )


def _check_body(flat: Articulation) -> None:
    """Check that PyODE supports all that a body has; else name the first link with more."""
    placement, body, geoms, loops = flat.placement, flat.placement.body, flat.geoms, flat.loops
    for link, kind, surface in zip(geoms.link.tolist(), geoms.kind, geoms.surface, strict=True):
        if kind not in SHAPES:
            what = f"its collision shape is a {GeomKind(kind).name.lower()} in the physics"
            raise _unsupported(placement, link, what, "boxes, spheres, cylinders and capsules")
        if surface[RULE] != NO_RULE:
            what = "its model declares friction or stiffness of its surface"
            raise _unsupported(placement, link, what, "contact materials")
    for i, kind in enumerate(loops.kind.tolist()):
        if kind not in LOOP_JOINTS:
            group = loops.b[i] if loops.a[i] == STATIC else loops.a[i]
            what = f"its extra joint is of type {LoopKind(kind).name.lower()}"
            link = int(np.argmax(flat.links.group == group))
            raise _unsupported(placement, link, what, "ball, hinge and fixed")
    for device in body.devices:
        if isinstance(device, Holder):
            what = f"the holder '{device.name}' on it joins bodies"
            link = body.link_index(device.link)
            raise _unsupported(placement, link, what, "joints within a body")


def _unsupported(placement: Placement, link: int, what: str, supported: str) -> PhysicsError:
    problem = f"{what}, but the engine 'pyode' supports only {supported}; {_ADVICE}"
    return link_error(placement, placement.body.links[link], problem)
