"""Sensor options as given in world files, on the command line and as ROS parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as AbstractMapping
from contextlib import suppress
from dataclasses import Field, fields, replace
from math import inf
from typing import Any

from hrp_model import Body, Diagnostics
from hrp_model.diagnostics import Span, did_you_mean_or_all
from hrp_model.inertial_units import inertial_units
from hrp_model.late_dataclass import dataclass
from hrp_model.readers.yaml.nodes import Mapping
from hrp_msgs.names import topic_token

from ..sensors import IDEAL, Instrument, SensorSettings, instruments
from ..sensors.settings import OptionValue, applies_to, option_error
from .config import BodyEntry, WorldConfig

OPTIONS: AbstractMapping[str, Field[Any]] = {option.name: option for option in fields(IDEAL)}
_SINGLE = "rate"  # may be set for single sensors only
COMMON_OPTIONS = tuple(option for name, option in OPTIONS.items() if name != _SINGLE)


@dataclass(frozen=True)
class Target:
    """An option of all sensors, or of some.

    Attributes:
        option: A field of ``SensorSettings``.
        sensors: (body name, sensor name) of each sensor; None means all.
    """

    option: Field[Any]
    sensors: tuple[tuple[str, str], ...] | None = None

    @property
    def sensor_count(self) -> float:
        """Number of sensors; infinite for all."""
        return inf if self.sensors is None else len(self.sensors)

    def value(self, config: WorldConfig) -> OptionValue:
        """Return the value in a world, for several sensors that of the first."""
        name = self.option.name
        if self.sensors is not None:
            body, sensor = self.sensors[0]
            entry = next(e for e in config.bodies if e.placement.name == body)
            own = entry.sensors.get(sensor, {})
            if name in own:
                return own[name]
        value: OptionValue = getattr(config.sensors, name)
        return value

    def with_value(self, config: WorldConfig, value: OptionValue) -> WorldConfig:
        """Return the world with a changed value of the option.

        Raises:
            ValueError: The value is not allowed.
        """
        change = {self.option.name: value}
        if self.sensors is None:
            return replace(config, sensors=config.sensors.with_values(change))
        config.sensors.with_values(change)  # raises if the value is not allowed
        bodies = tuple(self._changed(entry, change) for entry in config.bodies)
        return replace(config, bodies=bodies)

    def _changed(self, entry: BodyEntry, change: AbstractMapping[str, OptionValue]) -> BodyEntry:
        names = [sensor for body, sensor in self.sensors or () if body == entry.placement.name]
        own = {name: {**entry.sensors.get(name, {}), **change} for name in names}
        return replace(entry, sensors={**entry.sensors, **own})


def find_target(config: WorldConfig, key: str, diagnostics: Diagnostics) -> Target | None:
    """Return the target of a key OPTION, SENSOR.OPTION or BODY/SENSOR.OPTION.

    SENSOR refers to the sensors of that name of all bodies. Bodies and sensors can be given by
    their names in the model or in topics. An unknown one is reported as an error and gives None.
    """
    sensor, dot, name = key.rpartition(".")
    option = _option(name, diagnostics, f"'{key}': ")
    if option is None:
        return None
    if not dot:
        return None if _is_single_only(option, diagnostics) else Target(option)
    devices = [(entry, i) for entry in config.bodies for i in instruments(_body(entry)).values()]
    sensors = [(entry, i) for entry, i in devices if i.is_sensor]
    found = [(entry, i) for entry, i in sensors if sensor in _spellings(entry, i)]
    if not found:
        merged = {k: v for entry in config.bodies for k, v in _merged(_body(entry)).items()}
        message = _no_sensor(sensor, [i for _, i in devices], merged)
        if "/" in sensor:
            full = [f"{entry.placement.name}/{i.name}" for entry, i in sensors]
            message = f"there is no sensor '{sensor}'.{did_you_mean_or_all(sensor, full)}"
        diagnostics.error("unknown-sensor", f"'{key}': {message}")
        return None
    for _, instrument in found:
        _warn_if_idle(option, instrument, diagnostics, f"'{key}': ")
    return Target(option, tuple((entry.placement.name, i.name) for entry, i in found))


def find_targets(
    config: WorldConfig, keys: Iterable[str], diagnostics: Diagnostics
) -> dict[str, Target]:
    """Return the targets of keys, as ``find_target``; those with more sensors come first."""
    found = {key: find_target(config, key, diagnostics) for key in keys}
    targets = [(key, target) for key, target in found.items() if target is not None]
    return dict(sorted(targets, key=lambda item: -item[1].sensor_count))


def with_options(
    config: WorldConfig, options: AbstractMapping[str, OptionValue], diagnostics: Diagnostics
) -> WorldConfig:
    """Return the world with changed sensor options, given by keys as for ``find_target``.

    If two keys concern the same sensor, the one with fewer sensors takes precedence.

    Raises:
        ValueError: A value is not allowed.
    """
    for key, target in find_targets(config, options, diagnostics).items():
        config = target.with_value(config, options[key])
    return config


def parse_option(text: str) -> tuple[str, OptionValue]:
    """Return the key and the value of "[SENSOR.]OPTION=VALUE".

    Raises:
        ValueError: The option does not exist, or the value is not allowed.
    """
    key, equals, written = text.partition("=")
    name = key.rpartition(".")[2]
    if not equals:
        raise ValueError(f"must be [SENSOR.]OPTION=VALUE, not '{text}'")
    if name not in OPTIONS:
        raise ValueError(_no_option(name))
    value: OptionValue = written
    if isinstance(OPTIONS[name].default, bool):
        value = {"true": True, "false": False}.get(written, written)
    elif isinstance(OPTIONS[name].default, float):
        with suppress(ValueError):
            value = float(written)
    if problem := option_error(OPTIONS[name], value):
        raise ValueError(problem)
    return key, value


def single_options(config: WorldConfig) -> Iterator[str]:
    """Yield the keys of all options that are set for single sensors of a world."""
    count = Counter(name for entry in config.bodies for name in instruments(_body(entry)))
    for entry in config.bodies:
        for sensor, own in entry.sensors.items():
            name = sensor if count[sensor] == 1 else f"{entry.placement.name}/{sensor}"
            yield from (f"{name}.{option}" for option in own)


def read_common(node: Mapping, base: SensorSettings = IDEAL) -> SensorSettings:
    """Read the options of all sensors from ``sensors`` of a world file; others are the base's."""
    return base.with_values(_read(node, None))


