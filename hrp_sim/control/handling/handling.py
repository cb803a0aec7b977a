"""Switches holders and conveyors, and joins bodies as world files say."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field

import numpy as np

from hrp_model import Pose
from hrp_model.body import ExtraJointType
from hrp_model.devices import Conveyor, HoldCondition, Holder
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, unit_vector

from ...engine.engine import Engine, PhysicsError
from ...engine.state import MAX_DRIVE_VALUE, BodyJoint, ByName, SimulatedBody
from ...sensors.sensor_schedule import SensorSchedule, Tool
from .holders import GripError, Holders

_log = logging.getLogger("hrp_sim")


@dataclass(frozen=True, eq=False, kw_only=True)
class JointEntry:
    """A joint between links A and B of two bodies, as an extra joint of a model.

    If both rotations are the identity, the entry gives only two points and an axis. Then the
    relative rotation that the links have when the joint is made closes it.

    Attributes:
        type: Kind of constraint.
        bodies: Names of the two bodies in the world.
        links: Names of links A and B.
        X_AJ: Pose of the joint's frame J in link A.
        X_BJ: Pose of J in link B.
        axis: Vector in link A, not zero, shape (3,).
        name: Unique in the world.
    """

    type: ExtraJointType
    bodies: tuple[str, str]
    links: tuple[str, str]
    X_AJ: Pose = field(default_factory=Pose)
    X_BJ: Pose = field(default_factory=Pose)
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    name: str

    def resolve(self, bodies: Mapping[str, SimulatedBody]) -> BodyJoint:
        """Return the joint of these bodies, with their present relative rotation if it counts.

        Raises:
            KeyError: There is no such body or link; the message lists the known ones.
            PhysicsError: The axis is zero.
        """
        a, b = (ByName("body", bodies)[name] for name in self.bodies)
        i, j = a.body.link_index(self.links[0]), b.body.link_index(self.links[1])
        axis = unit_vector(self.axis)
        if axis is None:
            raise PhysicsError(f"joint '{self.name}': its axis must not be zero")
        X_BJ = self.X_BJ
        if all(np.array_equal(X.R, np.eye(3)) for X in (self.X_AJ, X_BJ)):
            X_BJ = Pose(b.motion.R[j].T @ a.motion.R[i], X_BJ.p)
        return BodyJoint(
            name=self.name,
            type=self.type,
            bodies=self.bodies,
            links=(i, j),
            X_AJ=self.X_AJ,
            X_BJ=X_BJ,
            axis=self.X_AJ.R.T @ axis,
        )


class Handling:
    """Holders, conveyors and joints between the bodies of a simulation, ``Simulation.handling``.

    A holder is on while it holds something.

    Args:
        engine: The physics.
        schedule: The devices by name, and whether they are on.
        joints: Of the world; a reset restores them.
        surfaces: Returns the initial surface velocities of links of a body in the world file,
            linear in the link's frame, by link name.
        is_fixed: Returns whether the root of a body is fixed to the world.
    """

    def __init__(
        self,
        engine: Engine,
        schedule: SensorSchedule,
        joints: Sequence[JointEntry],
        surfaces: Callable[[str], Mapping[str, Array]],
        is_fixed: Callable[[str], bool],
    ) -> None:
        self._engine = engine
        self._schedule = schedule
        self._entries = tuple(joints)
        self._surfaces = surfaces
        self._holders = Holders(engine, is_fixed)

    def start(self) -> None:
        """Add the joints of the world, and switch devices on, at time zero.

        Raises:
            KeyError: A joint refers to an unknown body or link.
            PhysicsError: The engine cannot simulate a joint.
        """
        for entry in self._entries:
            self.add_joint(entry)
        self.start_devices(self._engine.state.bodies)

    def restart(self) -> None:
        """Start again after a reset, with the joints of the world."""
        for simulated in self._engine.state.bodies.values():
            simulated.drive.surface_velocity[:] = 0.0
        self.start()

    def remove(self, body: str) -> None:
        """Forget the joints of a body that was removed: another one may get its name."""
        self._entries = tuple(entry for entry in self._entries if body not in entry.bodies)
        self.update()

    def start_devices(self, names: Collection[str]) -> None:
        """Let the conveyors of bodies run and holders hold that are on in their models.

        Raises:
            KeyError: The surface velocity of an unknown link is given.
        """
        for name in names:
            for link, linear in self._surfaces(name).items():
                self.set_surface_velocity(name, link, linear)
        for key, tool in self.tools.items():
            if tool.body not in names:
                continue
            if tool.kind == "holder" and self.held(key) is not None:  # by a joint of the world
                self._schedule.switch(key, True, self._engine.time_ns)
                continue
            if not self._schedule.is_on(key):
                continue
            device = self._device(tool)
            try:
                if isinstance(device, Conveyor):
                    self.set_speed(key, device.speed)
                else:
                    self.hold(key)
            except (GripError, ValueError) as error:
                _log.warning("%s", error)
                self._schedule.switch(key, False, self._engine.time_ns)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """All holders and conveyors by name, which is formed like that of sensors."""
        return self._schedule.tools

    @property
    def joints(self) -> Mapping[str, BodyJoint]:
        """The joints between bodies by name, those of holders included."""
        return self._engine.joints

    @property
    def needs_contacts(self) -> bool:
        """Whether a holder holds what touches it, for which steps must record contacts."""
        devices = (self._device(tool) for tool in self.tools.values())
        return any(
            isinstance(d, Holder) and d.condition is HoldCondition.COLLISION for d in devices
        )

    def hold(self, holder: str, target: str | None = None) -> BodyJoint:
        """Let a holder take hold of another body.

        It holds the nearest link that can move and is in its reach, by a fixed joint, as the link
        is now: nothing is moved. Both links do not collide with each other meanwhile. It lets go
        when either body is moved or removed, and at a reset.

        Args:
            holder: Name of the holder, one of ``tools``.
            target: Name of the only body to hold.

        Returns:
            The joint, whose second body is held.

        Raises:
            GripError: It holds something already, or nothing is in reach, or another holder has
                what is; a ``PhysicsError``.
            KeyError: There is no such holder or body; the message lists the known ones.
        """
        tool = self._tool(holder, "holder")
        device = self._device(tool)
        assert isinstance(device, Holder)
        made = self._holders.hold(tool.body, device, target)
        self._schedule.switch(holder, True, self._engine.time_ns)
        return made

    def let_go(self, holder: str) -> None:
        """Let a holder let go of what it holds, if anything.

        Raises:
            KeyError: There is no such holder; the message lists the known ones.
        """
        tool = self._tool(holder, "holder")
        self._holders.let_go(tool.body, tool.name)
        self._schedule.switch(holder, False, self._engine.time_ns)

    def held(self, holder: str) -> BodyJoint | None:
        """Return the joint by which a holder holds a body, or None.

        Raises:
            KeyError: There is no such holder; the message lists the known ones.
        """
        tool = self._tool(holder, "holder")
        return self._holders.held(tool.body, tool.name)

    def set_speed(self, conveyor: str, speed: float) -> None:
        """Let a conveyor run at a speed, until a reset.

        Args:
            conveyor: Name of the conveyor, one of ``tools``.
            speed: In [m/s], or in [rad/s] if it is rotary.

        Raises:
            KeyError: There is no such conveyor; the message lists the known ones.
            ValueError: The speed is not finite or too large.
        """
        tool = self._tool(conveyor, "conveyor")
        device = self._device(tool)
        assert isinstance(device, Conveyor)
        with np.errstate(invalid="ignore"):  # it is refused then
            velocity = _surface_velocity(device, speed)
        self.set_surface_velocity(tool.body, device.link, velocity[3:], velocity[:3])
        self._schedule.switch(conveyor, True, self._engine.time_ns)

    def set_surface_velocity(
        self, body: str, link: str, linear: Array, angular: Array | None = None
    ) -> None:
        """Let the surface of any link move like that of a conveyor, until a reset.

        Args:
            body: Name of the body.
            link: Name of the link, which does not move itself.
            linear: Velocity of the surface relative to the link, in its frame, in [m/s], shape
                (3,).
            angular: Angular velocity about the link's origin, likewise, in [rad/s], shape (3,);
                None means zero.

        Raises:
            KeyError: There is no such body or link.
            ValueError: A vector does not have three finite numbers below 1e12.
        """
        simulated = ByName("body", self._engine.state.bodies)[body]
        parts = [np.zeros(3) if part is None else np.asarray(part) for part in (angular, linear)]
        if not all(part.shape == (3,) and np.all(np.abs(part) < MAX_DRIVE_VALUE) for part in parts):
            raise ValueError(
                f"body '{body}', link '{link}': a surface velocity must be three finite numbers "
                f"below {MAX_DRIVE_VALUE:g}"
            )
        index = simulated.body.link_index(link)
        simulated.drive.surface_velocity[index] = np.concatenate(parts)

    def add_joint(self, entry: JointEntry) -> None:
        """Connect links of two bodies by a joint, until a reset.

        The links do not collide with each other meanwhile. The joint is removed when either body
        is moved or removed.

        Raises:
            KeyError: There is no such body or link; the message lists the known ones.
            PhysicsError: The name is taken, neither link can move, a number is invalid, or the
                engine does not support the type.
        """
        self._engine.add_joint(entry.resolve(self._engine.state.bodies))

    def remove_joint(self, name: str) -> None:
        """Remove a joint between bodies, until a reset.

        Raises:
            KeyError: There is no joint of this name; the message lists the known ones.
        """
        self._engine.remove_joint(name)
        self.update()

    def set_enabled(self, key: str, on: bool) -> None:
        """Switch a holder or conveyor, which runs at the speed of its model."""
        device = self._device(self.tools[key])
        if isinstance(device, Conveyor):
            self.set_speed(key, device.speed if on else 0.0)
            self._schedule.switch(key, on, self._engine.time_ns)
        elif not on:
            self.let_go(key)
        elif self.held(key) is None:
            self.hold(key)

    def update(self) -> None:
        """Switch holders off whose bodies were moved or removed, which ended their joints."""
        for key, tool in self.tools.items():
            if tool.kind == "holder" and self._schedule.is_on(key) and self.held(key) is None:
                self._schedule.switch(key, False, self._engine.time_ns)

    def _tool(self, key: str, kind: str) -> Tool:
        tool = self.tools[key]
        if tool.kind != kind:
            raise PhysicsError(f"'{key}' is a {tool.kind}, not a {kind}")
        return tool

    def _device(self, tool: Tool) -> Holder | Conveyor:
        """Return the device in the model; of equal names the first one, as elsewhere."""
        kind = Holder if tool.kind == "holder" else Conveyor
        devices = self._engine.state.bodies[tool.body].body.devices
        return next(d for d in devices if isinstance(d, kind) and d.name == tool.name)


def _surface_velocity(device: Conveyor, speed: float) -> Array:
    """Return the velocity of a link's surface: angular, then linear, in L, shape (6,)."""
    along = device.X_LS.R @ device.axis * speed
    if device.is_rotary:
        return np.concatenate([along, np.cross(device.X_LS.p, along)])
    return np.concatenate([np.zeros(3), along])
