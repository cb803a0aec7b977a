"""VRML field types, as three facts each, and the declarations made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .nodes import Node


class Kind(Enum):
    """What the scalars of a field are."""

    BOOL = "TRUE or FALSE"
    INT = "an integer"
    FLOAT = "a number"
    STRING = "a string"
    NODE = "a node"
    IMAGE = "an image"  # begins with its own size


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


@dataclass(frozen=True, slots=True)
class Declaration:
    """One field of a node type: its type and the value it has where none is written."""

    type: FieldType
    default: object = None


@dataclass(frozen=True, slots=True, eq=False)
class Proto:
    """A node type: one of the standard's or OpenHRP's, or one that a file declares.

    Attributes:
        name: What nodes of this type begin with.
        fields: By name. A file's own declaration of a known type comes first, and
            what it leaves out is completed from the known one.
        events: Names of eventIn and eventOut entries, which carry no value.
        undeclared: The fields that the file's own declaration left out.
        body: What an instance stands for; empty where the name alone says what it means.
        is_known: Whether anybody declared it; of an unknown type any field is kept.
    """

    name: str
    fields: Mapping[str, Declaration]
    events: frozenset[str] = frozenset()
    undeclared: frozenset[str] = frozenset()
    body: tuple[Node, ...] = field(default=(), repr=False)
    is_known: bool = True
