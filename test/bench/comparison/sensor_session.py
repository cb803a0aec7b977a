"""Compare the implementations of one scene of cameras or small sensors: no plain C, no solver."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .measure import MIN_SLICE, Makers, measure_interleaved
from .pictures import (
    RATE,
    CameraRun,
    FilmingRun,
    PlainModernGLRun,
    RenderingUnavailableError,
    check_filming,
    check_pictures,
)
from .rows import Row, rows_of
from .samples import NumpySamplesRun, SamplesRun, check_samples
from .scenes import Scene, Subject
from .targets import Measured

# Wall time of a slice with a few images each, in [s].
FILMED_SLICE = 0.25

_CHECKS = {
    Subject.PICTURES: check_pictures,
    Subject.FILMING: check_filming,
    Subject.SAMPLES: check_samples,
}
# Images, steps and samples per simulated second.
_RATES = {Subject.PICTURES: RATE, Subject.FILMING: 1000.0, Subject.SAMPLES: 500.0}


class SensorSession:
    """Compares the sensors of one scene.

    Args:
        scene: A scene whose subject is pictures, filming or samples.

    Attributes:
        notes: What could not be measured, and why.
        ode_version: Empty, as no plain C program runs.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.notes: list[str] = []
        self.ode_version = ""

    def check(self) -> None:
        """Check that all do the same work.

        Raises:
            BenchError: They do not, so their times cannot be compared.
        """
        try:
            _CHECKS[self._scene.subject](self._scene)
        except RenderingUnavailableError as reason:
            self.notes.append(f"scene '{self._scene.name}' is left out: {reason}")

    def measure(
        self, duration: float, runs: int, on_run: Callable[[], None] = lambda: None
    ) -> list[Row]:
        """Measure runs of a simulated duration, in [s]; ``on_run`` is called after each."""
        if self.notes:
            return []
        subject = self._scene.subject
        steps = max(1, round(duration * _RATES[subject]))
        min_slice = FILMED_SLICE if subject is Subject.FILMING else MIN_SLICE
        times = measure_interleaved(self._makers(), steps, runs, on_run, min_slice)
        return rows_of(self._scene, None, times)

    def _makers(self) -> Makers:
        scene = self._scene
        if scene.subject is Subject.PICTURES:
            return {
                Measured.CAMERA: partial(CameraRun, scene),
                Measured.PLAIN_MODERNGL: partial(PlainModernGLRun, scene),
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
