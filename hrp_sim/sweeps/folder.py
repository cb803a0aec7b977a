"""A folder of finished cases, from which an interrupted sweep continues."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from hrp_model.files.writer import write_atomically

from ..physics.array_file import ArrayFileError, pack_arrays, read_arrays
from .case import Case, CaseResult, case_text

_RECORD, _VALUE = "record", "value/"
_TEXTS = ("state_hash", "fingerprint")


class CaseFolder:
    """Files of finished cases, one per case: arrays and a record in JSON, as .npz.

    Files are written atomically, and nothing in them is executed.

    Args:
        path: The folder; created with the first case.
        world: Content hash of the world.
        run: Name of the function.
    """

    def __init__(self, path: Path, world: str, run: str) -> None:
        self._path, self._world, self._run = path, world, run

    def write(self, case: Case, result: CaseResult) -> None:
        """Write the result of a case that succeeded.

        Raises:
            OSError: The file cannot be written; it names the file.
        """
        record = {"case": case_text(case), "world": self._world, "run": self._run}
        record |= {name: getattr(result, name) for name in _TEXTS}
        arrays = {f"{_VALUE}{name}": array for name, array in result.values.items()}
        content = pack_arrays({_RECORD: np.array(json.dumps(record)), **arrays})
        write_atomically(self._file(case), content)

    def read(self, case: Case) -> CaseResult | None:
        """Return the result of a case, or None if it is not finished.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is not a result of a case; the message names the file.
        """
        path = self._file(case)
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

    def _file(self, case: Case) -> Path:
        """Return the file of a case; its name is a hash of world, function and case."""
        parts = json.dumps([self._world, self._run, case_text(case)])
        return self._path / f"{hashlib.sha256(parts.encode()).hexdigest()}.npz"
