"""Compare the implementations of one scene, for one solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from hrp_sim.engine.engine import Solver
from hrp_sim.engine.state import SimulatedBody
from hrp_sim.world.config import WorldConfig

from .bullet_twin import BulletTwin
from .contenders import (
    Contender,
    EngineRun,
    EngineUnavailableError,
    ScannerRun,
    SimulationRun,
)
from .drake_twin import DrakeTwin
from .measure import MIN_SLICE, measure_interleaved
from .mujoco_twin import MujocoBoxes, MujocoScanRun, MujocoTwin, TwinError, without_pairs
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

_TWINS: Mapping[Measured, Callable[[WorldConfig, SimulatedBody], Contender]] = {
    Measured.MUJOCO: MujocoTwin,
    Measured.BULLET: BulletTwin,
    Measured.DRAKE: DrakeTwin,
}
_CHECKS = {
    Subject.PICTURES: check_pictures,
    Subject.FILMING: check_filming,
    Subject.SAMPLES: check_samples,
}
# Images and samples per simulated second.
_RATES = {Subject.PICTURES: RATE, Subject.SAMPLES: 500.0}


class Session:
    """Compares one scene with one solver.

    Args:
        scene: The scene.
        solver: Solver of the physics; of no effect where a sensor is measured.

    Attributes:
        notes: What could not be measured, and why.
    """

    def __init__(self, scene: Scene, solver: Solver) -> None:
        self._scene = replace(scene, world=scene.world.with_physics(solver=solver))
        self._solver = solver
        self._is_available = True
        self.notes: list[str] = []

    def check(self) -> None:
        """Check that this machine can measure the scene, and that sensors see what others do.

        Raises:
            BenchError: They do not, so their times cannot be compared.
        """
        check = _CHECKS.get(self._scene.subject)
        try:
            if check is not None:
                check(self._scene)
        except RenderingUnavailableError as reason:
            self.notes.append(f"scene '{self._scene.name}' is left out: {reason}")
            self._is_available = False

    def measure(
        self, duration: float, runs: int, on_run: Callable[[], None] = lambda: None
    ) -> list[Row]:
        """Measure runs of a simulated duration, in [s]; ``on_run`` is called after each."""
        if not self._is_available:
            return []
        subject = self._scene.subject
        rate = _RATES.get(subject, 1.0 / self._scene.world.physics.time_step)
        steps = max(1, round(duration * rate))
        min_slice = FILMED_SLICE if subject is Subject.FILMING else MIN_SLICE
        measured = measure_interleaved(self._makers(), steps, runs, on_run, min_slice)
        return rows_of(self._scene, self._solver if subject is Subject.STEPS else None, *measured)

    def _makers(self) -> dict[Measured, Callable[[], Contender]]:
        scene = self._scene
        if scene.subject is Subject.SCANS:
            scanners: dict[Measured, Callable[[], Contender]] = {
                Measured.SCAN: partial(ScannerRun, scene)
            }
            in_mujoco = partial(MujocoScanRun, scene)
            if self._is_possible("MuJoCo", lambda: in_mujoco().close()):
                scanners[Measured.MUJOCO] = in_mujoco
            return scanners
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
        if scene.subject is Subject.FILMING:
            return {
                Measured.FILMED: partial(FilmingRun, scene, is_filmed=True),
                Measured.UNFILMED: partial(FilmingRun, scene, is_filmed=False),
            }
        return self._stepping()

    def _stepping(self) -> dict[Measured, Callable[[], Contender]]:
        twins = self._twins() if self._solver is Solver.WORLD else {}
        scene = self._scene
        makers: dict[Measured, Callable[[], Contender]] = {
            Measured.ENGINE: partial(EngineRun, scene)
        }
        if not scene.settling:  # else a step of many takes too little time to compare
            makers[Measured.AT_ONCE] = partial(EngineRun, scene, at_once=True)
        if scene.sensors:
            makers[Measured.SIMULATION] = partial(SimulationRun, scene)
        if self._solver is Solver.WORLD:
            return makers | twins
        other = partial(EngineRun, scene, engine="pyode")
        if self._is_possible("the engine 'pyode'", lambda: other().close()):
            makers[Measured.PYODE] = other
        return makers

    def _is_possible(self, what: str, attempt: Callable[[], None]) -> bool:
        try:
            attempt()
        except (EngineUnavailableError, TwinError) as reason:
            self.notes.append(f"{what} is left out: {reason}")
            return False
        return True

    def _twins(self) -> dict[Measured, Callable[[], Contender]]:
        """Return the other programs that can step the scene; leave out pairs that MuJoCo does."""
        found: dict[Measured, Callable[[], Contender]] = {}

        def attempt(measured: Measured) -> None:
            twin = self._twin(measured)
            twin.close()
            if isinstance(twin, MujocoTwin) and twin.apart:
                world = without_pairs(self._scene.world, twin.apart)
                self._scene = replace(self._scene, world=world)
                count = len(twin.apart)
                self.notes.append(f"{count} pairs of links never collide, as in MuJoCo they cannot")

        for measured in [Measured.MUJOCO] if self._scene.settling else _TWINS:
            if self._is_possible(measured.value, partial(attempt, measured)):
                found[measured] = partial(self._twin, measured)
        return found

    def _twin(self, measured: Measured) -> Contender:
        if self._scene.settling:
            return MujocoBoxes(self._scene)
        engine = EngineRun(self._scene)
        try:
            bodies = engine.engine.state.bodies.values()
            moving = [body for body in bodies if not body.body.is_static]
            return _TWINS[measured](self._scene.world, moving[0])
        finally:
            engine.close()
