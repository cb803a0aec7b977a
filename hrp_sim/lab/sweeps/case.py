"""Cases of a sweep, what ``run`` returns for them, their files, and the results of all cases."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hrp_model.diagnostics import needs_extra
from hrp_model.files.writer import write_atomically
from hrp_model.late_dataclass import dataclass

from ...engine.engine import AnyArray
from ...engine.snapshot import ArrayFileError, pack_arrays, read_arrays
from ...simulation import Simulation

if TYPE_CHECKING:
    import xarray

Case: TypeAlias = Mapping[str, object]
Run: TypeAlias = Callable[[Simulation, dict[str, object]], Mapping[str, object]]

# Names of columns that every result has.
RESERVED = frozenset(("case", "error", "state_hash", "fingerprint"))
MAX_ERROR = 2000  # characters
_PACKAGE = Path(__file__).parents[2]
_MAX_DIMENSIONS = 8  # of arrays in files
_RECORD, _VALUE = "record", "value/"  # arrays in files
_TEXTS = ("state_hash", "fingerprint")
_MAX_INTEGER = np.iinfo(np.int64).max
# What arrays are stored as, by kind of their type.
_TYPES = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_, "U": np.str_}


@dataclass(frozen=True, eq=False, slots=True)
class CaseResult:
    """Result of a case.

    Attributes:
        values: What ``run`` has returned, by name; empty if it failed.
        error: Why the case failed, or nothing.
        state_hash: ``Simulation.state_hash`` at its end; empty if it failed.
        fingerprint: Of the process that ran it; empty if that died.
        seconds: Wall time of ``run``, in [s].
    """

    values: Mapping[str, AnyArray] = field(default_factory=dict)
    error: str = ""
    state_hash: str = ""
    fingerprint: str = ""
    seconds: float = 0.0

    @property
    def size(self) -> int:
        """Size of the values, in [byte]."""
        return sum(array.nbytes for array in self.values.values())


def check_cases(cases: Sequence[Case], maximum: int) -> None:
    """Check that cases are mappings with the same names, whose values can be written as JSON.

    Raises:
        TypeError: They are no sequence, a case is no mapping, or a value is neither number, text,
            array nor container.
        ValueError: There is no case or too many; or names differ or are reserved.
    """
    if not isinstance(cases, Sequence):
        raise TypeError(f"cases must be a list of mappings, not {type(cases).__name__}")
    if not 0 < len(cases) <= maximum:
        raise ValueError(f"there are {len(cases)} cases; there must be 1 to {maximum}")
    names: Case | None = None
    for i, case in enumerate(cases):
        if not isinstance(case, Mapping) or not all(isinstance(name, str) for name in case):
            raise TypeError(f"case {i} must be a mapping from names to values, not {case!r:.100}")
        names = case if names is None else names
        if reserved := RESERVED & case.keys():
            raise ValueError(f"case {i} has the reserved name '{min(reserved)}'")
        if missing := names.keys() - case.keys():
            raise ValueError(f"case {i} lacks '{min(missing)}' of case 0")
        if others := case.keys() - names.keys():
            raise ValueError(f"case {i} has '{min(others)}', unlike case 0")
        try:
            case_text(case)
        except (TypeError, ValueError) as error:
            raise TypeError(f"case {i}: {error}") from None


def case_text(case: Case) -> str:
    """Return a case as JSON, equal for equal cases.

    Raises:
        TypeError: A value cannot be written.
        ValueError: A value contains itself.
    """
    return json_text(dict(case))


def json_text(value: object) -> str:
    """Return a value as JSON, also if it contains arrays.

    Raises:
        TypeError: It contains something else.
        ValueError: It contains itself.
    """
    return json.dumps(value, sort_keys=True, default=_plain)


def run_name(run: Run) -> str:
    """Return the qualified name of a function, with its module."""
    return f"{run.__module__}.{run.__qualname__}"


def checked_values(returned: object, case: Case, limit: int) -> dict[str, AnyArray]:
    """Return copies of what ``run`` has returned as arrays of float64, int64, bool or text.

    Args:
        returned: What it has returned.
        case: The case, whose names cannot be used again.
        limit: Maximum size, in [byte].

    Raises:
        TypeError: It is no mapping, or a value is neither a number, text nor an array of these.
        ValueError: A name cannot be used, an array is ragged, or the size is above the limit.
    """
    if not isinstance(returned, Mapping):
        kind = type(returned).__name__
        raise TypeError(f"run must return a dict of arrays or numbers, not {kind}")
    values: dict[str, AnyArray] = {}
    size = 0
    for name, value in returned.items():
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ValueError(f"run returned the name {name!r:.100}, which is not printable text")
        if name in RESERVED or name in case:
            owner = "the case" if name in case else "every result"
            raise ValueError(f"run returned '{name}', which {owner} has already")
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise ValueError(f"run returned '{name}', which is no regular array: {error}") from None
        if array.dtype.kind not in _TYPES:
            kind = type(value).__name__
            raise TypeError(f"run returned '{name}' as {kind}, not as number, text or array")
        if array.ndim > _MAX_DIMENSIONS:
            raise ValueError(
                f"run returned '{name}' with {array.ndim} dimensions, above {_MAX_DIMENSIONS}"
            )
        size += array.nbytes
        if size > limit:
            raise ValueError(f"run returned more than {limit} bytes, the limit case_bytes")
        if array.dtype.kind == "u" and array.size and array.max() > _MAX_INTEGER:
            raise ValueError(f"run returned '{name}', which is beyond {_MAX_INTEGER}")
        values[name] = np.array(array, dtype=_TYPES[array.dtype.kind], order="C")
    return values


def described(error: BaseException) -> str:
    """Return an exception with its place in the user's code, as one possibly truncated text."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not Path(f.filename).is_relative_to(_PACKAGE)]
    place = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
    # The text of a KeyError is quoted and escaped.
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    return f"{type(error).__name__}: {text}"[:MAX_ERROR] + place


