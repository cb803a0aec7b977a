"""Results of a sweep, stacked by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hrp_model.diagnostics import needs_extra

from ...engine.engine import AnyArray
from .case import Case, CaseResult, json_text

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False)
class SweepResult:
    """Results of a sweep, in the order of its cases.

    Attributes:
        cases: The cases.
        values: What ``run`` has returned, by name, shape (cases, ...). If a case has failed,
            numbers are float64 and those of that case nan; its texts are empty.
        errors: Why each case failed, or nothing.
        state_hashes: State hash at the end of each case; empty if it failed.
        fingerprints: Fingerprint of the process that ran each case; empty if that died. To the
            last bit, only results of equal fingerprints are comparable.
    """

    cases: Sequence[Case]
    values: Mapping[str, AnyArray]
    errors: Sequence[str]
    state_hashes: Sequence[str]
    fingerprints: Sequence[str]

    @classmethod
    def from_results(cls, cases: Sequence[Case], results: Sequence[CaseResult]) -> SweepResult:
        """Stack the results of cases; one that differs from most in names or shapes fails."""
        rows = _stackable(results)
        good = next((row for row in rows if not row.error), CaseResult())
        return cls(
            tuple(cases),
            {name: _stacked(rows, name, like) for name, like in good.values.items()},
            tuple(row.error for row in rows),
            tuple(row.state_hash for row in rows),
            tuple(row.fingerprint for row in rows),
        )

    @property
    def failures(self) -> dict[int, str]:
        """Errors of the cases that failed, by index."""
        return {i: error for i, error in enumerate(self.errors) if error}

    def to_xarray(
        self,
        *,
        units: Mapping[str, str] | None = None,
        dims: Mapping[str, Sequence[str]] | None = None,
    ) -> xarray.Dataset:
        """Return a dataset: values and errors as variables, values of the cases as coordinates.

        Args:
            units: Units of variables and coordinates by name, such as {"height": "m"}.
            dims: Names of the dimensions after "case" by name, such as {"height": ["step"]};
                "NAME_0", "NAME_1" and so on by default.

        Raises:
            MissingLibraryError: xarray is not installed.
            ValueError: A unit or dimension is given for an unknown name, or the number of
                dimensions is wrong.
        """
        with needs_extra("sweep"):
            import xarray
        units, dims = units or {}, dims or {}
        columns = {
            "error": np.array(self.errors),
            "state_hash": np.array(self.state_hashes),
            "fingerprint": np.array(self.fingerprints),
        }
        coordinates = {"case": np.arange(len(self.cases))}
        coordinates |= {name: self.case_values(name) for name in self.cases[0]}
        everything = {**self.values, **columns, **coordinates}
        if unknown := (units.keys() | dims.keys()) - everything.keys():
            raise ValueError(f"the sweep has no '{min(unknown)}', but {', '.join(everything)}")

        def variable(name: str) -> xarray.Variable:
            array = everything[name]
            own = dims.get(name, [f"{name}_{i}" for i in range(array.ndim - 1)])
            attributes = {"units": units[name]} if name in units else {}
            return xarray.Variable(("case", *own), array, attributes)

        return xarray.Dataset(
            {name: variable(name) for name in (*self.values, *columns)},
            {name: variable(name) for name in coordinates},
        )

    def case_values(self, name: str) -> AnyArray:
        """Return the values of all cases: as numbers, or as texts, which may be JSON."""
        values = [case[name] for case in self.cases]
        try:
            array = np.array(values)
            if array.dtype.kind in "biuf":  # numpy would turn numbers beside text into text
                return array
        except ValueError:  # ragged
            pass
        return np.array([value if isinstance(value, str) else json_text(value) for value in values])


def _stacked(rows: Sequence[CaseResult], name: str, like: AnyArray) -> AnyArray:
    missing = np.full_like(like, "") if like.dtype.kind == "U" else np.full(like.shape, np.nan)
    return np.stack([missing if row.error else row.values[name] for row in rows])


def _stackable(results: Sequence[CaseResult]) -> list[CaseResult]:
    """Return results whose values have equal names and shapes; others become failures.

    The expected ones are those of most cases.
    """
    layouts = [_layout(result) for result in results if not result.error]
    if not layouts:
        return list(results)
    expected = Counter(layouts).most_common(1)[0][0]
    return [
        r
        if r.error or _layout(r) == expected
        else CaseResult({}, _difference(_layout(r), expected), r.state_hash, r.fingerprint)
        for r in results
    ]


_Layout: TypeAlias = frozenset[tuple[str, str, tuple[int, ...]]]


def _layout(result: CaseResult) -> _Layout:
    """Return names, kinds and shapes of values; all numbers are of one kind."""
    return frozenset(
        (name, "text" if array.dtype.kind == "U" else "numbers", array.shape)
        for name, array in result.values.items()
    )


def _difference(layout: _Layout, expected: _Layout) -> str:
    ours, theirs = (
        ", ".join(f"{kind} '{name}' of shape {shape}" for name, kind, shape in sorted(part))
        for part in (layout - expected, expected - layout)
    )
    return f"run returned {ours or 'nothing'} where most cases have {theirs or 'nothing'}"
