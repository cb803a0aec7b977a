"""A world of PyODE with the face of ``hrp_sim.ode._core.World``, and its results to the last bit.

Unlike that one it holds the interpreter lock while it steps.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import ode
from numpy.typing import NDArray

from hrp_model.rigid import Array

from ..articulation.articulation import Articulation
from ..ode import guard
from ..ode.saving import SavedBody
from ..physics.state import BodyMotion, ExternalWrench, JointDrive
from . import binding
from .assembly import Assembly, Rules, assemble
from .contacts import Contacts, forbid_overlaps
from .coordinates import Coordinates
from .drives import Drives
from .motion import Motion
from .orders import Orders
from .rays import Rays
from .refusal import refuse_unknown
from .saved import read_state, write_state
from .starts import to_start_of, to_starts
from .sticking import Sticking
from .surfaces import Surfaces
from .telling import Told
from .wrench import Wrenches

Fault = tuple[int, int, int, int]
_FARTHEST_ORIGIN = 1e9  # [m]
_SOLVER_FAULT = (guard.FAULT_SOLVER, 0, 0)


class World:
    """A world of PyODE; see ``hrp_sim/ode/_core.pyi`` for arguments and methods."""

    def __init__(
        self,
        *,
        step: float,
        quick: bool,
        gravity: tuple[float, float, float],
        erp: float,
        cfm: float,
        iterations: int,
        over_relaxation: float,
        max_correcting_velocity: float,
        surface_layer: float,
        max_contacts: int,
        joint_limits: bool,
        self_collision: bool,
        predict_sticking: bool,
        seed: int,
    ) -> None:
        self._world = world = ode.World()
        world.setGravity(gravity)
        world.setERP(erp)
        world.setCFM(cfm)
        world.setQuickStepNumIterations(iterations)
        binding.set_over_relaxation(world, over_relaxation)
        world.setContactMaxCorrectingVel(max_correcting_velocity)
        world.setContactSurfaceLayer(surface_layer)
        self._step, self._solve = step, world.quickStep if quick else world.step
        self._max_contacts, self._self_collision = max_contacts, self_collision
        self._rules = Rules(joint_limits=joint_limits, weigh=quick)
        self._is_quick = quick
        self._surfaces = Surfaces(world, step)
        self._sticking = Sticking(world, step, is_on=predict_sticking and not quick)
        self._told = Told()
        self._materials = np.ones((1, 1)), np.zeros((1, 1))
        self._seed = self.random = seed
        self._bodies: list[Assembly] = []
        self._next_number = 0
        self._rays = Rays()
        self._is_busy = self._is_closed = False
        self._thread = -1
        self.broken = False
        self.complaints = 0
        self._disarrange()

    def set_materials(self, friction: Array, restitution: Array, /) -> None:
        """Take in how each pair of materials touches; before there are bodies."""
        self._materials = friction, restitution

    @property
    def contacts(self) -> int:
        """How many contacts the last step had."""
        return self._contacts.count

    @property
    def tells(self) -> bool:
        """Whether the next steps tell their contacts."""
        return self._told.is_on

    @tells.setter
    def tells(self, on: bool) -> None:
        self._told.is_on = on
        self._told.begin()

    @property
    def told(self) -> int:
        """How many contacts the last step tells."""
        return len(self._told)

    @property
    def habits(self) -> bytes:
        """What is remembered of the contacts of the last step, two bytes each."""
        return self._sticking.habits

    @habits.setter
    def habits(self, values: bytes) -> None:
        self._sticking.habits = values

    def add_body(
        self,
        articulation: Articulation,
        motion: BodyMotion,
        drive: JointDrive,
        wrench: ExternalWrench,
        /,
    ) -> tuple[int, list[tuple[int, int]]]:
        """Put a body in; return its number and the pairs of links that overlap.

        Raises:
            PhysicsError: PyODE cannot do what the body needs; nothing was added.
        """
        refuse_unknown(articulation)
        with self._use():
            arrays = motion, drive, wrench
            number, self._next_number = self._next_number, self._next_number + 1
            body = assemble(self._world, number, articulation, arrays, self._rules)
            body.first = Motion([body]).read_groups()
            to_starts([body], Motion([body]), Coordinates([body]))
            overlapping = forbid_overlaps(body, self._surfaces) if self._self_collision else []
            self._bodies.append(body)
            self._disarrange()
        return body.number, overlapping

    def remove_body(self, number: int, /) -> None:
        """Take a body out."""
        with self._use():
            body = self._find(number)
            self._bodies.remove(body)
            self._disarrange()
            body.destroy()

    def rebase_body(self, number: int, articulation: Articulation, /) -> None:
        """Stand the static links of a body elsewhere, and put it to its start there."""
        with self._use():
            body = self._find(number)
            self._disarrange()
            body.rebase(self._world, articulation)
            to_start_of(body, articulation)

    def move_body(self, number: int, articulation: Articulation, /) -> None:
        """Put what moves of a body to where the articulation starts."""
        with self._use():
            body = self._find(number)
            self._disarrange()
            to_start_of(body, articulation)

    def read_state(self, number: int, arrays: SavedBody, /) -> None:
        """Write the moving state of a body into arrays."""
        with self._use(even_broken=True):
            read_state(self._find(number), arrays)

    def write_state(self, number: int, arrays: SavedBody, /) -> None:
        """Put a body into a saved state."""
        with self._use():
            body = self._find(number)
            self._disarrange()
            write_state(body, arrays)

    def reset(self) -> None:
        """Put every body back to its start."""
        with self._use():
            self._arrange()
            self.random = self._seed
            self._sticking.reset()
            to_starts(self._bodies, self._motion, self._coordinates)
            self._drives.forget()

    def read_contacts(self, who: NDArray[np.int32], what: Array, /) -> None:
        """Write the contacts of the last step, if it was to tell them."""
        self._told.write(who, what)

    def step(self, count: int, /) -> Fault | None:
        """Advance; return None, or (fault, steps done, number of a body, index)."""
        self._take()  # as _use, but quicker
        try:
            return self._advance(count)
        finally:
            self._is_busy = False

    def cast_rays(
        self,
        origins: Array,
        directions: Array,
        max_distance: float,
        ignored: int,
        ignored_link: int,
        distances: Array,
        /,
    ) -> None:
        """Fill distances; the ignored link -1 is all links of the ignored body."""
        if origins.shape != (len(distances), 3) or directions.shape != origins.shape:
            raise ValueError("origins and directions must have three elements for each distance")
        if not 0.0 < max_distance < np.inf:
            raise ValueError("max_distance must be positive and finite")
        if not (np.abs(origins) < _FARTHEST_ORIGIN).all():
            raise ValueError("an origin is not finite, or absurd")
        bad = ~(np.abs((directions * directions).sum(axis=1) - 1.0) < 1e-6)
        if bad.any():
            raise ValueError(f"directions[{int(np.argmax(bad))}] is not a unit vector")
        with self._use(even_broken=True):
            geoms = [
                geom.geom
                for body in self._bodies
                for geom in (*body.moving, *body.standing)
                if body.number != ignored or (ignored_link >= 0 and geom.link != ignored_link)
            ]
            distances[:] = self._rays.cast(geoms, origins, directions, max_distance)

    def close(self) -> None:
        """Free everything."""
        if self._is_busy:
            raise RuntimeError("the world is being used by another thread")
        if self.broken:
            # What an error of ODE left in the middle is not touched again: it is lost.
            lost = self._bodies, self._world, self._contacts
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(lost))
        self._is_closed = True
        for body in () if self.broken else self._bodies:
            body.destroy()
        self._bodies = []
        del self._motion, self._coordinates, self._orders, self._drives, self._wrenches
        del self._contacts, self._world, self._solve, self._rays

    @contextmanager
    def _use(self, *, even_broken: bool = False) -> Iterator[None]:
        """Have the world alone, and ODE ready for this thread."""
        self._take(even_broken=even_broken)
        try:
            yield
        finally:
            self._is_busy = False

    def _take(self, *, even_broken: bool = False) -> None:
        if self._is_closed:
            raise RuntimeError("the world is closed")
        if self._is_busy:
            raise RuntimeError("the world is being used by another thread")
        if self.broken and not even_broken:
            raise RuntimeError("the world is broken; make another")
        self._is_busy = True
        if self._thread != threading.get_ident():
            self._thread = threading.get_ident()
            binding.prepare_thread()

    def _advance(self, count: int) -> Fault | None:
        self._arrange()
        guard.take_complaints()
        if self._orders.changed():
            if bad := self._orders.check():
                kind, number, index = bad
                return kind, 0, number, index
            self._drives.begin()
        done, failure = self._steps(count)
        self.complaints += guard.take_complaints()
        if failure:
            if done > 0:
                self._motion.read()
                self._motion.write_still(self._bodies)
            kind, number, index = failure
            return kind, done, number, index
        if count > 0:
            self._motion.write(self._step)
            self._drives.write()
            self._wrenches.write(self._drives.applied)
        return None

    def _disarrange(self) -> None:
        """Forget what works on all bodies at once: one has come or gone."""
        self._is_arranged = False
        self._motion, self._coordinates = Motion([]), Coordinates([])
        self._orders = Orders([])
        self._drives = Drives([], self._coordinates, self._motion, self._step)
        self._contacts = self._make_contacts([])
        self._wrenches = Wrenches([], self._motion)
        self._tracked: list[Assembly] = []

    def _arrange(self) -> None:
        """Make what works on all bodies at once, if it is not there."""
        if self._is_arranged:
            return
        self._is_arranged = True
        self._motion = Motion(self._bodies)
        self._motion.read()
        self._coordinates = Coordinates(self._bodies)
        self._orders = Orders(self._bodies)
        self._drives = Drives(self._bodies, self._coordinates, self._motion, self._step)
        self._contacts = self._make_contacts(self._bodies)
        self._wrenches = Wrenches(self._bodies, self._motion)
        self._tracked = [body for body in self._bodies if body.links.track_axis.any()]

    def _make_contacts(self, bodies: list[Assembly]) -> Contacts:
        return Contacts(
            self._world,
            bodies,
            self._motion,
            max_contacts=self._max_contacts,
            self_collision=self._self_collision,
            materials=self._materials,
            surfaces=self._surfaces,
            sticking=self._sticking,
            told=self._told,
        )

    def _find(self, number: int) -> Assembly:
        for body in self._bodies:
            if body.number == number:
                return body
        raise KeyError(f"no body {number}")

    def _steps(self, count: int) -> tuple[int, tuple[int, int, int] | None]:
        """Take steps; return how many were good, and what failed."""
        for done in range(count):
            if done + 1 == count:
                self._motion.remember()
            if failure := self._step_once():
                return done, failure
            for body in self._tracked:
                body.motion.track_position += self._step * body.drive.track_speed
        return count, None

    def _step_once(self) -> tuple[int, int, int] | None:
        """Step, again as long as an effort leaves its range or a contact does not stick."""
        drives = self._drives
        self._motion.save()
        self._coordinates.save()
        drives.save()
        drives.new_step()
        self._sticking.begin()
        while True:
            if failure := self._attempt():
                if self.broken or failure[0] != guard.FAULT_STATE or not drives.doubt():
                    self._restore()
                    self._sticking.undo()
                    return failure
            else:
                exceeds, fails = drives.exceed(), self._sticking.fails()
                if not (exceeds or fails):
                    break
            self._restore()
            drives.limit()
        self._sticking.end()
        self.random = binding.get_random()
        return None

    def _attempt(self) -> tuple[int, int, int] | None:
        """Take a step from the saved state; return what failed."""
        binding.set_random(self.random)  # ODE has one for the whole process
        self._orders.push()
        self._drives.apply()
        crowd = None
        try:
            self._contacts.make()
            crowd = self._contacts.find_crowd(self._bodies, quick=self._is_quick)
            if crowd is None:
                guard.guarded(self._solve, self._step)
        except guard.OdeError:
            self.broken = True  # ODE was left in the middle: its memory is not to be trusted
        else:
            self._contacts.clear()
        if crowd:
            return crowd
        self._motion.read()
        if absurd := self._motion.find_absurd():
            body, group = absurd
            return guard.FAULT_STATE, body.number, group
        if self.broken:
            return _SOLVER_FAULT
        self._coordinates.read(self._step)
        return None

    def _restore(self) -> None:
        self._motion.restore()
        self._coordinates.restore()
        self._drives.restore()
