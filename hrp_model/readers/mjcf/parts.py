"""Shapes of the links, cameras and sensors: the geoms and devices of a compiled model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import atan, inf, pi, radians, tan
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

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
from ...diagnostics import Diagnostics, Span, number_text, out_of_range
from ...geometry import (
    Y_TO_Z,
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Material,
    Mesh,
    Shape,
    Sphere,
    Surface,
    SurfaceRule,
)
from ...read_context import ReadContext
from ...rigid import Array, Pose, quaternion_matrix, rpy_matrix
from .compiler import Compiled, optional_row, titled

_Y_TO_Z = Pose(Y_TO_Z).matrix()
_KINDS = mujoco.mjtGeom
_MAX_FRICTION = 1e6
_SLIDING_DIMENSIONS = 3  # of condim: normal and tangential forces
_SLIDING = 1.0  # MuJoCo's coefficient of sliding friction where a model states none
# Properties of contacts without effect: their values where a model states none.
_UNUSED = {
    "solref": (0.02, 1.0),
    "solimp": (0.9, 0.95, 0.001, 0.5, 2.0),
    "margin": (0.0,),
    "gap": (0.0,),
}
_MAX_VISIBLE_GROUP = 2  # MuJoCo's viewer shows the groups 0 to 2


class ShapeReader:
    """Reads the geoms of bodies."""

    def __init__(self, compiled: Compiled, context: ReadContext) -> None:
        self._compiled = compiled
        self._model = compiled.model
        self._context = context
        self._meshes: dict[int, Mesh] = {}
        self._reported: set[str] = set()
        self._in_pairs = {*self._model.pair_geom1.tolist(), *self._model.pair_geom2.tolist()}

    def shapes(self, body: int, X_LB: Pose) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
        """Return the visual and the collision shapes of a body, placed in its link."""
        model = self._model
        visual: list[Shape] = []
        collision: list[Shape] = []
        for g in self._geoms(body):
            shape = self._shape(g, X_LB)
            if shape is None:
                continue
            self._context.count("shapes", at=self._at(g))
            if model.geom_group[g] <= _MAX_VISIBLE_GROUP:
                visual.append(shape)
            if self._collides(g):
                collision.append(shape)
        return tuple(visual), tuple(collision)

    def pairs_without_contact(self, bodies: list[int]) -> list[tuple[int, int]]:
        """Return the pairs of bodies with collision shapes that never collide.

        In MuJoCo these are bodies whose masks never meet, bodies without a joint between them,
        and those next to each other at a joint, except at a joint to the world.
        """
        model = self._model
        solid = [b for b in bodies if any(map(self._collides, self._geoms(b)))]
        types = self._masks(solid, model.geom_contype)
        affinities = self._masks(solid, model.geom_conaffinity)
        rigid = np.array(model.body_weldid[solid])  # the body that a body is fixed to
        above = np.array(model.body_weldid[model.body_parentid[rigid]])
        found: list[tuple[int, int]] = []
        for i, b in enumerate(solid):
            meets = (types[:i] & affinities[i]) | (affinities[:i] & types[i])
            near = (above[:i] == rigid[i]) | (rigid[:i] == above[i])
            near = near & (rigid[:i] > 0) & (rigid[i] > 0) | (rigid[:i] == rigid[i])
            apart = np.flatnonzero((meets == 0) | near).tolist()
            at = self._compiled.at_body(b)
            self._context.count("pairs of links that never collide", len(apart), at)
            found += ((solid[j], b) for j in apart)
        return found

    def _geoms(self, body: int) -> range:
        first = int(self._model.body_geomadr[body])
        return range(first, first + int(self._model.body_geomnum[body]))

    def _masks(self, bodies: list[int], of_geoms: Array) -> Array:
        """Return the bits that any geom of each body has, shape (len(bodies),)."""
        geoms = map(self._geoms, bodies)
        masks = [np.bitwise_or.reduce(of_geoms[x.start : x.stop]) for x in geoms]
        return np.array(masks, dtype=np.int64)

    def _collides(self, g: int) -> bool:
        """Return whether a geom is a collision shape."""
        model = self._model
        return bool(model.geom_contype[g] or model.geom_conaffinity[g] or g in self._in_pairs)

    def _shape(self, g: int, X_LB: Pose) -> Shape | None:
        model = self._model
        R = quaternion_matrix(np.roll(model.geom_quat[g], -1))
        T_LG = (X_LB @ Pose(R, np.array(model.geom_pos[g]))).matrix()
        kind = int(model.geom_type[g])
        a, b, c = model.geom_size[g].tolist()
        geometry: Geometry
        if kind == _KINDS.mjGEOM_BOX:
            geometry = Box(np.array([a, b, c]) * 2.0)
        elif kind == _KINDS.mjGEOM_SPHERE:
            geometry = Sphere(a)
        elif kind == _KINDS.mjGEOM_ELLIPSOID:
            geometry, T_LG = Sphere(1.0), T_LG @ np.diag([a, b, c, 1.0])
        elif kind == _KINDS.mjGEOM_CYLINDER:
            geometry, T_LG = Cylinder(a, 2.0 * b), T_LG @ _Y_TO_Z
        elif kind == _KINDS.mjGEOM_CAPSULE:
            geometry, T_LG = Capsule(a, 2.0 * b), T_LG @ _Y_TO_Z
        elif kind == _KINDS.mjGEOM_MESH:
            geometry = self._mesh(int(model.geom_dataid[g]))
        else:
            name = _KINDS(kind).name.removeprefix("mjGEOM_").lower()
            message = f"a geom of type {name} is left out: links have finite, rigid shapes"
            self._context.diagnostics.warn("no-counterpart", message, self._at(g))
            return None
        surface = self._surface(g) if self._collides(g) else None
        return Shape(geometry, T_LG, self._material(g), model.geom(g).name, surface)

    def _surface(self, g: int) -> Surface:
        """Return the contact properties of a geom; what is not used is reported once each."""
        model = self._model
        sliding, *others = model.geom_friction[g].tolist()
        dimensions, priority = int(model.geom_condim[g]), int(model.geom_priority[g])
        for attribute, is_unusual in self._unused.items():
            if is_unusual[g]:
                self._report_unused(attribute, "contacts have the settings of the world", g)
        if dimensions > _SLIDING_DIMENSIONS and any(others):
            self._report_unused("condim", "contacts have no torsional and rolling friction", g)
        friction = min(sliding, _MAX_FRICTION) if sliding > 0.0 else 0.0
        if friction != sliding:
            problem = out_of_range(sliding, 0.0, _MAX_FRICTION)
            message = f"friction {problem}; {number_text(friction)} is used"
            self._context.diagnostics.warn("surface-out-of-range", message, self._at(g))
        is_stated = friction != _SLIDING or priority != 0
        return Surface(
            rule=SurfaceRule.MUJOCO,
            friction=friction if is_stated else None,
            friction_across=friction if is_stated else None,
            is_frictionless=dimensions == 1,
            priority=priority,
        )

    @cached_property
    def _unused(self) -> dict[str, NDArray[np.bool_]]:
        """Which geoms state properties that are not used."""
        found: dict[str, NDArray[np.bool_]] = {}
        for name, default in _UNUSED.items():
            values = np.array(getattr(self._model, f"geom_{name}")).reshape(-1, len(default))
            found[name] = np.any(~np.isclose(values, default, rtol=1e-9), axis=1)
        return found

    def _report_unused(self, attribute: str, reason: str, g: int) -> None:
        if attribute not in self._reported:
            self._reported.add(attribute)
            message = f"{attribute} of geoms is not used: {reason}"
            self._context.diagnostics.note("not-used", message, self._at(g))

    def _mesh(self, m: int) -> Mesh:
        if m not in self._meshes:
            model = self._model
            vertices = _rows(model.mesh_vert, model.mesh_vertadr[m], model.mesh_vertnum[m])
            faces = _rows(model.mesh_face, model.mesh_faceadr[m], model.mesh_facenum[m])
            self._meshes[m] = Mesh(vertices.astype(np.float64), faces.astype(np.int32))
        return self._meshes[m]

    def _material(self, g: int) -> Material:
        model = self._model
        material = int(model.geom_matid[g])
        rgba = model.geom_rgba[g] if material < 0 else model.mat_rgba[material]
        r, g_, b, a = np.clip(rgba, 0.0, 1.0).tolist()
        name = "" if material < 0 else model.material(material).name
        return Material(name, (r, g_, b), transparency=1.0 - a)

    def _at(self, g: int) -> Span:
        return self._compiled.at("geoms", g)


def _rows(values: Any, start: int, count: int) -> Array:
    rows: Array = np.array(values[int(start) : int(start) + int(count)])
    return rows


_DEVICE_KINDS = mujoco.mjtSensor
_GYRO, _ACCELEROMETER = int(_DEVICE_KINDS.mjSENS_GYRO), int(_DEVICE_KINDS.mjSENS_ACCELEROMETER)
_FORCE, _TORQUE = int(_DEVICE_KINDS.mjSENS_FORCE), int(_DEVICE_KINDS.mjSENS_TORQUE)
_RANGEFINDER = int(_DEVICE_KINDS.mjSENS_RANGEFINDER)
_RGB, _DEPTH = 1, 2  # mjtCamOutBit
_SITE = mujoco.mjtObj.mjOBJ_SITE
# A rangefinder measures along +Z of its site, a range sensor along -Z.
_ALONG_Z = Pose(rpy_matrix(pi, 0.0, 0.0))
_ORTHOGRAPHIC = ("projection", "orthographic")  # the latter of older versions of MuJoCo
# Of joints and links, which every simulation publishes.
_OF_STATE = tuple(
    getattr(_DEVICE_KINDS, f"mjSENS_{name}")
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
            name = _DEVICE_KINDS(kind).name.removeprefix("mjSENS_").lower()
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
