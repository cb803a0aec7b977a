"""Joints that follow others by a formula in MathML: a linear one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...diagnostics import Diagnostics
from ..mimics import Follower
from ..xml_tree import Element
from .joints import JointParts, openrave_technique
from .references import References
from .values import Values


class _NotLinearError(Exception):
    """A formula is not the multiple of one joint's position plus a number."""


@dataclass(frozen=True)
class _Linear:
    """``multiplier`` times the position of a joint, plus ``offset``; without a joint a number."""

    offset: float
    multiplier: float = 0.0
    joint: str = ""

    def __add__(self, other: _Linear) -> _Linear:
        if self.joint and other.joint and self.joint != other.joint:
            raise _NotLinearError
        offset, multiplier = self.offset + other.offset, self.multiplier + other.multiplier
        return _Linear(offset, multiplier, self.joint or other.joint)

    def __mul__(self, other: _Linear) -> _Linear:
        if self.joint and other.joint:
            raise _NotLinearError
        number, linear = (other, self) if self.joint else (self, other)
        factor = number.offset
        return _Linear(factor * linear.offset, factor * linear.multiplier, linear.joint)

    def inverse(self) -> _Linear:
        if self.joint or not self.offset:
            raise _NotLinearError
        return _Linear(1.0 / self.offset)


_MINUS_ONE = _Linear(-1.0)


class FormulaReader:
    """Reads the formulas of a kinematics model."""

    def __init__(
        self,
        model: Element,
        joint_of: Callable[[str, Element], JointParts | None],
        references: References,
        values: Values,
        diagnostics: Diagnostics,
    ) -> None:
        self._model = model
        self._joint_of = joint_of
        self._references = references
        self._values = values
        self._diagnostics = diagnostics

    def followers(self) -> dict[str, Follower]:
        """Return how joints follow others, by the name of the joint that follows."""
        technique = self._model.first("technique_common")
        found: dict[str, Follower] = {}
        for written in () if technique is None else technique.all("formula", "instance_formula"):
            formula = written
            if written.tag == "instance_formula":
                formula = self._references.by_url(written) or written
            target = formula.first("target")
            param = None if target is None else target.first("param")
            address = "" if param is None else param.text or param.attributes.get("ref", "")
            joint = self._joint_of(address, formula)
            try:
                value = self._value(self._math(formula))
                if joint is None or not value.joint:
                    raise _NotLinearError
            except _NotLinearError:
                message = "this formula is left out: it must be a multiple of the position of one "
                message += "moving joint, plus a number"
                self._diagnostics.warn("no-counterpart", message, formula.span)
                continue
            found[joint.joint.name] = Follower(
                value.joint, value.multiplier, value.offset, formula.span
            )
        return found

    def _math(self, formula: Element) -> Element:
        """Return the expression of a formula."""
        technique = formula.first("technique_common")
        if technique is None and (profile := openrave_technique(formula)) is not None:
            equations = profile.all("equation")
            technique = next((x for x in equations if x.attributes.get("type") == "position"), None)
        for child in () if technique is None else technique.descendants():
            if _local(child) not in ("math", "equation"):
                return child
        raise _NotLinearError

    def _value(self, element: Element) -> _Linear:
        name = _local(element)
        if name == "cn":
            return _Linear((self._values.numbers(element, 1) or [0.0])[0])
        if name in ("csymbol", "ci"):
            joint = self._joint_of(element.text, element)
            if joint is None:
                raise _NotLinearError
            return _Linear(0.0, 1.0, joint.joint.name)
        if name != "apply" or not element.children:
            raise _NotLinearError
        operator, *operands = element.children
        values = list(map(self._value, operands))
        return _applied(_local(operator), values)


def _applied(operator: str, values: list[_Linear]) -> _Linear:
    """Return the value of an operator."""
    if operator == "plus":
        return sum(values, start=_Linear(0.0))
    if operator == "minus" and len(values) == 1:
        return values[0] * _MINUS_ONE
    if operator == "minus" and len(values) == 2:
        return values[0] + values[1] * _MINUS_ONE
    if operator == "divide" and len(values) == 2:
        return values[0] * values[1].inverse()
    if operator == "times":
        product = _Linear(1.0)
        for value in values:
            product = product * value
        return product
    raise _NotLinearError


def _local(element: Element) -> str:
    """Return a tag without the prefix of its namespace."""
    return element.tag.rpartition(":")[2]
