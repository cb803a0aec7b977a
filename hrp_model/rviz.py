"""RViz configuration files: displays, and the document that contains them with a view.

The displays subscribe reliably, as sensors publish reliably: a best-effort subscriber would lose
large images.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any, TypeAlias

import numpy as np

from hrp_msgs.names import namespace_error

from .body import Body, Link
from .files.writer import yaml_text
from .frames import Frame
from .printable import printable_lines
from .rigid import Pose
from .shapes.measure import BoundingBox, bounding_box, union
from .shapes.tessellate import shape_mesh, transformed

Display: TypeAlias = dict[str, Any]
_MAX_ARROW_WIDTH = 0.3
_POINTS = {"Style": "Points", "Position Transformer": "XYZ", "Decay Time": 0, "Alpha": 1}
# Distance of the camera in lengths of what it shows, which fits into the field of view of 45
# degrees; behind what looks along +x, to its right.
_DISTANCE = 3.0
_YAW, _PITCH, _STEEP_PITCH = 3.6, 0.3, 1.0
_MIN_RADIUS = 0.01  # [m]
_NO_HEIGHT = 1e-6  # of the radius of what is visible
_WINDOW = (1600, 1000)  # [pixel]
_LEFT_WIDTH, _TIME_HEIGHT = 460, 70  # [pixel]; of the displays, and of the time below
# Values of Qt's saveState: places and flows of docks, and the toolbar with the name Tools.
_LEFT, _BOTTOM, _ACROSS, _DOWN = 0, 3, 1, 2
_CORNERS = bytes.fromhex("00000004000000040000000800000008")
_TOOLBARS = bytes.fromhex(
    "fc0000000100000002000000010000000a0054006f006f006c00730100000000ffffffff0000000000000000"
)
_FARTHEST = 1e15  # [m]; absurd models are cut off there


def tf_prefix(frame_prefix: str) -> str:
    """Return RViz's TF Prefix for a frame prefix.

    RViz appends a slash to its prefix, so the frame prefix must end with one.

    Raises:
        ValueError: The prefix does not end with a slash.
    """
    if frame_prefix and not frame_prefix.endswith("/"):
        problem = "RViz can only display robots whose frame prefix ends with '/'"
        raise ValueError(f"{problem}: use '{frame_prefix}/' instead of '{frame_prefix}'")
    return frame_prefix[:-1]


def absolute_topic(namespace: str, topic: str) -> str:
    """Return the absolute name of a topic in a namespace.

    Raises:
        ValueError: The namespace is not valid in ROS.
    """
    if objection := namespace_error(namespace.strip("/")):
        raise ValueError(objection)
    if topic.startswith("/"):
        return topic
    return "/" + "/".join(level for level in f"{namespace}/{topic}".split("/") if level)


def grid(frame: str, cell: float, height: float) -> Display:
    """Return a grid of 20 by 20 cells of a length in [m], at a height in [m] in a frame."""
    return _display(
        "Grid",
        "Grid",
        {
            "Reference Frame": frame,
            "Plane": "XY",
            "Offset": {"X": 0, "Y": 0, "Z": height},
            "Cell Size": cell,
            "Plane Cell Count": 20,
            "Color": "160; 160; 164",
            "Alpha": 0.5,
        },
    )


def robot_model(
    name: str, description_topic: str, prefix: str, *, translucent: bool = False
) -> Display:
    """Return a RobotModel from a latched description topic, with RViz's TF Prefix."""
    return _display(
        "RobotModel",
        name,
        {
            "Description Source": "Topic",
            "Description Topic": _topic(description_topic, depth=1, latched=True),
            "TF Prefix": prefix,
            "Visual Enabled": True,
            "Collision Enabled": False,
            "Alpha": 0.5 if translucent else 1,
            "Update Interval": 0,
        },
    )


def frames(marker: float, *, on: bool) -> Display:
    """Return the TF display, with axes of a length in [m]."""
    return _display(
        "TF",
        "Frames",
        {
            "Show Names": False,
            "Show Axes": True,
            "Show Arrows": False,
            "Marker Scale": marker,
            "Frame Timeout": 15,
            "Update Interval": 0,
        },
        on=on,
    )


