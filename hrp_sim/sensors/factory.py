"""From the devices of a world's models to its sensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TypeVar

from hrp_model import Diagnostics, JointType, devices
from hrp_model.inertial_units import inertial_units
from hrp_model.rigid import Array, frozen_array
from hrp_model.scan_angles import MAX_RAYS

from ..physics.schedule import NS_PER_S
from ..physics.state import WorldState
from ..render import Renderer, RendererUnavailable
from ..render.view import MAX_SIDE
from .base import Sensor
from .camera import CameraSensor
from .kinds import JOINT_STATES
from .maker import SensorMaker, SettingsOf
from .scanner import CastRays
from .settings import IDEAL

# What all sensors that are made at once may have together; else a model could fill any memory.
MOST_RAYS = 10 * MAX_RAYS
MOST_PIXELS = 2 * MAX_SIDE**2

_D = TypeVar("_D", bound=devices.Device)


@dataclass
class _Budget:
    """How much of something is left for the sensors that are still to be made."""

    what: str
    most: int
    taken: int = 0

    def take(self, count: int) -> None:
        """Take some of it; raises ValueError if there is not as much."""
        if self.taken + count > self.most:
            all_together = f"with it there are more than {self.most} {self.what} of all together"
            raise ValueError(all_together)
        self.taken += count


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
    rays, pixels = _Budget("rays", MOST_RAYS), _Budget("pixels", MOST_PIXELS)
    for name, simulated in world.bodies.items():
        maker = SensorMaker(simulated, settings_of, seed, g_W, cast_rays, step_ns, renderer)
        sensors += _Devices(maker, name in fixed, diagnostics, rays, pixels).sensors()
    if any(isinstance(sensor, CameraSensor) for sensor in sensors):
        try:
            renderer.prepare(diagnostics)
        except RendererUnavailable as error:
            diagnostics.warn("no-renderer", str(error))
            sensors = [sensor for sensor in sensors if not isinstance(sensor, CameraSensor)]
    return sensors


@dataclass(frozen=True)
class _Devices:
    """The devices of one body, and what is to be told of them."""

    maker: SensorMaker
    is_held: bool  # by its root
    diagnostics: Diagnostics
    rays: _Budget
    pixels: _Budget

    def sensors(self) -> list[Sensor]:
        """Return the sensors that they become, by different names."""
        by_name: dict[str, Sensor] = {}
        for sensor in chain(self._inner_sensors(), self._sensors_of_devices()):
            if by_name.setdefault(sensor.name, sensor) is not sensor:
                what = f"'{sensor.name}' of body '{sensor.body}'"
                message = f"{what} is left out: another sensor has that name; rename one of them"
                self.diagnostics.warn("duplicate-sensor", message)
        self._tell_what_is_too_fast(by_name)
        for light in self._all(devices.Light):
            if light.name in by_name:
                what = "cannot be switched: a sensor has that name; rename one of them"
                self._warn("duplicate-sensor", light, what)
        self._tell_what_is_not_simulated()
        return list(by_name.values())

    def _inner_sensors(self) -> Iterator[Sensor]:
        """Yield what needs no device."""
        maker = self.maker
        if maker.body.jointed_links:
            joints = maker.joint_states()
            if maker.settings(JOINT_STATES).encoders and joints.encoders is None:
                what = f"'{JOINT_STATES}' of body '{joints.body}' stays exact"
                self.diagnostics.warn("no-encoder", f"{what}: its model tells of no encoder")
            yield joints
        if not maker.body.is_static:
            yield maker.odometry()

    def _sensors_of_devices(self) -> Iterator[Sensor]:
        made = (self._made(*each) for each in self._makers())
        return (sensor for sensor in made if sensor is not None)

    def _made(self, device: devices.Device, make: Callable[[], Sensor]) -> Sensor | None:
        try:
            return make()
        except ValueError as error:
            self._warn("unusable-device", device, f"is left out: {error}")
            return None

    def _makers(self) -> Iterator[tuple[devices.Device, Callable[[], Sensor]]]:
        """Yield the devices that measure, each with what makes its sensor or raises ValueError."""
        for unit in inertial_units(self.maker.body):
            yield unit.device, partial(self.maker.imu, unit)
        for force in self._all(devices.ForceSensor):
            yield force, partial(self._force_sensor, force)
        for scanner in self._all(devices.RangeSensor):
            yield scanner, partial(self._range_sensor, scanner)
        for camera in self._all(devices.Camera):
            if camera.image_type is devices.ImageType.NONE:
                self._note("no-image", camera, "delivers no image, says its model")
            else:
                yield camera, partial(self._camera, camera)

    def _force_sensor(self, device: devices.ForceSensor) -> Sensor:
        sensor = self.maker.force_sensor(device)
        is_free = self.maker.body.links[sensor.link].joint.type is JointType.FREE
        if not self.is_held if sensor.link == 0 else is_free:
            self._warn("idle-force-sensor", device, "sits on what hangs on nothing: it reads 0")
        return sensor

    def _range_sensor(self, device: devices.RangeSensor) -> Sensor:
        sensor = self.maker.range_sensor(device)
        self.rays.take(sensor.ray_count)
        return sensor

    def _camera(self, device: devices.Camera) -> Sensor:
        is_normal = device.lens_type is devices.LensType.NORMAL
        lens = f"its {device.lens_type.value} lens"
        try:
            sensor = self.maker.camera(device)
        except ValueError as error:
            drawn = "" if is_normal else f", since {lens} is drawn as one without distortion"
            raise ValueError(f"{error}{drawn}") from None
        self.pixels.take(sensor.lens.width * sensor.lens.height)
        if not is_normal:
            self._warn("no-fisheye", device, f"is drawn without the distortion of {lens}")
        return sensor

    def _tell_what_is_too_fast(self, names: Iterable[str]) -> None:
        steps = NS_PER_S / self.maker.step_ns
        for name in names:
            if (rate := self.maker.settings(name).rate) > steps:
                what = f"'{name}' of body '{self.maker.simulated.name}'"
                message = f"{what} samples at every step, {steps:g} Hz, not at {rate:g} Hz"
                self.diagnostics.warn("too-fast", message)

    def _tell_what_is_not_simulated(self) -> None:
        names: dict[str, list[str]] = {}
        for device in self._all(devices.GenericDevice):
            names.setdefault(device.type_name, []).append(f"'{device.name}'")
        for type_name, same in names.items():
            what = f"{', '.join(same)} of body '{self.maker.simulated.name}'"
            self.diagnostics.note("not-simulated", f"{what}: a {type_name} is not simulated")

    def _all(self, kind: type[_D]) -> Iterator[_D]:
        return (d for d in self.maker.body.devices if isinstance(d, kind))

    def _warn(self, code: str, device: devices.Device, what: str) -> None:
        self.diagnostics.warn(code, self._about(device, what), device.at)

    def _note(self, code: str, device: devices.Device, what: str) -> None:
        self.diagnostics.note(code, self._about(device, what), device.at)

    def _about(self, device: devices.Device, what: str) -> str:
        return f"'{device.name}' of body '{self.maker.simulated.name}' {what}"
