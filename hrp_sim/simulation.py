"""The simulation of a world: commands, physics and sensors, without ROS and wall clock."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from math import inf

import numpy as np

from hrp_model import Diagnostics
from hrp_model.rigid import Array

from .control import BodyController, Command, CommandCounts
from .control.command_queue import CommandQueue
from .control.controllers.classes import Plugin
from .control.controllers.world_controllers import WorldControllers
from .control.conversions import as_command
from .control.handling import Handling
from .engine.engine import Engine, Placement, make_engine, make_ode_engine
from .engine.external_wrenches import ExternalWrenches, TimedWrench
from .engine.schedule import NS_PER_S
from .engine.snapshot import Snapshot, check_arrays, check_names
from .engine.state import ByName, ContactPoints, SimulatedBody, WorldState
from .sensors import Reading, Sensor
from .sensors.sensor_schedule import Light, Switchable
from .sensors.world_sensors import WorldSensors
from .world.advice import advise, advise_spawned, failure_hint, remarks
from .world.config import BodyEntry, WorldConfig
from .world.load import as_world
from .world.placements import Placements

# Maximum number of steps in one call of the engine: so few that signals and commands of other
# threads do not wait for long, and so many that the calls cost nothing.
_MAX_STEPS = 24


class Simulation:
    """A simulated world: its physics, controllers and sensors.

    Only one thread may use it; ``command`` and ``push`` may be called from any thread. Controllers
    cannot step, change, save or close the simulation that calls them: that is a RuntimeError.
    ``with Simulation(...) as sim:`` closes it at the end.

    A simulation cannot be pickled, but a ``WorldConfig`` can: a simulation created from it in
    another process runs identically, to the last bit.

    Args:
        world: The configuration, or the path of a world file or of a model; see ``load_world``.
        engine: Created from the world's settings; ODE by default.
        defer_images: Whether cameras return a ``RenderRequest`` instead of an image, to be
            rendered later, possibly in another thread.
        run_controllers: Whether the controllers of the world run; False executes none of their
            code.
        diagnostics: Receives warnings about sensors, spawning and controllers; by default they
            are logged.

    Attributes:
        engine: The physics.
        commands: Queue of the commands that ``command`` has checked, and the joint controllers.
        controllers: Controllers and force hooks of users; see ``add_controller``.
        handling: Holds and releases by holders, conveyors, and joints between bodies.
        placements: Present and initial placements of the bodies, to teleport joints.
        noise_seed: Its ``value`` seeds the noise of all sensors; saved states do not contain it.
        wanted: Called with a sensor's name before it is read or processes a step; returning
            False skips that.
        switched: Called with the name of a sensor or light and whether it is on now, after each
            change.

    Raises:
        ModelError: The world file, or a model in it, has errors; or a controller is none.
        PhysicsError: The engine cannot simulate a body; the message names body and link.
        MissingLibraryError: ODE is not installed.
        TypeError: ``world`` is neither a configuration nor a path.
    """

    def __init__(
        self,
        world: WorldConfig | str | os.PathLike[str],
        *,
        engine: Engine | None = None,
        defer_images: bool = False,
        run_controllers: bool = True,
        diagnostics: Diagnostics | None = None,
    ) -> None:
        world = as_world(world, diagnostics)
        self.engine = make_ode_engine(world.physics) if engine is None else engine
        self._step_ns = self.engine.settings.step_ns
        self.wanted: Callable[[str], bool] = lambda _name: True
        self.switched: Callable[[str, bool], None] = lambda _name, _on: None
        self._diagnostics = Diagnostics() if diagnostics is None else diagnostics
        self._namespaces = ByName[str | None]("body", {})
        self.commands, self._wrenches = CommandQueue(), ExternalWrenches()
        self.placements = Placements(self.engine, self.commands, self._after_move)
        self._contact_users: set[object] = set()
        self._sensors = WorldSensors(
            self.engine,
            world.sensors,
            self._diagnostics,
            defer_images=defer_images,
            switched=lambda name, on: self.switched(name, on),
        )
        self._schedule, self.noise_seed = self._sensors.schedule, self._sensors.noise_seed
        self._surfaces: dict[str, Mapping[str, Array]] = {}
        self.handling = Handling(
            self.engine, self._schedule, world.joints, self._surfaces.__getitem__, self.is_fixed
        )
        for entry in world.bodies:
            self._add_body(entry)
        self.engine.reset()
        self._add_sensors(self.bodies)
        self.handling.start()
        self._record_for_holders()
        self.controllers = WorldControllers(self.engine, self.commands, self, self._diagnostics)
        if run_controllers:
            self.controllers.add_entries(world.controllers)

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def state(self) -> WorldState:
        """The current state of the world; its arrays are live."""
        return self.engine.state

    @property
    def bodies(self) -> Mapping[str, SimulatedBody]:
        """The bodies by name."""
        return self.state.bodies

    @property
    def command_counts(self) -> CommandCounts:
        """Counts of accepted and rejected commands to all bodies."""
        return self.commands.counts

    @property
    def sensors(self) -> Mapping[str, Sensor]:
        """All sensors by name, which does not change while the sensor exists.

        The name is that of the device in the model, with the body's name and a slash in front if
        several bodies have sensors of that name.
        """
        return self._schedule.sensors

    @property
    def lights(self) -> Mapping[str, Light]:
        """All lights by name, which is formed like that of sensors."""
        return self._schedule.lights

    @property
    def devices(self) -> Mapping[str, Switchable]:
        """All sensors, lights, holders and conveyors by name, which can be on or off."""
        return self._schedule.devices

    def is_enabled(self, name: str) -> bool:
        """Return whether one of ``devices`` is on.

        Raises:
            KeyError: There is none of this name; the message lists the known ones.
        """
        return self._schedule.is_on(name)

    def set_enabled(self, name: str, on: bool) -> None:
        """Switch one of ``devices``, until a reset.

        A sensor that is off is never read. When it is switched on again its memory is reset; its
        sampling times are the same as if it had never been off. A holder is on while it holds a
        body; see ``Handling.hold``. A conveyor that is switched on runs at the speed of its model.

        Raises:
            KeyError: There is none of this name; the message lists the known ones.
            GripError: There is nothing that the holder can hold.
            ValueError: The conveyor's speed is too large.
        """
        if name in self.handling.tools:
            self.handling.set_enabled(name, on)
        else:
            self._schedule.switch(name, on, self.engine.time_ns)

    def is_fixed(self, body: str) -> bool:
        """Return whether the root of a body is fixed to the world.

        Raises:
            KeyError: There is no such body.
        """
        return self.placements.initial(body).fixed

    def namespace(self, body: str) -> str | None:
        """Return the namespace requested for a body, or None if there is none.

        Raises:
            KeyError: There is no such body.
        """
        return self._namespaces[body]

    def spawn(self, entry: BodyEntry) -> SimulatedBody:
        """Add a body to the world; sampling times of its sensors count from now.

        A reset puts it back to where it was added. Deep overlaps with other bodies are reported
        as warnings.

        Raises:
            PhysicsError: The engine cannot simulate it; the message names body and link.
            ValueError: Its control names an unknown joint, its options an unknown sensor, or an
                option is invalid for that sensor.
            KeyError: Its surface velocities name an unknown link.
        """
        self.controllers.check_outside()
        simulated = self._add_body(entry)
        self._add_sensors([simulated.name])
        self.handling.start_devices([simulated.name])
        self._record_for_holders()
        for found in advise_spawned(entry, self.bodies, self.is_fixed, self.engine.settings):
            self._diagnostics.add(found)
        return simulated

    def remove(self, name: str) -> None:
        """Remove a body from the world, with its joints, sensors, commands and external wrenches.

        Raises:
            KeyError: There is no body of this name.
            PhysicsError: The engine has failed; the world can only be reset.
        """
        self.controllers.check_outside()
        self._body(name)
        self.engine.remove_body(name)
        del self._namespaces[name], self._surfaces[name]
        self.placements.remove(name)
        self.commands.remove(name)
        self._sensors.remove(name)
        self.handling.remove(name)
        self._record_for_holders()
        self.controllers.remove_body(name)  # last, since code of users may be interrupted

    def move(self, placement: Placement, *, keep_targets: bool = False) -> None:
        """Teleport the body ``placement.name``; see ``Engine.move_body``.

        Joints that hold a position hold that of the placement from now on. The memory of its
        sensors is reset, so that encoders and filters are not affected by the jump. Its joints to
        other bodies are removed, so that holders let go.

        Args:
            placement: New state of the body.
            keep_targets: Whether its joints keep their targets.

        Raises:
            KeyError: There is no body of this name.
            PhysicsError: The placement is invalid for this body; nothing was moved.
        """
        self.controllers.check_outside()
        self._body(placement.name)
        self.engine.move_body(placement)
        if not keep_targets:
            self.commands.move(placement)
        self._after_move(placement.name)

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
        """Apply an external wrench to a link from the next step on. May be called from any thread.

        Wrenches on one link add up.

        Args:
            body: Name of the body in the world.
            link: Name of the link.
            force: In [N], shape (3,).
            torque: About the point, in [N m], shape (3,).
            duration: In simulation time, in [s]; the impulse is exact for any time step.
            point: Point of application in the link's frame, in [m], shape (3,); None means the
                link's origin.
            local: Whether force and torque are expressed in the link's frame; else in W.
            source: Name of the sender, whose next wrench on this link replaces this one. Empty
                means that it is never replaced.

        Raises:
            KeyError: There is no such body or link.
            ValueError: A vector does not have three finite numbers below 1e12, or the duration is
                not positive.
        """
        wrench = (force, torque, np.zeros(3) if point is None else point)
        self._wrenches.add(
            TimedWrench.from_request(self._body(body), link, wrench, duration, local, source)
        )

    def contacts(self) -> ContactPoints:
        """Return the contact points and forces of the last step.

        Empty unless ``engine.record_contacts`` was set before the step.
        """
        return self.engine.contact_points()

    def record_contacts(self, user: object, on: bool) -> None:
        """Record the contacts of the next steps while at least one user needs them.

        Args:
            user: Who needs them, compared by identity or by its own equality.
            on: Whether this user needs them from now on.
        """
        (self._contact_users.add if on else self._contact_users.discard)(user)
        wanted = bool(self._contact_users)
        if wanted != self.engine.record_contacts:  # setting it forgets those of the last step
            self.engine.record_contacts = wanted

    def command(
        self,
        body: str,
        command: Command | Mapping[str, float] | None = None,
        source: str = "",
        *,
        velocity: Mapping[str, float] | None = None,
        effort: Mapping[str, float] | None = None,
    ) -> None:
        """Queue a command to a body for the next step. May be called from any thread.

        Args:
            body: Name of the body in the world.
            command: Positions by joint name, in [rad] or [m]; or a ``JointCommand``,
                ``JointTrajectory``, ``TrajectoryRun`` or another command.
            source: Name of the sender. Commands of one source within a step apply in the order in
                which they were sent, sources in the order of their names.
            velocity: Velocities by joint name, in [rad/s] or [m/s]; feed-forward for joints with
                a position.
            effort: Efforts by joint name, in [N m] or [N]; feed-forward for joints with a
                position or velocity.

        Raises:
            KeyError: No body of this name can be commanded, or it has no such joint; the message
                lists the known ones.
            TypeError: It is not a command, or a value is not a number.
            ValueError: A value by joint name is not finite or too large.
        """
        self.controller(body)
        given = as_command(self.bodies[body], command, velocity, effort)
        self.commands.put(body, given, source)

    def apply_pending(self) -> None:
        """Apply changes of gains, modes and time-outs now instead of in the next step."""
        self.commands.apply_settings(self.engine.time_ns)

    def controller(self, body: str) -> BodyController:
        """Return the controller of a body, to get and set gains and modes.

        Raises:
            KeyError: No body of this name can be commanded.
        """
        return self.commands.controller(body)

    def add_controller(
        self,
        body: str,
        controller: Plugin,
        *,
        rate: float | None = None,
        args: Mapping[str, object] | None = None,
    ) -> None:
        """Add a controller or a force hook to a body, and start it.

        If it raises an exception or computes nonsense, it ends with a warning, and the simulation
        goes on.

        Args:
            body: Name of the body in the world.
            controller: A ``Controller`` or ``ForceHook``.
            rate: Calls of ``control`` per second of simulation time, in [Hz], each before the
                first step at or after k / rate; None means before each step.
            args: ``ControllerIO.args``.

        Raises:
            KeyError: There is no such body.
            TypeError: It is neither a controller nor a force hook.
            ValueError: The rate is not from 0.001 to 1e6 Hz.
        """
        self.controllers.add(body, controller, rate, {} if args is None else args)

    def remove_controller(self, controller: Plugin) -> None:
        """Stop and remove a controller or a force hook.

        Raises:
            KeyError: It was not added.
        """
        self.controllers.remove(controller)

    def interrupt(self) -> None:
        """Give up a step or a controller that is being executed; no effect between steps.

        For signal handlers, and for other threads, from which it does not leave a controller.
        """
        self.engine.interrupt()
        self.controllers.interrupt()

    def reset(self) -> None:
        """Go back to the initial state at time zero; devices are on or off as in their models.

        Joints between bodies are those of the world again. Controllers are stopped before, and
        started again in the initial state.
        """
        self.controllers.stop()
        self._wrenches.clear()
        self.engine.reset()
        self.commands.reset()
        self.placements.reset()
        self._schedule.reset()
        self.handling.restart()
        self.controllers.restart()

    def retime(self, time_ns: int) -> None:
        """Set the simulation time in [ns], at least 0; the state stays the same.

        Trajectories and time-outs are shifted along. Sampling times are those of a clock that
        reached this time by itself.
        """
        self.controllers.check_outside()
        before_ns = self.engine.time_ns
        self.engine.retime(time_ns)
        self.commands.retime(before_ns, time_ns)
        self._schedule.retime(before_ns, time_ns)
        self.controllers.retime(time_ns)

    def step(self) -> dict[str, Reading]:
        """Advance one step; return the readings that are due, by sensor name.

        Readings are dataclasses, which document units and frames: ``ImuReading`` and others in
        ``hrp_sim.sensors``.

        Raises:
            PhysicsError: The step failed; the world stays as before it.
        """
        return self.advance(1)

    def advance(self, steps: int) -> dict[str, Reading]:
        """Advance up to the next step with readings, by at most some steps; return them.

        It is the same as ``step`` repeated, to the last bit, but faster. It also stops after a
        step with an active trajectory, push or force hook, after some dozens of steps, and before
        a command time-out or a controller. Commands that other threads send meanwhile take effect
        in the next call.

        Args:
            steps: Maximum number of steps, at least 1.

        Returns:
            The readings that are due, by sensor name; ``state.time_ns`` is their time.

        Raises:
            PhysicsError: A step failed; the world stays as before it.
        """
        return self._advance(steps, passes_targets=False)

    def _advance(self, steps: int, *, passes_targets: bool) -> dict[str, Reading]:
        """Advance as ``advance``, or also over steps whose joint targets change."""
        self.controllers.check_outside()
        engine, commands, step_ns = self.engine, self.commands, self._step_ns
        controllers, time_ns = self.controllers, engine.time_ns
        commands.apply(time_ns)
        if time_ns >= controllers.next_ns:
            controllers.control(time_ns)
        change_ns = commands.update(time_ns, step_ns)
        end_ns = time_ns + step_ns
        is_acted_on = bool(self._wrenches or controllers.hooks)
        if steps == 1 or is_acted_on:
            if is_acted_on:
                with controllers.applied(step_ns), self._wrenches.applied(self.bodies, step_ns):
                    engine.step()
            else:
                engine.step()
            if change_ns <= time_ns:
                commands.check_trajectories(end_ns)
        else:
            until_ns = min(self._schedule.next_ns, controllers.next_ns)
            if not passes_targets:
                until_ns = min(until_ns, change_ns)
            most = min(steps, _MAX_STEPS, -((time_ns - until_ns) // step_ns))
            end_ns = max(end_ns, time_ns + most * step_ns)
            while time_ns < end_ns:
                count = max(-((time_ns - min(change_ns, end_ns)) // step_ns), 1)
                engine.step(count)
                next_ns = time_ns + count * step_ns
                if change_ns <= time_ns:
                    commands.check_trajectories(next_ns)
                time_ns = next_ns
                if time_ns < end_ns:
                    change_ns = commands.update(time_ns, step_ns)
        if end_ns < self._schedule.next_ns:
            return {}
        if not controllers.sensors:
            return self._sensors.read(self.wanted)
        enabled, wanted = controllers.sensors, self.wanted
        readings = self._sensors.read(lambda name: name in enabled or wanted(name))
        controllers.take(readings)
        return readings

    def run(self, seconds: float) -> dict[str, Reading]:
        """Advance by a duration; return the last reading of each sensor that was due meanwhile.

        It is the same as ``step`` repeated, to the last bit, but faster: readings before the last
        one are not even computed, unless the sensor needs them, as for encoders.

        Args:
            seconds: In simulation time, rounded down to whole steps.

        Raises:
            PhysicsError: A step failed; the world stays as before it.
            ValueError: The duration is negative or not finite.
        """
        if not 0.0 <= seconds < inf:
            raise ValueError(f"the duration must be finite and at least 0 s, not {seconds}")
        end_ns = self.engine.time_ns + round(seconds * NS_PER_S) // self._step_ns * self._step_ns
        readings: dict[str, Reading] = {}
        if not self.controllers.sensors:
            self._schedule.skip(end_ns)
        try:
            while (left_ns := end_ns - self.engine.time_ns) > 0:
                readings |= self._advance(left_ns // self._step_ns, passes_targets=True)
        except BaseException:
            self._schedule.resume(self.engine.time_ns)
            raise
        return readings

    def save(self) -> Snapshot:
        """Return the whole state, from which a run continues identically, to the last bit."""
        self.controllers.check_outside()
        self.commands.apply(self.engine.time_ns)  # queued commands are part of the state
        parts = {
            "physics": self.engine.save(),
            "pushes": self._wrenches.save(),
            "drives": self.commands.save(),
            "simulation": self._schedule.save(),
            "controllers": self.controllers.save(),
        }
        return Snapshot({f"{k}/{name}": a for k, part in parts.items() for name, a in part.items()})

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a saved state. Queued commands are discarded.

        The world must have the same settings, controllers and bodies, added with the same
        placements; spawn or remove bodies that differ first. Controllers that do not save their
        state are started again, with a warning.

        Raises:
            PhysicsError: The snapshot does not match; the message states the difference, and
                nothing has changed.
        """
        self.controllers.check_outside()
        physics, own = snapshot.part("physics"), snapshot.part("simulation")
        check_names(physics, self.bodies)
        wrenches = ExternalWrenches.from_arrays(snapshot.part("pushes"), self.bodies)
        drives = self.commands.check(snapshot.part("drives"))
        check_arrays(own, self._schedule.save())
        controllers = self.controllers.check(snapshot.part("controllers"))
        self.engine.restore(physics)
        self._wrenches = wrenches
        self.commands.restore(drives, self.engine.time_ns)
        self._schedule.restore(own, self.engine.time_ns)
        self.handling.update()
        self.controllers.restore(controllers)

    def state_hash(self) -> str:
        """Return the SHA-256 of time and motion of all bodies, which is equal for equal runs."""
        return self.state.digest()

    def close(self) -> None:
        """Stop the controllers and free the engine (idempotent); nothing may be called then."""
        self.controllers.check_outside()
        try:
            self.controllers.close()
        finally:
            self.engine.close()

    def _body(self, name: str) -> SimulatedBody:
        return ByName("body", self.bodies)[name]

    def _add_body(self, entry: BodyEntry) -> SimulatedBody:
        """Add a body with its controller, or nothing if that fails."""
        placement = entry.placement
        for link in entry.surface_velocity:
            placement.body.link_index(link)  # raises KeyError
        own_settings = self._sensors.own_settings(placement, entry.sensors)
        simulated = self.engine.add_body(placement)
        try:
            self.commands.add(simulated, placement, entry.control)
        except ValueError:
            self.engine.remove_body(simulated.name)
            raise
        self.placements.add(simulated.name, placement)
        self._namespaces[simulated.name] = entry.namespace
        self._surfaces[simulated.name] = entry.surface_velocity
        self._sensors.set_own_settings(simulated.name, own_settings)
        return simulated

    def _after_move(self, body: str) -> None:
        """Forget what the sensors and holders of a body remember from where it was before."""
        self._schedule.reset_sensors(body)
        self.handling.update()

    def _record_for_holders(self) -> None:
        self.record_contacts(self.handling, on=self.handling.needs_contacts)

    def _add_sensors(self, names: Collection[str]) -> None:
        self._sensors.add(names, {name for name in names if self.is_fixed(name)})


