"""Node parameters as tables, which provide declaration, limits and documentation."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, replace
from difflib import get_close_matches
from math import inf
from typing import Any, Protocol, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from .start import WrongUseError

Value = bool | int | float | str
Settings = dict[str, Any]  # values of parameters by name, each of the type of its default
_T = TypeVar("_T")
_MAX_INTEGER = 2**63 - 1  # in a message
_RCLPY = ("use_sim_time", "start_type_description_service")  # declared by every node
_KINDS = {
    bool: "true or false",
    int: "an integer",
    float: "a number with a decimal point",
    str: "a string",
}


@dataclass(frozen=True)
class Param:
    """A parameter, whose type is that of its default.

    Attributes:
        doc: Description with unit.
        minimum, maximum: Inclusive limits of a number.
        read_only: Whether it can be set at the start only.
        choices: Allowed strings; empty for any.

    Raises:
        ValueError: Limits are given for something else than a number, or the default is not among
            the choices.
    """

    name: str
    default: Value
    doc: str
    minimum: float = -inf
    maximum: float = inf
    read_only: bool = True
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self._is_limited and type(self.default) not in (int, float):
            raise ValueError(f"parameter '{self.name}' has limits but is not a number")
        if self.choices and self.default not in self.choices:
            raise ValueError(f"the default of parameter '{self.name}' is not among its choices")

    def objection(self, value: object) -> str:
        """Return why a value is invalid, and a valid one, or ""."""
        if type(value) is not type(self.default):
            remedy = self._type_remedy(value)
            return f"{self.name} must be {_KINDS[type(self.default)]}, not {value!r}{remedy}"
        if isinstance(value, int | float) and not self.minimum <= value <= self.maximum:
            limits = f"{self.minimum:.10g} .. {self.maximum:.10g}"
            return f"{self.name} must be in the range {limits}, not {value:.10g}"
        if self.choices and value not in self.choices:
            return f"{self.name} must be {self.alternatives}, not '{value}'"
        return ""

    def _type_remedy(self, value: object) -> str:
        if isinstance(self.default, float) and type(value) is int:
            return f": write {float(value)}"
        if isinstance(self.default, str) and isinstance(value, bool | int | float):
            return f": write {json.dumps(str(value))} with quotes"
        return ""

    @property
    def alternatives(self) -> str:
        """The choices as text, such as "'a', 'b' or 'c'"."""
        *first, last = (f"'{choice}'" for choice in self.choices)
        return f"{', '.join(first)} or {last}" if first else last

    @property
    def _is_limited(self) -> bool:
        return self.minimum > -inf or self.maximum < inf

    def descriptor(self) -> ParameterDescriptor:
        """Return the descriptor by which rclpy enforces the limits."""
        descriptor = ParameterDescriptor(description=self.doc, read_only=self.read_only)
        if self.choices:
            descriptor.additional_constraints = self.alternatives
        if isinstance(self.default, float):  # for which an infinite range is valid, too
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=self.minimum, to_value=self.maximum)
            ]
        elif self._is_limited:
            low, high = max(self.minimum, -_MAX_INTEGER - 1), min(self.maximum, _MAX_INTEGER)
            descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high))]
        return descriptor


def usage(program: str, params: Iterable[Param]) -> str:
    """Return the help text of a program with these parameters."""
    lines = [f"usage: {program} [--ros-args -p NAME:=VALUE ...]", "", "Parameters:"]
    for p in params:
        when = "" if p.read_only else ", can be set at any time"
        lines.append(f"  {p.name} (default {json.dumps(p.default)}{when})")
        doc = f"{p.doc} One of {p.alternatives}." if p.choices else p.doc
        lines += textwrap.wrap(doc, 80, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return "\n".join(lines)


def declare(node: Node, params: Iterable[Param]) -> Settings:
    """Declare parameters on a node and return their values by name.

    Raises:
        WrongUseError: The node was started with an invalid value.
    """
    values = {}
    for p in params:
        try:
            values[p.name] = node.declare_parameter(p.name, p.default, p.descriptor()).value
        except (InvalidParameterTypeException, InvalidParameterValueException):
            anything = ParameterDescriptor(dynamic_typing=True)
            given = node.declare_parameter(p.name, p.default, anything).value
            # ROS reads the word inf as a number, also as launch and "ros2 param dump" write it.
            if str(given) not in p.choices:
                raise WrongUseError(p.objection(given)) from None
            node.undeclare_parameter(p.name)
            chosen = str(given), p.descriptor()
            values[p.name] = node.declare_parameter(p.name, *chosen, ignore_override=True).value
        if objection := p.objection(values[p.name]):
            raise WrongUseError(objection)
    return values


class OptionTarget(Protocol[_T]):
    """An option in a configuration."""

    @property
    def option(self) -> Field[Value]:
        """The option, see ``option_param``."""

    def value(self, config: _T, /) -> Value:
        """Return its value in a configuration."""

    def with_value(self, config: _T, value: Value, /) -> _T:
        """Return the configuration with another value; raise ValueError if that is invalid."""


def option_param(name: str, default: Value, option: Field[Value]) -> Param:
    """Return the parameter of an option, a dataclass field.

    Its metadata contains ``doc``, and may contain ``minimum``, ``maximum`` and ``choices``.
    """
    rules = option.metadata
    limits = rules.get("minimum", -inf), rules.get("maximum", inf)
    return Param(name, default, rules["doc"], *limits, choices=rules.get("choices", ()))


def declare_options(node: Node, targets: Mapping[str, OptionTarget[_T]], config: _T) -> _T:
    """Declare options as parameters; return the configuration with their values.

    Args:
        node: The node; parameters that it has already are skipped.
        targets: The options by parameter name.
        config: The configuration, with the default values.

    Raises:
        WrongUseError: The node was started with an invalid value.
    """
    for name, target in targets.items():
        if node.has_parameter(name):
            continue
        value = declare(node, [option_param(name, target.value(config), target.option)])[name]
        try:
            config = target.with_value(config, value)
        except ValueError as error:
            raise WrongUseError(f"parameter '{name}': {error}") from None
    return config


def undeclare_overrides(node: Node) -> dict[str, Any]:
    """Undeclare all parameters that a node was started with; return their values by name.

    Args:
        node: A node with ``automatically_declare_parameters_from_overrides``, the only way to find
            overrides of parameters that are never declared.
    """
    given = {k: p.value for k, p in node.get_parameters_by_prefix("").items() if k not in _RCLPY}
    for name in given:
        node.undeclare_parameter(name)
    return given


# Input parameters of different nodes that users confuse.
_COUNTERPARTS = {"model": "world", "world": "model", "urdf": "model", "robot": "model"}


def nearest_parameter(name: str, known: Collection[str], likeness: float = 0.6) -> str:
    """Return the known parameter most similar to an unknown one, or "".

    Args:
        name: The unknown name.
        known: Names of all candidates.
        likeness: Minimum similarity of two names, from 0 to 1 (equal).
    """
    if (counterpart := _COUNTERPARTS.get(name)) in known:
        return str(counterpart)
    return next(iter(get_close_matches(name, known, 1, likeness)), "")


def unknown_parameters(given: Iterable[str], known: Collection[str]) -> Iterator[str]:
    """Yield a warning for each unknown parameter that a node was started with.

    The ``qos_overrides`` of topics, which rclpy declares later, are ignored.

    Args:
        given: Names of the given parameters, as from ``undeclare_overrides``.
        known: Names of all parameters of the node.
    """
    for name in given:
        if name not in known and not name.startswith("qos_overrides."):
            near = nearest_parameter(name, known)
            hint = f"Did you mean '{near}'?" if near else "--help lists all parameters."
            yield f"there is no parameter '{name}'. {hint}"


def undeclare(node: Node, names: Iterable[str]) -> None:
    """Undeclare parameters of a node, including read-only ones."""
    for name in names:
        node.describe_parameter(name).read_only = False  # the node's own descriptor, not a copy
        node.undeclare_parameter(name)


class DerivedParams:
    """Parameters derived from another one, which only the node itself sets.

    The node rejects changes by others with ``objection`` in its callback. Read-only parameters of
    rclpy would not do, because they cannot be undeclared.

    Args:
        node: The node with the parameters.
        source: Name of the parameter that they are derived from.
        first: The initial parameters; their defaults are their values.

    Raises:
        InvalidParameterValueException: The node was started with a value for one of them.
    """

    def __init__(self, node: Node, source: str, first: Iterable[Param]) -> None:
        self._node = node
        self._source = source
        self._params: dict[str, Param] = {}
        self._is_renewing = False
        for param in first:
            name = param.name
            given = node.declare_parameter(name, param.default, self._descriptor(param)).value
            self._params[name] = param
            if given != param.default:
                # Without the value, which may be a whole URDF.
                raise InvalidParameterValueException(name, "...", self.objection(name))

    def objection(self, name: str) -> str:
        """Return why a parameter must not be set, or ""."""
        if name not in self._params or self._is_renewing:
            return ""
        return f"{name} is derived from the parameter '{self._source}' and cannot be set"

    def renew(self, params: Collection[Param]) -> None:
        """Replace all derived parameters; their defaults are their values."""
        before, node = self._params, self._node
        kept = {
            p.name: p.default
            for p in params
            if p.name in before and _differ_in_value_only(p, before[p.name])
        }
        for name in before.keys() - kept.keys():
            node.undeclare_parameter(name)
        changed = [
            Parameter(name, value=value)
            for name, value in kept.items()
            if value != node.get_parameter(name).value
        ]
        new = [(p.name, p.default, self._descriptor(p)) for p in params if p.name not in kept]
        self._is_renewing = True
        try:
            if changed:
                node.set_parameters_atomically(changed)
            node.declare_parameters("", new, ignore_override=True)
        finally:
            self._is_renewing = False
        self._params = {p.name: p for p in params}

    def _descriptor(self, param: Param) -> ParameterDescriptor:
        descriptor = param.descriptor()
        descriptor.read_only = False
        descriptor.description += f" Derived from the parameter '{self._source}'."
        return descriptor


def _differ_in_value_only(one: Param, other: Param) -> bool:
    """Return whether two parameters differ in their values at most."""
    same_type = type(one.default) is type(other.default)
    return same_type and replace(one, default=other.default) == other
