"""Options of sensors as a user gives them: in a world file, on a command line, as parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as AbstractMapping
from contextlib import suppress
from dataclasses import Field, dataclass, fields, replace
from math import inf
from typing import Any

from hrp_model import Body, Diagnostics
from hrp_model.diagnostics import Span, did_you_mean_or_all
from hrp_model.inertial_units import inertial_units
from hrp_model.readers.yaml.nodes import Mapping
from hrp_msgs.names import topic_token

from ..sensors import IDEAL, Instrument, SensorSettings, instruments
from ..sensors.settings import OptionValue, applies_to, option_error
from .config import BodyEntry, WorldConfig

OPTIONS: AbstractMapping[str, Field[Any]] = {option.name: option for option in fields(IDEAL)}
_SINGLE = "rate"  # which would be nonsense for all sensors at once
COMMON_OPTIONS = tuple(option for name, option in OPTIONS.items() if name != _SINGLE)


@dataclass(frozen=True)
class Target:
    """An option of all sensors, or of some.

    Attributes:
        option: One of the table.
        sensors: (name of a body, name of one of its sensors) for each; None means all.
    """

    option: Field[Any]
    sensors: tuple[tuple[str, str], ...] | None = None

    @property
    def breadth(self) -> float:
        """How many sensors are meant."""
        return inf if self.sensors is None else len(self.sensors)

    def value(self, config: WorldConfig) -> OptionValue:
        """Return the value in a world; of several sensors that of the first."""
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
        """Return a world in which the option has a value.

        Raises:
            ValueError: It may not have this one.
        """
        change = {self.option.name: value}
        if self.sensors is None:
            return replace(config, sensors=config.sensors.with_values(change))
        config.sensors.with_values(change)  # which complains
        bodies = tuple(self._changed(entry, change) for entry in config.bodies)
        return replace(config, bodies=bodies)

    def _changed(self, entry: BodyEntry, change: AbstractMapping[str, OptionValue]) -> BodyEntry:
        names = [sensor for body, sensor in self.sensors or () if body == entry.placement.name]
        own = {name: {**entry.sensors.get(name, {}), **change} for name in names}
        return replace(entry, sensors={**entry.sensors, **own})


def find(config: WorldConfig, key: str, diagnostics: Diagnostics) -> Target | None:
    """Return whose option a key means: OPTION, SENSOR.OPTION or BODY/SENSOR.OPTION.

    SENSOR means the sensors of that name of all bodies. Instead of the names in the models,
    what these are in topics will do. What is unknown is an error and gives None.
    """
    sensor, dot, name = key.rpartition(".")
    option = _option(name, diagnostics, f"'{key}': ")
    if option is None:
        return None
    if not dot:
        return None if _refuse_single(option, diagnostics) else Target(option)
    known = [(entry, i) for entry in config.bodies for i in instruments(_body(entry)).values()]
    sensors = [(entry, i) for entry, i in known if i.kind != "light"]
    found = [(entry, i) for entry, i in sensors if sensor in _spellings(entry, i)]
    if not found:
        merged = {k: v for entry in config.bodies for k, v in _merged(_body(entry)).items()}
        message = _no_sensor(sensor, [i for _, i in known], merged)
        if "/" in sensor:
            full = [f"{entry.placement.name}/{i.name}" for entry, i in sensors]
            message = f"there is no sensor '{sensor}'.{did_you_mean_or_all(sensor, full)}"
        diagnostics.error("unknown-sensor", f"'{key}': {message}")
        return None
    for _, instrument in found:
        _warn_if_idle(option, instrument, diagnostics, f"'{key}': ")
    return Target(option, tuple((entry.placement.name, i.name) for entry, i in found))


def targets(
    config: WorldConfig, keys: Iterable[str], diagnostics: Diagnostics
) -> dict[str, Target]:
    """Return what keys mean, as ``find`` does; those that mean more sensors come first."""
    found = {key: find(config, key, diagnostics) for key in keys}
    known = [(key, target) for key, target in found.items() if target is not None]
    return dict(sorted(known, key=lambda item: -item[1].breadth))


def with_options(
    config: WorldConfig, options: AbstractMapping[str, OptionValue], diagnostics: Diagnostics
) -> WorldConfig:
    """Return a world in which sensors have options, given by keys as of ``find``.

    Of two that mean the same sensor, the one that means fewer wins.

    Raises:
        ValueError: An option may not have such a value.
    """
    for key, target in targets(config, options, diagnostics).items():
        config = target.with_value(config, options[key])
    return config


def parse(text: str) -> tuple[str, OptionValue]:
    """Return the key and the value of "KEY=VALUE", whose key ends in the name of an option.

    Raises:
        ValueError: There is no such option, or it may not have that value.
    """
    key, equals, word = text.partition("=")
    name = key.rpartition(".")[2]
    if not equals:
        raise ValueError(f"must be [SENSOR.]OPTION=VALUE, not '{text}'")
    if name not in OPTIONS:
        raise ValueError(_no_option(name))
    value: Any = word
    if isinstance(OPTIONS[name].default, bool):
        value = {"true": True, "false": False}.get(word, word)
    elif isinstance(OPTIONS[name].default, float):
        with suppress(ValueError):
            value = float(word)
    if why := option_error(OPTIONS[name], value):
        raise ValueError(why)
    return key, value


def single_options(config: WorldConfig) -> Iterator[str]:
    """Yield the keys of all options that single sensors have in a world."""
    sensors = [(e.placement.name, name) for e in config.bodies for name in instruments(_body(e))]
    often = Counter(sensor for _, sensor in sensors)
    for entry in config.bodies:
        for sensor, own in entry.sensors.items():
            name = sensor if often[sensor] == 1 else f"{entry.placement.name}/{sensor}"
            yield from (f"{name}.{option}" for option in own)


def read_common(node: Mapping) -> SensorSettings:
    """Read the options of all sensors, from ``sensors`` of a world file."""
    return IDEAL.with_values(_read(node, None))


def read_single(node: Mapping, body: Body) -> dict[str, dict[str, OptionValue]]:
    """Read the options of single sensors, from ``sensors`` of a body, by the sensor's name."""
    known = instruments(body)
    read: dict[str, dict[str, OptionValue]] = {}
    for name, (key, _) in node.entries().items():
        if name not in known or known[name].kind == "light":
            message = _no_sensor(name, known.values(), _merged(body))
            node.diagnostics.error("unknown-sensor", message, key.span)
        elif (own := node.mapping(name)) is not None:
            read[name] = _read(own, known[name])
    return read


