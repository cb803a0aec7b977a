"""Node parameters as data: one table gives the declaration, the limits and the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node


@dataclass(frozen=True)
class Param:
    """A parameter. Its default fixes the type, its doc names the unit.

    Attributes:
        minimum, maximum: Of a float; others have no limits.
        read_only: Whether it can be set at the start only.

    Raises:
        ValueError: Limits are given to something else than a float.
    """

    name: str
    default: bool | int | float | str
    doc: str
    minimum: float = -inf
    maximum: float = inf
    read_only: bool = True

    def __post_init__(self) -> None:
        if self._is_limited and not isinstance(self.default, float):
            raise ValueError(f"parameter '{self.name}' has limits but is no float")

    @property
    def _is_limited(self) -> bool:
        return self.minimum > -inf or self.maximum < inf

    def descriptor(self) -> ParameterDescriptor:
        """Return the descriptor by which rclpy enforces the limits."""
        descriptor = ParameterDescriptor(description=self.doc, read_only=self.read_only)
        if self._is_limited:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=self.minimum, to_value=self.maximum)
            ]
        return descriptor


def declare(node: Node, params: Iterable[Param]) -> dict[str, Any]:
    """Declare parameters on a node and return their values by name.

    Raises:
        InvalidParameterValueException, InvalidParameterTypeException: What the node was
            started with is out of range, or of another type than the default.
    """
    return {p.name: node.declare_parameter(p.name, p.default, p.descriptor()).value for p in params}


MODEL_NODE = (
    Param("model", "", "Path, file:// or package:// URI of the robot model (.wrl, .body)."),
    Param("frame_prefix", "", "Put before every TF frame name."),
    Param(
        "world_frame",
        "",
        "Frame in which the root stands where its model puts it; empty: a simulator knows.",
    ),
    Param(
        "publish_frequency",
        20.0,
        "Most /tf messages per second of message time [Hz]; 0 = one for every joint_states.",
        0.0,
        10000.0,
    ),
)

SIM_NODE = (
    Param("world", "", "World file or model, as a path, file:// or package:// URI."),
    Param("solver", "", "'world' or 'quick'; empty means what the world file says."),
    Param("seed", -1, "Of the engine's random order; -1 means what the world file says."),
    Param("real_time_factor", 1.0, "Simulated per real second; 0 = fast as possible.", 0.0, 1e3),
    Param("describe", False, "Publish robot_description and TF of the bodies, as model_node does."),
    Param("frame_prefix", "", "Put before every TF frame name."),
    Param("world_frame", "world", "Name of the frame that nothing moves."),
    Param("clock_rate", 250.0, "Most /clock messages per simulated second [Hz].", 1.0, 10000.0),
)
