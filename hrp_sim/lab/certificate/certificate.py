"""The dynamic certificate of a model: the same motion in several engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TypeAlias

from hrp_model import Body
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.late_dataclass import dataclass
from hrp_model.verify import (
    INSTALL,
    Outcome,
    Report,
    Row,
    is_installed,
    verify,
    verify_written,
)
from hrp_model.verify.library import DYNAMICS, Quantity
from hrp_model.verify.motion import NOTHING_MOVES
from hrp_model.verify.report import ABSENT

from .engine_rows import ENGINE, engine_rows, notes, parts

LIBRARIES = "pinocchio", "MuJoCo"
Json: TypeAlias = "str | float | bool | Sequence[Json] | Mapping[str, Json] | None"

_ALL = ENGINE, *LIBRARIES
_POSTURES = 10
_MAX_CAUSES = 3
# Quantities that differ where those differ that they are computed from.
_CONSEQUENCES = {
    quantity.value
    for quantity in (
        Quantity.DEVICE_POSES,
        Quantity.BASE_POSES,
        Quantity.TOTAL_MASS,
        Quantity.CENTER_OF_MASS,
        *DYNAMICS,
    )
}
# Quantities whose absence is worth a word.
_ESSENTIAL = {Quantity.ACCELERATIONS.value, Quantity.FREE_MOTION.value}


@dataclass(frozen=True)
class Certificate:
    """The comparison of a model in several engines.

    Attributes:
        parts: The rows of each part of the model, by the name of its root; free joints below the
            root separate parts.
    """

    parts: Mapping[str, Report]

    @property
    def is_equal(self) -> bool:
        """Whether the engine and a library were compared and nothing differs, or nothing moves."""
        is_compared = ENGINE in self.engines and len(self.engines) > 1
        return not self._failures and (self.is_still or is_compared)

    @property
    def is_still(self) -> bool:
        """Whether nothing in the model moves."""
        return all(row.reason == NOTHING_MOVES for row in self._accelerations(ENGINE))

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines and libraries whose accelerations are equal in every part that moves."""
        return tuple(name for name in _ALL if self._has_equal_accelerations(name))

    @property
    def causes(self) -> tuple[str, ...]:
        """Why it differs, or why something was not compared; the most likely ones first."""
        first = [row for row in self._failures if row.quantity not in _CONSEQUENCES]
        proven = [row for row in self._failures if row.short]
        left_out = [row for row in self._rows if row.library in _ALL and _is_missing(row)]
        rows = [*(first or proven or self._failures), *left_out]
        return tuple(dict.fromkeys(map(_cause, rows)))

    @property
    def verdict(self) -> str:
        """The result in a line."""
        causes = "; ".join(self.causes[:_MAX_CAUSES])
        if self._failures:
            return f"unequal: {causes}"
        if self.is_still:
            return "equal, as nothing in the model moves"
        if len(self.engines) < 2:
            return f"not compared: {causes}"
        equal = f"equal in {', '.join(self.engines[:-1])} and {self.engines[-1]}"
        return f"{equal}; {causes}" if causes else equal

    def to_json(self) -> dict[str, Json]:
        """Return the certificate as an object of JSON; a difference that is infinite is null."""
        return {
            "equal": self.is_equal,
            "verdict": self.verdict,
            "engines": self.engines,
            "causes": self.causes,
            "parts": [
                {"name": name, "rows": [_row_object(row) for row in report.rows]}
                for name, report in self.parts.items()
            ],
        }

    @property
    def _rows(self) -> list[Row]:
        return [row for report in self.parts.values() for row in report.rows]

    @property
    def _failures(self) -> list[Row]:
        return [row for row in self._rows if row.outcome is Outcome.FAILED]

    def _accelerations(self, library: str) -> list[Row]:
        quantity = Quantity.ACCELERATIONS.value
        return [row for row in self._rows if (row.library, row.quantity) == (library, quantity)]

    def _has_equal_accelerations(self, library: str) -> bool:
        rows = [row for row in self._accelerations(library) if row.reason != NOTHING_MOVES]
        return bool(rows) and all(row.outcome is Outcome.PASSED for row in rows)


def certify(
    body: Body,
    urdf: Path | None = None,
    *,
    states: int = 100,
    seed: int = 0,
    libraries: Sequence[str] = LIBRARIES,
) -> Certificate:
    """Compare the motion of a model in the physics engine and in libraries that read its URDF.

    Accelerations in random states, gravity torques and momentum are compared with those by the
    equations of motion of the model, and the engine's free motion with a solver of differential
    equations. The URDF is compared with the model first, which finds the place of a difference.

    Args:
        body: The model.
        urdf: A URDF of the model, with the names that ``hrp-model urdf`` gives by default; None
            writes one.
        states: Number of random states, at least 1.
        seed: Of the random states.
        libraries: Some of ``LIBRARIES``.

    Raises:
        ValueError: The URDF is given, and the model has links that float.
        OSError: The URDF cannot be read.
        MissingLibraryError: None of the libraries is installed.
    """
    if not any(map(is_installed, libraries)):
        raise MissingLibraryError(f"a certificate needs {' or '.join(libraries)}: {INSTALL}")
    separate = parts(body)
    if urdf is not None and len(separate) > 1:
        raise ValueError("links of the model float, so its URDF is compared in parts only")
    reports = {}
    for part in separate:
        if urdf is None:
            report = verify_written(
                part, libraries=libraries, postures=_POSTURES, states=states, seed=seed
            )
        else:
            report = verify(
                part,
                urdf,
                libraries=libraries,
                shapes=False,
                postures=_POSTURES,
                states=states,
                seed=seed,
            )
        left_out = notes(body) if part is separate[0] else ()
        rows = (*engine_rows(part, states, seed), *report.rows, *left_out)
        reports[part.root.name] = Report(rows)
    return Certificate(reports)


def _is_missing(row: Row) -> bool:
    """Return whether a row lacks a comparison, other than for want of motion."""
    if row.outcome in ABSENT:
        return True
    is_left_out = row.outcome is Outcome.NOT_APPLICABLE and row.quantity in _ESSENTIAL
    return is_left_out and row.reason != NOTHING_MOVES


def _cause(row: Row) -> str:
    if row.outcome in ABSENT:
        return f"without {row.library}, {row.outcome.value}: {row.reason}"
    if row.outcome is Outcome.NOT_APPLICABLE:
        return f"{row.quantity} in {row.library}: {row.reason}"
    if row.short:
        return row.reason
    return f"{row.quantity}: {row.first_at or row.reason}"


def _row_object(row: Row) -> dict[str, Json]:
    is_finite = row.difference is not None and isfinite(row.difference)
    return {
        "library": row.library,
        "quantity": row.quantity,
        "outcome": row.outcome.value,
        "difference": row.difference if is_finite else None,
        "tolerance": row.tolerance,
        "where": row.where,
        "count": row.count,
        "reason": row.reason,
    }
