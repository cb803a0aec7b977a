"""The commands that print a model: as JSON in postures, as a tree, for RViz.

docs/dump-schema.json describes the JSON, which is made from plain data of a Body.

Lengths in [m], angles in [rad], masses in [kg]; an infinite limit is None, a missing joint or
device id is -1.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import singledispatch
from math import isinf
from pathlib import Path
from typing import Any

import numpy as np

from ..body import Body, ExtraJoint, Link
from ..devices import (
    AccelerationSensor,
    Camera,
    Device,
    DirectionalLight,
    ForceSensor,
    GenericDevice,
    Imu,
    LensType,
    Light,
    PhotoInterrupter,
    PointLight,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
)
from ..diagnostics import Diagnostics
from ..files.resources import read_file
from ..frames import FrameOptions, body_frames
from ..geometry import Box, Capsule, Cone, Cylinder, Geometry, Material, Mesh, Shape, Sphere
from ..kinematics import BodyState
from ..late_dataclass import dataclass
from ..program.body_text import body_tree
from ..program.command import GOOD, PROBLEMS, UsageError
from ..program.console import print_data, print_message
from ..program.outputs import Kind, Output, add_force, check_outputs, print_or_write
from ..program.parsing import MODEL
from ..program.report import load_and_report
from ..program.tables import output_console
from ..rigid import Array, frozen_array, is_rotation
from ..shapes import measure
from ..shapes.tessellate import shape_mesh

_MAX_FILE_SIZE = 1 << 24  # in [B]: some hundred thousand numbers
Json = dict[str, Any]
# Type names in files that differ from Choreonoid's class names.
_CLASSES = {"Holder": "HolderDevice"}
_LENSES = (LensType.NORMAL, LensType.FISHEYE, LensType.DUAL_FISHEYE)


class PostureError(ValueError):
    """A file of postures is invalid; the message names the file and the reason."""


@dataclass(frozen=True)
class Posture:
    """A posture of a body.

    Attributes:
        q: Positions by joint name, in [rad] or [m]; other joints keep their initial positions.
        root_p: Position of the root in [m], shape (3,); None for the model's.
        root_R: Rotation of the root, shape (3, 3); None for the model's.
    """

    q: Mapping[str, float] = field(default_factory=dict)
    root_p: Array | None = None
    root_R: Array | None = None


def read_postures(path: Path) -> list[Posture]:
    """Read postures from a JSON file: a list of {"root_p", "root_R", "q": {joint: value}}.

    Raises:
        PostureError: The file cannot be read or is invalid.
    """
    try:
        rows = json.loads(read_file(path, _MAX_FILE_SIZE).decode("utf-8"))
    except OSError as error:
        raise PostureError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise PostureError(f"{path} is not JSON: {error}") from None
    except RecursionError:
        raise PostureError(f"{path} is not a list of postures: it is nested too deep") from None
    if not isinstance(rows, list):
        raise PostureError(f"{path} must contain a list of postures")
    return [_posture(row, f"{path}, posture {i}") for i, row in enumerate(rows)]


def _posture(row: Any, where: str) -> Posture:
    keys = {"name", "root_p", "root_R", "q"}
    if not isinstance(row, dict) or not row.keys() <= keys:
        raise PostureError(f'{where} must be an object with "root_p", "root_R" and "q"')
    if not isinstance(row.get("q", {}), dict):
        raise PostureError(f'{where}: "q" must map joint names to positions')
    try:
        q = {str(name): float(value) for name, value in row.get("q", {}).items()}
        root_p, root_R = (
            None if key not in row else frozen_array(row[key], shape, key)
            for key, shape in (("root_p", (3,)), ("root_R", (3, 3)))
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise PostureError(f"{where}: {error}") from None
    numbers = [*q.values(), *(x for a in (root_p, root_R) if a is not None for x in a.ravel())]
    if not np.isfinite(numbers).all():
        raise PostureError(f"{where} has a number that is not finite")
    if root_R is not None and not is_rotation(root_R):
        raise PostureError(f"{where}: root_R is not a rotation matrix")
    return Posture(q, root_p, root_R)


def dump_device(device: Device) -> Json:
    """Return a device as plain data, with the name of Choreonoid's class."""
    kind, params = _class_and_params(device)
    return {
        "class": kind,
        "name": device.name,
        "id": -1 if device.id is None else device.id,
        "link": device.link,
        "p_local": device.X_LS.p.tolist(),
        "R_local": device.X_LS.R.tolist(),
        "params": params,
    }


