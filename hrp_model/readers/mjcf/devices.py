"""Devices of a compiled model: cameras, and sensors that are the same on other robots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import atan, inf, pi, radians, tan
from typing import Any

import mujoco
import numpy as np

from ...devices import (
    AccelerationSensor,
    AxisNoise,
    Camera,
    Device,
    ForceSensor,
    ImageType,
    Imu,
    Intrinsics,
    RangeSensor,
    RateGyroSensor,
)
from ...diagnostics import Diagnostics
from ...rigid import Pose, quaternion_matrix, rpy_matrix
from .compiler import Compiled, optional_row, titled

_KINDS = mujoco.mjtSensor
_GYRO, _ACCELEROMETER = int(_KINDS.mjSENS_GYRO), int(_KINDS.mjSENS_ACCELEROMETER)
_FORCE, _TORQUE = int(_KINDS.mjSENS_FORCE), int(_KINDS.mjSENS_TORQUE)
_RANGEFINDER = int(_KINDS.mjSENS_RANGEFINDER)
_RGB, _DEPTH = 1, 2  # mjtCamOutBit
_SITE = mujoco.mjtObj.mjOBJ_SITE
# A rangefinder measures along +Z of its site, a range sensor along -Z.
_ALONG_Z = Pose(rpy_matrix(pi, 0.0, 0.0))
_ORTHOGRAPHIC = ("projection", "orthographic")  # the latter of older versions of MuJoCo
# Of joints and links, which every simulation publishes.
_OF_STATE = tuple(
    getattr(_KINDS, f"mjSENS_{name}")
    for name in (
        *("JOINTPOS", "JOINTVEL", "JOINTACTFRC", "ACTUATORPOS", "ACTUATORVEL", "ACTUATORFRC"),
        *("FRAMEPOS", "FRAMEQUAT", "FRAMEXAXIS", "FRAMEYAXIS", "FRAMEZAXIS", "FRAMELINVEL"),
        *("FRAMEANGVEL", "FRAMELINACC", "FRAMEANGACC", "SUBTREECOM", "SUBTREELINVEL"),
        *("SUBTREEANGMOM", "CLOCK", "VELOCIMETER"),
    )
)
_USED = _GYRO, _ACCELEROMETER, _FORCE, _TORQUE, _RANGEFINDER
_SCAN_RATE = RangeSensor.scan_rate


class DeviceReader:
    """Reads the devices on some bodies.

    Args:
        compiled: The model.
        offsets: Poses of bodies in their links, by body; those of the robot.
        diagnostics: Receives warnings.
    """

    def __init__(
        self, compiled: Compiled, offsets: Mapping[int, Pose], diagnostics: Diagnostics
    ) -> None:
        self._compiled = compiled
        self._model = compiled.model
        self._offsets = offsets
        self._diagnostics = diagnostics

    def devices(self) -> tuple[Device, ...]:
        """Return all devices."""
        return *self._sensors(), *self._cameras()

    def _sensors(self) -> Iterator[Device]:
        model = self._model
        kinds: dict[int, dict[int, int]] = {}  # sensor by site and kind
        for i in range(model.nsensor):
            kind, site = int(model.sensor_type[i]), int(model.sensor_objid[i])
            if kind in _OF_STATE:
                continue
            is_at_site = model.sensor_objtype[i] == _SITE
            if kind in _USED and is_at_site and int(model.site_bodyid[site]) in self._offsets:
                kinds.setdefault(site, {})[kind] = i
                continue
            name = _KINDS(kind).name.removeprefix("mjSENS_").lower()
            message = f"{titled('sensor', model.sensor(i).name)} is left out: {name}"
            self._diagnostics.warn("no-counterpart", message, self._compiled.at("sensors", i))
        for site, found in kinds.items():
            yield from self._at_site(site, found)

    def _at_site(self, site: int, found: Mapping[int, int]) -> Iterator[Device]:
        """Yield the devices of the sensors at a site."""
        model = self._model
        body = int(model.site_bodyid[site])
        X_LS = self._offsets[body] @ _pose(model.site_pos[site], model.site_quat[site])
        name = model.site(site).name
        at = self._compiled.at("sites", site)
        common: dict[str, Any] = {"link": self._compiled.body_names[body], "X_LS": X_LS, "at": at}
        gyro, accelerometer = found.get(_GYRO), found.get(_ACCELEROMETER)
        turns = self._measured(gyro, "max_angular_velocity", "angular_velocity_noise")
        pushes = self._measured(accelerometer, "max_acceleration", "acceleration_noise")
        if gyro is not None and accelerometer is not None:
            own, common["sample_rate"] = model.sensor(gyro).name, self._rate(gyro, accelerometer)
            yield Imu(name=name or own, **common, **turns, **pushes)
        elif gyro is not None:
            own, common["sample_rate"] = model.sensor(gyro).name, self._rate(gyro)
            yield RateGyroSensor(name=own or name, **common, **turns)
        elif accelerometer is not None:
            own, common["sample_rate"] = model.sensor(accelerometer).name, self._rate(accelerometer)
            yield AccelerationSensor(name=own or name, **common, **pushes)
        common.pop("sample_rate", None)
        force, torque = found.get(_FORCE), found.get(_TORQUE)
        if force is not None or torque is not None:
            sensors = [sensor for sensor in (force, torque) if sensor is not None]
            yield ForceSensor(
                name=model.sensor(sensors[0]).name or name,
                **common,
                **self._measured(force, "max_force", "force_noise"),
                **self._measured(torque, "max_torque", "torque_noise"),
                sample_rate=self._rate(*sensors),
            )
        if _RANGEFINDER in found:
            yield self._rangefinder(found[_RANGEFINDER], name, common)

    def _measured(self, sensor: int | None, limit: str, noise: str) -> dict[str, Any]:
        """Return the cutoff and the noise of a sensor, as arguments of these names."""
        if sensor is None:
            return {}
        cutoff = float(self._model.sensor_cutoff[sensor])
        axis = AxisNoise(stdev=float(self._model.sensor_noise[sensor]))
        limits = {limit: np.full(3, cutoff)} if cutoff > 0.0 else {}
        return {noise: (axis, axis, axis), **limits}

    def _rate(self, *sensors: int) -> float:
        """Return the rate of sensors in [Hz], the highest of them; 0 if it is not stated."""
        periods = [optional_row(self._model, "sensor_interval", sensor) for sensor in sensors]
        return max((1.0 / float(x[0]) if x.any() and x[0] > 0.0 else 0.0) for x in periods)

    def _rangefinder(self, sensor: int, site: str, common: Mapping[str, Any]) -> RangeSensor:
        cutoff = float(self._model.sensor_cutoff[sensor])
        return RangeSensor(
            name=self._model.sensor(sensor).name or site,
            **{**common, "X_LS": common["X_LS"] @ _ALONG_Z},
            yaw_range=0.0,
            min_distance=0.0,
            max_distance=cutoff if cutoff > 0.0 else inf,
            scan_rate=self._rate(sensor) or _SCAN_RATE,
            error_deviation=float(self._model.sensor_noise[sensor]),
        )

    def _cameras(self) -> Iterator[Device]:
        model = self._model
        for i in range(model.ncam):
            body = int(model.cam_bodyid[i])
            name = model.camera(i).name
            at = self._compiled.at("cameras", i)
            if body not in self._offsets:
                continue
            if model.cam_mode[i] != mujoco.mjtCamLight.mjCAMLIGHT_FIXED:
                message = f"{titled('camera', name)} is left out: it follows a body, for viewers"
                self._diagnostics.note("viewer-camera", message, at)
                continue
            if any(optional_row(model, f"cam_{x}", i).any() for x in _ORTHOGRAPHIC):
                message = f"{titled('camera', name)} is left out: it is orthographic"
                self._diagnostics.warn("no-counterpart", message, at)
                continue
            width, height = model.cam_resolution[i].tolist()
            if width <= 1 or height <= 1:  # not stated
                width, height = 640, 480
            intrinsics = self._intrinsics(i, width, height)
            angle = radians(float(model.cam_fovy[i]))
            if width < height:
                angle = 2.0 * atan(tan(angle / 2.0) * width / height)
            if width < height and intrinsics is not None:
                angle = 2.0 * atan(width / 2.0 / intrinsics.fx)
            yield Camera(
                name=name or f"{self._compiled.body_names[body]}_camera{i}",
                link=self._compiled.body_names[body],
                X_LS=self._offsets[body] @ _pose(model.cam_pos[i], model.cam_quat[i]),
                width=width,
                height=height,
                field_of_view=angle,
                intrinsics=intrinsics,
                image_type=self._image_type(i),
                at=at,
            )

    def _image_type(self, camera: int) -> ImageType:
        """Return the outputs of a camera; colours in older versions of MuJoCo."""
        bits = int(optional_row(self._model, "cam_output", camera).sum()) or _RGB
        if bits & ~(_RGB | _DEPTH):
            name = titled("camera", self._model.camera(camera).name)
            message = f"{name} has outputs that are left out: only rgb and depth are simulated"
            self._diagnostics.warn("no-counterpart", message, self._compiled.at("cameras", camera))
        if bits & _DEPTH:
            return ImageType.COLOR_DEPTH if bits & _RGB else ImageType.DEPTH
        return ImageType.COLOR

    def _intrinsics(self, camera: int, width: int, height: int) -> Intrinsics | None:
        """Return the intrinsics of a camera; None if it only has a field of view.

        MuJoCo's principal point is that of the middle of the image, relative to the optical axis.
        """
        across, along = self._model.cam_sensorsize[camera].tolist()
        if not (across > 0.0 and along > 0.0):
            return None
        fx, fy, x, y = self._model.cam_intrinsic[camera].tolist()
        per_x, per_y = width / across, height / along  # pixels per length
        middle = (width - 1) / 2.0, (height - 1) / 2.0
        return Intrinsics(fx * per_x, fy * per_y, middle[0] - x * per_x, middle[1] - y * per_y)


def _pose(position: Any, wxyz: Any) -> Pose:
    return Pose(quaternion_matrix(np.roll(wxyz, -1)), np.array(position))
