"""Run a case of a study, in the process of a worker."""

from __future__ import annotations

import json
from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from functools import lru_cache

from hrp_model import Diagnostics

from ...engine.engine import PhysicsError
from ...run.scenarios import CourseRun, Names, read_course, run_scenario
from ...simulation import Simulation
from .key_paths import COURSE_KEYS, Document, is_of_world
from .metrics import Metric, MetricRecorder
from .study import Study, as_mapping, with_values

# Columns that every study has, and those of one with expectations.
END_TIME, STOPPED_BY = "end_time", "stopped_by"
PASSED, FAILED = "passed", "failed_expectation"


class StudyRun:
    """The function that a sweep runs for each case of a study.

    Args:
        study: The study.
    """

    def __init__(self, study: Study) -> None:
        self.__qualname__ = type(self).__qualname__  # by which a sweep names its files
        document = {key: study.document[key] for key in COURSE_KEYS if key in study.document}
        self._document = json.dumps(document)
        self._key_paths = {n: p for n, p in study.key_paths.items() if not is_of_world(p)}
        self._duration = study.scenario.world.duration
        self._metrics: AbstractSequence[Metric] = tuple(study.metrics)

    def __call__(self, sim: Simulation, case: AbstractMapping[str, object]) -> dict[str, object]:
        """Run a case; return what is kept.

        Args:
            sim: In the initial state of the world of the case.
            case: Values by the names of variables.

        Raises:
            ModelError: The values do not fit to each other.
            PhysicsError: The physics failed.
        """
        diagnostics = Diagnostics.silent()
        document = with_values(_parsed(self._document), self._key_paths, case)
        course = read_course(as_mapping(document, diagnostics), Names.of(sim), self._duration)
        diagnostics.raise_errors()
        recorders: list[MetricRecorder] = []

        def on_start(run: CourseRun) -> None:
            recorders.extend(MetricRecorder(metric, run) for metric in self._metrics)
            needed = {recorder.sensor for recorder in recorders}
            sim.wanted = lambda name: name in needed
            record(run)

        def record(run: CourseRun) -> None:
            for recorder in recorders:
                recorder.update(run.time)

        outcome = run_scenario(sim, course, record, on_start)
        if outcome.error and not sim.controllers.failures:  # which the sweep reports
            raise PhysicsError(outcome.error)
        stopped = outcome.stopped_by
        values: dict[str, object] = {
            END_TIME: outcome.time,
            STOPPED_BY: "" if stopped is None else stopped.text,
        }
        if course.expectations:
            missed = next((str(found) for found in outcome.expectations if not found.met), "")
            values |= {PASSED: not missed, FAILED: missed}
        kept = {m.name: r.result() for m, r in zip(self._metrics, recorders, strict=True)}
        return {**values, **kept}


@lru_cache(maxsize=8)
def _parsed(text: str) -> Document:
    document = json.loads(text)
    assert isinstance(document, dict)
    return document