def read_single(node: Mapping, body: Body) -> dict[str, dict[str, OptionValue]]:
    """Read the options of single sensors from ``sensors`` of a body; return them by sensor name."""
    known = instruments(body)
    read: dict[str, dict[str, OptionValue]] = {}
    for name, (key, _) in node.entries().items():
        if name not in known or not known[name].is_sensor:
            message = _no_sensor(name, known.values(), _merged(body))
            node.diagnostics.error("unknown-sensor", message, key.span)
        elif (own := node.mapping(name)) is not None:
            read[name] = _read(own, known[name])
    return read


def _read(node: Mapping, instrument: Instrument | None) -> dict[str, OptionValue]:
    """Read the options of one sensor, or of all if it is None; report and skip invalid ones."""
    read: dict[str, OptionValue] = {}
    diagnostics = node.diagnostics
    for name, (key, _) in node.entries().items():
        option = _option(name, diagnostics, "", key.span)
        if option is None:
            continue
        if instrument is not None:
            _warn_if_idle(option, instrument, diagnostics, "", key.span)
        elif _is_single_only(option, diagnostics, key.span):
            continue
        value: OptionValue | None
        if isinstance(option.default, bool):
            value = node.boolean(name, default=None)
        elif isinstance(option.default, float):
            value = node.number(name, default=None)
        else:
            value = node.text(name, default=None)
        if value is None:  # which was reported
            continue
        if problem := option_error(option, value):
            diagnostics.error("out-of-range", problem, node.at(name))
        else:
            read[name] = value
    return read


def _option(
    name: str, diagnostics: Diagnostics, where: str, at: Span | None = None
) -> Field[Any] | None:
    if name not in OPTIONS:
        diagnostics.error("unknown-option", where + _no_option(name), at)
    return OPTIONS.get(name)


def _no_option(name: str) -> str:
    return f"sensors have no option '{name}'.{did_you_mean_or_all(name, OPTIONS)}"


def _is_single_only(option: Field[Any], diagnostics: Diagnostics, at: Span | None = None) -> bool:
    """Return whether an option can be set for single sensors only; report it if so."""
    if option.name == _SINGLE:
        message = f"'{option.name}' can be set for single sensors only, not for all at once"
        diagnostics.error("unknown-option", message, at)
    return option.name == _SINGLE


def _warn_if_idle(
    option: Field[Any],
    instrument: Instrument,
    diagnostics: Diagnostics,
    where: str,
    at: Span | None = None,
) -> None:
    if not applies_to(option, instrument.kind):
        message = (
            f"{where}'{option.name}' has no effect on '{instrument.name}' of kind "
            f"'{instrument.kind}'; it is for {', '.join(sorted(option.metadata['kinds']))}"
        )
        diagnostics.warn("idle-option", message, at)


def _no_sensor(name: str, devices: Iterable[Instrument], merged: AbstractMapping[str, str]) -> str:
    if name in merged:
        return f"'{name}' is merged with '{merged[name]}'; set the options of '{merged[name]}'"
    known = list(devices)
    for other in known:
        if other.name == name and not other.is_sensor:
            return f"'{name}' is a {other.kind}, which has no options"
    sensors = dict.fromkeys(i.name for i in known if i.is_sensor)
    return f"there is no sensor '{name}'.{did_you_mean_or_all(name, sensors)}"


def _merged(body: Body) -> dict[str, str]:
    """Return the name of the gyro that each accelerometer is merged with, by accelerometer name."""
    units = inertial_units(body)
    return {unit.partner.name: unit.device.name for unit in units if unit.partner is not None}


def _spellings(entry: BodyEntry, instrument: Instrument) -> Iterator[str]:
    body, sensor = entry.placement.name, instrument.name
    for b, s in ((body, sensor), (topic_token(body), topic_token(sensor))):
        yield s
        yield f"{b}/{s}"


def _body(entry: BodyEntry) -> Body:
    return entry.placement.body
