"""The Engine interface on PyODE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import ode

from hrp_model import Pose
from hrp_model.rigid import Array

from ..articulation.articulation import STATIC, Articulation
from ..articulation.extra_joints import LOOP_KINDS
from ..articulation.flatten import flatten
from ..articulation.overlaps import overlap_remarks
from ..articulation.teleport import is_bit_identical, with_base_pose, with_placement
from ..body_joints import BodyJoint
from ..by_name import ByName
from ..contact_points import ContactPoints
from ..engine import (
    AnyArray,
    PhysicsError,
    PhysicsSettings,
    Placement,
    Solver,
    check_ranges,
)
from ..ode import guard
from ..ode.saved_state import EngineBody, body_arrays
from ..ode.step_errors import MANY_MESSAGES, body_error, solver_error, warn_of_messages
from ..pair_costs import PairCost
from ..saved_joints import check_joint, restored_joints, save_joints
from ..snapshot import check_arrays, check_bodies, check_settings, settings_lines
from ..state import SimulatedBody, WorldState
from .body import ArticulatedBody, StepFaultError
from .contacts import Contacts
from .joints import DrivenJoint, make_extra_joint
from .shapes import cast_rays
from .unsupported import (
    check_library,
    check_supported_body,
    check_supported_joint,
    check_supported_settings,
)

_MAX_RAY_LENGTH, _MAX_RAY_ORIGIN = 1e6, 1e9  # [m]
_NUMBER = 0  # of an EngineBody; unused, since this engine identifies bodies by name
# Worlds in which ODE has failed: they must not be used again, nor freed.
_abandoned: list[object] = []


class PyOdeEngine:
    """A PyODE world: boxes, spheres, cylinders and capsules, and the joints that PyODE has.

    See ``Engine`` for the methods. Results equal those of ``OdeEngine`` up to rounding, with these
    differences: ``predict_sticking`` has no effect, all contacts are solved alike; PyODE cannot
    seed the random order of the solver ``quick``, so equal runs differ by its errors; states are
    restored up to rounding; and steps hold the interpreter lock.

    Raises:
        PhysicsError: A setting is out of range or not supported by PyODE, or PyODE is linked with
            another ODE than the extension that handles its errors.
    """

    def __init__(self, settings: PhysicsSettings) -> None:
        check_ranges(settings)
        check_supported_settings(settings)
        check_library()
        self._settings = settings
        self._entries: dict[str, EngineBody] = {}
        self._joints: dict[str, tuple[ode.Joint, BodyJoint]] = {}
        # Replaced, never modified, so that any thread may iterate over it.
        self._simulated: Mapping[str, SimulatedBody] = MappingProxyType(ByName("body", {}))
        self._time_ns = self._message_count = 0
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

    @property
    def record_pair_costs(self) -> bool:
        """Always False: the times of collision detection are not measured."""
        return False

    @record_pair_costs.setter
    def record_pair_costs(self, on: bool) -> None:
        pass

    def pair_costs(self) -> list[PairCost]:
        """Return nothing."""
        return []

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
        if name in self._entries:
            raise PhysicsError(f"the world has a body '{name}' already")
        flat = flatten(placement, self._settings)
        check_supported_body(flat)
        entry = EngineBody(_NUMBER, flat, SimulatedBody.at_rest(name, body))
        try:
            overlapping = self._create(entry)
        except guard.OdeError as error:  # not detected by flatten
            if name in self._entries:
                del self._entries[name]
                self._bodies.pop(name).remove()
            raise PhysicsError(f"body '{name}' cannot be simulated: {error}") from error
        entry.simulated = replace(entry.simulated, remarks=overlap_remarks(flat, overlapping))
        self._simulated = MappingProxyType(
            ByName("body", {**self._simulated, name: entry.simulated})
        )
        return entry.simulated

    def remove_body(self, name: str) -> None:
        """Remove a body from the world, with its joints to others; its arrays keep their values."""
        self._check_usable()
        self._remove_joints(name)
        del self._entries[name]
        self._contacts.clear()
        self._bodies.pop(name).remove()
        left = {k: simulated for k, simulated in self._simulated.items() if k != name}
        self._simulated = MappingProxyType(ByName("body", left))

    def move_body(self, placement: Placement) -> None:
        """Teleport the body ``placement.name`` between two steps."""
        self._check_usable()
        entry = self._entries[placement.name]
        moved = with_placement(entry.initial, placement)
        self._contacts.discard_points()
        self._remove_joints(placement.name)
        self._place_base(entry, placement.X_WL)
        self._bodies[placement.name].start(moved)

    @property
    def joints(self) -> Mapping[str, BodyJoint]:
        """The joints between bodies by name, in the order in which they were added."""
        return {name: joint for name, (_, joint) in self._joints.items()}

    def add_joint(self, joint: BodyJoint) -> None:
        """Connect links of two bodies by a ball, hinge or fixed joint."""
        self._check_usable()
        if joint.name in self._joints:
            raise PhysicsError(f"the world has a joint '{joint.name}' already")
        self._check_joint(joint)
        a, b = (
            self._bodies[name].end_of_joint(link, X_LJ)
            for name, link, X_LJ in zip(
                joint.bodies, joint.links, (joint.X_AJ, joint.X_BJ), strict=True
            )
        )
        made = make_extra_joint(self._world, LOOP_KINDS[joint.type], a, b, joint.axis)
        self._joints[joint.name] = made, joint
        self._connect()

    def remove_joint(self, name: str) -> None:
        """Remove a joint between bodies; PyODE destroys joints without references."""
        self._check_usable()
        ByName("joint between bodies", self._joints)[name]
        del self._joints[name]
        self._connect()

    def save(self) -> dict[str, AnyArray]:
        """Return copies of the whole state by name, for ``restore``."""
        arrays: dict[str, AnyArray] = {
            "time_ns": np.array(self._time_ns, dtype=np.int64),
            "bodies": np.array(list(self._entries), dtype=np.str_),
            "settings": settings_lines(self._settings),
            **save_joints(list(self.joints.values())),
        }
        for name, entry in self._entries.items():
            saved = entry.save(self._bodies[name])
            arrays |= {f"{name}/{key}": array for key, array in saved.items()}
        return arrays

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go back to a saved state, up to rounding."""
        check_settings(arrays, self._settings)
        fingerprints = {name: entry.fingerprint for name, entry in self._entries.items()}
        order = check_bodies(arrays, fingerprints)
        joints = restored_joints(arrays, self._simulated)
        for joint in joints:
            self._check_joint(joint)
        check_arrays(arrays, self.save() | save_joints(joints))
        if not 0 <= arrays["time_ns"] < 2**62:
            raise PhysicsError("'time_ns' of the snapshot is out of range")
        parts = {name: body_arrays(arrays, name) for name in order}
        for name, part in parts.items():
            self._entries[name].check(part)
        self._rebuild(order)
        for name, part in parts.items():
            entry = self._entries[name]
            if entry.has_base:
                self._place_base(entry, Pose(part["base_R"], part["base_p"]))
            entry.restore(self._bodies[name], part)
        for joint in joints:
            self.add_joint(joint)
        self._time_ns = int(arrays["time_ns"])

    def reset(self) -> None:
        """Put every body back to its placement at time zero; drives stay, joints are removed."""
        self._rebuild(list(self._entries))
        for simulated in self._simulated.values():
            simulated.wrench.force[:] = simulated.wrench.torque[:] = 0.0
            simulated.motion.track_position[:] = 0.0
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
        guard.take_messages()
        try:
            for body in self._bodies.values():
                body.check_inputs()
            for _ in range(count):
                self._step_once()
                self._time_ns += self._settings.step_ns
        except guard.OdeError:
            raise solver_error(self._when()) from None
        except StepFaultError as fault:
            entry = self._entries[fault.body]
            error = body_error(
                fault.kind, fault.index, entry.initial, entry.simulated, self._when()
            )
            raise error from None
        had_many = self._message_count >= MANY_MESSAGES
        self._message_count += guard.take_messages()
        if self._message_count >= MANY_MESSAGES and not had_many:
            warn_of_messages(self._time_ns)

    def cast_rays(
        self,
        origins: Array,
        directions: Array,
        max_distance: float,
        ignored: str | None = None,
        ignored_link: int | None = None,
    ) -> Array:
        """Return the distance to the nearest collision shape along each ray, in [m], shape (n,).

        Raises:
            KeyError: There is no body of the name ``ignored``.
            ValueError: The shapes do not match, or a direction is not a unit vector.
        """
        if ignored is not None:
            self._entries[ignored]
        if origins.shape != directions.shape or origins.shape[1:] != (3,):
            raise ValueError("origins and directions must both be of shape (n, 3)")
        if not (np.abs(origins) < _MAX_RAY_ORIGIN).all() or not max_distance > 0.0:
            raise ValueError("origins must be finite, and max_distance positive")
        if not (np.abs((directions**2).sum(axis=1) - 1.0) < 1e-6).all():
            raise ValueError("directions must be unit vectors")
        reach = min(max_distance, _MAX_RAY_LENGTH)
        return cast_rays(self._space, origins, directions, reach, ignored, ignored_link)

    def close(self) -> None:
        """Free the ODE world. Nothing else may be called afterwards."""
        if self._is_broken:
            _abandoned.append(
                (self._joints, self._bodies, self._contacts, self._space, self._world)
            )
            self._joints = {}
            return
        self._contacts.clear()
        self._joints.clear()
        for body in self._bodies.values():
            body.remove()
        self._bodies.clear()

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
        self._space = ode.SimpleSpace()  # a HashSpace misses a few pairs
        self._bodies: dict[str, ArticulatedBody] = {}
        self._contacts = Contacts(self._world, self._space, self._bodies, settings)
        self._contacts.record_forces = self._record_contacts
        self._is_broken = False  # whether ODE has failed during a step

    def _create(self, entry: EngineBody) -> list[tuple[int, int]]:
        """Create a body at its initial placement; return which of its links overlap."""
        name = entry.simulated.name
        self._bodies[name] = self._assemble(entry, entry.initial)
        self._entries[name] = entry
        return self._contacts.disable_overlapping_pairs(self._bodies[name])

    def _assemble(self, entry: EngineBody, flat: Articulation) -> ArticulatedBody:
        return ArticulatedBody(flat, entry.simulated, self._settings, self._world, self._space)

    def _rebuild(self, order: list[str]) -> None:
        """Create the world again, with the bodies at their initial placements, in this order."""
        self.close()
        self._make_world()
        initial = {name: self._entries[name].initial for name in order}
        self._entries.clear()
        for name, flat in initial.items():
            self._create(EngineBody(_NUMBER, flat, self._simulated[name]))

    def _place_base(self, entry: EngineBody, X_WB: Pose) -> None:
        """Move a body with a fixed root to a new pose of the root, by creating it again."""
        if not entry.has_base or is_bit_identical(X_WB, entry.X_WB):
            return
        name = entry.simulated.name
        old = self._bodies[name]
        old.remove()
        self._bodies[name] = self._assemble(
            entry, with_base_pose(entry.initial, X_WB, self._settings)
        )
        self._bodies[name].contacts = old.contacts
        entry.X_WB = X_WB

    def _step_once(self) -> None:
        """Take a step, and write the motion of the bodies.

        Bounded rows make a step much slower. So efforts are bounded only if they leave their range,
        and the step is repeated then; if it fails, with all efforts bounded that have a range.

        Raises:
            StepFaultError: It failed because of a body; everything is as it was before.
            OdeError: Likewise, but ODE failed.
            PhysicsError: Likewise, but there are too many constraints.
        """
        bodies = self._bodies.values()
        bounded: set[DrivenJoint] = set()
        is_done = False
        while not is_done:
            try:
                self._attempt(bounded)
                new = set().union(*(body.measure() for body in bodies)) - bounded
                is_done = not new
            except StepFaultError:
                new = {j for body in bodies for j in body.driven if j.has_effort_range} - bounded
                if not new:
                    raise
            finally:
                if not is_done:
                    self._undo()
            bounded |= new
        self._contacts.finish()
        for body in bodies:
            body.finish()

    def _attempt(self, bounded: set[DrivenJoint]) -> None:
        """Step ODE once, with the efforts of some joints bounded."""
        is_quick = self._settings.solver is Solver.QUICK
        for body in self._bodies.values():
            body.prepare(bounded)
        try:
            self._contacts.make()
            rows = sum(body.rows for body in self._bodies.values()) + 3 * self.contacts
            rows += 6 * len(self._joints)
            if not is_quick and rows > guard.MAX_ROWS:  # matrix sizes grow with the square
                raise PhysicsError(
                    f"the world has {rows} constraint rows {self._when()}, more than the "
                    f"{guard.MAX_ROWS} that the engine 'pyode' supports with solver: world; use "
                    "solver: quick, a smaller max_contacts, or the engine 'ode'"
                )
            solve = self._world.quickStep if is_quick else self._world.step
            guard.guarded(solve, self._settings.time_step)
        except guard.OdeError:
            self._is_broken = True
            raise

    def _undo(self) -> None:
        """Go back to the state before the step."""
        self._contacts.clear()
        if not self._is_broken:
            for body in self._bodies.values():
                body.undo()

    def _check_joint(self, joint: BodyJoint) -> None:
        check_joint(joint, self._simulated)
        check_supported_joint(joint)
        ends = zip(joint.bodies, joint.links, strict=True)
        if all(self._bodies[name].group_of(link) == STATIC for name, link in ends):
            names = joint.describe(self._simulated)
            raise PhysicsError(f"joint '{joint.name}': neither of {names} can move")

    def _remove_joints(self, body: str) -> None:
        """Remove the joints between a body and others."""
        for name, (_, joint) in list(self._joints.items()):
            if body in joint.bodies:
                del self._joints[name]
        self._connect()

    def _connect(self) -> None:
        """Update which groups do not collide, as joints connect them."""
        self._contacts.connected = {
            frozenset(
                (name, self._bodies[name].group_of(link))
                for name, link in zip(joint.bodies, joint.links, strict=True)
            )
            for _, joint in self._joints.values()
        }

    def _check_usable(self) -> None:
        if self._is_broken:
            raise PhysicsError("ODE has failed in a step; the world can only be reset")

    def _when(self) -> str:
        return f"at {self._time_ns / 1e9:.6g} s (step {self._time_ns // self._settings.step_ns})"
