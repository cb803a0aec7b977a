"""What controllers and force hooks read and write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from hrp_model import Body, JointType, Pose
from hrp_model.diagnostics import did_you_mean_or_all, names_with_hint
from hrp_model.files.resources import resolve
from hrp_model.rigid import Array

from ...engine.engine import Engine, Placement
from ...engine.schedule import NS_PER_S
from ...engine.state import MAX_DRIVE_VALUE, BodyMotion, SimulatedBody
from ...sensors import Reading, Sensor
from ...sensors.sensor_schedule import Switchable
from .. import Command, ControlMode
from ..controller import BodyController
from ..handling import Handling
from ..joints import JointTargets


def read_only_motion(motion: BodyMotion) -> BodyMotion:
    """Return views of the live arrays of a motion through which they cannot be written."""
    views = {f.name: getattr(motion, f.name).view() for f in fields(motion)}
    for view in views.values():
        view.flags.writeable = False
    return BodyMotion(**views)


def assign(target: Array, name: str, values: Array) -> None:
    """Copy an array or a number into an array that controllers see.

    Args:
        target: The array.
        name: Of the attribute, for messages.
        values: Of the same shape, or one for all elements.

    Raises:
        ValueError: The shape is another one, or the values are no numbers.
        TypeError: The values are no numbers.
    """
    given = np.asarray(values)
    if given.shape not in ((), target.shape):
        raise ValueError(f"{name} must have the shape {target.shape}, not {given.shape}")
    target[:] = given


class ForceState:
    """State of a body before a step, and the forces and torques that hooks add to the step.

    Attributes:
        motion: State of the body, read-only.
        q: Joint positions, in [rad] or [m], shape (joints,), read-only.
        dq: Joint velocities, likewise.
    """

    # So that a misspelled attribute is an error.
    __slots__ = (
        *("dq", "motion", "q", "_axes", "_before", "_force", "_joint_effort", "_moving"),
        *("_parents", "_slides", "_torque", "_values", "_wrench"),
    )

    def __init__(self, target: SimulatedBody) -> None:
        self.motion: BodyMotion = read_only_motion(target.motion)
        self.q, self.dq = self.motion.q, self.motion.dq
        links, joints = len(target.body.links), len(target.body.moving_links)
        self._values = np.zeros(6 * links + joints)
        self._force: Array = self._values[: 3 * links].reshape(links, 3)
        self._torque: Array = self._values[3 * links : 6 * links].reshape(links, 3)
        self._joint_effort: Array = self._values[6 * links :]
        self._wrench = target.wrench
        self._moving = [target.body.link_index(link.name) for link in target.body.moving_links]
        self._parents = [target.body.parent_indices[i] for i in self._moving]
        self._axes = [link.joint.axis for link in target.body.moving_links]
        self._slides = [x.joint.type is JointType.PRISMATIC for x in target.body.moving_links]
        self._before = target.wrench.force.copy(), target.wrench.torque.copy()

    @property
    def joint_effort(self) -> Array:
        """Torques and forces about and along the axes of the joints; assign or write into it.

        Beside those of the motors and not bounded by their limits, in [N m] or [N], shape
        (joints,).
        """
        return self._joint_effort

    @joint_effort.setter
    def joint_effort(self, values: Array) -> None:
        assign(self._joint_effort, "joint_effort", values)

    @property
    def force(self) -> Array:
        """Forces on the link origins, in W, in [N], shape (links, 3); likewise."""
        return self._force

    @force.setter
    def force(self, values: Array) -> None:
        assign(self._force, "force", values)

    @property
    def torque(self) -> Array:
        """Torques about the link origins, in W, in [N m], shape (links, 3); likewise."""
        return self._torque

    @torque.setter
    def torque(self, values: Array) -> None:
        assign(self._torque, "torque", values)

    def begin(self) -> None:
        """Set all forces and torques to zero; ``take_back`` returns to the present wrench."""
        self._values[:] = 0.0
        self._before[0][:], self._before[1][:] = self._wrench.force, self._wrench.torque

    def problem(self) -> str:
        """Return what is wrong with the forces and torques; "" for nothing."""
        if float(self._values @ self._values) < MAX_DRIVE_VALUE**2:  # not if one is NaN
            return ""
        for name in ("joint_effort", "force", "torque"):
            if not np.all(np.abs(getattr(self, name)) < MAX_DRIVE_VALUE):
                return f"{name} must be finite and below {MAX_DRIVE_VALUE:g}"
        return ""

    def add(self) -> None:
        """Add the forces and torques to those of the next step."""
        wrench, motion = self._wrench, self.motion
        for j, effort in enumerate(self._joint_effort.tolist()):
            if effort == 0.0:
                continue
            child, parent = self._moving[j], self._parents[j]
            along = motion.R[child] @ self._axes[j] * effort
            # Equal and opposite on the parent, a force at the same point.
            if not self._slides[j]:
                self._torque[child] += along
                self._torque[parent] -= along
                continue
            self._force[child] += along
            self._force[parent] -= along
            self._torque[parent] -= np.cross(motion.p[child] - motion.p[parent], along)
        wrench.force += self._force
        wrench.torque += self._torque

    def take_back(self) -> None:
        """Restore the external wrench after the step."""
        self._wrench.force[:], self._wrench.torque[:] = self._before


class DeviceWorld(Protocol):
    """A world with devices, such as a ``Simulation``."""

    @property
    def sensors(self) -> Mapping[str, Sensor]:
        """All sensors by name."""

    @property
    def devices(self) -> Mapping[str, Switchable]:
        """All sensors, lights, holders and conveyors by name."""

    @property
    def handling(self) -> Handling:
        """The holders and conveyors."""

    def is_enabled(self, name: str) -> bool:
        """Return whether one of ``devices`` is on."""

    def set_enabled(self, name: str, on: bool) -> None:
        """Switch one of ``devices``."""

    def is_fixed(self, body: str) -> bool:
        """Return whether the root of a body is fixed to the world."""

    def move(self, placement: Placement) -> None:
        """Teleport a body."""


def name_in_world(
    devices: Mapping[str, Switchable], body: str, name: str, kind: str = "device"
) -> str:
    """Return the name in the world of a device of a body, given that in the model.

    ``kind`` is what the devices are, for the message.

    Raises:
        KeyError: The body has no such device; the message lists those that it has.
    """
    own = {device.name: key for key, device in devices.items() if device.body == body}
    if name not in own:
        raise KeyError(f"body '{body}' has no {kind} '{name}'; it has {names_with_hint(name, own)}")
    return own[name]


class ControllerIO:
    """What a controller reads of its body, and the targets that it sets.

    The state arrays are live and read-only: they show the present state at any time. Joints are
    in the order of ``model.moving_links``: those with an id first, by their ids. Targets are in
    the same order; only those of joints that ``drive`` has selected have an effect.

    Args:
        target: The body.
        engine: Provides the time.
        joints: The controller of its joints; None for a static body.
        enable: Enables a sensor of the body; see ``enable``.
        world: Has the devices of the body.
        time_step: The control period, in [s].
        args: Arguments of the user.
        folder: See ``resolve``.

    Attributes:
        body: Name of the body in the world.
        model: The model.
        motion: Positions, velocities and so on of links and joints.
        q: Joint positions, in [rad] or [m], shape (joints,).
        dq: Joint velocities, likewise.
        effort: Efforts of the drives over the last step, in [N m] or [N], shape (joints,).
        time_step: The control period, in [s].
        args: Arguments of the user, from ``args`` in the world file.
    """

    # So that a misspelled attribute is an error.
    __slots__ = (
        *("args", "body", "dq", "effort", "model", "motion", "q", "readings", "targets"),
        *("place_at", "time_step", "_drive", "_enable", "_enabled", "_engine", "_folder"),
        *("_has_commanded", "_joints", "_world"),
    )

    def __init__(
        self,
        target: SimulatedBody,
        engine: Engine,
        joints: BodyController | None,
        enable: Callable[[str], str],
        world: DeviceWorld,
        time_step: float,
        args: Mapping[str, object],
        folder: Path,
    ) -> None:
        self.body = target.name
        self.model: Body = target.body
        self.motion: BodyMotion = read_only_motion(target.motion)
        self.q, self.dq, self.effort = self.motion.q, self.motion.dq, self.motion.effort
        self.time_step = time_step
        self.args: Mapping[str, object] = MappingProxyType(dict(args))
        self.readings: dict[str, Reading] = {}  # of enabled sensors, by name in the world
        self.targets = JointTargets(len(self.q))
        self._folder = folder
        self._engine = engine
        self._joints = joints
        self._drive = target.drive
        self._enable, self._world = enable, world
        self._has_commanded = False
        self.place_at: tuple[Pose, Array] | None = None  # asked for by ``place``
        self._enabled: dict[str, str] = {}  # name in the world by the name that was given
        self.restart()

    @property
    def time_ns(self) -> int:
        """Simulation time, in [ns]."""
        return self._engine.time_ns

    @property
    def time(self) -> float:
        """Simulation time, in [s]."""
        return self._engine.time_ns / NS_PER_S

    @property
    def is_commanded(self) -> bool:
        """Whether others have commanded the body since the start, a reset or a restore.

        Others are topics, the page of a run and the program that has the simulation, not
        controllers. It lets a controller hand the body over.
        """
        return self._joints is not None and self._joints.is_commanded

    @property
    def q_target(self) -> Array:
        """Target positions, in [rad] or [m], shape (joints,); assign or write into it."""
        return self.targets.q

    @q_target.setter
    def q_target(self, values: Array) -> None:
        assign(self.targets.q, "q_target", values)

    @property
    def dq_target(self) -> Array:
        """Target velocities, likewise; feed-forward for joints in position mode."""
        return self.targets.dq

    @dq_target.setter
    def dq_target(self, values: Array) -> None:
        assign(self.targets.dq, "dq_target", values)

    @property
    def effort_target(self) -> Array:
        """Target efforts, in [N m] or [N]; feed-forward for joints in the other modes."""
        return self.targets.effort

    @effort_target.setter
    def effort_target(self, values: Array) -> None:
        assign(self.targets.effort, "effort_target", values)

    def joint(self, joint: str | int) -> int:
        """Return the element of q of a joint, given by its name or id.

        Raises:
            KeyError: The body has no such moving joint; the message lists them.
        """
        links = self.model.moving_links
        for i, link in enumerate(links):
            if joint == (link.joint.name if isinstance(joint, str) else link.joint.id):
                return i
        if isinstance(joint, str):
            hint = did_you_mean_or_all(joint, [link.joint.name for link in links])
            raise KeyError(f"body '{self.body}' has no moving joint '{joint}'.{hint}")
        ids = ", ".join(str(x.joint.id) for x in links if x.joint.id is not None)
        raise KeyError(
            f"body '{self.body}' has no joint of id {joint}; its ids are {ids or 'none'}"
        )

    def link(self, link: str) -> int:
        """Return the index of a link in the arrays of ``motion``.

        Raises:
            KeyError: The body has no such link; the message lists them.
        """
        return self.model.link_index(link)

    def resolve(self, reference: str) -> Path:
        """Return the file that an argument names: a path relative to the world file, or a URI.

        Without a world file, paths are relative to the working directory.

        Raises:
            ResourceError: There is no such file.
        """
        return resolve(reference, self._folder)

    def drive(
        self,
        mode: ControlMode | str | None = None,
        joints: Iterable[str | int] | None = None,
    ) -> None:
        """Drive joints from now on: their targets take effect after each ``control``.

        In effort mode a joint gets ``effort_target`` alone, without its servo.

        Args:
            mode: "position", "velocity" or "effort"; None keeps the mode of each joint in the
                world.
            joints: Names or ids; None means all joints with an id, or all if none has one.

        Raises:
            KeyError: The body has no such joint.
            ValueError: The mode is unknown, or a joint follows another joint.
        """
        if self._joints is None:
            raise ValueError(f"body '{self.body}' is static and has no joints to drive")
        given = None if mode is None else ControlMode(mode)
        links = self.model.moving_links
        if joints is None:
            free = [i for i, link in enumerate(links) if link.joint.mimic is None]
            chosen = [i for i in free if links[i].joint.id is not None] or free
        else:
            chosen = [self.joint(joint) for joint in joints]
        modes = {}
        for i in chosen:
            joint = links[i].joint
            if joint.mimic is not None:
                raise ValueError(f"joint '{joint.name}' follows another joint and has no target")
            modes[i] = self._joints.mode(joint.name) if given is None else given
        self.targets.drive(modes)

    def command(self, command: Command) -> None:
        """Apply a command now, as one that is received from elsewhere.

        For what arrays do not offer: trajectories, tracks, and vehicles by ``vehicle_command``.

        Raises:
            ValueError: The body is static.
        """
        if self._joints is None:
            raise ValueError(f"body '{self.body}' is static and takes no commands")
        self._has_commanded = True
        self._joints.apply(command, self._engine.time_ns, by_controller=True)

    def place(self, p: ArrayLike, R: ArrayLike, q: ArrayLike) -> None:
        """Ask that the body be teleported, at rest, before the next step; see ``Simulation.move``.

        Args:
            p: Where the origin of the root link will be, in [m], shape (3,).
            R: Its rotation, shape (3, 3).
            q: Joint positions, in [rad] or [m], shape (joints,).

        Raises:
            ValueError: An array has another shape.
        """
        joints = np.array(q, dtype=np.float64)
        if joints.shape != self.q.shape:
            raise ValueError(f"q must have the shape {self.q.shape}, not {joints.shape}")
        self.place_at = Pose(np.array(R, dtype=np.float64), np.array(p, dtype=np.float64)), joints

    def enable(self, sensor: str) -> None:
        """Enable a sensor of the body as an input, so that ``reading`` returns its readings.

        Raises:
            KeyError: The body has no such sensor; the message lists them.
        """
        self._enabled[sensor] = self._enable(sensor)

    def reading(self, sensor: str) -> Reading | None:
        """Return the newest reading of an enabled sensor; None before its first one.

        Raises:
            KeyError: The sensor is not enabled.
        """
        if sensor not in self._enabled:
            raise KeyError(f"sensor '{sensor}' is not enabled: call io.enable('{sensor}') first")
        return self.readings.get(self._enabled[sensor])

    def is_enabled(self, device: str) -> bool:
        """Return whether a sensor, light, holder or conveyor of the body is on.

        A holder is on while it holds something.

        Raises:
            KeyError: The body has no such device; the message lists them.
        """
        return self._world.is_enabled(name_in_world(self._world.devices, self.body, device))

    def set_enabled(self, device: str, on: bool) -> None:
        """Switch a sensor, light, holder or conveyor of the body; see ``Simulation.set_enabled``.

        Raises:
            KeyError: The body has no such device; the message lists them.
            GripError: There is nothing that the holder can hold.
        """
        self._world.set_enabled(name_in_world(self._world.devices, self.body, device), on)

    def set_speed(self, conveyor: str, speed: float) -> None:
        """Set the speed of a conveyor of the body, in [m/s] or [rad/s]; see ``Handling.set_speed``.

        Raises:
            KeyError: The body has no such conveyor; the message lists its devices.
            ValueError: The speed is not finite or too large.
        """
        world = self._world
        world.handling.set_speed(name_in_world(world.devices, self.body, conveyor), speed)

    @property
    def enabled(self) -> frozenset[str]:
        """Names in the world of the enabled sensors."""
        return frozenset(self._enabled.values())

    def restart(self) -> None:
        """Set the targets for a start: those that the servos have now, and no feed-forward."""
        self.targets.q[:] = self._drive.q
        self.targets.dq[:] = self.targets.effort[:] = 0.0
        self.targets.applied_modes = -1
        self.place_at = None
        self.readings.clear()

    def apply_targets(self, time_ns: int) -> None:
        """Let the targets take effect in the step that begins at a time, in [ns]."""
        if self.targets.modes and self._joints is not None:
            self._joints.set_targets(self.targets, time_ns)

    def release(self) -> None:
        """End the velocities and efforts of the driven joints, and stop the tracks it commanded."""
        if self._joints is None:
            return
        if self.targets.modes:
            self._joints.release_targets(self.targets)
        if self._has_commanded:
            self._joints.release_tracks()

    def target_problem(self) -> str:
        """Return which target is not finite or too large; "" for none."""
        rows = zip(("q_target", "dq_target", "effort_target"), self.targets.values, strict=True)
        for name, row in rows:
            for link, value in zip(self.model.moving_links, row.tolist(), strict=True):
                if not abs(value) < MAX_DRIVE_VALUE:
                    return f"{name} of joint '{link.joint.name}' to {value:g}"
        return ""
