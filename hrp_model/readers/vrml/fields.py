"""Typed access to the fields of nodes, with their defaults, and to the poses they define.

The known node types are declared in VRML files of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import isfinite, isnan
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ...diagnostics import Diagnostics, Source
from ...geometry import IntArray
from ...rigid import IDENTITY_3, IDENTITY_4, Array, Pose, axis_angle_matrix, unit_vector
from .nodes import Node, Proto
from .parser import Parser

_NO_INDEX = 2.0**31 - 1.0
_IDENTITY_VALUES: dict[str, tuple[float, ...]] = {
    "translation": (0.0, 0.0, 0.0),
    "rotation": (0.0, 0.0, 1.0, 0.0),
    "scale": (1.0, 1.0, 1.0),
    "center": (0.0, 0.0, 0.0),
}


class Fields:
    """Reads fields of known node types.

    A file's own PROTO may declare a field with another type or default. A value of the wrong
    type is reported, and the default of the known type is used.
    """

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._moving: dict[Proto, bool] = {}  # whether the defaults of a type move its nodes

    def flag(self, node: Node, name: str) -> bool:
        """Return an SFBool."""
        value = node.get(name)
        return value if isinstance(value, bool) else bool(self._mismatch(node, name))

    def text(self, node: Node, name: str) -> str:
        """Return an SFString."""
        value = node.get(name)
        if isinstance(value, tuple) and len(value) == 1:
            value = value[0]
        return value if isinstance(value, str) else str(self._mismatch(node, name))

    def texts(self, node: Node, name: str) -> tuple[str, ...]:
        """Return an MFString."""
        value = node.get(name)
        listed = value if isinstance(value, tuple) else (value,)
        if all(isinstance(item, str) for item in listed):
            return tuple(str(item) for item in listed)
        self._mismatch(node, name)
        return ()

    def number(self, node: Node, name: str) -> float:
        """Return an SFFloat; always finite."""
        value = node.get(name)
        if isinstance(value, float) and isfinite(value):
            return value
        values = self._array(value)
        if values is None or not len(values) or not isfinite(values[0]):
            values = self._array(self._mismatch(node, name))
        return 0.0 if values is None or not len(values) else float(values[0])

    def integer(self, node: Node, name: str) -> int:
        """Return an SFInt32; a fraction, which old files write, is rounded."""
        value = self.number(node, name)
        return round(value) if abs(value) < 2**31 else 0

    def first(self, node: Node, name: str) -> float | None:
        """Return the first number of an MFFloat, or None if it is empty; may be infinite."""
        values = self.numbers(node, name)
        if not len(values):
            return None
        if isnan(values[0]):
            self._mismatch(node, name)
            return None
        return float(values[0])

    def numbers(self, node: Node, name: str) -> Array:
        """Return all numbers of a field, shape (n,)."""
        values = self._array(node.get(name))
        if values is None:
            values = self._array(self._mismatch(node, name))
        return np.empty(0) if values is None else values

    def rows(self, node: Node, name: str, width: int) -> Array:
        """Return an MFVec2f, MFVec3f, ...: shape (n, width)."""
        values = self.numbers(node, name)
        return values[: len(values) // width * width].reshape(-1, width)

    def indices(self, node: Node, name: str) -> IntArray:
        """Return an MFInt32, shape (n,)."""
        value = node.get(name)
        if isinstance(value, np.ndarray) and value.dtype == np.int32:
            return value.reshape(-1)
        values = np.nan_to_num(self.numbers(node, name), nan=_NO_INDEX)
        return np.clip(values, -1.0, _NO_INDEX).astype(np.int32)

    def vector(self, node: Node, name: str, width: int = 3) -> Array:
        """Return an SFVec3f or another short vector; always finite, shape (width,)."""
        value = node.get(name)
        if isinstance(value, tuple) and len(value) == width and _are_finite_floats(value):
            return np.array(value)
        values = self._array(value)
        if values is None or len(values) != width or not np.isfinite(values).all():
            values = self._array(self._mismatch(node, name))
        if values is None or len(values) != width:  # a field that no known type has
            return np.ones(width) if name == "scale" else np.zeros(width)
        return values

    def rotation(self, node: Node, name: str) -> Array:
        """Return an SFRotation as a matrix, shape (3, 3); its axis is normalized."""
        value = node.get(name)
        if value == (0.0, 0.0, 1.0, 0.0):
            return IDENTITY_3
        x, y, z, angle = self.vector(node, name, 4).tolist()
        axis = unit_vector((x, y, z))
        if axis is None:
            if angle != 0.0:
                message = f"'{name}' has an axis of length zero; it is treated as no rotation"
                self._diagnostics.warn("zero-axis", message, node.at(name))
            return IDENTITY_3
        return axis_angle_matrix(axis, angle)

    def pose(self, node: Node) -> Pose:
        """Return the pose of ``translation`` and ``rotation``, in the parent's frame."""
        if not self._is_moved(node):
            return Pose()
        return Pose(self.rotation(node, "rotation"), self.vector(node, "translation"))

    def affine(self, node: Node) -> Array | None:
        """Return the matrix of a Transform, shape (4, 4), or None for the identity.

        P' = T C R SR S SR^-1 C^-1 P (ISO/IEC 14772-1, 6.52).
        """
        if not self._is_moved(node):
            return None
        matrix = IDENTITY_4.copy()
        linear = self.rotation(node, "rotation")
        if not _is_neutral("scale", node.get("scale")):
            SR = self.rotation(node, "scaleOrientation")
            linear = linear @ SR @ np.diag(self.vector(node, "scale")) @ SR.T
        matrix[:3, :3] = linear
        matrix[:3, 3] = self.vector(node, "translation")
        if not _is_neutral("center", node.get("center")):
            center = self.vector(node, "center")
            matrix[:3, 3] += center - linear @ center
        return matrix

    def _is_moved(self, node: Node) -> bool:
        """Whether a node may have a transform, by its own fields or the defaults of its PROTO."""
        if not node.type.is_known:
            written = {name: node.values[name] for name in _IDENTITY_VALUES if name in node.values}
            return bool(written) and all(
                isinstance(value, tuple)
                and len(value) == len(_IDENTITY_VALUES[name])
                and all(isinstance(number, float) and isfinite(number) for number in value)
                for name, value in written.items()
            )
        if "translation" not in node.type.fields:
            return False
        is_written = not _IDENTITY_VALUES.keys().isdisjoint(node.values)
        return is_written or self._moves_by_default(node.type)

    def _moves_by_default(self, node_type: Proto) -> bool:
        if node_type not in self._moving:
            defaults = {n: d.default for n, d in node_type.fields.items() if n in _IDENTITY_VALUES}
            self._moving[node_type] = not all(_is_neutral(n, v) for n, v in defaults.items())
        return self._moving[node_type]

    def _array(self, value: object) -> Array | None:
        """Return all numbers of a value; None if it is not numeric."""
        if isinstance(value, np.ndarray):
            return value.reshape(-1).astype(np.float64, copy=False)
        if isinstance(value, float | int):
            return np.array([value], dtype=np.float64)
        if isinstance(value, tuple) and all(isinstance(item, float | int) for item in value):
            return np.array(value, dtype=np.float64)
        return None

    def _mismatch(self, node: Node, name: str) -> object:
        """Report a value of the wrong type, and return the default of the known type."""
        if name in node.values:
            message = f"'{name}' of {node.type_name} has the wrong type; the default is used"
            self._diagnostics.error("wrong-value", message, node.at(name))
        known = known_types().get(node.type_name)
        return known.fields[name].default if known and name in known.fields else None


def _is_neutral(name: str, value: object) -> bool:
    return value is None or (isinstance(value, tuple) and value == _IDENTITY_VALUES[name])


def _are_finite_floats(values: tuple[object, ...]) -> bool:
    return all(isinstance(value, float) and isfinite(value) for value in values)


@cache
def known_types() -> Mapping[str, Proto]:
    """Return the nodes of VRML97 and those that OpenHRP adds, by name."""
    openhrp = _declared("openhrp.wrl", known=standard_types())
    return MappingProxyType({**standard_types(), **scenery_types(), **openhrp})


@cache
def standard_types() -> Mapping[str, Proto]:
    """Return the nodes of VRML97 that make up shapes, by name."""
    return MappingProxyType(_declared("builtin.wrl"))


@cache
def scenery_types() -> Mapping[str, Proto]:
    """Return the nodes that are not part of a robot and are ignored, by name."""
    return MappingProxyType(_declared("scenery.wrl"))


def _declared(file: str, known: Mapping[str, Proto] = MappingProxyType({})) -> dict[str, Proto]:
    diagnostics = Diagnostics()
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    parser = Parser(Source(file, text), diagnostics, known)
    parser.document()
    diagnostics.raise_errors()
    return parser.protos
