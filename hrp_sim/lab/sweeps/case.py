"""Cases of a sweep, what ``run`` returns for them, and files of their results."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from hrp_model.files.writer import write_atomically

from ...engine.engine import AnyArray
from ...engine.snapshot import ArrayFileError, pack_arrays, read_arrays
from ...simulation import Simulation

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