def scan(name: str, topic: str) -> Display:
    """Return a LaserScan, shown as points of one colour."""
    color = {"Size (Pixels)": 4, "Color Transformer": "FlatColor", "Color": "255; 40; 40"}
    return _display("LaserScan", name, {"Topic": _topic(topic), **_POINTS, **color})


def point_cloud(name: str, topic: str, *, colored: bool, on: bool = True) -> Display:
    """Return a PointCloud2, in its own colours or coloured by height."""
    color = {"Color Transformer": "RGB8"}
    if not colored:
        color = {"Color Transformer": "AxisColor", "Axis": "Z"}
    shown = {"Topic": _topic(topic), **_POINTS, "Size (Pixels)": 2, **color}
    return _display("PointCloud2", name, shown, on=on)


def camera_image(name: str, topic: str, *, on: bool = True) -> Display:
    """Return an Image in a window of its own.

    A disabled one belongs into a disabled group: else RViz opens its window, and then enables it.
    """
    return _display("Image", name, {"Topic": _topic(topic), "Normalize Range": True}, on=on)


def depth_image(name: str, topic: str, max_depth: float) -> Display:
    """Return a depth Image, black at zero and white at the maximum depth in [m]; disabled."""
    limits = {"Normalize Range": False, "Min Value": 0, "Max Value": max_depth}
    return _display("Image", name, {"Topic": _topic(topic), **limits}, on=False)


def wrench(name: str, topic: str, force_scale: float, length: float) -> Display:
    """Return a WrenchStamped, shown as two arrows.

    Args:
        name: Name of the display.
        topic: Topic of the messages.
        force_scale: Length of the force arrow in [m/N]; the torque arrow has ten times as many
            [m/(N m)].
        length: Length of the arrow of a usual force, in [m].
    """
    # The shaft is a tenth of RViz's width in [m] thick; arrows shorter than the width are hidden.
    width = min(_MAX_ARROW_WIDTH, 0.6 * length)
    return _display(
        "Wrench",
        name,
        {
            "Topic": _topic(topic),
            "Force Color": "204; 51; 51",
            "Force Arrow Scale": force_scale,
            "Torque Color": "204; 204; 51",
            "Torque Arrow Scale": rounded(10.0 * force_scale),
            "Arrow Width": rounded(width),
            "History Length": 1,
            "Alpha": 1,
        },
    )


def odometry(name: str, topic: str, length: float) -> Display:
    """Return an Odometry, shown as axes of a length in [m]; disabled, as the robot hides it."""
    axes = {"Value": "Axes", "Axes Length": length, "Axes Radius": 0.1 * length}
    shown = {"Topic": _topic(topic), "Keep": 1, "Shape": axes, "Covariance": {"Value": False}}
    return _display("Odometry", name, shown, on=False)


def markers(name: str, topic: str) -> Display:
    """Return a MarkerArray with all its namespaces."""
    return _display("MarkerArray", name, {"Topic": _topic(topic), "Namespaces": {}})


def occupancy_map(name: str, topic: str, *, is_costmap: bool = False) -> Display:
    """Return a Map from a latched topic: of what is occupied, or translucent as costs."""
    shown = {"Topic": _topic(topic, depth=1, latched=True)}
    if not is_costmap:
        return _display("Map", name, {**shown, "Color Scheme": "map", "Alpha": 0.7})
    return _display(
        "Map", name, {**shown, "Color Scheme": "costmap", "Alpha": 0.35, "Draw Behind": True}
    )


def path(name: str, topic: str) -> Display:
    """Return a Path, as a green line."""
    shown = {"Topic": _topic(topic), "Color": "25; 200; 25", "Line Style": "Lines"}
    return _display("Path", name, shown)


def polygon(name: str, topic: str) -> Display:
    """Return a PolygonStamped, in blue."""
    return _display("Polygon", name, {"Topic": _topic(topic), "Color": "60; 110; 255"})


def motion_planning(planning_group: str) -> Display:
    """Return MoveIt's MotionPlanning, with its panel; names are relative to RViz's namespace."""
    display = _display(
        "MotionPlanning",
        "MotionPlanning",
        {
            "Robot Description": "robot_description",
            "Planning Scene Topic": "monitored_planning_scene",
            "Scene Robot": {"Robot Alpha": 0.5},
            "Planning Request": {"Planning Group": planning_group, "Query Goal State": True},
            "Planned Path": {"Trajectory Topic": "display_planned_path"},
            "Velocity_Scaling_Factor": 0.1,
            "Acceleration_Scaling_Factor": 0.1,
        },
    )
    return {**display, "Class": "moveit_rviz_plugin/MotionPlanning"}