def limit(value: float) -> float | None:
    """Return a limit for JSON: None if it is infinite."""
    return None if isinf(value) else float(value)


def _limits(values: Array) -> list[float | None]:
    return [limit(value) for value in values.tolist()]


@singledispatch
def _class_and_params(device: Device) -> tuple[str, Json]:
    name = type(device).__name__
    return _CLASSES.get(name, name), {}


@_class_and_params.register
def _(device: GenericDevice) -> tuple[str, Json]:
    return _CLASSES.get(device.type_name, device.type_name), {}


@_class_and_params.register
def _(device: AccelerationSensor) -> tuple[str, Json]:
    return "AccelerationSensor", {"dv_max": _limits(device.max_acceleration)}


@_class_and_params.register
def _(device: RateGyroSensor) -> tuple[str, Json]:
    return "RateGyroSensor", {"w_max": _limits(device.max_angular_velocity)}


@_class_and_params.register
def _(device: Imu) -> tuple[str, Json]:
    return "Imu", {
        "w_max": _limits(device.max_angular_velocity),
        "dv_max": _limits(device.max_acceleration),
    }


@_class_and_params.register
def _(device: ForceSensor) -> tuple[str, Json]:
    return "ForceSensor", {"F_max": _limits(device.max_force) + _limits(device.max_torque)}


@_class_and_params.register
def _(device: Camera) -> tuple[str, Json]:
    params: Json = {
        "frame_rate": device.frame_rate,
        "image_type": device.image_type.value,
        "lens_type": _LENSES.index(device.lens_type),
        "width": device.width,
        "height": device.height,
        "field_of_view": device.field_of_view,
        "near_clip": device.near_clip,
        "far_clip": device.far_clip,
    }
    if not device.image_type.has_depth:
        return "Camera", params
    params["min_distance"] = device.min_distance
    params["max_distance"] = limit(device.max_distance)
    params["detection_rate"] = device.detection_rate
    params["error_deviation"] = device.error_deviation
    return "RangeCamera", params


@_class_and_params.register
def _(device: RangeSensor) -> tuple[str, Json]:
    (min_yaw, max_yaw), (min_pitch, max_pitch) = device.yaw_limits, device.pitch_limits
    return "RangeSensor", {
        "min_yaw": min_yaw,
        "max_yaw": max_yaw,
        "yaw_step": device.yaw_step,
        "min_pitch": min_pitch,
        "max_pitch": max_pitch,
        "pitch_step": device.pitch_step,
        "min_distance": device.min_distance,
        "max_distance": limit(device.max_distance),
        "scan_rate": device.scan_rate,
        "detection_rate": device.detection_rate,
        "error_deviation": device.error_deviation,
    }


@_class_and_params.register
def _(device: PhotoInterrupter) -> tuple[str, Json]:
    return "PhotoInterrupter", {
        "transmitter": device.transmitter.tolist(),
        "receiver": device.receiver.tolist(),
    }


@_class_and_params.register
def _(device: DirectionalLight) -> tuple[str, Json]:
    return "DirectionalLight", _light(device) | {"direction": device.direction.tolist()}


@_class_and_params.register
def _(device: PointLight) -> tuple[str, Json]:
    return "PointLight", _point_light(device)


@_class_and_params.register
def _(device: SpotLight) -> tuple[str, Json]:
    return "SpotLight", _point_light(device) | {
        "direction": device.direction.tolist(),
        "beam_width": device.beam_width,
        "cut_off_angle": device.cut_off_angle,
        "cut_off_exponent": device.cut_off_exponent,
    }


def _light(device: Light) -> Json:
    return {
        "color": list(device.color),
        "intensity": device.intensity,
        "ambient_intensity": device.ambient_intensity,
    }


def _point_light(device: PointLight) -> Json:
    return _light(device) | {
        "attenuation": list(device.attenuation),
        "radius": limit(device.radius),
    }


