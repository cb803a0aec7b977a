"""Compare the implementations of one scene that is stepped or scanned, for one solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from hrp_model.rigid import Array
from hrp_sim.physics.engine import Solver
from hrp_sim.physics.state import JointDrive

from .contenders import (
    Contender,
    EngineRun,
    EngineUnavailableError,
    PlainScannerRun,
    ScannerRun,
    SimulationRun,
)
from .measure import TOLERANCE, measure_interleaved
from .mujoco_twin import MujocoTwin, TwinError
from .plain_c import BenchError, PlainC
from .rows import Row, rows_of
from .scene_file import write_scene
from .scenes import Scene, Subject
from .targets import Measured

CHECKED_STEPS = 50
# Another solver gives the same steps up to rounding, which grows from step to step.
FEW_STEPS = 10
CLOSE = 1e-6  # [m]


class Session:
    """Compares one scene with one solver.

    Whatever is compared with plain C does the same work, so ``predict_sticking`` is off; how
    fast the engine is with it is measured in rows of their own. Our own solver is measured as it
    is set, beside ODE's.

    Args:
        scene: The scene to step.
        solver: Solver of the physics; of no effect where a range sensor is measured.
        program: The plain C program.
        folder: Folder for scene files.
        original: Whether to measure how Choreonoid's ODE plugin works, too.

    Attributes:
        notes: What could not be measured, and why.
        ode_version: ODE version of the plain C program.

    Raises:
        PhysicsError: The engine or the plain C program does not support the scene.
    """

    def __init__(
        self, scene: Scene, solver: Solver, program: Path, folder: Path, *, original: bool = False
    ) -> None:
        world = scene.world.with_physics(solver=solver)
        self._is_sparse = solver is Solver.WORLD
        self._as_set = replace(scene, world=world)
        physics = world.physics
        if not self._is_sparse:
            physics = replace(physics, predict_sticking=False)
        self._scene = replace(scene, world=replace(world, physics=physics))
        self._solver = solver
        self._program = program
        self._file = folder / "scene.bin"
        self._original_file = folder / "original.bin" if original else None
        self._is_scanned = scene.subject is Subject.SCANS
        self.notes: list[str] = []
        self.ode_version = ""
        self._write()

    def check(self) -> None:
        """Check that the engine and the plain C program simulate the same.

        Raises:
            BenchError: They do not, so their times cannot be compared.
        """
        if self._is_scanned:
            self._check_scans()
            return
        plain, engine = PlainC(self._program, self._file, ordered=True), EngineRun(self._scene)
        try:
            self.ode_version = plain.ode_version
            steps = FEW_STEPS if self._is_sparse else CHECKED_STEPS
            plain.advance(steps)
            engine.advance(steps)
            self._compare(plain.positions(), engine.positions(), steps)
        finally:
            plain.close()
            engine.close()

    def measure(
        self, duration: float, runs: int, on_run: Callable[[], None] = lambda: None
    ) -> list[Row]:
        """Measure runs of a simulated duration, in [s]; ``on_run`` is called after each."""
        steps = max(1, round(duration / self._scene.world.physics.time_step))
        makers = self._makers()
        try:
            times = measure_interleaved(makers, steps, runs, on_run)
        except BenchError as error:
            if makers.pop(Measured.ORIGINAL, None) is None:
                raise
            self.notes.append(f"'{Measured.ORIGINAL.value}' is left out, it fails: {error}")
            times = measure_interleaved(makers, steps, runs, on_run)
        return rows_of(self._scene, None if self._is_scanned else self._solver, times)

    def _makers(self) -> dict[Measured, Callable[[], Contender]]:
        scene, plain = self._scene, partial(PlainC, self._program)
        if self._is_scanned:
            return {
                Measured.SCAN: lambda: ScannerRun(scene),
                Measured.PLAIN_SCAN: lambda: PlainScannerRun(plain(self._file)),
            }
        makers: dict[Measured, Callable[[], Contender]] = {
            Measured.ENGINE: lambda: EngineRun(scene),
            Measured.AT_ONCE: lambda: EngineRun(scene, at_once=True),
        }
        if scene.sensors:
            makers[Measured.SIMULATION] = lambda: SimulationRun(scene)
        if self._is_sparse:
            dense = replace(scene, world=scene.world.with_physics(solver=Solver.DENSE))
            makers[Measured.DENSE] = lambda: EngineRun(dense)
        elif self._predicts_sticking():
            makers[Measured.ENGINE_STICKING] = lambda: EngineRun(self._as_set)
            makers[Measured.SIMULATION_STICKING] = lambda: SimulationRun(self._as_set)
        if not self._is_sparse and self._has_pyode():
            makers[Measured.PYODE] = lambda: EngineRun(scene, engine="pyode")
        makers[Measured.PLAIN] = lambda: plain(self._file)
        makers[Measured.PLAIN_AT_ONCE] = lambda: plain(self._file, read_out=False)
        original = self._original_file
        if original:
            makers[Measured.ORIGINAL] = lambda: plain(original)
        if self._solver is Solver.WORLD and self._has_twin():
            makers[Measured.MUJOCO] = self._twin
        return makers

    def _predicts_sticking(self) -> bool:
        physics = self._as_set.world.physics
        return physics.predict_sticking and physics.solver is Solver.DENSE

    def _has_pyode(self) -> bool:
        try:
            EngineRun(self._scene, engine="pyode").close()
        except EngineUnavailableError as reason:
            self.notes.append(f"the engine 'pyode' is left out: {reason}")
            return False
        return True

    def _twin(self) -> MujocoTwin:
        engine = EngineRun(self._scene)
        try:
            bodies = engine.engine.state.bodies.values()
            moving = [body for body in bodies if not body.body.is_static]
            return MujocoTwin(self._scene.world, moving[0].drive)
        finally:
            engine.close()

    def _has_twin(self) -> bool:
        try:
            self._twin().close()
        except TwinError as reason:
            self.notes.append(f"MuJoCo is left out: {reason}")
            return False
        return True

    def _write(self) -> None:
        engine = EngineRun(self._scene)
        drives: dict[str, JointDrive] = {
            name: simulated.drive for name, simulated in engine.engine.state.bodies.items()
        }
        rays = None
        if self._is_scanned:
            scanner = ScannerRun(self._scene)
            rays = scanner.rays()
            scanner.close()
        constant = MappingProxyType(drives)
        write_scene(self._scene.world, constant, self._file, rays=rays)
        if self._original_file:
            write_scene(self._scene.world, constant, self._original_file, original=True)
        engine.close()

    def _check_scans(self) -> None:
        plain, scanner = PlainC(self._program, self._file), ScannerRun(self._scene)
        try:
            self.ode_version = plain.ode_version
            plain.scan(CHECKED_STEPS)
            scanner.advance(CHECKED_STEPS)
            self._compare(plain.distances(), scanner.distances(), CHECKED_STEPS)
        finally:
            plain.close()
            scanner.close()

    def _compare(self, plain: Array, engine: Array, steps: int) -> None:
        tolerance = CLOSE if self._is_sparse else TOLERANCE
        is_same = plain.shape == engine.shape and np.allclose(
            plain, engine, rtol=0.0, atol=tolerance
        )
        if not is_same:
            raise BenchError(
                f"scene '{self._scene.name}', {self._solver.value} solver: the plain C program "
                f"and the engine differ after {steps} steps, so their times cannot be compared"
            )
