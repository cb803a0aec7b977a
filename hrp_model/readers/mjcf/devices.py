"""Devices of a compiled model: cameras, and sensors that are the same on other robots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import atan, inf, pi, radians, tan
from typing import Any

import mujoco
import numpy as np

from ...devices import (
    AccelerationSensor,
    Camera,
    Device,
    ForceSensor,
    Imu,
    RangeSensor,
    RateGyroSensor,
)
from ...diagnostics import Diagnostics
from ...rigid import Pose, quaternion_matrix, rpy_matrix
from .compiler import Compiled, optional_row, titled

_KINDS = mujoco.mjtSensor
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
_USED = tuple(
    getattr(_KINDS, f"mjSENS_{name}")
    for name in ("GYRO", "ACCELEROMETER", "FORCE", "TORQUE", "RANGEFINDER")
)


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
        gyro, accelerometer = _KINDS.mjSENS_GYRO, _KINDS.mjSENS_ACCELEROMETER
        force, torque = _KINDS.mjSENS_FORCE, _KINDS.mjSENS_TORQUE
        if gyro in found and accelerometer in found:
            yield Imu(name=name or model.sensor(found[gyro]).name, **common)
        elif gyro in found:
            yield RateGyroSensor(name=model.sensor(found[gyro]).name or name, **common)
        elif accelerometer in found:
            sensor = found[accelerometer]
            yield AccelerationSensor(name=model.sensor(sensor).name or name, **common)
        if force in found or torque in found:
            sensor = found.get(int(force), found.get(int(torque), 0))
            yield ForceSensor(name=model.sensor(sensor).name or name, **common)
        if _KINDS.mjSENS_RANGEFINDER in found:
            sensor = found[_KINDS.mjSENS_RANGEFINDER]
            cutoff = float(model.sensor_cutoff[sensor])
            yield RangeSensor(
                name=model.sensor(sensor).name or name,
                **{**common, "X_LS": X_LS @ _ALONG_Z},
                yaw_range=0.0,
                min_distance=0.0,
                max_distance=cutoff if cutoff > 0.0 else inf,
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
            angle = radians(float(model.cam_fovy[i]))
            if width < height:
                angle = 2.0 * atan(tan(angle / 2.0) * width / height)
            yield Camera(
                name=name or f"{self._compiled.body_names[body]}_camera{i}",
                link=self._compiled.body_names[body],
                X_LS=self._offsets[body] @ _pose(model.cam_pos[i], model.cam_quat[i]),
                width=width,
                height=height,
                field_of_view=angle,
                at=at,
            )


def _pose(position: Any, wxyz: Any) -> Pose:
    return Pose(quaternion_matrix(np.roll(wxyz, -1)), np.array(position))
