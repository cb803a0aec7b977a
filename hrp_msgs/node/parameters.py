"""Node parameters as data: one table gives the declaration, the limits and the documentation."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import inf
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from .start import WrongUseError

Value = bool | int | float | str
_T = TypeVar("_T")
_LARGEST = 2**63 - 1  # of a whole number in a message
_RCLPY = ("use_sim_time", "start_type_description_service")  # which every node declares
_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number with a point",
    str: "a text",
}


@dataclass(frozen=True)
class Param:
    """A parameter. Its default fixes the type, its doc names the unit.

    Attributes:
        minimum, maximum: Of a number, both included.
        read_only: Whether it can be set at the start only.
        choices: The words that a text may be; empty means any.

    Raises:
        ValueError: Limits are given to something else than a number, or choices that the
            default is none of.
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
            raise ValueError(f"parameter '{self.name}' has limits but is no number")
        if self.choices and self.default not in self.choices:
            raise ValueError(f"parameter '{self.name}' has choices but its default is none")

    def objection(self, value: object) -> str:
        """Return why a value is not accepted, and what would be, or nothing."""
        if type(value) is not type(self.default):
            advice = self._in_my_type(value)
            return f"{self.name} is {_KINDS[type(self.default)]}, not {value!r}{advice}"
        if isinstance(value, int | float) and not self.minimum <= value <= self.maximum:
            limits = f"{self.minimum:.10g} .. {self.maximum:.10g}"
            return f"{self.name} is in the range {limits}, not {value:.10g}"
        if self.choices and value not in self.choices:
            return f"{self.name} is {self.alternatives}, not '{value}'"
        return ""

    def _in_my_type(self, value: object) -> str:
        if isinstance(self.default, float) and type(value) is int:
            return f": write {float(value)}"
        if isinstance(self.default, str) and isinstance(value, bool | int | float):
            return f": write {json.dumps(str(value))} with its quotes"
        return ""

    @property
    def alternatives(self) -> str:
        """The choices in words."""
        *most, last = (f"'{choice}'" for choice in self.choices)
        return f"{', '.join(most)} or {last}" if most else last

    @property
    def _is_limited(self) -> bool:
        return self.minimum > -inf or self.maximum < inf

    def descriptor(self) -> ParameterDescriptor:
        """Return the descriptor by which rclpy enforces the limits."""
        descriptor = ParameterDescriptor(description=self.doc, read_only=self.read_only)
        if self.choices:
            descriptor.additional_constraints = self.alternatives
        if isinstance(self.default, float):  # whose range may be that of all numbers
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=self.minimum, to_value=self.maximum)
            ]
        elif self._is_limited:
            least, most = max(self.minimum, -_LARGEST - 1), min(self.maximum, _LARGEST)
            descriptor.integer_range = [IntegerRange(from_value=int(least), to_value=int(most))]
        return descriptor


