"""Read physics settings, and Choreonoid material files into a MaterialTable."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from hrp_model import Diagnostics
from hrp_model.diagnostics import Span, counted, did_you_mean, out_of_range
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.late_dataclass import dataclass
from hrp_model.read_context import read_source
from hrp_model.readers.yaml.nodes import Mapping, Scalar, Sequence
from hrp_model.readers.yaml.tree import parse

from ..engine.engine import (
    CONVEX_MESHES,
    MAX_GRAVITY,
    PHYSICS_RANGES,
    ConvexMeshes,
    PhysicsSettings,
    Solver,
)
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

_SOLVERS = {
    **{solver.value: solver for solver in Solver},
    # Choreonoid's names.
    "Big matrix": Solver.WORLD,
    "Iterative (quick step)": Solver.QUICK,
}
# Choreonoid's names of our settings.
_ALTERNATIVE_KEYS = {
    "time_step": ("timeStep", "timestep"),
    "solver": ("step_mode", "stepMode"),
    "iterations": ("num_iterations", "numIterations"),
    "over_relaxation": ("overRelaxation",),
    "erp": ("global_erp", "globalERP"),
    "cfm": ("global_cfm", "globalCFM"),
    "limit_correcting_velocity": ("limitCorrectingVel",),
    "max_correcting_velocity": ("maxCorrectingVel",),
    "surface_layer": ("surface_layer_depth", "surfaceLayerDepth"),
    "joint_limits": ("enable_joint_limit", "jointLimitMode"),
}
_CONVEX_MESHES: dict[str, ConvexMeshes | None] = {
    str(value).lower(): value for value in CONVEX_MESHES
}
_FRAME_RATE = ("frame_rate", "frameRate", "framerate")
_MIN_FRAME_RATE, _MAX_FRAME_RATE = 10.0, 1e6  # [Hz], from the range of the time step
_INTEGERS = ("iterations", "max_contacts", "seed")
_SWITCHES = (
    "joint_limits",
    "self_collision",
    "sleeping",
    "limit_correcting_velocity",
)


@dataclass(frozen=True)
class _UnsupportedSwitch:
    """A switch of Choreonoid without a counterpart; ``reason`` is reported if it is on."""

    names: tuple[str, ...]
    reason: str
    changes_motion: bool = False


_UNSUPPORTED = (
    _UnsupportedSwitch(
        ("add_joint_axis_inertia_to_link_inertia",),
        "rotor inertia is always simulated, exactly, about the joint axis only",
    ),
    _UnsupportedSwitch(
        (
            "use_world_collision_detector",
            "useWorldCollisionDetector",
            "UseWorldItem'sCollisionDetector",
        ),
        "contacts are always computed by ODE",
    ),
    _UnsupportedSwitch(
        ("use_2d_mode", "2Dmode"),
        "bodies always move in three dimensions",
        changes_motion=True,
    ),
)
# Further keys of a project item: how Choreonoid runs, records and displays a simulation.
_CHOREONOID_ONLY = (
    *("id", "name", "plugin", "class", "children", "is_selected", "is_checked"),
    *("surface_drive_culling_depth", "realtime_sync_mode", "realtimeSync", "recording"),
    *("recordingMode", "time_range_mode", "timeRangeMode", "time_length", "timeLength"),
    *("is_active_control_time_range_mode", "active_control_time_range_mode"),
    *("output_all_link_positions", "allLinkPositionOutputMode"),
    *("output_device_states", "deviceStateOutput", "record_collision_data", "recordCollisionData"),
    *("use_controller_threads", "controllerThreads", "controller_options", "controllerOptions"),
    *("block_scene_view_edit_mode", "scene_view_edit_mode_blocking", "time_sync_items"),
    *("collision_seq_item", "onlyActiveControlPeriod"),
)
_ITEM_CLASS = "ODESimulatorItem"
_COMMON_KEYS = ("time_step", "gravity")  # of all of Choreonoid's simulators
_DEFAULTS = PhysicsSettings()


def read_physics(node: Mapping, base: PhysicsSettings = _DEFAULTS) -> PhysicsSettings:
    """Read the settings under ``physics``; invalid ones are reported and keep their defaults.

    Unknown keys are left to ``node.finish``.

    Args:
        node: The mapping.
        base: The defaults.
    """
    if "class" not in node or "data" not in node:
        return _read(node, base)
    written = node.text("class", default=_ITEM_CLASS)
    if written != _ITEM_CLASS:
        message = f"'{written}' has settings of another engine; expected an {_ITEM_CLASS}"
        node.diagnostics.error("unknown-word", message, node.at("class"))
    node.lacks(*_CHOREONOID_ONLY)
    data = node.mapping("data")
    if data is None:  # which was reported
        return base
    settings = _read(data, base)
    data.finish()
    return settings


def read_simulator(
    node: Mapping, *, is_ode: bool, default_rate: float | None = None
) -> PhysicsSettings:
    """Read the settings of a simulator of a Choreonoid project, except for materials.

    Args:
        node: The content of its ``data``.
        is_ode: Whether it is Choreonoid's ODE plugin. Of others only the time step and gravity
            are taken, since the remaining settings are those of another engine.
        default_rate: Steps per second if the node states no time step, in [Hz]; None for the
            default.
    """
    settings = _values(node, None if is_ode else _COMMON_KEYS, _DEFAULTS)
    _report_switches(node)
    if default_rate is not None and node.lacks(*_spellings("time_step")):
        low, high = PHYSICS_RANGES["time_step"]
        settings = replace(settings, time_step=min(max(1.0 / max(default_rate, 1.0), low), high))
    return settings


def _read(node: Mapping, base: PhysicsSettings) -> PhysicsSettings:
    settings = _values(node, None, base)
    _report_switches(node)
    for name in _present(node, _CHOREONOID_ONLY):
        message = f"'{name}' is a setting of Choreonoid only and has no effect here"
        node.diagnostics.note("foreign-setting", message, node.at(name))
    return settings


def _values(node: Mapping, keys: tuple[str, ...] | None, base: PhysicsSettings) -> PhysicsSettings:
    """Return the settings with these keys, by default all; the others are those of ``base``."""
    values: dict[str, Any] = {}
    for key in (field.name for field in fields(PhysicsSettings)):
        if keys is not None and key not in keys:
            continue
        spelling = _spelling(node, key)
        if spelling is None:
            continue
        value = _value(node, key, spelling)
        if value is not None:
            values[key] = value
    return replace(base, **values)


def _spelling(node: Mapping, key: str) -> str | None:
    """Return the key by which a setting is given, or None; report further keys for it."""
    names = _spellings(key)
    if node.lacks(*names):  # also makes hints suggest them
        return None
    found = [name for name in names if name in node]
    entries = node.entries()
    found.sort(key=lambda name: entries[name][0].start)
    first: str = found[0]
    for other in found[1:]:
        span = entries[first][0].span
        message = f"'{other}' is the same setting as '{first}' at {span}; remove one"
        node.diagnostics.error("two-spellings", message, entries[other][0].span)
    return first


def _spellings(key: str) -> tuple[str, ...]:
    return (key, *_ALTERNATIVE_KEYS.get(key, ()), *(_FRAME_RATE if key == "time_step" else ()))


def _value(node: Mapping, key: str, spelling: str) -> Any:
    """Return the value of a setting, or None if it is invalid or read elsewhere."""
    if key == "solver":
        choices: dict[str, Solver | None] = {**_SOLVERS}
        return node.choice(spelling, choices=choices, default=None)
    if key == "gravity":
        return _gravity(node)
    if key == "convex_meshes":
        written = node.get(key)
        if isinstance(written, Scalar) and written.is_boolean:
            return written.boolean()
        return node.choice(key, choices=_CONVEX_MESHES, default=None)
    if key in _SWITCHES:
        return node.boolean(spelling, default=None)
    if spelling in _FRAME_RATE:
        rate = node.number(spelling, default=None)
        if rate is None or not _is_in_range(node, spelling, rate, _MIN_FRAME_RATE, _MAX_FRAME_RATE):
            return None
        return 1.0 / rate
    if key in PHYSICS_RANGES:
        read = node.integer if key in _INTEGERS else node.number
        number = read(spelling, default=None)
        return number if _is_in_range(node, spelling, number, *PHYSICS_RANGES[key]) else None
    return None


def _gravity(node: Mapping) -> tuple[float, ...] | None:
    gravity = node.numbers("gravity", count=3, default=None)
    if gravity is None:
        return None
    if max(map(abs, gravity.tolist())) < MAX_GRAVITY:
        return tuple(gravity.tolist())
    message = f"each component of gravity must be below {MAX_GRAVITY:g} m/s^2"
    node.diagnostics.error("out-of-range", message, node.at("gravity"))
    return None


def _is_in_range(node: Mapping, key: str, value: float | None, low: float, high: float) -> bool:
    if value is None or low <= value <= high:
        return value is not None
    message = f"'{key}' {out_of_range(value, low, high)}"
    node.diagnostics.error("out-of-range", message, node.at(key))
    return False


def _report_switches(node: Mapping) -> None:
    """Report Choreonoid's switches that are on and have no effect."""
    for switch in _UNSUPPORTED:
        for name in _present(node, switch.names):
            if not node.boolean(name, default=False):
                continue
            report = node.diagnostics.warn if switch.changes_motion else node.diagnostics.note
            report("foreign-setting", f"'{name}' has no effect: {switch.reason}", node.at(name))


def _present(node: Mapping, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the given names that the mapping has, and mark them as known."""
    for name in names:
        if name in node:
            node.get(name)
            yield name


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
