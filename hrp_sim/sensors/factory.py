"""Creates the sensors of a world from the devices of its models."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from hrp_model import Diagnostics, devices
from hrp_model.devices import MAX_RAYS
from hrp_model.inertial_units import inertial_units
from hrp_model.rigid import Array, frozen_array

from ..engine.schedule import NS_PER_S
from ..engine.state import WorldState
from ..render import Renderer, RendererUnavailable
from ..render.view import MAX_SIDE
from .base import Sensor
from .camera import CameraSensor
from .context import Budget, SensorContext, SettingsOf, Source
from .noise import NoiseSeed
from .registry import KINDS, AnyKind
from .scanner import CastRays
from .settings import IDEAL

# Limits on all sensors created at once, so that a model cannot exhaust the memory.
MAX_TOTAL_RAYS = 10 * MAX_RAYS
MAX_TOTAL_PIXELS = 2 * MAX_SIDE**2


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
