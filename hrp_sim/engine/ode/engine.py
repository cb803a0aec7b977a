"""The Engine interface on ODE: names, time and errors; the physics is in C (``_core``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from hrp_model import Pose
from hrp_model.rigid import Array

from ..articulation.articulation import STATIC, overlap_remarks
from ..articulation.couplings import LOOP_KINDS
from ..articulation.flatten import flatten, is_bit_identical, with_base_pose, with_placement
from ..engine import (
    AnyArray,
    PhysicsError,
    PhysicsSettings,
    Placement,
    Solver,
    StepInterrupted,
    check_ranges,
)
from ..snapshot import check_arrays, check_bodies, check_settings, settings_lines
from ..state import BodyJoint, ByName, ContactPoints, PairCost, SimulatedBody, WorldState
from . import _core
from .faults import (
    MANY_MESSAGES,
    body_error,
    solver_error,
    warn_of_failed_contacts,
    warn_of_messages,
)
from .saved_state import (
    BOUNDED_HABITS,
    HABIT_END,
    EngineBody,
    body_arrays,
    check_joint,
    check_sleep,
    empty_sleep,
    restore_sleep,
    restored_joints,
    save_joints,
    save_sleep,
)

_MAX_RAY_LENGTH = 1e6  # [m]
_NO_BODY = _ALL_LINKS = -1
_HABITS = _core.MEMORY_NUMBERS  # of each contact
_SOLVERS = {
    Solver.WORLD: _core.SOLVER_WORLD,
    Solver.QUICK: _core.SOLVER_QUICK,
}


class OdeEngine:
    """An ODE world.

    Bodies may be added and removed between steps. One thread at a time may use an engine; steps
    and rays release the interpreter lock. Equal calls in equal order give bit-identical states,
    unless another engine steps in another thread meanwhile: ODE has one random state for the
    whole process.

    Links of one body that are connected by joints do not collide with each other if they overlap
    by more than 1 mm initially, or if they touch initially and one carries the other.

    Raises:
        PhysicsError: A setting is out of range.
    """

    def __init__(self, settings: PhysicsSettings) -> None:
        check_ranges(settings)
        self._settings = settings
        self._step_ns = settings.step_ns
        self._world = _make_world(settings)
        self._entries: dict[str, EngineBody] = {}
        self._joints: dict[str, tuple[int, BodyJoint]] = {}  # with their numbers
        # Replaced, never modified, so that any thread may iterate over it.
        self._simulated = MappingProxyType[str, SimulatedBody](ByName("body", {}))
        self._time_ns = 0
        self._has_warned = False
        self._failed_pairs: set[tuple[int, int, int, int]] = set()  # that were warned of
        self._has_points = False  # whether the records of contacts belong to the state

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
        return self._world.contacts

    @property
    def record_contacts(self) -> bool:
        """Whether steps record contact points and forces; it does not affect the state."""
        return self._world.record_contacts

    @record_contacts.setter
    def record_contacts(self, on: bool) -> None:
        self._world.record_contacts = on
        self._has_points = False

    def contact_points(self) -> ContactPoints:
        """Return the contact points and forces that the last step recorded.

        Empty unless ``record_contacts`` was on and the state was reached by a step.
        """
        if not self._has_points or not self._world.recorded_contacts:
            return ContactPoints.empty(self._time_ns)
        count = self._world.recorded_contacts
        ids, values = np.empty((count, 4), dtype=np.int32), np.empty((count, 10))
        self._world.read_contacts(ids, values)
        names = {entry.number: name for name, entry in self._entries.items()}
        bodies = tuple((names[a], names[b]) for a, b in ids[:, ::2].tolist())
        return ContactPoints.from_arrays(self._time_ns, bodies, ids, values)

    @property
    def record_pair_costs(self) -> bool:
        """Whether steps record the times of collision detection; it does not affect the state."""
        return self._world.record_pair_costs

    @record_pair_costs.setter
    def record_pair_costs(self, on: bool) -> None:
        self._world.record_pair_costs = on

    def pair_costs(self) -> list[PairCost]:
        """Return the times that the last step recorded, the most expensive pair first.

        Pairs that are too far apart to be examined are not listed. Empty unless
        ``record_pair_costs`` was on and the state was reached by a step.
        """
        if not self._has_points:
            return []
        names = {entry.number: name for name, entry in self._entries.items()}
        seconds: dict[tuple[int, int, int, int], float] = defaultdict(float)
        for body_a, a, body_b, b, time in self._world.read_pair_costs():
            seconds[body_a, a, body_b, b] += time
        costs = [
            PairCost((names[body_a], names[body_b]), (a, b), time)
            for (body_a, a, body_b, b), time in seconds.items()
        ]
        return sorted(costs, key=lambda cost: -cost.seconds)

    def add_body(self, placement: Placement) -> SimulatedBody:
        """Add a body to the world.

        Extra joints that are open in the initial posture are pulled together.

        Raises:
            PhysicsError: The name is taken, or ODE cannot simulate the model; the message names
                the link, and nothing was added.
        """
        self._check_usable()
        name, body = placement.name, placement.body
        if name in self._entries:
            raise PhysicsError(f"the world has a body '{name}' already")
        articulation = flatten(placement, self._settings)
        is_geared = self._settings.solver is Solver.WORLD
        simulated = SimulatedBody.at_rest(name, body, is_geared=is_geared)
        arrays = simulated.motion, simulated.drive, simulated.wrench
        try:
            number, overlapping = self._world.add_body(articulation, *arrays)
        except PhysicsError:  # it names the link
            raise
        except (ValueError, RuntimeError) as error:  # not detected by flatten
            raise PhysicsError(f"body '{name}' cannot be simulated: {error}") from error
        said = overlap_remarks(articulation, overlapping)
        simulated = replace(simulated, remarks=said, overlapping=tuple(overlapping))
        self._entries[name] = EngineBody(number, articulation, simulated)
        known = ByName("body", self._simulated | {name: simulated})
        self._simulated = MappingProxyType(known)
        return simulated

    def remove_body(self, name: str) -> None:
        """Remove a body from the world, with its joints to others; its arrays keep their values.

        Raises:
            KeyError: There is no body of this name.
            PhysicsError: ODE has failed; the world can only be reset.
        """
        self._check_usable()
        self._has_points = False
        self._world.remove_body(self._entries[name].number)
        del self._entries[name]
        self._forget_joints(name)
        self._update_bodies()

    def move_body(self, placement: Placement) -> None:
        """Teleport the body ``placement.name`` between two steps.

        Its pose, velocities, q and dq become those of the placement. The collision shapes of a
        fixed or static body move along. Drives and wrenches stay. Extra joints that are open in
        the new posture are pulled together, joints to other bodies are removed. A reset still
        goes back to the placement with which the body was added.

        Raises:
            KeyError: There is no body of this name.
            PhysicsError: The placement has another model, has another value of ``fixed`` than
                the body, or is not finite; nothing was moved.
        """
        self._check_usable()
        entry = self._entries[placement.name]
        moved = with_placement(entry.initial, placement)
        self._has_points = False
        self._place_base(entry, placement.X_WL)
        self._world.move_body(entry.number, moved)
        self._forget_joints(placement.name)

    @property
    def joints(self) -> Mapping[str, BodyJoint]:
        """The joints between bodies by name, in the order in which they were added."""
        return {name: joint for name, (_, joint) in self._joints.items()}

    def add_joint(self, joint: BodyJoint) -> None:
        """Connect links of two bodies from the next step on; the links do not collide any more.

        Raises:
            PhysicsError: The name is taken, the joint is invalid, or neither link can move;
                nothing was added.
        """
        self._check_usable()
        if joint.name in self._joints:
            raise PhysicsError(f"the world has a joint '{joint.name}' already")
        self._check_joint(joint)
        a, b = (self._entries[name] for name in joint.bodies)
        number = self._world.add_joint(
            LOOP_KINDS[joint.type],
            *(a.number, joint.links[0], joint.X_AJ.R, joint.X_AJ.p),
            *(b.number, joint.links[1], joint.X_BJ.R, joint.X_BJ.p),
            joint.axis,
        )
        self._joints[joint.name] = number, joint

    def remove_joint(self, name: str) -> None:
        """Remove a joint between bodies.

        Raises:
            KeyError: There is no joint of this name.
            PhysicsError: ODE has failed; the world can only be reset.
        """
        self._check_usable()
        self._world.remove_joint(ByName("joint between bodies", self._joints)[name][0])
        del self._joints[name]

    def save(self) -> dict[str, AnyArray]:
        """Return copies of the whole state by name, from which ``restore`` continues bit-exactly.

        ``time_ns`` and ``random`` (), ``habits`` (what each contact leaves to the next step, shape
        (contacts, 8); see ContactMemory), ``bodies`` (their names, in order), ``settings``
        ("name=value" each), ``body_joints_...``, the arrays of each ``EngineBody``, as
        "BODY/...", and with the setting ``sleeping`` those of ``empty_sleep``.
        """
        memory = np.frombuffer(self._world.contact_memory, np.int32)
        arrays: dict[str, AnyArray] = {
            "time_ns": np.array(self._time_ns, dtype=np.int64),
            "random": np.array(self._world.random, dtype=np.int64),
            "habits": memory.reshape(-1, _HABITS).copy(),
            "bodies": np.array(list(self._entries), dtype=np.str_),
            "settings": settings_lines(self._settings),
            **save_joints(list(self.joints.values())),
        }
        for name, entry in self._entries.items():
            saved = entry.save(self._world)
            arrays |= {f"{name}/{key}": array for key, array in saved.items()}
        if self._settings.sleeping:
            arrays |= save_sleep(self._world, list(self._entries.values()))
        return arrays

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go back to a saved state; equal steps from there give bit-identical states.

        Bodies that were added in another order are added again in that of the saved world,
        because the order of contacts and constraints depends on it.

        Raises:
            PhysicsError: A body, a setting, or the name, shape, type or value of an array does
                not match. The message names it, and nothing has changed.
        """
        check_settings(arrays, self._settings)
        fingerprints = {name: entry.fingerprint for name, entry in self._entries.items()}
        order = check_bodies(arrays, fingerprints)
        contacts = len(np.atleast_1d(arrays.get("habits", ())))
        joints = restored_joints(arrays, self._simulated)
        for joint in joints:
            self._check_joint(joint)
        expected = self.save() | save_joints(joints)
        expected["habits"] = np.zeros((contacts, _HABITS), np.int32)
        if self._settings.sleeping:
            sleeping = len(np.atleast_1d(arrays.get("sleep_contacts", ())))
            expected |= empty_sleep(len(order), sleeping)
            contacts += sleeping
        check_arrays(arrays, expected)
        time_ns, random, habits = int(arrays["time_ns"]), int(arrays["random"]), arrays["habits"]
        bounded = {
            "time_ns": (arrays["time_ns"], 2**62),
            "random": (arrays["random"], 2**32),
            "habits": (habits[:, :BOUNDED_HABITS], HABIT_END),
        }
        for name, (values, end) in bounded.items():
            if np.any(values < 0) or np.any(values >= end):
                raise PhysicsError(f"'{name}' of the snapshot is out of range")
        if contacts > _core.MAX_CONTACTS:
            raise PhysicsError(
                f"the snapshot has {contacts} contacts, more than the {_core.MAX_CONTACTS} that "
                "can be simulated"
            )
        parts = {name: body_arrays(arrays, name) for name in order}
        for name, entry in self._entries.items():
            entry.check(parts[name])
        if self._settings.sleeping:
            ordered = {name: self._entries[name] for name in order}
            check_sleep(arrays, ordered, joints, self._world.steps_to_sleep)
        self._has_points = False
        if self._world.broken or order != list(self._entries):
            self._rebuild(order)
        self._remove_joints()
        for name, entry in self._entries.items():
            if entry.has_base:
                self._place_base(entry, Pose(parts[name]["base_R"], parts[name]["base_p"]))
            entry.restore(self._world, parts[name])
        for joint in joints:
            self.add_joint(joint)
        self._world.random = random
        self._world.contact_memory = habits.tobytes()
        if self._settings.sleeping:
            restore_sleep(self._world, list(self._entries.values()), arrays)
        self._time_ns = time_ns

    def reset(self) -> None:
        """Put every body back to its placement at time zero, and reseed the random order.

        External wrenches become zero; drives stay. Joints between bodies are removed.
        """
        self._has_points = False
        if self._world.broken:
            self._rebuild(list(self._entries))
        self._remove_joints()
        for entry in self._entries.values():
            self._place_base(entry, entry.initial.placement.X_WL)
        self._world.reset()
        self._time_ns = 0

    def retime(self, time_ns: int) -> None:
        """Set the simulation time in [ns], at least 0; the state stays the same."""
        self._has_points = False
        self._time_ns = time_ns

    def step(self, count: int = 1) -> None:
        """Advance by ``count`` steps.

        Raises:
            ValueError: The count is negative.
            PhysicsError: A drive or wrench has a number that is not finite or too large, or a
                negative gain; or the resulting state is invalid. The world stays as it was
                before the failed step. It can continue when the cause is removed, and be reset.
            StepInterrupted: ``interrupt`` was called; the world stays as it was before the step.
        """
        world = self._world
        if world.broken:
            self._check_usable()
        if count < 0:
            raise ValueError(f"the number of steps must not be negative, not {count}")
        self._has_points = False
        try:
            report = world.step(count)
        finally:  # signal handlers may raise exceptions in the call or right after it
            self._time_ns += world.steps_done * self._step_ns
        if report is not None:
            self._report(*report)
        self._has_points = count > 0

    def interrupt(self) -> None:
        """Ask for a step that is being taken, or the adding of a body, to be given up.

        No effect at other times; ``add_body`` raises PhysicsError.

        May be called from any thread and from signal handlers.
        """
        self._world.interrupt()

    def cast_rays(
        self,
        origins: Array,
        directions: Array,
        max_distance: float,
        ignored: str | None = None,
        ignored_link: int | None = None,
    ) -> Array:
        """Return the distance to the nearest collision shape along each ray; see ``Engine``.

        Raises:
            KeyError: There is no body of the name ``ignored``.
            ValueError: The shapes do not match, or a direction is not a unit vector.
        """
        origins = np.ascontiguousarray(origins, dtype=np.float64)
        directions = np.ascontiguousarray(directions, dtype=np.float64)
        number = _NO_BODY if ignored is None else self._entries[ignored].number
        distances = np.empty(len(origins))
        reach = min(max_distance, _MAX_RAY_LENGTH)
        link = _ALL_LINKS if ignored_link is None else ignored_link
        self._world.cast_rays(origins, directions, reach, number, link, distances)
        return distances

    def close(self) -> None:
        """Free the ODE world. Nothing else may be called afterwards."""
        self._world.close()

    def _check_usable(self) -> None:
        if self._world.broken:
            raise PhysicsError("ODE has failed in a step; the world can only be reset")

    def _report(self, fault: int, number: int, index: int) -> None:
        """Warn of problems that ODE had in steps, once each; raise the error if they failed.

        Args:
            fault: A ``_core.FAULT_...``.
            number: Of a body.
            index: See ``body_error``.
        """
        new = set(self._world.read_failed_pairs()) - self._failed_pairs
        self._failed_pairs |= new
        of = {entry.number: entry for entry in self._entries.values()}
        pairs = (((of[i].initial, a), (of[j].initial, b)) for i, a, j, b in sorted(new))
        warn_of_failed_contacts(pairs, self._time_ns)
        when = f"at {self._time_ns / 1e9:.6g} s (step {self._time_ns // self._step_ns})"
        if fault == _core.FAULT_INTERRUPTED:
            raise StepInterrupted
        if fault == _core.FAULT_SOLVER:
            raise solver_error(when)
        if fault != _core.FAULT_NONE:
            raise body_error(fault, index, of[number].initial, of[number].simulated, when)
        if self._world.message_count >= MANY_MESSAGES and not self._has_warned:
            self._has_warned = True
            warn_of_messages(self._time_ns)

    def _place_base(self, entry: EngineBody, X_WB: Pose) -> None:
        """Move the static links of a body with a fixed root to a new pose of the root."""
        if entry.has_base and not is_bit_identical(X_WB, entry.X_WB):
            moved = with_base_pose(entry.initial, X_WB, self._settings)
            self._world.rebase_body(entry.number, moved)
            entry.X_WB = X_WB

    def _rebuild(self, order: list[str]) -> None:
        """Create the world again, after an ODE failure or with another order of bodies."""
        recorded = self._world.record_contacts, self._world.record_pair_costs
        self._world.close()
        self._world = _make_world(self._settings)
        self._world.record_contacts, self._world.record_pair_costs = recorded
        entries = {name: self._entries[name] for name in order}
        self._entries.clear()
        self._joints.clear()
        for name, entry in entries.items():
            simulated = entry.simulated
            arrays = simulated.motion, simulated.drive, simulated.wrench
            number, _ = self._world.add_body(entry.initial, *arrays)
            self._entries[name] = EngineBody(number, entry.initial, simulated)
        self._update_bodies()

    def _check_joint(self, joint: BodyJoint) -> None:
        check_joint(joint, self._simulated)
        ends = zip(joint.bodies, joint.links, strict=True)
        if all(self._entries[name].initial.links.group[link] == STATIC for name, link in ends):
            names = joint.describe(self._simulated)
            raise PhysicsError(f"joint '{joint.name}': neither of {names} can move")

    def _forget_joints(self, body: str) -> None:
        """Forget the joints of a body, which were removed with it or as it was moved."""
        self._joints = {k: (n, j) for k, (n, j) in self._joints.items() if body not in j.bodies}

    def _remove_joints(self) -> None:
        for name in list(self._joints):
            self.remove_joint(name)

    def _update_bodies(self) -> None:
        bodies = ByName("body", {k: e.simulated for k, e in self._entries.items()})
        self._simulated = MappingProxyType(bodies)


def _make_world(settings: PhysicsSettings) -> _core.World:
    world = _core.World(
        step=settings.time_step,
        solver=_SOLVERS[settings.solver],
        gravity=settings.gravity,
        erp=settings.erp,
        cfm=settings.cfm,
        iterations=settings.iterations,
        over_relaxation=settings.over_relaxation,
        max_correcting_velocity=settings.correcting_velocity,
        surface_layer=settings.surface_layer,
        max_contacts=settings.max_contacts,
        joint_limits=settings.joint_limits,
        self_collision=settings.self_collision,
        sleeping=settings.sleeping,
        seed=settings.seed,
    )
    materials = settings.materials
    world.set_materials(*materials.matrices(settings.friction), materials.prevailing)
    return world
