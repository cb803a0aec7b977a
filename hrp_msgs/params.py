"""Node parameters as data: one table gives the declaration, the limits and the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node


@dataclass(frozen=True)
class Param:
    """A parameter. Its default fixes the type, its doc names the unit."""

    name: str
    default: bool | int | float | str
    doc: str
    minimum: float | None = None
    maximum: float | None = None
    read_only: bool = True

    def descriptor(self) -> ParameterDescriptor:
        """Return the descriptor by which rclpy enforces the limits."""
        descriptor = ParameterDescriptor(description=self.doc, read_only=self.read_only)
        if self.minimum is not None and self.maximum is not None:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=self.minimum, to_value=self.maximum)
            ]
        return descriptor


def declare(node: Node, params: Iterable[Param]) -> dict[str, Any]:
    """Declare parameters on a node and return their values by name."""
    return {p.name: node.declare_parameter(p.name, p.default, p.descriptor()).value for p in params}