def _read(node: Mapping, instrument: Instrument | None) -> dict[str, OptionValue]:
    """Read the options of one sensor, or of all; what is wrong is left out."""
    read: dict[str, OptionValue] = {}
    diagnostics = node.diagnostics
    for name, (key, _) in node.entries().items():
        option = _option(name, diagnostics, "", key.span)
        if option is None:
            continue
        if instrument is not None:
            _warn_if_idle(option, instrument, diagnostics, "", key.span)
        elif _refuse_single(option, diagnostics, key.span):
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
        if why := option_error(option, value):
            diagnostics.error("out-of-range", why, node.at(name))
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


def _refuse_single(option: Field[Any], diagnostics: Diagnostics, at: Span | None = None) -> bool:
    """Tell whether an option makes no sense for all sensors at once, after reporting it."""
    if option.name == _SINGLE:
        message = f"'{option.name}' is given for one sensor, not for all of them"
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
            f"{where}'{option.name}' has no effect on '{instrument.name}', whose kind is "
            f"'{instrument.kind}': it is for {', '.join(sorted(option.metadata['kinds']))}"
        )
        diagnostics.warn("idle-option", message, at)


def _no_sensor(name: str, known: Iterable[Instrument], merged: AbstractMapping[str, str]) -> str:
    if name in merged:
        return f"'{name}' and '{merged[name]}' are one sensor: give the options of '{merged[name]}'"
    if any(i.name == name and i.kind == "light" for i in known):
        return f"'{name}' is a light, which has no options"
    sensors = dict.fromkeys(i.name for i in known if i.kind != "light")
    return f"there is no sensor '{name}'.{did_you_mean_or_all(name, sensors)}"


def _merged(body: Body) -> dict[str, str]:
    """Return the gyro that gives its name to both, by the name of each accelerometer of a pair."""
    units = inertial_units(body)
    return {unit.partner.name: unit.device.name for unit in units if unit.partner is not None}


def _spellings(entry: BodyEntry, instrument: Instrument) -> Iterator[str]:
    body, sensor = entry.placement.name, instrument.name
    for b, s in ((body, sensor), (topic_token(body), topic_token(sensor))):
        yield s
        yield f"{b}/{s}"


def _body(entry: BodyEntry) -> Body:
    return entry.placement.body
