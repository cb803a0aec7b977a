"""Sensors and other devices of a robot in the scene, and what sensors measure."""

from __future__ import annotations

from collections.abc import Sequence
from math import atan, pi, tan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..devices import Camera, Device, LensType, Light, RangeSensor
from ..frames import X_S_OPTICAL
from ..geometry import IntArray
from ..late_dataclass import dataclass
from ..rigid import Array, Pose, matrix_quaternion
from .robot import RobotView, label_text
from .viewer import Viewer, quaternion_wxyz

if TYPE_CHECKING:
    from viser import (
        CameraFrustumHandle,
        GuiImageHandle,
        MeshHandle,
        PointCloudHandle,
        SceneNodeHandle,
    )

_CAMERA_COLOR, _RANGE_COLOR = (20, 90, 200), (230, 60, 40)
_FAN_RAYS = 48
_MAX_DEVICES = 300
Colors = NDArray[np.uint8]
Distances = NDArray[np.floating]
Color = tuple[int, int, int]
FORCE_COLOR, TORQUE_COLOR, ACCELERATION_COLOR = (220, 40, 40), (60, 90, 220), (20, 150, 60)
FRUSTUM_LENGTH = 0.2  # of a camera that takes pictures, in [m]
MAX_POINTS = 20_000  # of one cloud, so that a page draws it at every frame
_MAX_SIDE = 480  # of a picture in the panel, in pixels
_JPEG_QUALITY = 75
# Colours from near to far: yellow, green, blue, violet (as of the map "viridis").
_RAMP = np.array([[253, 231, 37], [94, 201, 98], [33, 145, 140], [59, 82, 139], [68, 1, 84]])
_PALETTE = np.stack(
    [np.interp(np.linspace(0.0, 4.0, 256), np.arange(5), channel) for channel in _RAMP.T], axis=1
).astype(np.uint8)


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


def distance_colors(distances: Distances, nearest: float, farthest: float) -> Colors:
    """Return colours from yellow (near) to violet (far); black where a distance is not finite.

    Args:
        distances: In [m], of any shape.
        nearest: Distance of the first colour, in [m].
        farthest: Distance of the last colour, in [m], more than ``nearest``.

    Returns:
        RGB, of the shape of ``distances`` and (3,).
    """
    with np.errstate(invalid="ignore"):
        steps = (distances - nearest) * (255.0 / (farthest - nearest))
        colors: Colors = _PALETTE[np.clip(np.nan_to_num(steps), 0.0, 255.0).astype(np.uint8)]
    colors[~np.isfinite(distances)] = 0
    return colors


def depth_picture(depth: Distances) -> Colors:
    """Return a depth image as a picture; its colours span the finite depths.

    Args:
        depth: In [m], shape (height, width).

    Returns:
        RGB, shape (height, width, 3); black where the depth is not finite.
    """
    finite = depth[np.isfinite(depth)]
    if not finite.size:
        return np.zeros((*depth.shape, 3), np.uint8)
    nearest, farthest = float(finite.min()), float(finite.max())
    return distance_colors(depth, nearest, max(farthest, nearest + 1e-3))