def dump_body(body: Body, postures: Sequence[Posture] | None = None) -> Json:
    """Return a body as plain data.

    Args:
        body: The model.
        postures: Postures for which poses, centre of mass, mass matrix and gravity torques are
            added.

    Raises:
        KeyError: A posture names an unknown joint.
    """
    data: Json = {
        "model_name": body.name,
        "mass": float(body.total_mass),
        "links": [_link(link) for link in body.links],
        "joints": [None if link is None else link.joint.name for link in body.joints],
        "devices": [dump_device(device) for device in body.devices],
        "extra_joints": [_extra_joint(joint) for joint in body.extra_joints],
        "self_collision_disabled": sorted(sorted(p) for p in body.self_collision_disabled),
        "collision_disabled": sorted(body.collision_disabled),
    }
    if postures is not None:
        data["poses"] = [dump_posture(body, posture) for posture in postures]
    return data


def dump_posture(body: Body, posture: Posture) -> Json:
    """Return a body's poses and dynamics in one posture; raises KeyError as ``dump_body``."""
    state = BodyState(body)
    index = {link.joint.name: i for i, link in enumerate(body.moving_links)}
    for name, value in posture.q.items():
        if name not in index:
            raise KeyError(f"body '{body.name}' has no moving joint '{name}'")
        state.q[index[name]] = value
    if posture.root_p is not None:
        state.p[0] = posture.root_p
    if posture.root_R is not None:
        state.R[0] = posture.root_R
    state.calc_forward_kinematics()
    names = [link.name for link in body.links]
    return {
        "root_p": state.p[0].tolist(),
        "root_R": state.R[0].tolist(),
        "q": dict(zip(index, state.q.tolist(), strict=True)),
        "p": dict(zip(names, state.p.tolist(), strict=True)),
        "R": dict(zip(names, state.R.tolist(), strict=True)),
        "center_of_mass": state.calc_cm().tolist() if body.total_mass > 0.0 else None,
        "mass_matrix": state.calc_mass_matrix().tolist(),
        "mass_matrix_joints": list(index),
        "gravity_torque": dict(zip(index, state.gravity_torque().tolist(), strict=True)),
    }


def _link(link: Link) -> Json:
    joint = link.joint
    visual = _shapes(link.visual)
    return {
        "name": link.name,
        "parent": link.parent,
        "joint_name": joint.name,
        "joint_type": joint.type.value,
        "joint_id": -1 if joint.id is None else joint.id,
        "axis": joint.axis.tolist(),
        "b": link.X_PL.p.tolist(),
        "Rb": link.X_PL.R.tolist(),
        "q_initial": float(joint.initial),
        "q_lower": limit(joint.position.lower),
        "q_upper": limit(joint.position.upper),
        "dq_lower": limit(joint.velocity.lower),
        "dq_upper": limit(joint.velocity.upper),
        "u_lower": limit(joint.effort.lower),
        "u_upper": limit(joint.effort.upper),
        "mass": float(link.mass),
        "c": link.center_of_mass.tolist(),
        "I": link.inertia.tolist(),
        "Jm2": float(joint.equivalent_rotor_inertia),
        "encoder_pulse": None if joint.encoder_pulse is None else float(joint.encoder_pulse),
        "visual": visual,
        "collision": visual if link.collision == link.visual else _shapes(link.collision),
    }


def _shapes(shapes: tuple[Shape, ...]) -> Json:
    meshes = [shape_mesh(shape) for shape in shapes]
    boxes = (box for box in map(measure.bounding_box, meshes) if box is not None)
    whole = measure.union(boxes)
    return {
        "num_shapes": len(shapes),
        "triangles": sum(len(mesh.triangles) for mesh in meshes),
        "bbox_min": None if whole is None else whole.low.tolist(),
        "bbox_max": None if whole is None else whole.high.tolist(),
        "area": sum(map(measure.area, meshes)),
        "signed_volume": sum(map(measure.signed_volume, meshes)),
        "shapes": [_shape(s, m) for s, m in zip(shapes, meshes, strict=True)],
    }