def _plain(value: object) -> object:
    """Return a value of numpy as one of Python."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufU":
        return value.tolist()
    raise TypeError(f"{value!r:.100} is neither number, text, array nor container")


class CaseFolder:
    """Files of finished cases, one per case: arrays and a record in JSON, as .npz.

    Files are written atomically, and nothing in them is executed.

    Args:
        path: The folder.
        run: Name of the function.
    """

    def __init__(self, path: Path, run: str) -> None:
        self.path, self._run = path, run

    def prepare_writing(self) -> None:
        """Create the folder if it is missing.

        Raises:
            OSError: It cannot be created or written.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "this folder cannot be written", str(self.path))

    def write(self, world: str, case: Case, result: CaseResult) -> None:
        """Write the result of a case that succeeded; ``world`` is the hash of its world.

        Raises:
            OSError: The file cannot be written; it names the file.
        """
        record = {"case": case_text(case), "world": world, "run": self._run}
        record |= {name: getattr(result, name) for name in _TEXTS}
        arrays = {f"{_VALUE}{name}": array for name, array in result.values.items()}
        content = pack_arrays({_RECORD: np.array(json.dumps(record)), **arrays})
        write_atomically(self._file(world, case), content)

    def read(self, world: str, case: Case) -> CaseResult | None:
        """Return the result of a case in a world, or None if it is not finished.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is not a result of a case; the message names the file.
        """
        path = self._file(world, case)
        try:
            arrays = read_arrays(path)
            record = json.loads(str(arrays.pop(_RECORD)))
            texts = [record[name] for name in _TEXTS]
            if not all(isinstance(text, str) for text in texts):
                raise TypeError("a text is none")
        except FileNotFoundError:
            return None
        except (ArrayFileError, KeyError, TypeError, ValueError, RecursionError):
            raise ValueError(f"'{path}' is not the result of a case; remove it") from None
        values = {name.removeprefix(_VALUE): array for name, array in arrays.items()}
        return CaseResult(values, "", *texts)

    def _file(self, world: str, case: Case) -> Path:
        """Return the file of a case; its name is a hash of world, function and case."""
        parts = json.dumps([world, self._run, case_text(case)])
        return self.path / f"{hashlib.sha256(parts.encode()).hexdigest()}.npz"


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