class PointsView:
    """A point cloud in the world.

    Args:
        viewer: The page.
        name: Its path in the scene.
        size: Diameter of a point, in [m].
        color: RGB; None colours the points by their distance from the sensor.
    """

    def __init__(self, viewer: Viewer, name: str, size: float, color: Color | None = None) -> None:
        self._server, self._name, self._size = viewer.server, name, size
        self._color = color
        self._node: PointCloudHandle | None = None

    def show(self, points: Array, origin: Array) -> None:
        """Show points; those that are not finite are left out, and some of very many.

        Args:
            points: In W, in [m], shape (n, 3).
            origin: Of the sensor in W, in [m], shape (3,), from which distances are measured.
        """
        shown = points[np.isfinite(points).all(axis=1)]
        shown = shown[:: max(1, -(-len(shown) // MAX_POINTS))]
        if not len(shown):
            self.hide()
            return
        colors = self._colors(np.linalg.norm(shown - origin, axis=1))
        with self._server.atomic():
            if self._node is None:
                self._node = self._server.scene.add_point_cloud(
                    self._name, shown, colors, point_size=self._size, precision="float32",
                    point_shape="circle", point_shading="flat",
                )  # fmt: skip
            else:
                self._node.points, self._node.colors = shown.astype(np.float32), colors
                self._node.visible = True

    def _colors(self, distances: Array) -> Colors:
        if self._color is not None:
            return np.full((len(distances), 3), self._color, np.uint8)
        nearest = float(distances.min())
        return distance_colors(distances, nearest, max(float(distances.max()), nearest + 1e-3))

    def hide(self) -> None:
        """Hide the points until the next ones."""
        if self._node is not None:
            self._node.visible = False

    def remove(self) -> None:
        """Remove the points from the scene."""
        if self._node is not None:
            self._node.remove()
            self._node = None


class ArrowsView:
    """Arrows in the world, such as forces, as one mesh.

    Args:
        viewer: The page.
        name: Their path in the scene.
        color: RGB.
        width: Diameter of the shafts, in [m].
    """

    def __init__(self, viewer: Viewer, name: str, color: Color, width: float) -> None:
        self._server, self._name, self._color, self._width = viewer.server, name, color, width
        self._node: MeshHandle | None = None
        self._count = 0  # of the arrows in the mesh; those not needed have no size

    def show(self, starts: Array, vectors: Array) -> None:
        """Show arrows; those that are not finite or shorter than their width are left out.

        Args:
            starts: In W, in [m], shape (n, 3).
            vectors: From start to tip, in W, in [m], shape (n, 3).
        """
        with np.errstate(invalid="ignore", over="ignore"):
            is_shown = np.linalg.norm(vectors, axis=1) > self._width
        is_shown &= np.isfinite(starts + vectors).all(axis=1)
        if not is_shown.any():
            self.hide()
            return
        vertices = arrow_vertices(starts[is_shown], vectors[is_shown], self._width)
        count = len(vertices)
        if self._node is None or count > self._count:
            self._count = max(count, 2 * self._count)
        unused = np.broadcast_to(vertices[:1, :1], (self._count - count, *vertices.shape[1:]))
        vertices = np.concatenate([vertices, unused]).reshape(-1, 3)
        triangles = _ARROW_TRIANGLES + len(_ARROW) * np.arange(self._count)[:, None, None]
        with self._server.atomic():
            if self._node is None or len(self._node.vertices) != len(vertices):
                self._node = self._server.scene.add_mesh_simple(
                    self._name, vertices, triangles.reshape(-1, 3), color=self._color,
                    flat_shading=True, side="double", cast_shadow=False, receive_shadow=False,
                )  # fmt: skip
            else:
                self._node.vertices = vertices.astype(np.float32)
                self._node.visible = True

    def hide(self) -> None:
        """Hide the arrows until the next ones."""
        if self._node is not None:
            self._node.visible = False

    def remove(self) -> None:
        """Remove the arrows from the scene."""
        if self._node is not None:
            self._node.remove()
            self._node = None


_SIDES = 12  # of an arrow


_HEAD = np.array([1.5, 3.0])  # radius and length of a head, in widths


def _arrow() -> tuple[Array, NDArray[np.int32]]:
    """Return the vertices of an arrow, for ``arrow_vertices``, and its triangles.

    A vertex is a point on a circle (cosine, sine), its radius in widths, and whether it is at the
    end of the shaft and at the tip: rings at the start, at the end of the shaft and at the base of
    the head, and the tip.
    """
    angles = np.linspace(0.0, 2.0 * np.pi, _SIDES, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rings = [(0.5, 0.0, 0.0), (0.5, 1.0, 0.0), (_HEAD[0], 1.0, 0.0)]
    rows = [np.concatenate([circle, np.tile(ring, (_SIDES, 1))], axis=1) for ring in rings]
    i, j = np.arange(_SIDES), np.roll(np.arange(_SIDES), -1)
    sides = [np.stack([at + i, at + j, at + _SIDES + j], axis=1) for at in (0, _SIDES)] + [
        np.stack([at + i, at + _SIDES + j, at + _SIDES + i], axis=1) for at in (0, _SIDES)
    ]
    tip = np.stack([2 * _SIDES + i, 2 * _SIDES + j, np.full(_SIDES, 3 * _SIDES)], axis=1)
    vertices = np.concatenate([*rows, [[0.0, 0.0, 0.0, 0.0, 1.0]]])
    return vertices, np.concatenate([*sides, tip]).astype(np.int32)


_ARROW, _ARROW_TRIANGLES = _arrow()


def arrow_vertices(starts: Array, vectors: Array, width: float) -> Array:
    """Return the vertices of arrows, the last of each being its tip, in [m], shape (n, m, 3).

    Args:
        starts: In [m], shape (n, 3).
        vectors: From start to tip, in [m], shape (n, 3), not zero.
        width: Diameter of the shafts, in [m].
    """
    lengths = np.linalg.norm(vectors, axis=1)[:, None]
    ahead = vectors / lengths
    other = np.eye(3)[np.argmin(np.abs(ahead), axis=1)]  # not parallel
    right = np.cross(ahead, other)
    right /= np.linalg.norm(right, axis=1)[:, None]
    up = np.cross(ahead, right)
    head = np.minimum(_HEAD[1] * width, lengths)
    cosine, sine, radius, at_shaft, at_tip = _ARROW.T
    along = at_shaft * (lengths - head) + at_tip * lengths
    radial = np.einsum("k,nx->nkx", cosine * radius, right)
    radial += np.einsum("k,nx->nkx", sine * radius, up)
    vertices: Array = starts[:, None] + width * radial + along[..., None] * ahead[:, None]
    return vertices


@dataclass(frozen=True)
class Lens:
    """Projection of a camera, to draw its field of view.

    Attributes:
        vertical_angle: Field of view, in [rad].
        aspect: Width by height.
        size: Length of the drawn frustum, in [m].
    """

    vertical_angle: float
    aspect: float
    size: float


class PictureView:
    """The pictures of a camera in the panel, and its frustum in the scene.

    The picture is added to the panel's present container with the first image, in the order that
    is given.

    Args:
        viewer: The page.
        name: Path of the frustum in the scene.
        label: Title of the picture.
        lens: To draw the frustum; None for no frustum.
        order: Place among the elements of its container.
    """

    def __init__(
        self, viewer: Viewer, name: str, label: str, lens: Lens | None, order: float
    ) -> None:
        gui = viewer.server.gui
        self._server = viewer.server
        blank = np.full((2, 2, 3), 128, np.uint8)
        self._picture: GuiImageHandle = gui.add_image(
            blank, label=label_text(label), format="jpeg", jpeg_quality=_JPEG_QUALITY, order=order,
            visible=False,
        )  # fmt: skip
        self._frustum: CameraFrustumHandle | None = None
        if lens is not None:
            self._frustum = self._server.scene.add_camera_frustum(
                name, lens.vertical_angle, lens.aspect, thickness=0.02 * lens.size,
                color=(70, 70, 70), visible=False, cast_shadow=False,
            )  # fmt: skip
            self._frustum.scale = lens.size / self._frustum.compute_canonical_frustum_size()[2]

    def show(self, picture: Colors) -> None:
        """Show a picture.

        Args:
            picture: RGB, shape (height, width, 3), row 0 at the top.
        """
        every = -(-max(picture.shape[:2]) // _MAX_SIDE)
        sent = np.ascontiguousarray(picture[::every, ::every])
        with self._server.atomic():
            self._picture.image = sent
            self._picture.visible = True
            if self._frustum is not None:
                self._frustum.visible = True

    def move(self, X_WC: Pose) -> None:
        """Move the frustum to the pose of the optical frame C in W: x right, y down, z forward."""
        if self._frustum is not None:
            self._frustum.position = X_WC.p
            self._frustum.wxyz = quaternion_wxyz(matrix_quaternion(X_WC.R))

    def hide(self) -> None:
        """Hide the picture and the frustum until the next picture."""
        self._picture.visible = False
        if self._frustum is not None:
            self._frustum.visible = False

    def remove(self) -> None:
        """Remove picture and frustum from the page."""
        self._picture.remove()
        if self._frustum is not None:
            self._frustum.remove()
