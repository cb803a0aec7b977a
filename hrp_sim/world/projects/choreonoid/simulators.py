"""Read the settings of simulator items: physics, how long they run, and the rate of cameras."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hrp_model import Diagnostics
from hrp_model.devices import Camera, RangeSensor
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.readers.yaml import nodes
from hrp_model.readers.yaml.nodes import Mapping

from ....engine.engine import PhysicsSettings
from ....sensors.settings import OptionValue
from ...config import BodyEntry
from ...physics_file import read_simulator
from .items import Item

# Simulators of whole worlds; others, such as that of cameras, work beside them.
_KINDS = frozenset(
    f"{name}SimulatorItem"
    for name in (
        *("AIST", "ODE", "Bullet", "PhysX", "MuJoCo", "AGX", "Kinematic", "Roki", "Springhead"),
        *("HRPBase", "Newton", "TC", "DynamicTC"),
    )
)
_ODE = "ODESimulatorItem"
_KINEMATIC = "KinematicSimulatorItem"
_TIME_LENGTH = ("time_length", "timeLength")
_ACTIVE = ("is_active_control_time_range_mode", "active_control_time_range_mode")
_SPECIFIED = ("specified", "Specified time")
_OF_TIME_BAR = ("timebar", "Time bar range", "TimeBar range", "Timebar range")
_OF_CONTROL = ("Active control period",)
VISION = "GLVisionSimulatorItem"


def is_simulator(item: Item) -> bool:
    """Return whether an item simulates a world."""
    return item.kind in _KINDS


def chosen_simulator(
    simulators: Sequence[Item], name: str, diagnostics: Diagnostics
) -> Item | None:
    """Return the simulator of a name, or the first one for ""; report unknown names."""
    if not name:
        if len(simulators) > 1:
            first, *others = simulators
            names = ", ".join(f"'{item.name}'" for item in others)
            message = f"the first simulator, '{first.name}', is used; others are {names}"
            diagnostics.note("several-simulators", message, first.node.at("name"))
        return simulators[0] if simulators else None
    for item in simulators:
        if item.name == name:
            return item
    hint = did_you_mean_or_all(name, [item.name for item in simulators])
    diagnostics.error("unknown-simulator", f"the project has no simulator '{name}'.{hint}")
    return None


def physics_of(item: Item | None, root: Mapping) -> PhysicsSettings:
    """Return the settings of a simulator, except materials; the defaults without one."""
    if item is None:
        return PhysicsSettings()
    rate = _time_bar_number(root, "frame_rate", "frameRate")
    mode = item.data.text("dynamics_mode", "dynamicsMode", default="")
    if item.kind == _KINEMATIC or mode == "Kinematics":
        message = "bodies move by the laws of physics here, not kinematically"
        at = item.data.at("dynamics_mode", "dynamicsMode")
        item.data.diagnostics.warn("foreign-setting", message, at)
    return read_simulator(item.data, is_ode=item.kind == _ODE, default_rate=rate)


def duration_of(item: Item | None, root: Mapping) -> float | None:
    """Return the time range of a simulator, in [s], or None if it has no end."""
    if item is None:
        return None
    length = item.data.number(*_TIME_LENGTH, default=None)
    mode = item.data.text("time_range_mode", "timeRangeMode", default="")
    if mode in _OF_TIME_BAR:
        length = _time_bar_number(root, "max_time", "maxTime")
    elif mode not in (*_SPECIFIED, *_OF_CONTROL) and not item.data.boolean(*_ACTIVE, default=False):
        return None
    return length if length is not None and length > 0.0 else None


def _time_bar_number(root: Mapping, *keys: str) -> float | None:
    bars = root.mapping("toolbars", "toolBars")
    bar = None if bars is None else bars.mapping("TimeBar")
    return None if bar is None else bar.number(*keys, default=None)


def with_vision(bodies: tuple[BodyEntry, ...], items: Sequence[Item]) -> tuple[BodyEntry, ...]:
    """Return the bodies with the rates of their vision sensors limited by the items."""
    for item in items:
        highest = item.data.number("max_frame_rate", "maxFrameRate", default=0.0)
        if highest <= 0.0:
            continue
        of_bodies = _names(item, "target_bodies", "targetBodies")
        of_sensors = _names(item, "target_sensors", "targetSensors")
        bodies = tuple(
            _limited(entry, highest, of_sensors)
            if not of_bodies or entry.placement.name in of_bodies
            else entry
            for entry in bodies
        )
    return bodies


def _limited(entry: BodyEntry, highest: float, names: set[str]) -> BodyEntry:
    limits: dict[str, dict[str, OptionValue]] = {}
    for device in entry.placement.body.devices:
        if names and device.name not in names:
            continue
        rate = device.frame_rate if isinstance(device, Camera) else 0.0
        rate = device.scan_rate if isinstance(device, RangeSensor) else rate
        if rate > highest:
            limits[device.name] = {"rate": highest}
    return replace(entry, sensors={**entry.sensors, **limits}) if limits else entry


def _names(item: Item, *keys: str) -> set[str]:
    node = item.data.get(*keys)
    if isinstance(node, nodes.Sequence):
        return {x.text for x in node.items if isinstance(x, nodes.Scalar)}
    return {node.text} if isinstance(node, nodes.Scalar) and node.text else set()
