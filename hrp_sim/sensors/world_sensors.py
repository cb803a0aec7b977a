"""The sensors and lights of a world: created with their bodies, and read when they are due."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from hrp_model import Diagnostics
from hrp_model.rigid import Array
from hrp_msgs.readings import Reading

from ..engine.engine import Engine, Placement
from ..engine.state import WorldState
from ..render import Renderer
from . import CameraSensor, instruments, make_sensors
from .noise import NoiseSeed
from .registry import TOOLS
from .sensor_schedule import Light, SensorSchedule, Tool
from .settings import OptionValue, SensorSettings


class WorldSensors:
    """Creates the sensors and lights of bodies that are added to a world, and reads them.

    Args:
        engine: Provides the state.
        settings: Options of all sensors.
        diagnostics: Receives warnings.
        defer_images: Whether cameras return a ``RenderRequest`` instead of an image.
        switched: Called with a name and whether it is on now, after each change.

    Attributes:
        schedule: The sensors and lights by name, and when they are due.
        noise_seed: Of the noise of all sensors.
    """

    def __init__(
        self,
        engine: Engine,
        settings: SensorSettings,
        diagnostics: Diagnostics,
        *,
        defer_images: bool,
        switched: Callable[[str, bool], None],
    ) -> None:
        self.schedule = SensorSchedule(self._has_switched)
        self.noise_seed = NoiseSeed(engine.settings.seed)
        self._engine = engine
        self._settings = settings
        self._diagnostics = diagnostics
        self._defer_images = defer_images
        self._switched = switched
        self._renderer = Renderer({})
        # By body: the settings of sensors with individual options.
        self._own_settings: dict[str, Mapping[str, SensorSettings]] = {}

    def own_settings(
        self, placement: Placement, options: Mapping[str, Mapping[str, OptionValue]]
    ) -> dict[str, SensorSettings]:
        """Return the settings of the sensors of a body that have individual options.

        Args:
            placement: The body.
            options: Of its sensors, by their names.

        Raises:
            ValueError: The body has no sensor of one of the names.
        """
        if unknown := options.keys() - instruments(placement.body).keys():
            raise ValueError(
                f"there are options for the sensor '{min(unknown)}', which body "
                f"'{placement.name}' does not have"
            )
        return {name: self._settings.with_values(own) for name, own in options.items()}

    def set_own_settings(self, body: str, own_settings: Mapping[str, SensorSettings]) -> None:
        """Set the individual settings of sensors of a body, before ``add``."""
        self._own_settings[body] = own_settings

    def add(self, names: Collection[str], fixed: Collection[str]) -> None:
        """Create the sensors of new bodies, and add the bodies to the rendered scene.

        Args:
            names: Of the new bodies, which are in the world already.
            fixed: Those of them whose root is fixed to the world.
        """
        self._update_scene()
        state = self._engine.state
        new = WorldState(state.time_ns, {name: state.bodies[name] for name in names})
        settings = self._engine.settings
        sensors = make_sensors(
            new,
            np.array(settings.gravity),
            self._engine.cast_rays,
            self._renderer,
            self._diagnostics,
            settings_of=lambda body, name: self._own_settings[body].get(name, self._settings),
            seed=self.noise_seed,
            step_ns=settings.step_ns,
            fixed=set(fixed),
        )
        on: dict[str, dict[str, bool]] = {}
        lights: list[Light] = []
        tools: list[Tool] = []
        for name, simulated in new.bodies.items():
            found = instruments(simulated.body).values()
            on[name] = {instrument.name: instrument.on for instrument in found}
            lights += [Light(name, i.name) for i in found if i.kind == "light"]
            tools += [Tool(name, i.name, i.kind) for i in found if i.kind in TOOLS]
        self.schedule.add(sensors, lights, tools, on, state.time_ns)

    def remove(self, body: str) -> None:
        """Remove the sensors and lights of a body that has been removed."""
        del self._own_settings[body]
        self.schedule.remove(body, self._engine.state.time_ns)
        self._update_scene()

    def read(self, wanted: Callable[[str], bool]) -> dict[str, Reading]:
        """Return the readings that are due after a step, by name, of the sensors wanted."""
        state = self._engine.state
        readings: dict[str, Reading] = {}
        for name, observer in self.schedule.observers:
            if wanted(name):
                observer.observe(state)
        for group in self.schedule.due(state.time_ns):
            vectors: Array | None = None
            for name, sensor, probing, first in group.sensors:
                if not wanted(name):
                    continue
                if probing is not None:
                    if vectors is None:
                        vectors = group.measure(state)
                    readings[name] = probing.reading(state, vectors, first)
                elif self._defer_images and isinstance(sensor, CameraSensor):
                    readings[name] = sensor.capture(state)
                elif (reading := sensor.read(state)) is not None:
                    readings[name] = reading
        return readings

    def _has_switched(self, name: str, on: bool) -> None:
        if (light := self.schedule.lights.get(name)) is not None:
            self._renderer.switch_light(light.body, light.name, on)
        self._switched(name, on)

    def _update_scene(self) -> None:
        bodies = self._engine.state.bodies
        self._renderer.set_bodies({name: s.body for name, s in bodies.items()}, self._diagnostics)
