"""RViz displays as mappings: each function makes one.

The displays subscribe reliably, as sensors publish reliably: a best-effort subscriber would lose
large images.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from hrp_msgs.names import namespace_error

Display: TypeAlias = dict[str, Any]

_MAX_ARROW_WIDTH = 0.3
_POINTS = {"Style": "Points", "Position Transformer": "XYZ", "Decay Time": 0, "Alpha": 1}


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
    color = {"Size (Pixels)": 6, "Color Transformer": "FlatColor", "Color": "255; 40; 40"}
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
    others = ("MoveCamera", "Interact", "Select", "FocusCamera", "Measure")
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
