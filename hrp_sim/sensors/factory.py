"""From the devices of a world's models to its sensors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from hrp_model import Diagnostics, devices
from hrp_model.rigid import Array, frozen_array
from hrp_model.scan_angles import MAX_RAYS

from ..physics.schedule import NS_PER_S
from ..physics.state import WorldState
from ..render import Renderer, RendererUnavailable
from ..render.view import MAX_SIDE
from .base import Sensor
from .camera import CameraSensor
from .context import Budget, SensorContext, SettingsOf, Source
from .registry import KINDS, AnyKind
from .scanner import CastRays
from .settings import IDEAL

# What all sensors that are made at once may have together; else a model could fill any memory.
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
    seed: int = 0,
    fixed: Collection[str] = (),
    step_ns: int = 1_000_000,
) -> list[Sensor]:
    """Return a sensor for every device, switched on or not, body by body.

    A gyro and an accelerometer that share link and pose become one IMU, named after the
    gyro. Each body with joints or tracks has a sensor ``joint_states``, each that can move
    one called ``odometry``. The sensors of a body have different names. What cannot be had
    is a warning and left out; without OpenGL that is all cameras, with one warning.

    Args:
        world: Only the models and the names of its bodies matter.
        gravity: In W, in [m/s^2], shape (3,).
        cast_rays: Of the engine.
        renderer: Prepared here when there is a camera.
        diagnostics: Where warnings go.
        settings_of: Asked with the names of a body and of one of its sensors.
        seed: Of all noise.
        fixed: Names of the bodies that the world holds by their roots.
        step_ns: Of the physics, in [ns].
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
    """Return the sensors of one body, by different names."""
    by_name: dict[str, Sensor] = {}
    for sensor in _made(context):
        if by_name.setdefault(sensor.name, sensor) is not sensor:
            what = f"'{sensor.name}' of body '{sensor.body}'"
            message = f"{what} is left out: another sensor has that name; rename one of them"
            context.diagnostics.warn("duplicate-sensor", message)
    _warn_of_high_rates(context, by_name)
    for light in context.body.devices:
        if isinstance(light, devices.Light) and light.name in by_name:
            what = "cannot be switched: a sensor has that name; rename one of them"
            context.warn("duplicate-sensor", light, what)
    _note_what_is_not_simulated(context)
    return by_name.values()


def _made(context: SensorContext) -> Iterator[Sensor]:
    sources = ((kind, source) for kind in KINDS for source in kind.find(context.body))
    made = (_make(kind, source, context) for kind, source in sources)
    return (sensor for sensor in made if sensor is not None)


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
    for name in sensors:
        if (rate := context.settings(name).rate) > steps:
            what = f"'{name}' of body '{context.simulated.name}'"
            message = f"{what} samples at every step, {steps:g} Hz, not at {rate:g} Hz"
            context.diagnostics.warn("too-fast", message)


def _note_what_is_not_simulated(context: SensorContext) -> None:
    names: dict[str, list[str]] = {}
    for device in context.body.devices:
        if isinstance(device, devices.GenericDevice):
            names.setdefault(device.type_name, []).append(f"'{device.name}'")
    for type_name, same in names.items():
        what = f"{', '.join(same)} of body '{context.simulated.name}'"
        context.diagnostics.note("not-simulated", f"{what}: a {type_name} is not simulated")