def usage(program: str, params: Iterable[Param]) -> str:
    """Return how a program with these parameters is called, as text for a terminal."""
    lines = [f"usage: {program} [--ros-args -p NAME:=VALUE ...]", "", "Parameters:"]
    for p in params:
        when = "" if p.read_only else ", can be set at any time"
        lines.append(f"  {p.name} (default {json.dumps(p.default)}{when})")
        words = f"{p.doc} One of {p.alternatives}." if p.choices else p.doc
        lines += textwrap.wrap(words, 80, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return "\n".join(lines)


def declare(node: Node, params: Iterable[Param]) -> dict[str, Any]:
    """Declare parameters on a node and return their values by name.

    Raises:
        WrongUseError: The node was started with what is not accepted.
    """
    values = {}
    for p in params:
        try:
            values[p.name] = node.declare_parameter(p.name, p.default, p.descriptor()).value
        except (InvalidParameterTypeException, InvalidParameterValueException):
            anything = ParameterDescriptor(dynamic_typing=True)
            given = node.declare_parameter(p.name, p.default, anything).value
            raise WrongUseError(p.objection(given)) from None
        if objection := p.objection(values[p.name]):
            raise WrongUseError(objection)
    return values


def option_param(name: str, default: Any, option: Any) -> Param:
    """Return the parameter of an option: a field whose metadata tells ``doc``, limits, choices."""
    rules = option.metadata
    limits = rules.get("minimum", -inf), rules.get("maximum", inf)
    return Param(name, default, rules["doc"], *limits, choices=rules.get("choices", ()))


def declare_options(node: Node, targets: Mapping[str, Any], config: _T) -> _T:
    """Declare options as parameters; return a configuration that has their values.

    Args:
        node: The node. What it has already is left alone.
        targets: By the parameter's name. Each has an ``option`` as for ``option_param``, tells
            its ``value`` in a configuration and gives another one ``with_value``.
        config: The configuration.

    Raises:
        WrongUseError: The node was started with what is not accepted.
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
    """Return what a node was started with, by name, and let it declare that itself.

    Args:
        node: Made with ``automatically_declare_parameters_from_overrides``, since rclpy tells
            in no other way what somebody has given and nobody declares.
    """
    given = {k: p.value for k, p in node.get_parameters_by_prefix("").items() if k not in _RCLPY}
    for name in given:
        node.undeclare_parameter(name)
    return given


# Parameters that name the input of a node, where somebody takes one node for the other.
_COUNTERPARTS = {"model": "world", "world": "model", "urdf": "model", "robot": "model"}


def nearest_parameter(name: str, known: Collection[str], likeness: float = 0.6) -> str:
    """Return the known parameter that an unknown name stands for, or nothing if none comes near.

    Args:
        name: The unknown name.
        known: Names of all that can be meant.
        likeness: The least likeness of two names, from 0 to 1 (equal).
    """
    if (counterpart := _COUNTERPARTS.get(name)) in known:
        return str(counterpart)
    return next(iter(get_close_matches(name, known, 1, likeness)), "")


def unknown_parameters(given: Iterable[str], known: Collection[str]) -> Iterator[str]:
    """Yield a warning for each parameter that a node was started with and does not have.

    Those of rclpy that come later, about the quality of service of topics, are not meant.

    Args:
        given: Names, as from ``undeclare_overrides``.
        known: Names of all that the node has.
    """
    for name in given:
        if name not in known and not name.startswith("qos_overrides."):
            near = nearest_parameter(name, known)
            hint = f"Did you mean '{near}'?" if near else "--help lists those there are."
            yield f"there is no parameter '{name}'. {hint}"


def undeclare(node: Node, names: Iterable[str]) -> None:
    """Take parameters away again from a node, also those that are read-only to others."""
    for name in names:
        node.describe_parameter(name).read_only = False  # that is its own, not a copy
        node.undeclare_parameter(name)


class DerivedParams:
    """Parameters that follow from others: the node sets them, and nobody else.

    Whoever sets parameters from outside is refused by ``objection``, which the node asks in
    its callback: what is read-only to rclpy could never be taken away again.

    Args:
        node: The node that has the parameters.
        source: Name of the parameter that they follow from.
        first: Those that there are from the beginning; their defaults are their values.

    Raises:
        InvalidParameterValueException: The node was started with a value for one of these.
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
                # Not the value itself: it may be a whole URDF.
                raise InvalidParameterValueException(name, "...", self.objection(name))

    def objection(self, name: str) -> str:
        """Return why a parameter must not be set, or nothing."""
        if name not in self._params or self._is_renewing:
            return ""
        return f"{name} follows from the parameter '{self._source}' and cannot be set itself"

    def renew(self, params: Collection[Param]) -> None:
        """Have these parameters from now on, and no others; their defaults are their values."""
        before, node = self._params, self._node
        kept = {
            p.name: p.default
            for p in params
            if p.name in before and _is_told_alike(p, before[p.name])
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
        descriptor.description += f" Follows from the parameter '{self._source}'."
        return descriptor


def _is_told_alike(one: Param, other: Param) -> bool:
    """Tell whether two parameters differ in their values at most."""
    same_type = type(one.default) is type(other.default)
    return same_type and replace(one, default=other.default) == other
