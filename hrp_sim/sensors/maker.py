"""From one device and its options to its sensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TypedDict

from hrp_model import Body, JointType, Pose, devices
from hrp_model.inertial_units import InertialUnit
from hrp_model.rigid import Array

from ..physics.state import SimulatedBody
from ..render import Pinhole, Renderer, Surroundings
from .camera import CameraSensor
from .encoders import Encoders
from .flaws import Flaws
from .force import ForceSensor
from .imu import ImuSensor
from .imu_noise import ImuNoise
from .joint import JointSensor
from .kinds import JOINT_STATES, ODOMETRY
from .noise import Noise
from .odometry import OdometrySensor
from .range import RangeSensor, RangeSensor3D
from .scanner import CastRays
from .settings import SensorSettings

# Rates of the sensors to which a model gives none, in [Hz].
IMU_RATE = FORCE_RATE = JOINT_STATE_RATE = 500.0
ODOMETRY_RATE = 100.0

# (name of a body, name of one of its sensors) -> settings.
SettingsOf = Callable[[str, str], SensorSettings]


class _Mounted(TypedDict):
    """What all sensors of devices have in common."""

    name: str
    body: str
    rate_hz: float
    link: int
    X_LS: Pose


@dataclass(frozen=True)
class SensorMaker:
    """Makes the sensors of one body. One that cannot be is a ValueError, which tells why.

    Attributes:
        simulated: The body.
        settings_of: Asked with the names of the body and of a sensor.
        seed: Of all noise.
        g_W: Gravity, in [m/s^2], shape (3,).
        cast_rays: Of the engine.
        step_ns: Of the physics, in [ns].
        renderer: Draws for cameras.
    """

    simulated: SimulatedBody
    settings_of: SettingsOf
    seed: int
    g_W: Array
    cast_rays: CastRays
    step_ns: int
    renderer: Renderer

    @property
    def body(self) -> Body:
        """The model."""
        return self.simulated.body

    def settings(self, sensor: str) -> SensorSettings:
        """Return the options of a sensor."""
        return self.settings_of(self.simulated.name, sensor)

    def joint_states(self) -> JointSensor:
        """Return the sensor of all joints and tracks."""
        links = self.body.jointed_links
        tracks = {i: x for i, x in enumerate(links) if x.joint.type is JointType.TRACK}
        resolutions = [link.joint.encoder_resolution for link in links]
        has_encoders = self.settings(JOINT_STATES).encoders and any(resolutions)
        return JointSensor(
            name=JOINT_STATES,
            body=self.simulated.name,
            rate_hz=self._rate(JOINT_STATES, JOINT_STATE_RATE),
            joints=tuple(link.joint.name for link in links),
            tracks={i: self.body.link_index(link.name) for i, link in tracks.items()},
            encoders=Encoders(resolutions) if has_encoders else None,
        )

    def odometry(self) -> OdometrySensor:
        """Return the sensor of the root's motion."""
        rate = self._rate(ODOMETRY, ODOMETRY_RATE)
        return OdometrySensor(name=ODOMETRY, body=self.simulated.name, rate_hz=rate)

    def imu(self, unit: InertialUnit) -> ImuSensor:
        """Return a gyro, an accelerometer, or both."""
        device, settings = unit.device, self.settings(unit.device.name)
        is_noisy = ImuNoise.is_in(settings)
        return ImuSensor(
            **self._mounted(device, IMU_RATE),
            g_W=self.g_W,
            max_angular_velocity=unit.max_angular_velocity,
            max_acceleration=unit.max_acceleration,
            tells_orientation=settings.orientation,
            noise=ImuNoise(settings, self._noise(device.name)) if is_noisy else None,
        )

    def force_sensor(self, device: devices.ForceSensor) -> ForceSensor:
        """Return a force sensor."""
        settings = self.settings(device.name)
        is_noisy = settings.force_stdev > 0.0 or settings.torque_stdev > 0.0
        return ForceSensor(
            **self._mounted(device, FORCE_RATE),
            max_force=device.max_force,
            max_torque=device.max_torque,
            on_link=settings.wrench_on == "link",
            cutoff_hz=settings.wrench_cutoff,
            force_stdev=settings.force_stdev,
            torque_stdev=settings.torque_stdev,
            noise=self._noise(device.name) if is_noisy else None,
        )

    def range_sensor(self, device: devices.RangeSensor) -> RangeSensor | RangeSensor3D:
        """Return a laser scanner, planar or with layers."""
        settings = self.settings(device.name)
        make: Callable[..., RangeSensor | RangeSensor3D] = RangeSensor
        if not device.is_planar:
            pitch_range, pitch_step = device.pitch_range, device.pitch_step
            make = partial(RangeSensor3D, pitch_range=pitch_range, pitch_step=pitch_step)
        return make(
            **self._mounted(device, device.scan_rate),
            yaw_range=device.yaw_range,
            yaw_step=device.yaw_step,
            min_distance=device.min_distance,
            max_distance=device.max_distance,
            cast_rays=self.cast_rays,
            sees_own_body=settings.own_body == "seen",
            no_return=device.max_distance if settings.no_return == "max" else inf,
            flaws=self._flaws(device),
            spread=settings.spread_scan,
            step_ns=self.step_ns,
        )

    def camera(self, device: devices.Camera) -> CameraSensor:
        """Return a camera, whatever its lens is one without distortion."""
        settings = self.settings(device.name)
        size = device.width, device.height
        return CameraSensor(
            **self._mounted(device, device.frame_rate),
            lens=Pinhole(*size, device.field_of_view, device.near_clip, device.far_clip),
            renderer=self.renderer,
            surroundings=Surroundings(settings.headlight, settings.background_color),
            image_type=device.image_type,
            min_distance=device.min_distance,
            max_distance=device.max_distance,
            flaws=self._flaws(device),
        )

    def _mounted(self, device: devices.Device, rate: float) -> _Mounted:
        return _Mounted(
            name=device.name,
            body=self.simulated.name,
            rate_hz=self._rate(device.name, rate),
            link=self.body.link_index(device.link),
            X_LS=device.X_LS,
        )

    def _rate(self, sensor: str, default: float) -> float:
        """Return the rate that is asked for, or else the default."""
        rate = self.settings(sensor).rate or default
        if not 0.0 < rate < inf:
            raise ValueError(f"a rate of {rate} Hz is impossible")
        return rate

    def _flaws(self, device: devices.Camera | devices.RangeSensor) -> Flaws:
        """Return what keeps distances from being ideal; options go before what the model says."""
        settings = self.settings(device.name)
        rate, deviation = settings.detection_rate, settings.error_deviation
        rate = device.detection_rate if rate < 0.0 else rate
        deviation = device.error_deviation if deviation < 0.0 else deviation
        is_ideal = rate == 1.0 and deviation == 0.0
        noise = None if is_ideal else self._noise(device.name)
        return Flaws(detection_rate=rate, error_deviation=deviation, noise=noise)

    def _noise(self, sensor: str) -> Noise:
        return Noise(self.seed, self.simulated.name, sensor)
