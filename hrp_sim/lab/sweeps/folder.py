"""A folder of finished cases, from which an interrupted sweep continues."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path

import numpy as np

from hrp_model.files.writer import write_atomically

from ...engine.array_file import ArrayFileError, pack_arrays, read_arrays
from .case import Case, CaseResult, case_text

_RECORD, _VALUE = "record", "value/"
_TEXTS = ("state_hash", "fingerprint")


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
