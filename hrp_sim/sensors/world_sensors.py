"""The sensors and lights of a world: created with their bodies, and read when they are due."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import numpy as np

from hrp_model import Diagnostics, devices
from hrp_model.devices import MAX_RAYS
from hrp_model.inertial_units import inertial_units
from hrp_model.rigid import Array, frozen_array
from hrp_msgs.readings import Reading

from ..engine.engine import Engine, Placement
from ..engine.schedule import NS_PER_S
from ..engine.state import WorldState
from ..render import Renderer, RendererUnavailable
from ..render.view import MAX_SIDE
from .base import Budget, CastRays, Sensor, SensorContext, SettingsOf, Source
from .camera import CameraSensor
from .kinds import KINDS, TOOLS, AnyKind, instruments
from .noise import NoiseSeed
from .sensor_schedule import Light, SensorSchedule, Tool
from .settings import IDEAL, OptionValue, SensorSettings
from .wheel_odometry import WHEEL_ODOMETRY, WheelOdometrySensor

# Limits on all sensors created at once, so that a model cannot exhaust the memory.
MAX_TOTAL_RAYS = 10 * MAX_RAYS
MAX_TOTAL_PIXELS = 2 * MAX_SIDE**2


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
        self._renderer, self._can_render = Renderer({}), True
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
        measured = {sensor.body for sensor in sensors if isinstance(sensor, WheelOdometrySensor)}
        for name, simulated in new.bodies.items():
            found = [
                instrument
                for instrument in instruments(simulated.body).values()
                if instrument.kind != WHEEL_ODOMETRY or name in measured
            ]
            on[name] = {instrument.name: instrument.on for instrument in found}
            lights += [Light(name, i.name) for i in found if i.kind == "light"]
            tools += [Tool(name, i.name, i.kind) for i in found if i.kind in TOOLS]
        self.schedule.add((sensors, lights, tools), on, state.time_ns)

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
            measured: tuple[bytes, ...] | None = None
            for name, sensor, probing, camera, place in group.sensors:
                if not wanted(name):
                    continue
                if probing is not None:
                    if measured is None:
                        measured = group.measure(state)
                    readings[name] = probing.reading(state, measured[place])
                elif camera is not None and self._defer_images:
                    readings[name] = camera.capture(state)
                elif camera is not None and not self._can_render:
                    continue
                elif (reading := self._read(sensor, state)) is not None:
                    readings[name] = reading
        return readings

    def _read(self, sensor: Sensor, state: WorldState) -> Reading | None:
        """Return a reading, if there is one; warn if it is an image that cannot be rendered."""
        try:
            return sensor.read(state)
        except RendererUnavailable as error:  # which only the first image shows
            self._can_render = False
            self._diagnostics.warn("no-renderer", str(error))
            return None

    def _has_switched(self, name: str, on: bool) -> None:
        if (light := self.schedule.lights.get(name)) is not None:
            self._renderer.switch_light(light.body, light.name, on)
        self._switched(name, on)

    def _update_scene(self) -> None:
        bodies = self._engine.state.bodies
        self._renderer.set_bodies({name: s.body for name, s in bodies.items()}, self._diagnostics)


def make_sensors(
    world: WorldState,
    gravity: Array,
    cast_rays: CastRays,
    renderer: Renderer,
    diagnostics: Diagnostics,
    *,
    settings_of: SettingsOf = lambda _body, _sensor: IDEAL,
    seed: NoiseSeed | int = 0,
    fixed: Collection[str] = (),
    step_ns: int = 1_000_000,
) -> list[Sensor]:
    """Return a sensor for every device, switched on or not, body by body.

    A gyro and an accelerometer with the same link and pose form one IMU, named after the gyro.
    Each body with joints or tracks has a sensor ``joint_states``, each movable body a sensor
    ``odometry``. The sensors of a body have unique names. Sensors that cannot be simulated are
    left out with a warning; without OpenGL all cameras are, with one warning.

    Args:
        world: Provides the models and names of the bodies; the rest is not used.
        gravity: In W, in [m/s^2], shape (3,).
        cast_rays: Of the engine.
        renderer: Prepared here if there is a camera.
        diagnostics: Receives warnings.
        settings_of: Returns the settings of a sensor from the names of the body and the sensor.
        seed: Of all noise.
        fixed: Names of the bodies whose roots are fixed to the world.
        step_ns: Time step of the physics, in [ns].
    """
    g_W = frozen_array(gravity, (3,), "gravity")
    sensors: list[Sensor] = []
    rays, pixels = Budget("rays", MAX_TOTAL_RAYS), Budget("pixels", MAX_TOTAL_PIXELS)
    for name, simulated in world.bodies.items():
        context = SensorContext(
            simulated=simulated,
            is_fixed=name in fixed,
            settings_of=settings_of,
            seed=seed,
            g_W=g_W,
            cast_rays=cast_rays,
            step_ns=step_ns,
            renderer=renderer,
            diagnostics=diagnostics,
            rays=rays,
            pixels=pixels,
        )
        sensors += _sensors_of_body(context)
    if any(isinstance(sensor, CameraSensor) for sensor in sensors):
        try:
            renderer.prepare(diagnostics)
        except RendererUnavailable as error:
            diagnostics.warn("no-renderer", str(error))
            sensors = [sensor for sensor in sensors if not isinstance(sensor, CameraSensor)]
    return sensors


def _sensors_of_body(context: SensorContext) -> Collection[Sensor]:
    """Return the sensors of one body, with unique names."""
    by_name: dict[str, Sensor] = {}
    for sensor in _created(context):
        if by_name.setdefault(sensor.name, sensor) is not sensor:
            message = (
                f"'{sensor.name}' of body '{sensor.body}' is left out: another sensor has that "
                "name; rename one of them"
            )
            context.diagnostics.warn("duplicate-sensor", message)
    _warn_of_high_rates(context, by_name)
    for light in context.body.devices:
        if isinstance(light, devices.Light) and light.name in by_name:
            message = "cannot be switched: a sensor has that name; rename one of them"
            context.warn("duplicate-sensor", light, message)
    _note_unsupported_devices(context)
    return by_name.values()


def _created(context: SensorContext) -> Iterator[Sensor]:
    sources = ((kind, source) for kind in KINDS for source in kind.find(context.body))
    sensors = (_make(kind, source, context) for kind, source in sources)
    return (sensor for sensor in sensors if sensor is not None)


def _make(kind: AnyKind, source: Source, context: SensorContext) -> Sensor | None:
    """Return the sensor of a source, or None after a warning."""
    try:
        sensor: Sensor | None = kind.make(source, context)
    except ValueError as error:
        context.warn("unusable-device", source, f"is left out: {error}")
        return None
    return sensor


def _warn_of_high_rates(context: SensorContext, sensors: Iterable[str]) -> None:
    steps = NS_PER_S / context.step_ns
    stated = {unit.name: unit.sample_rate for unit in inertial_units(context.body)}
    for device in context.body.devices:
        if isinstance(device, devices.ForceSensor):
            stated[device.name] = device.sample_rate
    for name in sensors:
        if (rate := context.settings(name).rate or stated.get(name, 0.0)) > steps:
            message = (
                f"'{name}' of body '{context.simulated.name}' cannot sample at {rate:g} Hz: it "
                f"samples at every step, {steps:g} Hz"
            )
            context.diagnostics.warn("too-fast", message)


def _note_unsupported_devices(context: SensorContext) -> None:
    names: dict[str, list[str]] = {}
    for device in context.body.devices:
        if isinstance(device, devices.GenericDevice):
            names.setdefault(device.type_name, []).append(f"'{device.name}'")
    for type_name, same in names.items():
        device_names = f"{', '.join(same)} of body '{context.simulated.name}'"
        message = f"{device_names}: a {type_name} is not simulated"
        context.diagnostics.note("not-simulated", message)