def group(name: str, displays: Sequence[Display], *, on: bool = True) -> Display:
    """Return a group of displays."""
    display = _display("Group", name, {"Displays": list(displays)}, on=on)
    return {**display, "Class": "rviz_common/Group"}


def tools(namespace: str) -> list[Display]:
    """Return the tools of the mouse, which publish in a namespace; the first one is active.

    Raises:
        ValueError: The namespace is not valid in ROS.
    """
    publishing = {
        "SetInitialPose": "initialpose",
        "SetGoal": "goal_pose",
        "PublishPoint": "clicked_point",
    }
    others = ("Interact", "MoveCamera", "Select", "FocusCamera", "Measure")
    return [
        *({"Class": f"rviz_default_plugins/{name}"} for name in others),
        *(
            {
                "Class": f"rviz_default_plugins/{name}",
                "Topic": _topic(absolute_topic(namespace, topic)),
            }
            for name, topic in publishing.items()
        ),
    ]


def rounded(value: float) -> float:
    """Return a number rounded to four significant digits; never -0."""
    return float(f"{float(value):.4g}") + 0.0


def _display(kind: str, name: str, properties: Display, *, on: bool = True) -> Display:
    shown = {"Class": f"rviz_default_plugins/{kind}", "Name": name, "Enabled": on}
    return {**shown, **properties, "Value": on}


def _topic(name: str, *, depth: int = 5, latched: bool = False) -> Display:
    return {
        "Value": name,
        "Depth": depth,
        "History Policy": "Keep Last",
        "Reliability Policy": "Reliable",
        "Durability Policy": "Transient Local" if latched else "Volatile",
    }


def body_box(body: Body, poses: Mapping[str, Pose]) -> BoundingBox:
    """Return the bounding box of a body; links without shapes count as points.

    Args:
        body: The body.
        poses: Poses of its links, by name, in the frame of the result.
    """
    whole = union(link_box(link, poses[link.name]) for link in body.links)
    assert whole is not None  # a body has a root
    return whole


def link_box(link: Link, pose: Pose) -> BoundingBox:
    """Return the bounding box of a link; that of one without shapes is a point.

    Args:
        link: The link.
        pose: Its pose in the frame of the result.
    """
    meshes = (shape_mesh(x) for x in link.visual or link.collision)
    boxes = (bounding_box(transformed(mesh, pose.matrix())) for mesh in meshes)
    return union(box for box in boxes if box is not None) or BoundingBox(pose.p, pose.p)


def document(
    displays: Sequence[Display],
    frame: str,
    visible: BoundingBox | None,
    *,
    comment: str,
    floor_height: float | None = None,
    frames_on: bool = True,
    followed: Frame | None = None,
    from_above: bool = False,
    namespace: str = "",
    is_simulation: bool = False,
) -> str:
    """Return the text of a configuration file.

    It always contains a grid and the TF display, and tools that publish poses and points.

    Args:
        displays: Further displays.
        frame: The fixed frame.
        visible: The box to show, in the fixed frame; None for a cube of 1 m at the origin.
        comment: One or more lines about the purpose of the file.
        floor_height: Height of the grid, in [m]; None for the lowest point of the box.
        frames_on: Whether the TF display is enabled.
        followed: The frame that the view follows, at its present pose in the fixed frame; None
            for the fixed frame.
        from_above: Whether to look down steeply, as at a map.
        namespace: Of the topics of the tools.
        is_simulation: Whether to show simulation time.

    Raises:
        ValueError: The namespace is not valid in ROS.
    """
    box = visible or BoundingBox(np.full(3, -0.5), np.full(3, 0.5))
    box = BoundingBox(*(np.nan_to_num(np.clip(x, -_FARTHEST, _FARTHEST)) for x in box))
    radius = view_radius(box)
    height = box.low[2] if floor_height is None else floor_height
    cell = rounded(_floor_125(radius / 2.0))
    shown = [
        grid(frame, cell, rounded(height) if abs(height) > _NO_HEIGHT * radius else 0.0),
        *displays,
        frames(rounded(0.4 * radius), on=frames_on),
    ]
    target = Frame(frame, "", Pose()) if followed is None else followed
    view = {**_view(target, box), "Pitch": _STEEP_PITCH if from_above else _PITCH}
    layout = _layout(shown, frame, view, tools(namespace), is_simulation=is_simulation)
    text = yaml_text(layout, width=1000)
    return "".join(f"# {line}\n" for line in printable_lines(comment).splitlines()) + text


