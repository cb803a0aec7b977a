"""VRML field types."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """Kind of the scalars of a field."""

    BOOL = "TRUE or FALSE"
    INT = "an integer"
    FLOAT = "a number"
    STRING = "a string"
    NODE = "a node"
    IMAGE = "an image"  # starts with its size


@dataclass(frozen=True, slots=True)
class FieldType:
    """``width`` scalars of one kind; ``many`` for the MF types, which are lists."""

    kind: Kind
    width: int = 1
    many: bool = False


_SINGLE = {
    "Bool": FieldType(Kind.BOOL),
    "Int32": FieldType(Kind.INT),
    "Float": FieldType(Kind.FLOAT),
    "Time": FieldType(Kind.FLOAT),
    "String": FieldType(Kind.STRING),
    "Node": FieldType(Kind.NODE),
    "Vec2f": FieldType(Kind.FLOAT, 2),
    "Vec3f": FieldType(Kind.FLOAT, 3),
    "Color": FieldType(Kind.FLOAT, 3),
    "Rotation": FieldType(Kind.FLOAT, 4),
}
FIELD_TYPES = {
    **{f"SF{name}": t for name, t in _SINGLE.items()},
    **{f"MF{name}": FieldType(t.kind, t.width, many=True) for name, t in _SINGLE.items()},
    "SFImage": FieldType(Kind.IMAGE),
}
