"""Read Choreonoid material files into a MaterialTable."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import TypeVar

from hrp_model import Diagnostics
from hrp_model.diagnostics import Span, counted, did_you_mean, out_of_range
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.read_context import read_source
from hrp_model.readers.yaml.nodes import Mapping, Scalar, Sequence
from hrp_model.readers.yaml.tree import parse

from ..engine.materials import (
    MAX_FRICTION,
    MAX_MATERIALS,
    ContactMaterial,
    Material,
    MaterialTable,
    canonical_name,
    material_pair,
)
from .fields import mappings

_T = TypeVar("_T")

_NO_MAPPING = "a material needs a mapping (key: value)"
_LISTS = ("materials", "contact_materials", "contactMaterials")
# Keys that only other physics engines use.
_UNUSED_KEYS = frozenset(
    (
        *("density", "stiffness", "damping", "youngs_modulus", "youngsModulus"),
        *("wire_youngs_modulus_bend", "wire_youngs_modulus_twist", "wire_youngs_modulus_stretch"),
        *("spook_damping", "spookDamping", "surface_viscosity", "surfaceViscosity"),
        *("secondary_surface_viscosity", "secondarySurfaceViscosity"),
        *("adhesion_force", "adhesionForce", "adhesivOverlap", "adhesive_overlap"),
        *("friction_model", "frictionModel", "secondary_friction", "secondaryFriction"),
        *("primary_direction", "primaryDirection", "constant_normal_force"),
        *("reference_body", "referenceBodyName", "reference_link", "referenceLinkName"),
        *("contact_reduction_mode", "contact_reduction_bin_resolution", "cullingThreshold"),
        *("culling_threshold", "contactReductionMode", "contactReductionBinResolution"),
    )
)


def load_materials(uri: str, folder: Path, diagnostics: Diagnostics, at: Span) -> MaterialTable:
    """Read a material file; return an empty table if it cannot be read.

    Args:
        uri: Path of the file, or its ``file://`` or ``package://`` URI.
        folder: Base of relative paths.
        diagnostics: Receives errors, warnings and notes.
        at: Location of the reference to the file.
    """
    try:
        path = resolve(uri, folder)
        source = read_source(Path(os.path.realpath(path)), os.fspath(path))
    except ResourceError as error:
        diagnostics.error(error.code, str(error), at)
        return MaterialTable()
    except OSError as error:
        reason = error.strerror or error
        diagnostics.error("unreadable-file", f"cannot read '{uri}': {reason}", at)
        return MaterialTable()
    root = parse(source, diagnostics)
    if isinstance(root, Mapping) and not root.lacks(*_LISTS):
        return read_materials(root)
    message = "a material file needs a list 'materials' or 'contact_materials'"
    diagnostics.error("not-materials", message, at if root is None else root.span)
    return MaterialTable()


def read_materials(root: Mapping) -> MaterialTable:
    """Read materials and contact materials from a mapping with one or both lists."""
    reader = _Reader(root)
    materials, pairs = root.sequence(_LISTS[0]), root.sequence(*_LISTS[1:])
    reader.materials(mappings(materials, root, _NO_MAPPING))
    reader.pairs(mappings(pairs, root, _NO_MAPPING))
    only_pairs = root.boolean("only_pairs", default=False)
    root.finish()
    reader.report_unused_keys(root.span)
    return MaterialTable(reader.by_name, reader.by_pair, only_pairs)


class _Reader:
    """Reads both lists; reports problems and substitutes defaults."""

    def __init__(self, root: Mapping) -> None:
        self.by_name: dict[str, Material] = {}
        self.by_pair: dict[frozenset[str], ContactMaterial] = {}
        self._names: set[str] = set()
        self._unused_keys: set[str] = set()
        self._diagnostics = root.diagnostics

    def materials(self, nodes: Iterable[Mapping]) -> None:
        for node in nodes:
            name = node.text("name", default="")
            if not name:
                self._diagnostics.error("missing-name", "a material needs a name", node.span)
                continue
            name = canonical_name(name)
            if name in self.by_name:
                message = f"the material '{name}' replaces an earlier one of this name"
                self._diagnostics.warn("duplicate-name", message, node.at("name"))
            material = Material(
                roughness=self._number(node, "roughness", default=0.5),
                viscosity=self._number(node, "viscosity", default=1.0),
            )
            self._finish(node)
            if self._is_within_limit(name, node):
                self.by_name[name] = material

    def pairs(self, nodes: Iterable[Mapping]) -> None:
        for node in nodes:
            names = self._pair_names(node)
            contact = ContactMaterial(
                friction=self._friction(node),
                restitution=self._number(node, "restitution", default=0.0, maximum=1.0),
            )
            self._finish(node)
            self._warn_unlisted_names(names, node)
            if all(self._is_within_limit(name, node) for name in names):
                for a, b in combinations(names, 2):
                    self.by_pair[material_pair(a, b)] = contact

    def report_unused_keys(self, at: Span) -> None:
        """Report all keys without effect in one note."""
        if self._unused_keys:
            keys = ", ".join(sorted(self._unused_keys))
            message = f"{counted(len(self._unused_keys), 'key')} of materials not used here: {keys}"
            self._diagnostics.note("unused-key", message, at)

    def _pair_names(self, node: Mapping) -> list[str]:
        """Return the material names of a contact material; every two of them form a pair."""
        listed = node.get("materials")
        items = listed.items if isinstance(listed, Sequence) else []
        names = [canonical_name(item.text) for item in items if isinstance(item, Scalar)]
        if len(names) < 2 or len(names) < len(items):
            message = "a contact material needs 'materials: [A, B]', the names of two materials"
            self._diagnostics.error("missing-pair", message, node.at("materials"))
            return []
        return names

    def _warn_unlisted_names(self, names: list[str], node: Mapping) -> None:
        """Warn of unlisted names similar to a listed one; other names may be those of links."""
        for name in names:
            if name not in self.by_name and (hint := did_you_mean(name, self.by_name)):
                message = f"the list 'materials' has no '{name}'.{hint}"
                self._diagnostics.warn("unlisted-material", message, node.at("materials"))

    def _friction(self, node: Mapping) -> float:
        """Return the coefficient to simulate: the dynamic one if both are given."""
        common = self._number(node, "friction", default=None)
        static = self._number(node, "static_friction", "staticFriction", default=common)
        dynamic = self._number(node, "dynamic_friction", "dynamicFriction", default=common)
        if static is not None and dynamic is not None and static != dynamic:
            message = (
                f"only one friction coefficient is simulated: the dynamic one, {dynamic:g}; the "
                f"static one, {static:g}, is ignored"
            )
            at = node.at("static_friction", "staticFriction", "friction")
            self._diagnostics.warn("one-friction", message, at)
        friction = dynamic if dynamic is not None else static
        return ContactMaterial().friction if friction is None else friction

    def _number(
        self, node: Mapping, *keys: str, default: _T, maximum: float = MAX_FRICTION
    ) -> float | _T:
        value = node.number(*keys, default=None)
        if value is None or 0.0 <= value <= maximum:
            return default if value is None else value
        message = f"'{keys[0]}' {out_of_range(value, 0.0, maximum)}"
        self._diagnostics.error("out-of-range", message, node.at(*keys))
        return default

    def _is_within_limit(self, name: str, node: Mapping) -> bool:
        self._names.add(name)
        if len(self._names) == MAX_MATERIALS + 1:
            message = f"more than {MAX_MATERIALS} materials are not supported"
            self._diagnostics.error("too-large", message, node.span)
        return len(self._names) <= MAX_MATERIALS

    def _finish(self, node: Mapping) -> None:
        self._unused_keys |= _UNUSED_KEYS.intersection(node.entries())
        node.finish(ignore=_UNUSED_KEYS)