def view_radius(box: BoundingBox) -> float:
    """Return the radius of the visible sphere around a box, in [m]; at least 1 cm."""
    return max(box.radius, _MIN_RADIUS)


def _layout(
    displays: Sequence[Display],
    frame: str,
    view: dict[str, Any],
    mouse_tools: Sequence[Display],
    *,
    is_simulation: bool,
) -> dict[str, Any]:
    panels: list[dict[str, Any]] = [{"Class": "rviz_common/Displays", "Name": "Displays"}]
    if is_simulation:
        panels.append(
            {"Class": "rviz_common/Time", "Name": "Time", "SyncMode": 0, "SyncSource": ""}
        )
    return {
        "Panels": panels,
        "Visualization Manager": {
            "Class": "",
            "Displays": list(displays),
            "Global Options": {
                "Background Color": "48; 48; 48",
                "Fixed Frame": frame,
                "Frame Rate": 30,
            },
            "Name": "root",
            "Tools": list(mouse_tools),
            "Transformation": {"Current": {"Class": "rviz_default_plugins/TF"}},
            "Value": True,
            "Views": {"Current": view, "Saved": None},
        },
        "Window Geometry": {
            "Width": _WINDOW[0],
            "Height": _WINDOW[1],
            # Without it, RViz gives two thirds of its width to the displays.
            "QMainWindow State": _window_state().hex(),
            # RViz reads undefined values where these are missing.
            "Hide Left Dock": False,
            "Hide Right Dock": False,
        },
    }


def _window_state() -> bytes:
    """Return the places of the panels as QMainWindow saves them, version 0 of Qt 5.

    Panels that are not in it, as those of images, come below the displays.
    """
    width, height = _WINDOW
    left = _dock("Displays", (_LEFT, _LEFT_WIDTH, height - _TIME_HEIGHT, _DOWN), height)
    bottom = _dock("Time", (_BOTTOM, width, _TIME_HEIGHT, _ACROSS), width)
    center = struct.pack(">ii", width - _LEFT_WIDTH, height - _TIME_HEIGHT)
    head = struct.pack(">iiBi", 0xFF, 0, 0xFD, 2)
    return head + left + bottom + center + _CORNERS + _TOOLBARS


def _dock(name: str, area: tuple[int, int, int, int], length: int) -> bytes:
    """Return an area with one dock: its place, its width and height and flow; in [pixel]."""
    place, width, height, flow = area
    text = name.encode("utf-16-be")
    head = struct.pack(">iiiBBiBi", place, width, height, 0xFC, flow, 1, 0xFB, len(text))
    return head + text + struct.pack(">Biiii", 1, 0, length, 0, 0xFFFFFF)


def _view(target: Frame, box: BoundingBox) -> dict[str, Any]:
    length = max(float(np.max(box.high - box.low)), _MIN_RADIUS)
    X_TF = target.pose.inverse()
    x, y, z = (rounded(value) for value in X_TF.R @ box.center + X_TF.p)
    return {
        "Class": "rviz_default_plugins/Orbit",
        "Name": "Current View",
        "Target Frame": target.name,
        "Distance": rounded(_DISTANCE * length),
        "Focal Point": {"X": x, "Y": y, "Z": z},
        "Yaw": _YAW,
        "Near Clip Distance": rounded(min(0.01, length / 40.0)),
        "Value": "Orbit (rviz)",
    }


def _floor_125(length: float) -> float:
    """Return the largest of ..., 0.1, 0.2, 0.5, 1, 2, 5, ... that does not exceed a length."""
    decade = 10.0 ** floor(log10(length))
    return decade * max(step for step in (1, 2, 5) if step * decade <= length * (1.0 + 1e-9))
