"""Runs fuzzing processes for a while and says what they found: ``python -m fuzz --help``."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fuzz.calls import fuzz_calls
from fuzz.targets import TARGETS, Target

_STARTUP = 60.0  # [s] that a process may take to begin and to end
_EXECUTED = re.compile(rb"^stat::number_of_executed_units: *(\d+)|^#(\d+)\t", re.MULTILINE)


class Campaign:
    """A run of some targets, with one folder for corpus, findings and logs."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.findings = base / "findings"
        self.inputs = 0
        for folder in (self.findings, base / "log"):
            folder.mkdir(parents=True, exist_ok=True)

    def found(self) -> list[Path]:
        """Return the inputs that are findings, in order."""
        return [p for p in sorted(self.findings.iterdir()) if p.suffix != ".txt"]

    def drop_fixed(self) -> None:
        """Take out the findings of earlier runs that are none any more."""
        for path in self.found():
            if self.check(path, quiet=True) == 0:
                print(f"fixed since the last run: {path.name}")
                path.unlink()
                path.with_name(path.name + ".txt").unlink(missing_ok=True)

    def check(self, path: Path, *, quiet: bool = False) -> int:
        """Run one input as a file of its target's kind; return 0 if nothing is wrong with it."""
        target = _target_of(path)
        command = [*_worker(target, self.base, 0), str(path)]
        output = subprocess.DEVNULL if quiet else None
        status = subprocess.run(command, stdout=output, stderr=output, check=False).returncode
        if not quiet:
            print(f"{path.name}: {'a finding' if status else 'nothing is wrong'}")
        return status

    def fuzz(self, target: Target, seconds: float) -> None:
        """Fuzz one target, in as many processes after one another as it breaks.

        Raises:
            RuntimeError: The fuzzer itself does not run.
        """
        end = time.monotonic() + seconds
        failed = 0
        while (left := int(end - time.monotonic())) > 0:
            log = self.base / "log" / f"{target.name}.log"
            with log.open("wb") as stream:
                command = _worker(target, self.base, left)
                process = subprocess.Popen(command, stdout=stream, stderr=stream)
                try:
                    process.wait(left + 3 * _STARTUP)
                except subprocess.TimeoutExpired:
                    process.kill()
            text = log.read_bytes()
            executed = [int(a or b) for a, b in _EXECUTED.findall(text)]
            self.inputs += max(executed, default=0)
            self._complete(target, text)
            failed = failed + 1 if not executed else 0
            if failed == 3:
                raise RuntimeError(f"the fuzzer does not run, see {log}")
        print(f"{target.name}: done", flush=True)

    def _complete(self, target: Target, log: bytes) -> None:
        """Give what libFuzzer itself wrote (of a crash or a hang) a suffix and a text."""
        for kind in ("crash", "timeout", "oom", "leak"):
            for path in self.findings.glob(f"{target.name}-{kind}-*"):
                if path.suffix != ".txt" and path.suffix != target.suffix:
                    named = path.rename(path.with_name(path.name + target.suffix))
                    text = log[-6000:].decode(errors="replace")
                    named.with_name(named.name + ".txt").write_text(text, encoding="utf-8")


def _worker(target: Target, base: Path, seconds: int) -> list[str]:
    return [sys.executable, "-m", "fuzz.worker", target.name, str(base), str(seconds)]


def _target_of(path: Path) -> Target:
    name = path.name.partition("-")[0]
    by_suffix = {target.suffix: target for target in TARGETS.values()}
    target = TARGETS.get(name) or by_suffix.get(path.suffix.lower())
    if target is None:
        raise SystemExit(
            f"{path}: a file is named TARGET-..., or has one of {', '.join(by_suffix)}"
        )
    return target


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz.sh",
        description="Look for inputs that a reader neither reads nor refuses.",
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--all", action="store_true", help="fuzz every target")
    parser.add_argument("--calls", action="store_true",
                        help="command a running world and call its services instead")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the first call (default 0)")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all of it (default 10)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (default 1)")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="where results go")
    parser.add_argument("--reproduce", type=Path, nargs="+", metavar="FILE",
                        help="run these inputs instead, and show what is wrong")  # fmt: skip
    arguments = parser.parse_args()
    unknown = set(arguments.targets) - TARGETS.keys()
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    if not (arguments.targets or arguments.all or arguments.calls or arguments.reproduce):
        parser.error("name targets, --all or --calls")
    return arguments


def main() -> int:
    """Fuzz as the arguments say. Returns 1 if there are findings, 2 if the fuzzer did not run."""
    arguments = _arguments()
    campaign = Campaign(arguments.out.resolve())
    if arguments.reproduce:
        return max(min(campaign.check(path.resolve()), 1) for path in arguments.reproduce)
    if arguments.calls:
        return fuzz_calls(campaign.base, arguments.seed, arguments.minutes)
    campaign.drop_fixed()
    chosen = [t for name, t in TARGETS.items() if arguments.all or name in arguments.targets]
    chosen.sort(key=lambda target: -target.share)
    jobs = min(arguments.jobs, len(chosen))
    seconds = 60.0 * arguments.minutes * jobs / sum(target.share for target in chosen)
    with ThreadPoolExecutor(jobs) as pool:
        runs = [pool.submit(campaign.fuzz, t, seconds * t.share) for t in chosen]
    for run in runs:
        if run.exception() is not None:
            print(f"failed: {run.exception()}")
            return 2
    found = campaign.found()
    for path in found:
        print(f"finding: {path}\n  bash scripts/fuzz.sh --reproduce {path}")
    names = ", ".join(target.name for target in chosen)
    count = f"{len(found)} findings" if found else "no finding"
    print(f"{count} in {arguments.minutes:g} minutes and {campaign.inputs} inputs of {names}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
