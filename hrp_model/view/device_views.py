"""Sensors and other devices of a robot in the scene."""

from __future__ import annotations

from collections.abc import Sequence
from math import atan, pi, tan
from typing import TYPE_CHECKING

import numpy as np

from ..devices import Camera, Device, LensType, Light, RangeSensor
from ..frames import X_S_OPTICAL
from ..geometry import IntArray
from ..rigid import Array, matrix_quaternion
from .robot import RobotView, label_text
from .viewer import Viewer, quaternion_wxyz

if TYPE_CHECKING:
    from viser import SceneNodeHandle

_CAMERA_COLOR, _RANGE_COLOR = (20, 90, 200), (230, 60, 40)
_FAN_RAYS = 48
_MAX_DEVICES = 300


class DeviceViews:
    """Draws the devices of a robot: cameras as frusta, range sensors as fans, others as axes.

    Lights are left out. Nothing is sent before the devices are shown.

    Args:
        viewer: The page.
        robot: The robot, to whose links they are attached.
    """

    def __init__(self, viewer: Viewer, robot: RobotView) -> None:
        self._server, self._robot = viewer.server, robot
        self._nodes: list[SceneNodeHandle] | None = None

    def show(self, on: bool) -> None:
        """Show or hide all devices."""
        with self._server.atomic():
            if self._nodes is None:
                if not on:
                    return
                devices = [d for d in self._robot.body.devices if not isinstance(d, Light)]
                self._nodes = [self._add(i, d) for i, d in enumerate(devices[:_MAX_DEVICES])]
                self._add_labels(devices[:_MAX_DEVICES])
            for node in self._nodes:
                node.visible = on

    def _add(self, index: int, device: Device) -> SceneNodeHandle:
        scene, length = self._server.scene, 0.03 * self._robot.size
        path = f"{self._robot.node_of(device.link)}/device_{index}"
        axes = scene.add_frame(
            path,
            axes_length=length,
            axes_radius=length / 20.0,
            position=np.nan_to_num(device.X_LS.p),
            wxyz=quaternion_wxyz(matrix_quaternion(device.X_LS.R)),
        )
        if isinstance(device, Camera) and device.lens_type is LensType.NORMAL:
            self._add_frustum(f"{path}/frustum", device)
        elif isinstance(device, RangeSensor):
            vertices, triangles = fan(device, 0.3 * self._robot.size)
            scene.add_mesh_simple(
                f"{path}/fan", vertices, triangles, color=_RANGE_COLOR, opacity=0.15, side="double",
                flat_shading=True, cast_shadow=False, receive_shadow=False,
            )  # fmt: skip
        return axes

    def _add_labels(self, devices: Sequence[Device]) -> None:
        """Name the devices; those at the same place share a label, as it would cover others."""
        places: dict[tuple[str, tuple[float, ...]], list[int]] = {}
        for i, device in enumerate(devices):
            place = np.round(np.nan_to_num(device.X_LS.p) / (0.01 * self._robot.size))
            places.setdefault((device.link, tuple(place + 0.0)), []).append(i)
        for indices in places.values():
            node = f"{self._robot.node_of(devices[indices[0]].link)}/device_{indices[0]}"
            names = "\n".join(label_text(devices[i].name) for i in indices)
            self._server.scene.add_label(
                f"{node}/label", names, font_screen_scale=0.7, anchor="top-left"
            )

    def _add_frustum(self, path: str, camera: Camera) -> None:
        vertical, aspect = vertical_field_of_view(camera)
        if not (0.0 < vertical < pi and 0.0 < aspect < np.inf):
            return
        self._server.scene.add_camera_frustum(
            path, vertical, aspect, scale=0.08 * self._robot.size, thickness=1.5,
            thickness_units="screen", color=_CAMERA_COLOR,
            wxyz=quaternion_wxyz(matrix_quaternion(X_S_OPTICAL.R)), cast_shadow=False,
            receive_shadow=False,
        )  # fmt: skip


def vertical_field_of_view(camera: Camera) -> tuple[float, float]:
    """Return the angle between top and bottom of a camera's image in [rad], and width / height."""
    aspect = camera.width / camera.height if camera.height > 0 else 0.0
    if aspect >= 1.0:  # the angle of the model is across the shorter side
        return camera.field_of_view, aspect
    half = tan(min(camera.field_of_view, 3.0) / 2.0) / max(aspect, 1e-3)
    return 2.0 * atan(half), aspect


def _sector(first: float, last: float) -> tuple[float, float]:
    """Return the ends of a sector that is neither too narrow to be seen nor beyond a circle."""
    middle, half = 0.5 * (first + last), min(max(last - first, 0.02), 2.0 * pi) / 2.0
    return middle - half, middle + half


def fan(sensor: RangeSensor, length: float) -> tuple[Array, IntArray]:
    """Return the sector that a range sensor scans as a mesh in its frame S.

    A scanner of several layers has a sector for the lowest and the highest.

    Args:
        sensor: The sensor.
        length: Radius at which the sector is cut off, in [m], if the sensor reaches farther.

    Returns:
        Vertices in [m], shape (n, 3), and triangles, shape (m, 3).
    """
    near = min(max(sensor.min_distance, 0.0), length)
    far = max(near, min(sensor.max_distance, length))
    yaw = np.linspace(*_sector(*sensor.yaw_limits), _FAN_RAYS)
    pitches = (0.0,) if sensor.is_planar else _sector(*sensor.pitch_limits)
    parts = []
    for pitch in pitches:
        # -Z turned about +X by the pitch, then about +Y by the yaw.
        rays = np.column_stack(
            (
                -np.sin(yaw) * np.cos(pitch),
                np.full(_FAN_RAYS, np.sin(pitch)),
                -np.cos(yaw) * np.cos(pitch),
            )
        )
        parts.append(np.concatenate((near * rays, far * rays)))
    i = np.arange(_FAN_RAYS - 1)
    quads = np.stack((i, i + 1, i + _FAN_RAYS + 1, i, i + _FAN_RAYS + 1, i + _FAN_RAYS), axis=1)
    one = quads.reshape(-1, 3)
    triangles = np.concatenate([one + 2 * _FAN_RAYS * k for k in range(len(parts))])
    return np.concatenate(parts), triangles.astype(np.int32)
