"""Compare a run with its baseline file, or write the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hrp_sim import Simulation
from hrp_sim.engine.schedule import NS_PER_S

from .baseline import Baseline, BaselineError, BaselineRecorder, read_baseline, write_baseline
from .divergence import find_divergence
from .problems import Problem


@dataclass(frozen=True, kw_only=True)
class BaselineSettings:
    """How runs are compared with their baselines.

    Attributes:
        update: Whether baselines are written where they are missing or differ.
        tolerance: Factor of the tolerances between different machines.
        command: Command that writes the baselines of this test, for messages.
    """

    update: bool = False
    tolerance: float = 1.0
    command: str


class BaselineCheck:
    """Compares a run with a baseline.

    Args:
        path: File of the baseline, which may be missing.
        settings: How it is compared.
        simulation: Before its first step.
        duration: Of the run at most, in [s].

    Attributes:
        recorder: To be a consumer of the run.
        written: Whether ``finish`` has written the file.
    """

    def __init__(
        self,
        path: Path,
        settings: BaselineSettings,
        simulation: Simulation,
        duration: float,
    ) -> None:
        self._path, self._settings = path, settings
        # Bodies may be removed later.
        self._bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
        self._stored: Baseline | None = None
        self._unusable = ""
        self.written = False
        try:
            self._stored = read_baseline(path)
        except FileNotFoundError:
            self._unusable = f"the baseline '{path}' is missing; make it with: {settings.command}"
        except BaselineError as error:
            self._unusable = f"{error}; make it again with: {settings.command}"
        except OSError as error:
            self._unusable = f"cannot read the baseline '{path}': {error.strerror or error}"
        steps = round(duration * NS_PER_S) // simulation.engine.settings.step_ns
        # What may be written is sampled as its duration needs.
        stored = None if settings.update else self._stored
        sampled = None if stored is None else stored.sampled
        self.recorder = BaselineRecorder(simulation, steps, sampled)

    def finish(self, *, passed: bool) -> list[Problem]:
        """Compare the run that has ended, or write its baseline; return the problems.

        Args:
            passed: Whether it has passed otherwise; else its baseline is not written.
        """
        got = self.recorder.finish()
        problem = self._compare(got)
        if problem is None:
            return []
        if not self._settings.update:
            return [problem]
        if not passed:
            reason = "is not written, since the scenario does not pass"
            return [self._at_end(got, f"the baseline '{self._path}' {reason}")]
        try:
            write_baseline(self._path, got)
        except BaselineError as refusal:
            return [self._at_end(got, str(refusal))]
        except OSError as error:
            reason = error.strerror or str(error)
            return [self._at_end(got, f"cannot write the baseline '{self._path}': {reason}")]
        self.written = True
        return []

    def _compare(self, got: Baseline) -> Problem | None:
        if self._stored is None:
            return self._at_end(got, self._unusable)
        divergence = find_divergence(self._stored, got, self._bodies, self._settings.tolerance)
        if divergence is None:
            return None
        text = (
            f"the run differs from its baseline '{self._path}':\n{divergence.text}\n"
            f"if this is intended, store it with: {self._settings.command}"
        )
        return Problem(divergence.step * got.sampled.step_ns / NS_PER_S, text)

    @staticmethod
    def _at_end(run: Baseline, text: str) -> Problem:
        return Problem(run.steps * run.sampled.step_ns / NS_PER_S, text)
