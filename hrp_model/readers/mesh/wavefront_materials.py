"""Read material libraries (.mtl) of Wavefront OBJ files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from ...diagnostics import Span, did_you_mean
from ...geometry import Color, Material, Texture
from ...reading import Reading, read_source
from .mesh_resources import MeshResources

# Choreonoid's defaults.
_DEFAULT = Material(diffuse=(1.0, 1.0, 1.0), ambient=1.0, shininess=25.0 / 128.0)
_WHITE = (1.0, 1.0, 1.0)
_LINE = re.compile(r"^[^\S\n]*(?P<key>[^\s#]\S*)[^\S\n]*(?P<value>[^\n]*)", re.MULTILINE)
_LINE_ENDS = re.compile(r"\r(?!\n)")
# Options of a texture before its name: "-s 2 2 1 -clamp on wood.png".
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_OPTION = re.compile(
    rf"-(?P<key>[ost]|mm)\s+(?P<numbers>{_NUMBER}(?:\s+{_NUMBER}){{0,2}})\s+"
    r"|-(?P<word>[a-z]+)\s+(?P<value>\S+)\s+"
)
_READ = ("ka", "kd", "ks", "ke", "ns", "d", "tr", "map_kd")
# Refraction, reflection, bump maps and other properties that are not rendered.
_IGNORED = frozenset({"ni", "tf", "illum", "sharpness", "km", "bump", "disp", "decal", "refl"})
_IGNORED |= {"norm", "pr", "pm", "ps", "pc", "pcr", "aniso", "anisor"}
_OTHER_MAPS = "map_"


@dataclass(slots=True)
class _Entry:
    """A material as written: values with their places, by lower-case key."""

    values: dict[str, tuple[str, Span]] = field(default_factory=dict)
    material: Material | None = None


class Materials:
    """The materials of an OBJ file, each converted on first use.

    Attributes:
        are_complete: Whether all material libraries could be read.
    """

    def __init__(self, reading: Reading, mesh_resources: MeshResources) -> None:
        self._reading = reading
        self._diagnostics = reading.diagnostics
        self._resources = mesh_resources
        self._entries: dict[str, _Entry] = {}
        self._libraries: set[str] = set()
        self._known_keys = set(_IGNORED)
        self.are_complete = True

    def add(self, names: str, at: Span) -> None:
        """Read the libraries of a "mtllib" statement: one file, or several separated by blanks."""
        words = names.split()
        several = len(words) > 1 and not self._resources.exists(names)
        for name in words if several else [names]:
            if name not in self._libraries:
                self._libraries.add(name)
                self.are_complete &= self._read(name, at)

    @property
    def names(self) -> Iterable[str]:
        """Names of all materials."""
        return self._entries

    def get(self, name: str) -> Material | None:
        """Return a material; None if no library defines it."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        if entry.material is None:
            entry.material = self._converted(name, entry.values)
        return entry.material

    def _read(self, name: str, at: Span) -> bool:
        path = self._resources.resolve(name, at)
        if path is None:
            return False
        try:
            source = read_source(path)
        except OSError as error:
            message = f"'{name}' is left out: {error.strerror or error}"
            self._diagnostics.warn("unreadable-resource", message, at)
            return False
        values: dict[str, tuple[str, Span]] = {}
        for line in _LINE.finditer(_LINE_ENDS.sub("\n", source.text)):
            key, value = line["key"].lower(), line["value"].strip()
            span = Span(source, line.start("key"), line.end())
            if key == "newmtl":
                values = self._entries.setdefault(value, _Entry()).values
            elif key in _READ:
                values[key] = value, span
            elif key not in self._known_keys and not key.startswith(_OTHER_MAPS):
                self._known_keys.add(key)  # report it once
                message = f"'{line['key']}' is not a property of a material."
                self._diagnostics.warn("unknown-key", message + did_you_mean(key, _READ), span)
        return True

    def _converted(self, name: str, values: dict[str, tuple[str, Span]]) -> Material:
        diffuse = self._color(values, "kd", _DEFAULT.diffuse)
        ambient, brightness = self._color(values, "ka", _WHITE), float(np.linalg.norm(diffuse))
        exponent = self._number(values, "ns", 128.0 * _DEFAULT.shininess)
        # "d" takes precedence: some programs write the opacity as "Tr", too, which is transparency.
        opacity = self._number(values, "d", 1.0 - self._number(values, "tr", 0.0))
        return Material(
            name=name,
            diffuse=diffuse,
            specular=self._color(values, "ks", _DEFAULT.specular),
            emissive=self._color(values, "ke", _DEFAULT.emissive),
            ambient=_clipped(float(np.linalg.norm(ambient)) / brightness if brightness else 1.0),
            shininess=_clipped(exponent / 128.0),
            transparency=1.0 - _clipped(opacity),
            texture=self._texture(*values["map_kd"]) if "map_kd" in values else None,
        )

    def _color(self, values: dict[str, tuple[str, Span]], key: str, default: Color) -> Color:
        numbers = self._numbers(values, key)
        if not numbers:
            return default
        r, g, b = (_clipped(number) for number in (numbers * 3)[:3])
        return r, g, b

    def _number(self, values: dict[str, tuple[str, Span]], key: str, default: float) -> float:
        numbers = self._numbers(values, key)
        return numbers[-1] if numbers else default

    def _numbers(self, values: dict[str, tuple[str, Span]], key: str) -> list[float]:
        """Return the numbers of a property; empty after reporting an invalid value."""
        if key not in values:
            return []
        written, at = values[key]
        words = written.partition("#")[0].removeprefix("-halo").split()
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            numbers = []
        wanted = (1, 3, 4) if key.startswith("k") else (1,)
        if len(numbers) not in wanted or not all(map(isfinite, numbers)):
            message = f"'{written}' is ignored: it must be one number, or red, green and blue"
            self._diagnostics.warn("wrong-value", message, at)
            return []
        return numbers

    def _texture(self, written: str, at: Span) -> Texture | None:
        """Return the texture of an image name with options before it."""
        repeat, scale, offset = True, [1.0, 1.0], [0.0, 0.0]
        at_name = 0
        while option := _OPTION.match(written, at_name):
            at_name = option.end()
            if option["key"] in ("s", "o"):
                numbers = [float(word) for word in option["numbers"].split()]
                (scale if option["key"] == "s" else offset)[: len(numbers)] = numbers[:2]
            elif option["word"] == "clamp":
                repeat = option["value"].lower() != "on"
        name = written[at_name:]
        path = self._resources.resolve(name, at) if name else None
        if path is None:
            return None
        # OBJ applies the scale first, a Texture the translation.
        u, v = (o / s if s else 0.0 for o, s in zip(offset, scale, strict=True))
        return Texture(path, (repeat, repeat), scale=(scale[0], scale[1]), translation=(u, v))


def _clipped(value: float) -> float:
    return min(max(value, 0.0), 1.0)
