"""One step of the world: commands, physics, sensors. No ROS and no wall clock."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable

import numpy as np

from .config import WorldConfig
from .control import BodyController, JointCommand
from .engine import Engine
from .ode import OdeEngine
from .render import Renderer
from .schedule import SampleClock
from .sensors import Camera, Sensor, make_sensors
from .state import SimulatedBody, WorldState

Gate = Callable[[Sensor], bool]


class Simulation:
    """A world that runs: its physics, the controllers that drive it, the sensors that watch it.

    Args:
        world: What is in it; see ``load_world``.
        engine: Made from the world's settings; ODE by default.
        defer_images: Cameras give an ``Exposure`` instead of an image, to be developed
            later, maybe by another thread.
        wanted: Asked before a due sensor is read; False saves the work. By default every
            sensor is read.

    Raises:
        PhysicsError: The engine cannot take a body; the message names body and link.
    """

    def __init__(
        self,
        world: WorldConfig,
        *,
        engine: Engine | None = None,
        defer_images: bool = False,
        wanted: Gate | None = None,
    ) -> None:
        self.world = world
        self.engine: Engine = OdeEngine(world.physics) if engine is None else engine
        self._defer_images = defer_images
        self._wanted = wanted
        self._commands: deque[tuple[str, JointCommand]] = deque()
        self._controllers: dict[str, BodyController] = {}
        for entry in world.bodies:
            placement = entry.placement
            simulated = self.engine.add_body(placement)
            if simulated.body.moving_links or not simulated.body.is_static:
                q = placement.initial_q
                self._controllers[simulated.name] = BodyController(
                    simulated, entry.control, q, fixed=placement.fixed
                )
        self.engine.reset()
        self.renderer = Renderer(self.state)
        gravity = np.array(world.physics.gravity)
        sensors = make_sensors(self.state, gravity, self.engine.cast_rays, self.renderer)
        self._sensors = [(sensor, SampleClock(sensor.rate_hz)) for sensor in sensors]

    @property
    def state(self) -> WorldState:
        """The world as it is now; its arrays are live."""
        return self.engine.state

    @property
    def bodies(self) -> dict[str, SimulatedBody]:
        """The bodies by name."""
        return dict(self.state.bodies)

    @property
    def sensors(self) -> tuple[Sensor, ...]:
        """Every sensor, in the order of the world and of the models."""
        return tuple(sensor for sensor, _ in self._sensors)

    def command(self, body: str, command: JointCommand) -> None:
        """Hand a command to a body before its next step. May be called from any thread.

        Raises:
            KeyError: No body of this name can be commanded.
        """
        if body not in self._controllers:
            known = ", ".join(self._controllers)
            raise KeyError(f"no body '{body}' that can be commanded; there is {known}")
        self._commands.append((body, command))

    def reset(self) -> None:
        """Go back to the start, at time zero."""
        self._commands.clear()
        self.engine.reset()
        for controller in self._controllers.values():
            controller.reset()
        for _, clock in self._sensors:
            clock.reset()

    def step(self) -> dict[str, object]:
        """Advance one step; return the readings that fell due, by sensor name.

        Raises:
            PhysicsError: The physics cannot go on; the world stays as before the step.
        """
        while self._commands:
            name, command = self._commands.popleft()
            self._controllers[name].command(command)
        time_step = self.engine.settings.time_step
        for controller in self._controllers.values():
            controller.update(time_step)
        self.engine.step()
        return self._read()

    def state_hash(self) -> str:
        """Return the SHA-256 of time and every body's motion: equal for equal runs."""
        digest = hashlib.sha256(str(self.state.time_ns).encode())
        for name, simulated in sorted(self.state.bodies.items()):
            digest.update(name.encode())
            motion = simulated.motion
            for array in (motion.p, motion.R, motion.v, motion.w, motion.q, motion.dq):
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def close(self) -> None:
        """Free the engine. Nothing else may be called afterwards."""
        self.engine.close()

    def _read(self) -> dict[str, object]:
        state = self.engine.state
        readings: dict[str, object] = {}
        for sensor, clock in self._sensors:
            if not clock.is_due(state.time_ns) or (self._wanted and not self._wanted(sensor)):
                continue
            if self._defer_images and isinstance(sensor, Camera):
                readings[sensor.name] = sensor.expose(state)
            else:
                readings[sensor.name] = sensor.read(state)
        return readings
