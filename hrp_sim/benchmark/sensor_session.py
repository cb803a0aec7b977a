"""One measurement of sensors: nobody needs plain C or a solver to compare with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .measure import LEAST_SLICE, Makers, take_turns
from .pictures import (
    RATE,
    BareDrawingRun,
    CameraRun,
    FilmingRun,
    PicturesMissingError,
    check_filming,
    check_pictures,
)
from .rows import Row, rows_of
from .samples import NumpySamplesRun, SamplesRun, check_samples
from .scenes import Scene, Subject
from .targets import Measured

# Wall time of a slice while pictures are taken, in [s]: several of them each.
FILMED_SLICE = 0.25

_CHECKS = {
    Subject.PICTURES: check_pictures,
    Subject.FILMING: check_filming,
    Subject.SAMPLES: check_samples,
}
# What is counted, by simulated second.
_RATES = {Subject.PICTURES: RATE, Subject.FILMING: 1000.0, Subject.SAMPLES: 500.0}


class SensorSession:
    """Measures the sensors of one scene.

    Args:
        scene: Pictures, filming or samples are its subject.

    Attributes:
        notes: What could not be measured, and why.
        ode_version: Of no plain C program.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.notes: list[str] = []
        self.ode_version = ""

    def check(self) -> None:
        """Make sure that all do the same work.

        Raises:
            BenchError: They do not: their times must not be compared.
        """
        try:
            _CHECKS[self._scene.subject](self._scene)
        except PicturesMissingError as reason:
            self.notes.append(f"scene '{self._scene.name}' is left out: {reason}")

    def measure(
        self, duration: float, runs: int, on_run: Callable[[], None] = lambda: None
    ) -> list[Row]:
        """Measure runs of a simulated duration, in [s]; ``on_run`` is called after each."""
        if self.notes:
            return []
        subject = self._scene.subject
        steps = max(1, round(duration * _RATES[subject]))
        least = FILMED_SLICE if subject is Subject.FILMING else LEAST_SLICE
        times = take_turns(self._makers(), steps, runs, on_run, least)
        return rows_of(self._scene, None, times)

    def _makers(self) -> Makers:
        scene = self._scene
        if scene.subject is Subject.PICTURES:
            return {
                Measured.CAMERA: partial(CameraRun, scene),
                Measured.BARE_DRAWING: partial(BareDrawingRun, scene),
            }
        if scene.subject is Subject.SAMPLES:
            return {
                Measured.SAMPLES: partial(SamplesRun, scene),
                Measured.NUMPY_SAMPLES: partial(NumpySamplesRun, scene),
            }
        return {
            Measured.FILMED: partial(FilmingRun, scene, is_filmed=True),
            Measured.UNFILMED: partial(FilmingRun, scene, is_filmed=False),
        }
