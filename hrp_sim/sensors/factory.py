"""From the devices of a world's models to its sensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import inf
from typing import TypedDict, TypeVar

from hrp_model import Diagnostics, JointType, devices
from hrp_model.instruments import InertialUnit, inertial_units
from hrp_model.rigid import Array, frozen_array
from hrp_model.scan_angles import MAX_RAYS

from ..render import Pinhole, Renderer, RendererUnavailable, Surroundings
from ..render.view import MAX_SIDE
from ..state import SimulatedBody, WorldState
from .base import Sensor
from .camera import CameraSensor
from .encoders import Encoders
from .force import ForceSensor
from .imu import ImuSensor
from .imu_noise import ImuNoise
from .joint import JointSensor
from .kinds import JOINT_STATES, ODOMETRY
from .noise import Noise
from .odometry import OdometrySensor
from .range import RangeSensor, RangeSensor3D
from .scanner import CastRays
from .settings import IDEAL, SensorSettings

# Rates of the sensors to which a model gives none, in [Hz].
IMU_RATE = FORCE_RATE = JOINT_STATE_RATE = 500.0
ODOMETRY_RATE = 100.0

# What all sensors that are made at once may have together; else a model could fill any memory.
MOST_RAYS = 10 * MAX_RAYS
MOST_PIXELS = 2 * MAX_SIDE**2

# (name of a body, name of one of its sensors) -> settings.
SettingsOf = Callable[[str, str], SensorSettings]

_D = TypeVar("_D", bound=devices.Device)


class _Flaws(TypedDict):
    """What keeps a sensor from measuring exact distances, and all of them."""

    detection_rate: float
    error_deviation: float
    noise: Noise | None


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
    for simulated in world.bodies.values():
        of_world = (g_W, cast_rays, renderer, diagnostics, settings_of, seed, fixed, step_ns)
        maker = _Maker(simulated, *of_world, rays, pixels)
        sensors += maker.sensors()
    if any(isinstance(sensor, CameraSensor) for sensor in sensors):
        try:
            renderer.prepare(diagnostics)
        except RendererUnavailable as error:
            diagnostics.warn("no-renderer", str(error))
            sensors = [sensor for sensor in sensors if not isinstance(sensor, CameraSensor)]
    return sensors


@dataclass(frozen=True)
class _Maker:
    """Makes the sensors of one body."""

    simulated: SimulatedBody
    g_W: Array
    cast_rays: CastRays
    renderer: Renderer
    diagnostics: Diagnostics
    settings_of: SettingsOf
    seed: int
    fixed: Collection[str]
    step_ns: int
    rays: _Budget
    pixels: _Budget

    def sensors(self) -> list[Sensor]:
        """Return all of them, by different names."""
        by_name: dict[str, Sensor] = {}
        for sensor in chain(
            self.inner_sensors(),
            self.imus(),
            self.force_sensors(),
            self.range_sensors(),
            self.cameras(),
        ):
            if by_name.setdefault(sensor.name, sensor) is not sensor:
                what = f"'{sensor.name}' of body '{sensor.body}'"
                message = f"{what} is left out: another sensor has that name; rename one of them"
                self.diagnostics.warn("duplicate-sensor", message)
        for light in self._all(devices.Light):
            if light.name in by_name:
                what = "cannot be switched: a sensor has that name; rename one of them"
                self._warn("duplicate-sensor", light, what)
        return list(by_name.values())

    def inner_sensors(self) -> Iterator[Sensor]:
        """Yield what needs no device."""
        name, body = self.simulated.name, self.simulated.body
        if links := body.jointed_links:
            tracks = {i: x for i, x in enumerate(links) if x.joint.type is JointType.TRACK}
            yield JointSensor(
                name=JOINT_STATES,
                body=name,
                rate_hz=self._rate(JOINT_STATES, JOINT_STATE_RATE),
                joints=tuple(link.joint.name for link in links),
                tracks={i: body.link_index(link.name) for i, link in tracks.items()},
                encoders=self._encoders(),
            )
        if not body.is_static:
            rate = self._rate(ODOMETRY, ODOMETRY_RATE)
            yield OdometrySensor(name=ODOMETRY, body=name, rate_hz=rate)

    def imus(self) -> Iterator[Sensor]:
        """Yield gyros, accelerometers, and those of them that belong together as one."""
        for unit in inertial_units(self.simulated.body):
            yield from self._imu(unit)

    def force_sensors(self) -> Iterator[Sensor]:
        """Yield the force sensors; one with no joint above it reads zero."""
        body = self.simulated.body
        for device in self._all(devices.ForceSensor):
            i = body.link_index(device.link)
            settings = self._settings(device.name)
            is_noisy = settings.force_stdev > 0.0 or settings.torque_stdev > 0.0
            try:
                sensor = ForceSensor(
                    name=device.name,
                    body=self.simulated.name,
                    rate_hz=self._rate(device.name, FORCE_RATE),
                    link=i,
                    X_LS=device.X_LS,
                    max_force=device.max_force,
                    max_torque=device.max_torque,
                    on_link=settings.wrench_on == "link",
                    cutoff_hz=settings.wrench_cutoff,
                    force_stdev=settings.force_stdev,
                    torque_stdev=settings.torque_stdev,
                    noise=self._noise(device.name) if is_noisy else None,
                )
            except ValueError as error:
                self._leave_out(device, error)
                continue
            is_held = i == 0 and self.simulated.name in self.fixed
            if body.links[i].joint.type is JointType.FREE and not is_held:
                self._warn("idle-force-sensor", device, "sits on what hangs on nothing: it reads 0")
            yield sensor

    def range_sensors(self) -> Iterator[Sensor]:
        """Yield the laser scanners."""
        for device in self._all(devices.RangeSensor):
            settings = self._settings(device.name)
            make: Callable[..., RangeSensor | RangeSensor3D] = RangeSensor
            if not device.is_planar:
                pitch_range, pitch_step = device.pitch_range, device.pitch_step
                make = partial(RangeSensor3D, pitch_range=pitch_range, pitch_step=pitch_step)
            try:
                sensor = make(
                    name=device.name,
                    body=self.simulated.name,
                    rate_hz=self._rate(device.name, _positive(device.scan_rate, "scan rate")),
                    link=self.simulated.body.link_index(device.link),
                    X_LS=device.X_LS,
                    yaw_range=device.yaw_range,
                    yaw_step=device.yaw_step,
                    min_distance=device.min_distance,
                    max_distance=device.max_distance,
                    cast_rays=self.cast_rays,
                    sees_own_body=settings.own_body == "seen",
                    no_return=device.max_distance if settings.no_return == "max" else inf,
                    spread=settings.spread_scan,
                    step_ns=self.step_ns,
                    **self._flaws(device),
                )
                self.rays.take(sensor.ray_count)
            except ValueError as error:
                self._leave_out(device, error)
            else:
                yield sensor

    def cameras(self) -> Iterator[Sensor]:
        """Yield the cameras that deliver an image."""
        for device in self._all(devices.Camera):
            if device.image_type is devices.ImageType.NONE:
                self._note("no-image", device, "delivers no image, says its model")
                continue
            if device.lens_type is not devices.LensType.NORMAL:
                what = f"is drawn without the distortion of its {device.lens_type.value} lens"
                self._warn("no-fisheye", device, what)
            try:
                sensor = CameraSensor(
                    name=device.name,
                    body=self.simulated.name,
                    rate_hz=self._rate(device.name, _positive(device.frame_rate, "frame rate")),
                    link=self.simulated.body.link_index(device.link),
                    X_LS=device.X_LS,
                    lens=_lens(device),
                    renderer=self.renderer,
                    surroundings=self._surroundings(device.name),
                    image_type=device.image_type,
                    min_distance=device.min_distance,
                    max_distance=device.max_distance,
                    **self._flaws(device),
                )
                self.pixels.take(sensor.lens.width * sensor.lens.height)
            except ValueError as error:
                self._leave_out(device, error)
            else:
                yield sensor

    def _flaws(self, device: devices.Camera | devices.RangeSensor) -> _Flaws:
        """Return what keeps distances from being ideal; options go before what the model says."""
        settings = self._settings(device.name)
        rate, deviation = settings.detection_rate, settings.error_deviation
        rate = device.detection_rate if rate < 0.0 else rate
        deviation = device.error_deviation if deviation < 0.0 else deviation
        is_ideal = rate == 1.0 and deviation == 0.0
        noise = None if is_ideal else self._noise(device.name)
        return _Flaws(detection_rate=rate, error_deviation=deviation, noise=noise)

    def _imu(self, unit: InertialUnit) -> Iterator[Sensor]:
        device, settings = unit.device, self._settings(unit.device.name)
        is_noisy = ImuNoise.is_in(settings)
        try:
            yield ImuSensor(
                name=device.name,
                body=self.simulated.name,
                rate_hz=self._rate(device.name, IMU_RATE),
                link=self.simulated.body.link_index(device.link),
                X_LS=device.X_LS,
                g_W=self.g_W,
                max_angular_velocity=unit.max_angular_velocity,
                max_acceleration=unit.max_acceleration,
                tells_orientation=settings.orientation,
                noise=ImuNoise(settings, self._noise(device.name)) if is_noisy else None,
            )
        except ValueError as error:
            self._leave_out(device, error)

    def _encoders(self) -> Encoders | None:
        """Return the encoders of the joints, if they are asked for and the model has any."""
        if not self._settings(JOINT_STATES).encoders:
            return None
        links = self.simulated.body.jointed_links
        resolutions = [link.joint.encoder_resolution for link in links]
        if any(resolutions):
            return Encoders(resolutions)
        what = f"'{JOINT_STATES}' of body '{self.simulated.name}'"
        self.diagnostics.warn("no-encoder", f"{what} stays exact: its model tells of no encoder")
        return None

    def _surroundings(self, camera: str) -> Surroundings:
        settings = self._settings(camera)
        return Surroundings(settings.headlight, settings.background_color)

    def _settings(self, sensor: str) -> SensorSettings:
        return self.settings_of(self.simulated.name, sensor)

    def _rate(self, sensor: str, default: float) -> float:
        return self._settings(sensor).rate or default

    def _noise(self, sensor: str) -> Noise:
        return Noise(self.seed, self.simulated.name, sensor)

    def _all(self, kind: type[_D]) -> Iterator[_D]:
        return (d for d in self.simulated.body.devices if isinstance(d, kind))

    def _leave_out(self, device: devices.Device, error: ValueError) -> None:
        self._warn("unusable-device", device, f"is left out: {error}")

    def _warn(self, code: str, device: devices.Device, what: str) -> None:
        self.diagnostics.warn(code, self._about(device, what), device.at)

    def _note(self, code: str, device: devices.Device, what: str) -> None:
        self.diagnostics.note(code, self._about(device, what), device.at)

    def _about(self, device: devices.Device, what: str) -> str:
        return f"'{device.name}' of body '{self.simulated.name}' {what}"


def _lens(camera: devices.Camera) -> Pinhole:
    return Pinhole(
        camera.width, camera.height, camera.field_of_view, camera.near_clip, camera.far_clip
    )


def _positive(rate: float, what: str) -> float:
    if not 0.0 < rate < inf:
        raise ValueError(f"a {what} of {rate} Hz is impossible")
    return rate
