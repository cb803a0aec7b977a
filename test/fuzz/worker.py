"""One fuzzing process: ``python -m fuzz.worker TARGET FOLDER SECONDS [INPUT...]``.

With inputs it only runs those and writes what is wrong with each.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["hrp_model", "hrp_sim"]):
    from fuzz.targets import TARGETS, Mutator, Target
from fuzz import guard, seeds
from hrp_model import ModelError

CPU_SECONDS = 10.0
MEMORY_MIB = 512
_MAX_LENGTH = 20_000  # [B]
# libFuzzer itself grows by some 15 kB an input; a new process begins before that meets our bound.
_RUNS = 30_000
_WALL_SECONDS = 120  # for what hangs where Python cannot be interrupted


class Worker:
    """Runs inputs of one target and keeps what is wrong, once for each place in the code."""

    def __init__(self, target: Target, findings: Path, folder: Path) -> None:
        self._target = target
        self._findings = findings
        self._folder = folder
        self._file = folder / f"m{target.suffix}"

    def prepare(self) -> None:
        """Load all that is loaded late, then bar the ways out."""
        seeds.companions(self._folder)
        for data in self._target.seeds():
            self.problem(data)
        guard.confine(self._folder, self._findings)
        guard.bound_address_space(2 * MEMORY_MIB)

    def run(self, data: bytes) -> None:
        """Run one input. What is wrong is kept in the findings."""
        problem = self.problem(data)
        if problem is None:
            return
        path = self._findings / f"{self._target.name}-{_place(problem)}{self._target.suffix}"
        if not path.exists():
            path.write_bytes(data)
            text = "".join(traceback.format_exception(problem)[-60:])
            path.with_name(path.name + ".txt").write_text(text, encoding="utf-8")
            print(f"\nfinding: {path}\n{text}", file=sys.stderr, flush=True)
        if isinstance(problem, guard.TooMuchMemoryError):
            os._exit(3)  # the peak would hide the next one

    def problem(self, data: bytes) -> BaseException | None:
        """Return what is wrong with how an input is read, or None."""
        self._file.write_bytes(data)
        try:
            with guard.limited(CPU_SECONDS, MEMORY_MIB):
                self._target.read(self._file)
        except ModelError as error:
            return error if not error.diagnostics else None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return error
        return None


def _place(problem: BaseException) -> str:
    """Return a short name of a problem: its type, and the innermost function of the project."""
    frames = traceback.extract_tb(problem.__traceback__)
    own = [f for f in frames if "/hrp_model/" in f.filename or "/hrp_sim/" in f.filename]
    place = f"-{Path(own[-1].filename).stem}-{own[-1].name}" if own else ""
    return f"{type(problem).__name__}{place}".replace("<", "").replace(">", "")


def _fuzz(worker: Worker, target: Target, base: Path, seconds: int) -> None:
    corpus, start = base / "corpus" / target.name, base / "seeds" / target.name
    for path in (corpus, start):
        path.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(target.seeds()):
        (start / f"{number}{target.suffix}").write_bytes(data)
    words = base / f"{target.name}.dict"
    words.write_text("".join(f'"{word.decode()}"\n' for word in target.words()), encoding="utf-8")
    options = (
        f"-max_total_time={seconds} -max_len={_MAX_LENGTH} -timeout={_WALL_SECONDS} "
        f"-runs={_RUNS} -rss_limit_mb=0 -report_slow_units={_WALL_SECONDS} "
        f"-print_final_stats=1 -dict={words} "
        f"-artifact_prefix={base / 'findings' / target.name}- {corpus} {start}"
    )
    mutator = Mutator(target, lambda data, size: atheris.Mutate(data, size))
    atheris.Setup([sys.argv[0], *options.split(" ")], worker.run, custom_mutator=mutator)
    worker.prepare()
    atheris.Fuzz()


def _check(worker: Worker, inputs: list[str]) -> int:
    """Run inputs; return how many of them are findings."""
    contents = [Path(name).read_bytes() for name in inputs]
    worker.prepare()
    count = 0
    for name, data in zip(inputs, contents, strict=True):
        problem = worker.problem(data)
        if problem is not None:
            count += 1
            print(name, *traceback.format_exception(problem)[-60:], sep="\n", flush=True)
    return count


def main() -> int:
    """Fuzz, or run given inputs; the exit status says how many of those are findings."""
    target, base, seconds = TARGETS[sys.argv[1]], Path(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    memory = Path("/dev/shm")
    parent = memory if os.access(memory, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="hrp-fuzz-", dir=parent))
    worker = Worker(target, base / "findings", folder)
    try:
        if sys.argv[4:]:
            return _check(worker, sys.argv[4:])
        _fuzz(worker, target, base, seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
