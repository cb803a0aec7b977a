"""One step of the world: commands, physics, sensors. No ROS and no wall clock."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from hrp_model import Diagnostics

from .config import WorldConfig
from .control import BodyController, JointCommand
from .engine import Engine
from .ode import OdeEngine
from .render import Renderer
from .schedule import SampleClock
from .sensors import CameraSensor, Sensor, make_sensors
from .state import SimulatedBody, WorldState

# Commands that wait for a step; of a world that stands still only the newest are kept.
MAX_COMMANDS = 1000


class Simulation:
    """A world that runs: its physics, the controllers that drive it, the sensors that watch it.

    Args:
        world: What is in it; see ``load_world``.
        engine: Made from the world's settings; ODE by default.
        defer_images: Cameras give an ``Exposure`` instead of an image, to be developed
            later, maybe by another thread.
        diagnostics: Where warnings about sensors go; by default they are logged.

    Attributes:
        sensors: Every sensor by its name: that of the device in the model, with the body's
            name and a slash in front where several bodies have sensors of that name.
        wanted: Asked with a sensor's name before it is read when due; False saves the work.

    Raises:
        PhysicsError: The engine cannot take a body; the message names body and link.
    """

    def __init__(
        self,
        world: WorldConfig,
        *,
        engine: Engine | None = None,
        defer_images: bool = False,
        diagnostics: Diagnostics | None = None,
    ) -> None:
        self.engine: Engine = OdeEngine(world.physics) if engine is None else engine
        self.wanted: Callable[[str], bool] = lambda _name: True
        self._defer_images = defer_images
        self._commands: deque[tuple[str, JointCommand]] = deque(maxlen=MAX_COMMANDS)
        self._placements = {entry.placement.name: entry.placement for entry in world.bodies}
        self._controllers: dict[str, BodyController] = {}
        for entry in world.bodies:
            placement = entry.placement
            simulated = self.engine.add_body(placement)
            if not placement.body.is_static:
                self._controllers[simulated.name] = BodyController(
                    simulated, entry.control, placement.initial_q, fixed=placement.fixed
                )
        self.engine.reset()
        self.sensors = _by_unique_name(
            make_sensors(
                self.state,
                np.array(world.physics.gravity),
                self.engine.cast_rays,
                Renderer({name: s.body for name, s in self.bodies.items()}),
                Diagnostics() if diagnostics is None else diagnostics,
            )
        )
        rates = dict.fromkeys(sensor.rate_hz for sensor in self.sensors.values())
        self._schedule = [
            (SampleClock(rate), [(k, s) for k, s in self.sensors.items() if s.rate_hz == rate])
            for rate in rates
        ]

    @property
    def state(self) -> WorldState:
        """The world as it is now; its arrays are live."""
        return self.engine.state

    @property
    def bodies(self) -> Mapping[str, SimulatedBody]:
        """The bodies by name."""
        return self.state.bodies

    def is_fixed(self, body: str) -> bool:
        """Tell whether the root of a body is fixed to the world."""
        return self._placements[body].fixed

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
        for clock, _ in self._schedule:
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
        for clock, sensors in self._schedule:
            if not clock.is_due(state.time_ns):
                continue
            for name, sensor in sensors:
                if not self.wanted(name):
                    continue
                if self._defer_images and isinstance(sensor, CameraSensor):
                    readings[name] = sensor.expose(state)
                else:
                    readings[name] = sensor.read(state)
        return readings


def _by_unique_name(sensors: Sequence[Sensor]) -> dict[str, Sensor]:
    """Return the sensors by name, with the body's in front where names are the same."""
    often = Counter(sensor.name for sensor in sensors)
    return {s.name if often[s.name] == 1 else f"{s.body}/{s.name}": s for s in sensors}
