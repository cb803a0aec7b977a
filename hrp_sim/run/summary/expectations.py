"""Expectations of a run, such as ``humanoid.z > 0.6 m``: parsed before it, evaluated after it.

An expectation is the name of a quantity, one of the operators < <= > >= == !=, and a number with
an optional unit. docs/simulation.md lists the quantities. Angles require a unit.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from math import isnan, pi

from hrp_model import Diagnostic, Severity
from hrp_model.diagnostics import Source, Span, did_you_mean_or_all, number_text
from hrp_model.late_dataclass import dataclass

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_OPERATOR = "<=|>=|==|!=|<|>"
_LONE_EQUAL_SIGN = r"(?<![<>=!])=(?!=)"
_NUMBER = r"\s*([-+]?(?:inf|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?))"
# Additional units: the base unit, and the factor to it.
_MULTIPLES = {
    "deg": ("rad", pi / 180.0),
    "deg/s": ("rad/s", pi / 180.0),
    "cm": ("m", 0.01),
    "mm": ("m", 0.001),
    "cm/s": ("m/s", 0.01),
    "mm/s": ("m/s", 0.001),
    "Nm": ("N m", 1.0),
    "m/s2": ("m/s^2", 1.0),
    "%": ("", 0.01),
}
_NAME = "--expect"
_MAX_EXAMPLES = 8


class ExpectationError(ValueError):
    """A text is not an expectation; ``diagnostic`` has the place and the correction."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


@dataclass(frozen=True)
class Expectation:
    """A comparison of a quantity with a number.

    Attributes:
        text: As written by the user.
        quantity: One of ``quantities``.
        comparison: One of the operators.
        bound: In the unit of the quantity.
        unit: Unit in which the user wrote the bound.
        scale: Factor from that unit to the unit of the quantity.
    """

    text: str
    quantity: str
    comparison: str
    bound: float
    unit: str
    scale: float = 1.0

    @classmethod
    def parse(cls, text: str, known: Mapping[str, str]) -> Expectation:
        """Parse an expectation.

        Args:
            text: As written by the user.
            known: Units of all quantities, by name.

        Raises:
            ExpectationError: It is not an expectation.
        """
        operators = list(re.finditer(_OPERATOR, text))
        is_known = operators and text[: operators[-1].start()].strip() in known
        if not is_known and (wrong := re.search(_LONE_EQUAL_SIGN, text)) is not None:
            message = "use '==', '<=' or '>=': '=' is not a comparison"
            raise _error(text, *wrong.span(), "bad-expectation", message)
        if not operators:
            signs = " ".join(_OPERATORS)
            message = f"expected a comparison with one of {signs}"
            raise _error(text, 0, len(text), "bad-expectation", message)
        sign = operators[-1]
        quantity = text[: sign.start()].strip()
        if quantity not in known:
            start = len(text) - len(text.lstrip())
            alike = _alike(quantity, known) or known
            hint = did_you_mean_or_all(quantity, alike, _MAX_EXAMPLES)
            message = f"this world has no quantity '{quantity}'.{hint}"
            raise _error(text, start, start + len(quantity), "unknown-quantity", message)
        number = re.compile(_NUMBER).match(text, sign.end())
        if number is None:
            message = "expected a number after the operator, and the quantity before it"
            raise _error(text, sign.end(), len(text), "bad-expectation", message)
        unit, scale = _unit(text, number, known[quantity])
        bound = float(number[1]) * scale
        return cls(text.strip(), quantity, sign[0], bound, unit, scale)

    def evaluate(self, value: float | None) -> Outcome:
        """Compare with the value of the quantity, None if it was not measured."""
        if value is None or isnan(value):
            return Outcome(self, None, holds=False)
        return Outcome(self, value, _OPERATORS[self.comparison](value, self.bound))


@dataclass(frozen=True)
class Outcome:
    """The result of an expectation after a run.

    Attributes:
        expectation: The expectation.
        value: Of its quantity, None if it was not measured.
        holds: Whether the comparison is true.
    """

    expectation: Expectation
    value: float | None
    holds: bool

    def __str__(self) -> str:
        expected = self.expectation
        if self.value is None:
            return f"expected {expected.text}, but {expected.quantity} was not measured"
        number = number_text(self.value / expected.scale, bound=expected.bound / expected.scale)
        found = f"{number} {expected.unit}".rstrip()
        return f"expected {expected.text}, {'and' if self.holds else 'but'} it is {found}"


def _unit(text: str, number: re.Match[str], own: str) -> tuple[str, float]:
    """Return the unit after a number, and the factor to the unit of the quantity."""
    written = " ".join(text[number.end() :].split())
    if written == own or (not written and (own != "rad" or float(number[1]) == 0.0)):
        return own, 1.0
    base, scale = _MULTIPLES.get(written, ("?", 1.0))
    if base == own:
        return written, scale
    fitting = [own, *(unit for unit, (of, _) in _MULTIPLES.items() if of == own)]
    listed = " or ".join(f"'{unit}'" for unit in fitting)
    if not own:
        message = "expected a number without a unit"
    elif not written:
        message = f"an angle needs a unit: {listed}"
    else:
        message = f"expected the unit {listed}"
    raise _error(text, number.start(1), len(text), "bad-expectation", message)


def _alike(quantity: str, known: Iterable[str]) -> list[str]:
    """Return the quantities of the same owner, or else those of the same kind of other ones."""
    owner, _, kind = quantity.rpartition(".")
    if not owner:
        return []
    same_owner = [name for name in known if name.startswith(f"{owner}.")]
    return same_owner or [name for name in known if name.endswith(f".{kind}")]


def _error(text: str, start: int, end: int, code: str, message: str) -> ExpectationError:
    at = Span(Source(_NAME, text), start, max(start, end))
    return ExpectationError(Diagnostic(Severity.ERROR, code, message, at))