class InitialState:
    """The present state of a simulation and its own controllers, to be restored many times.

    Args:
        simulation: It is restored once, so that the first run starts exactly as the others.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._snapshot = simulation.save()
        self._plugins = tuple(simulation.controllers.plugins)
        self.restore()

    def restore(self) -> None:
        """Go back to the initial state; controllers that were added are removed.

        Raises:
            Exception: More was changed than can be restored, such as the bodies.
        """
        sim = self.simulation
        sim.wanted, sim.switched = _always, _ignore
        for plugin in sim.controllers.plugins:
            if not any(plugin is own for own in self._plugins):
                sim.remove_controller(plugin)
        sim.restore(self._snapshot)


def _always(_name: str) -> bool:
    return True


def _ignore(_name: str, _on: bool) -> None:
    pass


def build_simulation(
    config: WorldConfig, engine: str, diagnostics: Diagnostics
) -> tuple[Simulation, str]:
    """Build a simulation, with camera images drawn on request, and report advice on its world.

    Args:
        config: The world, with all options applied.
        engine: Name of the physics engine.
        diagnostics: Receives warnings and advice.

    Returns:
        The simulation, and a hint to print if its physics fails later.

    Raises:
        PhysicsError: The engine is not available, or cannot simulate a body.
    """
    physics = make_engine(engine, config.physics)
    simulation = Simulation(config, engine=physics, defer_images=True, diagnostics=diagnostics)
    found = [*advise(config), *remarks(simulation.bodies.values())]
    for advice in found:
        diagnostics.add(advice)
    return simulation, failure_hint(found)
