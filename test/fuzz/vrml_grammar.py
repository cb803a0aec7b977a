"""Random VRML text that is nearly right: known nodes with values of their fields' types."""

from __future__ import annotations

import random

from hrp_model.readers.vrml.fields import known_types
from hrp_model.readers.vrml.nodes import FieldType, Kind

# Nodes that make a robot, more often than any of the others.
_GROUPS = ("Joint", "Segment", "Transform", "Group", "Surface", "Inline", "Switch", "LOD", "Shape")
_NAMES = ("A", "B", "C", "腕", "r-1.x")
_URLS = ("part.wrl", "m.wrl", "part.stl", "loop.wrl", "", "missing.wrl", "picture.png")
_WORDS = ("rotate", "slide", "free", "fixed", "X", "Z", "crawler", "COLOR", "DEPTH", "ball", "")
_FLOATS = (
    *("0", "1", "-1", "0.5", "2", "1e-9", "1e308", "-1e308", "nan", "inf", "-inf", "3.14159"),
    *("0x10", "1e999", "5.", ".5", "-0"),
)
_INTS = ("0", "1", "2", "3", "-1", "4", "-2", "7", "100", "2147483647", "-2147483648", "1e9", "nan")
_MANY = (0, 1, 2, 3, 4, 6, 9)


class VrmlGrammar:
    """Writes nodes; every choice comes from ``rng``."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._types = [name for name in known_types() if name != "Script"]

    def text(self) -> str:
        """Return a whole file."""
        rng = self._rng
        parts = [self.proto() for _ in range(rng.choice((0, 0, 0, 1, 2)))]
        if rng.random() < 0.7:
            joint = self.node("Joint", 5)
            parts.append(f"DEF R Humanoid {{ humanoidBody DEF J {joint} }}")
        parts += [self.node(None, 4) for _ in range(rng.choice((0, 1, 2)))]
        return "#VRML V2.0 utf8\n" + "\n".join(parts)

    def proto(self) -> str:
        """Return a PROTO, of a new type or of one that is known by name."""
        rng = self._rng
        name = rng.choice(("P", "Q", "Joint", "Segment", "Box", "VisionSensor"))
        field = rng.choice(("size", "children", "jointAxis", "x"))
        kind = rng.choice(("SFVec3f", "MFNode", "SFString", "MFFloat", "SFNode", "SFImage"))
        default = {"MFNode": "[]", "SFString": '"Z"', "SFNode": "NULL", "MFFloat": "[1 2]"}
        inside = self.node(None, 2)
        used = f"Transform {{ {field} IS {field} children [ {inside} P {{ }} Q {{ }} ] }}"
        value = default.get(kind, "0 0 1")
        return f"PROTO {name} [ exposedField {kind} {field} {value} ] {{ {used} }}"

    def node(self, kind: str | None, depth: int) -> str:
        """Return one node with some of its fields."""
        rng = self._rng
        if kind is None:
            dice = rng.random()
            if dice < 0.1:
                return f"USE {rng.choice(_NAMES)}"
            if dice < 0.13:
                return f"{rng.choice('PQ')} {{ {self._field('children', None, depth - 1)} }}"
            kind = rng.choice(_GROUPS if dice < 0.7 else self._types)
        declared = list(known_types()[kind].fields.items())
        chosen = rng.sample(declared, min(len(declared), rng.randint(0, 4)))
        holder = [(n, d) for n, d in declared if d.type.kind is Kind.NODE and (n, d) not in chosen]
        if holder and depth > 0 and rng.random() < 0.8:
            chosen.append(rng.choice(holder))
        fields = [self._field(name, declared.type, depth - 1) for name, declared in chosen]
        name = f"DEF {rng.choice(_NAMES)} " if rng.random() < 0.3 else ""
        return f"{name}{kind} {{ {' '.join(fields)} }}"

    def _field(self, name: str, field_type: FieldType | None, depth: int) -> str:
        if field_type is None or self._rng.random() < 0.03:
            field_type = FieldType(self._rng.choice(list(Kind)), 1, many=self._rng.random() < 0.5)
        return f"{name} {self._value(name, field_type, depth)}"

    def _value(self, name: str, field_type: FieldType, depth: int) -> str:
        rng = self._rng
        if field_type.kind is Kind.IMAGE:
            width, height = rng.choice(((0, 0), (1, 1), (2, 2), (10**6, 10**6)))
            return f"{width} {height} 3 " + " ".join(["0xFF"] * min(width * height, 4))
        if not field_type.many:
            return self._single(name, field_type, depth)
        count = rng.choice(_MANY)
        if field_type.kind is Kind.NODE:
            count = min(count, 3) if depth > 0 else 0
        values = [self._single(name, field_type, depth) for _ in range(count)]
        return f"[ {', '.join(values) if rng.random() < 0.2 else ' '.join(values)} ]"

    def _single(self, name: str, field_type: FieldType, depth: int) -> str:
        rng = self._rng
        if field_type.kind is Kind.NODE:
            wanted = {"coord": "Coordinate", "texCoord": "TextureCoordinate"}.get(name)
            wanted = wanted or (name.capitalize() if name.capitalize() in known_types() else None)
            return self.node(wanted, depth) if depth > 0 else "NULL"
        if field_type.kind is Kind.STRING:
            return f'"{rng.choice(_URLS if name == "url" else _WORDS)}"'
        if field_type.kind is Kind.BOOL:
            return rng.choice(("TRUE", "FALSE"))
        pool = _INTS if field_type.kind is Kind.INT else _FLOATS[: rng.choice((6, 18))]
        return " ".join(rng.choice(pool) for _ in range(field_type.width))
