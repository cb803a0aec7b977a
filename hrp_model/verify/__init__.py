"""Verify that a URDF matches its model, by independent libraries that read only the URDF."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ..body import Body
from ..diagnostics import Diagnostics
from ..frames import body_frames
from ..kinematics.loops import mimic_joints
from ..late_dataclass import dataclass
from ..urdf import UpAxis, UrdfOptions, body_to_srdf, convert, repaired
from .compare import compared
from .compare_shapes import MeshFiles, compared_shapes
from .expected import Expected, Posture
from .library import LibraryError
from .motion import MotionComparison
from .report import (
    LOADS,
    MODEL,
    URDF,
    Differences,
    Outcome,
    Report,
    Row,
    failure,
    not_applicable,
    short_reason,
)

if TYPE_CHECKING:
    from .library import LibraryRobot

__all__ = [
    "INSTALL",
    "LIBRARIES",
    "Outcome",
    "Report",
    "Row",
    "is_installed",
    "verify",
    "verify_written",
    "without_shapes",
]

LIBRARIES = ("pinocchio", "MuJoCo")
INSTALL = "pip install 'hrp_ros[verify]'"


def verify(
    body: Body,
    urdf: str | Path,
    options: UrdfOptions | None = None,
    *,
    libraries: Sequence[str] = LIBRARIES,
    srdf: Path | None = None,
    packages: Sequence[Path] = (),
    shapes: bool = True,
    glb_up: UpAxis = UpAxis.Z,
    postures: int = 3,
    states: int = 0,
    seed: int = 0,
) -> Report:
    """Compare a URDF file with the model that it was written from.

    Each library that is installed and can be imported reads the file with its meshes, and all
    its values are compared with those of the Body. Only the names are taken from the exporter;
    all numbers are those of the library and of the Body.

    Args:
        body: The model, with the collision shapes that the URDF was written with.
        urdf: The file.
        options: The options that it was written with.
        libraries: Some of ``LIBRARIES``.
        srdf: A file whose ``rotor_params`` give pinocchio the inertias of rotors, which a
            URDF lacks; None compares without them.
        packages: Folders with packages of ``package://`` URIs, besides the package that the
            URDF is in and those of a sourced ROS.
        shapes: Whether to compare visual and collision shapes too.
        glb_up: Which axis of its GLB files is the URDF's z.
        postures: Number of random postures besides zero and the initial one.
        states: Number of random states of motion in which to compare accelerations and momentum.
        seed: Seed of the random postures and states.

    Raises:
        OSError: The file cannot be read.
    """
    urdf = Path(urdf)
    options = UrdfOptions() if options is None else options
    repairs = Diagnostics.silent()
    body = repaired(body, repairs)
    changed = [not_applicable(MODEL, d.code, d.message) for d in repairs.found]
    expected = Expected(body, body_frames(body, Diagnostics.silent(), options), mimic_joints(body))
    try:
        meshes = MeshFiles(urdf, packages)
    except ElementTree.ParseError as error:
        return Report((failure(URDF, LOADS, f"it is not valid XML: {error}"),))
    job = _Job(
        urdf,
        expected,
        meshes,
        tuple(expected.postures(postures, seed)),
        MotionComparison(expected, states, seed) if states else None,
        srdf,
        shapes,
        glb_up,
    )
    rows = [*changed, *(meshes.rows() if shapes else ())]
    for library in libraries:
        rows += job.rows(library)
    return Report(tuple(rows))


def verify_written(
    body: Body,
    *,
    libraries: Sequence[str] = LIBRARIES,
    postures: int = 3,
    states: int = 0,
    seed: int = 0,
) -> Report:
    """Write the URDF of a body, without shapes, and compare it with the body.

    Rotors are compared by pinocchio, which reads them from an SRDF. Arguments as of ``verify``.
    """
    body = without_shapes(body)
    with tempfile.TemporaryDirectory(prefix="hrp-model-") as folder:
        quiet = Diagnostics.silent()
        made = convert(body, diagnostics=quiet)
        urdf, srdf = Path(folder) / "robot.urdf", Path(folder) / "robot.srdf"
        urdf.write_text(made.urdf, encoding="utf-8")
        srdf.write_text(
            body_to_srdf(made.body, made.frames, Diagnostics.silent()), encoding="utf-8"
        )
        return verify(
            body,
            urdf,
            libraries=libraries,
            srdf=srdf,
            shapes=False,
            postures=postures,
            states=states,
            seed=seed,
        )


def is_installed(library: str) -> bool:
    """Return whether one of the libraries that are Python packages is installed."""
    return importlib.util.find_spec(library.lower()) is not None


def without_shapes(body: Body) -> Body:
    """Return a body without visual and collision shapes."""
    links = (replace(link, visual=(), collision=()) for link in body.links)
    return replace(body, links=tuple(links))


@dataclass(frozen=True, eq=False)
class _Job:
    """Inputs of the comparison with one library."""

    urdf: Path
    expected: Expected
    meshes: MeshFiles
    postures: tuple[Posture, ...]
    motion: MotionComparison | None
    srdf: Path | None
    shapes: bool
    glb_up: UpAxis

    def rows(self, library: str) -> Iterator[Row]:
        """Yield the rows of one library."""
        if not is_installed(library):
            yield Row(library, "", Outcome.NOT_INSTALLED, reason=INSTALL)
            return
        try:
            read = _READERS[library]()
        except Exception as error:  # of the library or any of its dependencies
            reason = f"cannot be imported: {type(error).__name__}: {error}"
            yield Row(library, "", Outcome.UNUSABLE, reason=reason)
            return
        try:
            robot = read(self)
        except LibraryError as error:
            yield failure(library, LOADS, str(error))
            return
        yield _loaded(robot)
        rotors = self.srdf is not None and library == "pinocchio"
        yield from compared(self.expected, robot, self.postures, rotors=rotors)
        if self.motion is not None:
            yield from self.motion.rows(robot)
        if self.shapes:
            yield from compared_shapes(self.expected, robot, self.glb_up)


def _loaded(robot: LibraryRobot) -> Row:
    if robot.refusal:
        reason = f"refused as it is: {robot.refusal}; compared without the refused parts"
        short = short_reason(robot.refusal)
        return Row(robot.library, LOADS, Outcome.REFUSED, reason=reason, short=short)
    differences = Differences(robot.library, LOADS, 0.0)
    differences.add(0.0, "")
    return differences.row(robot.hint)


def _pinocchio() -> Reader:
    from .with_pinocchio import PinocchioRobot

    def read(job: _Job) -> LibraryRobot:
        free = job.expected.has_free_root
        packages = job.meshes.packages
        return PinocchioRobot(job.urdf, free_root=free, packages=packages, srdf=job.srdf)

    return read


def _mujoco() -> Reader:
    from .with_mujoco import MIN_MASS, MujocoRobot

    return lambda job: MujocoRobot(
        job.urdf,
        root=job.expected.frames.root,
        free_root=job.expected.has_free_root,
        files=job.meshes.by_uri,
        massless=any(x.mass < MIN_MASS or not x.inertia.any() for x in job.expected.moving),
    )


Reader = Callable[[_Job], "LibraryRobot"]
# Each imports its library and returns a function that reads a file with it.
_READERS: dict[str, Callable[[], Reader]] = {
    "pinocchio": _pinocchio,
    "MuJoCo": _mujoco,
}