def _shape(shape: Shape, mesh: Mesh) -> Json:
    box = measure.bounding_box(mesh)
    return {
        "name": shape.name,
        "type": type(shape.geometry).__name__,
        **_size(shape.geometry),
        "T": shape.T_FG.tolist(),
        "triangles": len(mesh.triangles),
        "bbox_min": None if box is None else box.low.tolist(),
        "bbox_max": None if box is None else box.high.tolist(),
        "area": measure.area(mesh),
        "material": _material(shape.material),
    }


def _size(geometry: Geometry) -> Json:
    if isinstance(geometry, Box):
        return {"size": geometry.size.tolist()}
    if isinstance(geometry, Sphere):
        return {"radius": float(geometry.radius)}
    if isinstance(geometry, Mesh):
        return {"vertices": len(geometry.vertices)}
    size: Json = {"radius": float(geometry.radius), "height": float(geometry.height)}
    faces: tuple[str, ...] = ()
    if isinstance(geometry, Cylinder):
        faces = ("top", "bottom", "side")
    elif isinstance(geometry, Cone):
        faces = ("bottom", "side")
    else:
        assert isinstance(geometry, Capsule)
    return size | {face: getattr(geometry, face) for face in faces}


def _material(material: Material) -> Json:
    texture = material.texture
    return {
        "name": material.name,
        "diffuse": list(material.diffuse),
        "specular": list(material.specular),
        "emissive": list(material.emissive),
        "ambient": material.ambient,
        "shininess": material.shininess,
        "transparency": material.transparency,
        "texture": None if texture is None else str(texture.path or texture.name),
    }


def _extra_joint(joint: ExtraJoint) -> Json:
    return {
        "type": joint.type.value,
        "name": joint.name,
        "link1": joint.links[0],
        "p_in_link1": joint.X_AJ.p.tolist(),
        "R_in_link1": joint.X_AJ.R.tolist(),
        "link2": joint.links[1],
        "p_in_link2": joint.X_BJ.p.tolist(),
        "R_in_link2": joint.X_BJ.R.tolist(),
        "axis": joint.axis.tolist(),
    }


def add_dump(dump: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-model dump``."""
    add_model(dump)
    dump.add_argument(
        "--poses",
        type=Path,
        metavar="POSES.json",
        help='list of postures {"root_p": [..], "root_R": [[..]..], "q": {joint: value}}; adds '
        "link poses, centre of mass, mass matrix and gravity torques for each",
    )


def add_rviz(rviz: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-model rviz``."""
    add_model(rviz)
    rviz.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead")
    add_force(rviz)
    for name in ("namespace", "frame-prefix", "world-frame"):
        rviz.add_argument(f"--{name}", default="", help="as for model_node (default: '')")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the argument for a model."""
    parser.add_argument("file", metavar="FILE", help=MODEL)


def dump(options: argparse.Namespace) -> int:
    """Run ``hrp-model dump``; return the exit status."""
    try:
        postures = None if options.poses is None else read_postures(options.poses)
    except PostureError as error:
        raise UsageError(str(error)) from None
    body, _ = load_and_report(options.file)
    try:
        _print_json(dump_body(body, postures))
    except KeyError as error:
        raise UsageError(f"{options.poses}: {error.args[0]}") from None
    except ValueError:  # JSON has only finite numbers
        print_message("error: a size or position of the model is too large to be calculated with")
        return PROBLEMS
    return GOOD


def rviz(options: argparse.Namespace) -> int:
    """Run ``hrp-model rviz``; return the exit status."""
    outputs = [Output("-o", options.output, Kind.RVIZ)]
    check_outputs(outputs, inputs=[options.file], force=options.force)
    body, _ = load_and_report(options.file)
    frames = body_frames(
        body, Diagnostics.silent(), FrameOptions(frame_prefix=options.frame_prefix)
    )
    from ..urdf import rviz_config  # and much that the others do not need

    try:
        text = rviz_config(
            body,
            frames,
            namespace=options.namespace,
            frame_prefix=options.frame_prefix,
            world_frame=options.world_frame,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    print_or_write(text, options.output)
    return GOOD


def tree(options: argparse.Namespace) -> int:
    """Run ``hrp-model tree``; return the exit status."""
    body, _ = load_and_report(options.file)
    output_console().print(body_tree(body))
    return GOOD


def _print_json(data: Any) -> None:
    print_data(f"{json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)}\n")
