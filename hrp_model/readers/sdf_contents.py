"""Which contents of a sensor of SDF are read, and reports of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from .sdf_values import SdfReader
from .xml_tree import Element

# Elements by tag, with those inside of them; the contents of an empty one are not looked at.
_Contents: TypeAlias = Mapping[str, "_Contents"]


def _tags(*names: str) -> dict[str, _Contents]:
    return {name: {} for name in names}


FRAME_IDS = ("gz_frame_id", "ignition_frame_id", "frame_id", "frameName")
# Names in Gazebo; here topics and frames have the name of the device.
_NAMES = ("topic", *FRAME_IDS)
_CAMERA_NAMES = ("optical_frame_id", "camera_info_topic")

_BIAS = ("mean", "stddev", "bias_mean", "bias_stddev")
_DRIFT = ("dynamic_bias_stddev", "dynamic_bias_correlation_time")
_NOISE: dict[str, _Contents] = {"noise": _tags("type", "precision", *_BIAS, *_DRIFT)}
_VECTOR = dict.fromkeys(("x", "y", "z"), _NOISE)
_RAYS = _tags("samples", "resolution", "min_angle", "max_angle")
_LIDAR: _Contents = {
    "scan": {"horizontal": _RAYS, "vertical": _RAYS},
    # Gazebo does not round distances to this resolution either.
    "range": _tags("min", "max", "resolution"),
    **_NOISE,
    **_tags("visibility_mask"),
}
_CLIP = {"clip": _tags("near", "far")}
_CAMERA = {
    **_tags("horizontal_fov", "visibility_mask", "save", *_CAMERA_NAMES),
    "image": _tags("width", "height", "format", "anti_aliasing"),
    **_CLIP,
    "depth_camera": {**_tags("output"), **_CLIP},
    **_NOISE,
    "distortion": _tags("k1", "k2", "k3", "p1", "p2", "center"),
    "lens": {
        **_tags("type", "scale_to_hfov", "cutoff_angle", "env_texture_size"),
        "custom_function": _tags("c1", "c2", "c3", "f", "fun"),
        "intrinsics": _tags("fx", "fy", "cx", "cy", "s"),
        "projection": _tags("p_fx", "p_fy", "p_cx", "p_cy", "tx", "ty"),
    },
}
_IMU = {
    **_tags("enable_orientation"),
    "angular_velocity": _VECTOR,
    "linear_acceleration": _VECTOR,
    "noise": {**_tags("type"), "rate": _tags(*_BIAS), "accel": _tags(*_BIAS)},
    "orientation_reference_frame": _tags("localization"),
}
_WRENCH = {**_tags("frame", "measure_direction"), "force": _VECTOR, "torque": _VECTOR}
_SENSOR: _Contents = {
    **_tags("pose", "update_rate", *_NAMES),
    **_tags("always_on", "visualize", "enable_metrics", "plugin"),  # of Gazebo
    "imu": _IMU,
    "force_torque": _WRENCH,
    "camera": _CAMERA,
    "lidar": _LIDAR,
    "ray": _LIDAR,
}


def report_unused(sensor: SdfReader) -> None:
    """Warn about the contents of a sensor that are not read; names of Gazebo are a note."""
    for path, element in _unknown(sensor.element, _SENSOR, ()):
        # Older files have the contents of <imu>, <camera> and so on in the <sensor> itself.
        if len(path) > 1 or not any(path[0] in part for part in (_IMU, _WRENCH, _CAMERA, _LIDAR)):
            sensor.of(element).warn("not-used", f"<{'/'.join(path)}> of a sensor is not used")
    camera = sensor.inside("camera")
    named = [tag for tag in _NAMES if sensor.text(tag)]
    named += [tag for tag in _CAMERA_NAMES if camera is not None and camera.text(tag)]
    if named:
        listed = ", ".join(f"<{tag}>" for tag in named)
        message = f"{listed}: its topics and frames are named after the sensor instead"
        sensor.note("gazebo-name", message)


def _unknown(
    element: Element, known: _Contents, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Element]]:
    """Yield the elements that are not known, with their paths."""
    for child in element.children:
        inside = (*path, child.tag)
        if child.tag not in known:
            yield inside, child
        elif known[child.tag]:
            yield from _unknown(child, known[child.tag], inside)
