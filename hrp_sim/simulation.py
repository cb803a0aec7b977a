"""One step of the world: commands, physics, sensors. No ROS and no wall clock."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping

import numpy as np

from hrp_model import Diagnostics
from hrp_model.rigid import Array

from .advice import advise_spawned
from .control import BodyController, Command, CommandCounts
from .control.command_queue import Drives
from .engines import ENGINES, make_engine
from .physics.by_name import ByName
from .physics.contact_points import ContactPoints
from .physics.engine import Engine, Placement
from .physics.external_wrenches import ExternalWrenches, TimedWrench
from .physics.snapshot import Snapshot, check_arrays, check_names
from .physics.state import SimulatedBody, WorldState
from .sensors import Reading, Sensor
from .sensors.sensor_schedule import Light
from .sensors.world_sensors import WorldSensors
from .world.arguments import as_command, as_world
from .world.config import BodyEntry, WorldConfig


class Simulation:
    """A world that runs: its physics, the controllers that drive it, the sensors that watch it.

    One thread steps it, changes what is in it and switches it; ``command`` and ``push`` are
    for all. ``with Simulation(...) as sim:`` closes it at the end.

    A simulation itself cannot be pickled. A ``WorldConfig`` can: give it to another process and
    make a simulation of it there, which runs as this one does, to the last bit.

    Args:
        world: What is in it, or the path of a world file or of a model; see ``load_world``.
        engine: Made from the world's settings; ODE by default.
        defer_images: Cameras give an ``RenderRequest`` instead of an image, to be developed
            later, maybe by another thread.
        diagnostics: Where warnings go, of sensors and spawning; by default they are logged.

    Attributes:
        engine: The physics.
        wanted: Asked with a sensor's name before it is read when due, and before it looks at a
            step; False saves the work.
        switched: Called with the name of a sensor or light and whether it is on now, whenever
            that has changed.

    Raises:
        ModelError: The file of the world, or of a model in it, cannot be used.
        PhysicsError: The engine cannot take a body; the message names body and link.
        MissingLibraryError: ODE is not installed.
        TypeError: ``world`` is neither a world nor a path.
    """

    def __init__(
        self,
        world: WorldConfig | str | os.PathLike[str],
        *,
        engine: Engine | None = None,
        defer_images: bool = False,
        diagnostics: Diagnostics | None = None,
    ) -> None:
        world = as_world(world, diagnostics)
        self.engine = make_engine(ENGINES[0], world.physics) if engine is None else engine
        self.wanted: Callable[[str], bool] = lambda _name: True
        self.switched: Callable[[str, bool], None] = lambda _name, _on: None
        self._diagnostics = Diagnostics() if diagnostics is None else diagnostics
        self._placements = ByName[Placement]("body", {})
        self._namespaces = ByName[str | None]("body", {})
        self._drives, self._wrenches = Drives(), ExternalWrenches()
        self._sensors = WorldSensors(
            self.engine,
            world.sensors,
            self._diagnostics,
            defer_images=defer_images,
            switched=lambda name, on: self.switched(name, on),
        )
        self._schedule = self._sensors.schedule
        for entry in world.bodies:
            self._add_body(entry)
        self.engine.reset()
        self._add_sensors(self.bodies)

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def state(self) -> WorldState:
        """The world as it is now; its arrays are live."""
        return self.engine.state

    @property
    def bodies(self) -> Mapping[str, SimulatedBody]:
        """The bodies by name."""
        return self.state.bodies

    @property
    def command_counts(self) -> CommandCounts:
        """What became of the commands to all bodies."""
        return self._drives.counts

    @property
    def sensors(self) -> Mapping[str, Sensor]:
        """Every sensor by its name, which stays as long as the sensor.

        It is the name of the device in the model, with the body's name and a slash in front
        where several bodies have sensors of that name.
        """
        return self._schedule.sensors

    @property
    def lights(self) -> Mapping[str, Light]:
        """Every light by its name, which it has as sensors have theirs."""
        return self._schedule.lights

    def is_enabled(self, name: str) -> bool:
        """Tell whether a sensor or light is on.

        Raises:
            KeyError: There is none of this name; the message lists those there are.
        """
        return self._schedule.is_on(name)

    def set_enabled(self, name: str, on: bool) -> None:
        """Switch a sensor or light from now on, and until a reset.

        A sensor that is off is never read. When it goes on again it remembers nothing, and its
        samples fall on the same times as if it had never been off.

        Raises:
            KeyError: There is none of this name; the message lists those there are.
        """
        self._schedule.switch(name, on, self.state.time_ns)

    def is_fixed(self, body: str) -> bool:
        """Return whether the root of a body is fixed to the world.

        Raises:
            KeyError: There is no such body.
        """
        return self._placements[body].fixed

    def namespace(self, body: str) -> str | None:
        """Return the namespace that a body is to have, or None if there is no wish.

        Raises:
            KeyError: There is no such body.
        """
        return self._namespaces[body]

    def spawn(self, entry: BodyEntry) -> SimulatedBody:
        """Put a further body into the world; its sensors count their samples from now on.

        After a reset it is still there, where it was put. A warning tells what it is deep inside.

        Raises:
            PhysicsError: The engine cannot take it; the message names body and link.
            ValueError: Its control names a joint that it does not have, or its options a sensor
                that it does not have, or what such a sensor may not be asked.
        """
        simulated = self._add_body(entry)
        self._add_sensors([simulated.name])
        for found in advise_spawned(entry, self.bodies, self.is_fixed, self.engine.settings):
            self._diagnostics.add(found)
        return simulated

    def remove(self, name: str) -> None:
        """Take a body out of the world, and its sensors, commands and pushes with it.

        Raises:
            KeyError: There is none of this name.
            PhysicsError: The engine has failed; the world can only be reset.
        """
        self._body(name)
        self.engine.remove_body(name)
        del self._placements[name], self._namespaces[name]
        self._drives.remove(name)
        self._sensors.remove(name)

    def move(self, placement: Placement, *, keep_targets: bool = False) -> None:
        """Put the body ``placement.name`` elsewhere, as if it had jumped; see ``Engine``.

        Joints that hold a position hold that of the placement from now on. Its sensors remember
        nothing of before, so that encoders and filters do not feel the way.

        Args:
            placement: Where it shall be.
            keep_targets: Whether its joints go on to aim at what they aimed at.

        Raises:
            KeyError: There is none of this name.
            PhysicsError: The placement is not one of this body; nothing was moved.
        """
        self._body(placement.name)
        self.engine.move_body(placement)
        if not keep_targets:
            self._drives.move(placement)
        self._schedule.reset_sensors(placement.name)

    def push(
        self,
        body: str,
        link: str,
        force: Array,
        torque: Array,
        duration: float,
        point: Array | None = None,
        *,
        local: bool = False,
        source: str = "",
    ) -> None:
        """TimedWrench a link from the next step on. ExternalWrenches add up. May be called from any thread.

        Args:
            body: Name of the body in the world.
            link: Name of the link.
            force: In [N], shape (3,).
            torque: About the point, in [N m], shape (3,).
            duration: In simulated time, in [s]; the impulse is exact, whatever the step.
            point: Of the link, where the force acts: in the link's frame, in [m], shape (3,);
                None means the link's origin.
            local: Whether force and torque are in the link's axes, and turn with it; else in W.
            source: Who pushes; its next push of this link replaces this one. Empty means nobody.

        Raises:
            KeyError: There is no such body or link.
            ValueError: A number is not finite, or absurd, or there are not three.
        """
        wrench = (force, torque, np.zeros(3) if point is None else point)
        self._wrenches.add(
            TimedWrench.from_request(self._body(body), link, wrench, duration, local, source)
        )

    def contacts(self) -> ContactPoints:
        """Return where bodies touched in the last step, and with what forces.

        There are none unless ``engine.record_contacts`` was set before it.
        """
        return self.engine.contact_points()

    def command(
        self,
        body: str,
        command: Command | Mapping[str, float] | None = None,
        source: str = "",
        *,
        velocity: Mapping[str, float] | None = None,
        effort: Mapping[str, float] | None = None,
    ) -> None:
        """Hand a command to a body before its next step. May be called from any thread.

        Args:
            body: Name of the body in the world.
            command: Positions by joint name, in [rad] or [m]; or a ``JointCommand``,
                ``JointTrajectory``, ``TrajectoryRun`` or another command.
            source: Who sent it. Of several commands within a step, those of one source come in
                the order in which they were sent, and sources in the order of their names.
            velocity: Velocities by joint name, in [rad/s] or [m/s]; fed forward where the joint
                has a position too.
            effort: Efforts by joint name, in [N m] or [N]; added to what the servo does where
                the joint has a position or velocity too.

        Raises:
            KeyError: No body of this name can be commanded, or it has no such joint; the message
                lists those there are.
            TypeError: It is no command, or a value is no number.
            ValueError: A value by joint name is not finite, or absurd.
        """
        self.controller(body)
        given = as_command(self.bodies[body], command, velocity, effort)
        self._drives.command(body, given, source)

    def apply_pending(self) -> None:
        """Let changes of gains, modes and time-outs count now that wait for the next step."""
        self._drives.apply_pending(self.state.time_ns)

    def controller(self, body: str) -> BodyController:
        """Return what drives a body, to ask about its gains and modes, and to set them.

        Raises:
            KeyError: No body of this name can be commanded.
        """
        return self._drives.controller(body)

    def reset(self) -> None:
        """Go back to the start, at time zero, when everything is on or off as its model says."""
        self._wrenches.clear()
        self.engine.reset()
        self._drives.reset()
        self._schedule.reset()

    def retime(self, time_ns: int) -> None:
        """Set the clock to a time in [ns], at least 0; nothing moves by that.

        What is under way goes on: all that has a time of its own, as trajectories and time-outs
        have, comes as long after now as before. Samples are counted as if time had come here.
        """
        before_ns = self.state.time_ns
        self.engine.retime(time_ns)
        self._drives.retime(before_ns, time_ns)
        self._schedule.retime(before_ns, time_ns)

    def step(self) -> dict[str, Reading]:
        """Advance one step; return the readings that fell due, by sensor name.

        Each sensor has a kind of reading of its own, a dataclass that tells units and frames:
        ``ImuReading`` and so on in ``hrp_sim.sensors``.

        Raises:
            PhysicsError: The physics cannot go on; the world stays as before the step.
        """
        time_ns, step_ns = self.state.time_ns, self.engine.settings.step_ns
        self._drives.take(time_ns)
        self._drives.update(time_ns, step_ns)
        if self._wrenches:
            with self._wrenches.applied(self.bodies, step_ns):
                self.engine.step()
        else:
            self.engine.step()
        self._drives.judge(time_ns + step_ns)
        return self._sensors.read(self.wanted)

    def save(self) -> Snapshot:
        """Return the whole state; a run that goes on from it is the same to the last bit."""
        self._drives.take(self.state.time_ns)  # that is where they would have their effect
        parts = {
            "physics": self.engine.save(),
            "pushes": self._wrenches.save(),
            "drives": self._drives.save(),
            "simulation": self._schedule.save(),
        }
        return Snapshot({f"{k}/{name}": a for k, part in parts.items() for name, a in part.items()})

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a saved state. Commands that wait are forgotten.

        The world must have the same settings and the same bodies, placed in the same way when
        they were added; spawn or remove what differs first.

        Raises:
            PhysicsError: Something does not fit; the message names it, and nothing has changed.
        """
        physics, own = snapshot.part("physics"), snapshot.part("simulation")
        check_names(physics, self.bodies)
        pushes = ExternalWrenches.from_arrays(snapshot.part("pushes"), self.bodies)
        drives = self._drives.check(snapshot.part("drives"))
        check_arrays(own, self._schedule.save())
        self.engine.restore(physics)
        self._wrenches = pushes
        self._drives.restore(drives, self.state.time_ns)
        self._schedule.restore(own, self.state.time_ns)

    def state_hash(self) -> str:
        """Return the SHA-256 of time and every body's motion: equal for equal runs."""
        return self.state.digest()

    def close(self) -> None:
        """Free the engine (idempotent). Nothing else may be called afterwards."""
        self.engine.close()

    def _body(self, name: str) -> SimulatedBody:
        return ByName("body", self.bodies)[name]

    def _add_body(self, entry: BodyEntry) -> SimulatedBody:
        """Add a body and what drives it, or nothing."""
        placement = entry.placement
        own_settings = self._sensors.own_settings(entry.placement, entry.sensors)
        simulated = self.engine.add_body(placement)
        try:
            self._drives.add(simulated, entry.placement, entry.control)
        except ValueError:
            self.engine.remove_body(simulated.name)
            raise
        self._placements[simulated.name] = placement
        self._namespaces[simulated.name] = entry.namespace
        self._sensors.set_own_settings(simulated.name, own_settings)
        return simulated

    def _add_sensors(self, names: Collection[str]) -> None:
        self._sensors.add(names, {name for name in names if self.is_fixed(name)})
