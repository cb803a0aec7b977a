"""A proof that a URDF says what its model says, by libraries that know only the URDF."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ..body import Body
from ..diagnostics import Diagnostics
from ..frames import body_frames
from ..kinematics.loops import mimic_joints
from ..urdf.mend import mended
from ..urdf.meshes.glb import UpAxis
from ..urdf.options import UrdfOptions
from .compare import compared
from .compare_shapes import compared_shapes
from .expected import Expected, Posture
from .files import MeshFiles
from .reading import ReadingError
from .refusals import in_words
from .report import LOADS, MODEL, URDF, Differences, Outcome, Report, Row, failure, not_applicable
from .with_urdfdom import LIBRARY as CHECK_URDF
from .with_urdfdom import check_urdf_program, urdfdom_rows

if TYPE_CHECKING:
    from .reading import Robot

__all__ = ["LIBRARIES", "Outcome", "Report", "Row", "verify"]

LIBRARIES = ("pinocchio", "yourdfpy", "MuJoCo", CHECK_URDF)
_INSTALL = "pip install 'hrp_ros[verify]'"


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
    seed: int = 0,
) -> Report:
    """Compare a URDF file with the model that it was made of.

    Each library that is installed and can be imported reads the file, with its meshes, and
    everything that it tells is compared with what the Body says. On the URDF's side all
    numbers are the library's; on the Body's side none is taken from the exporter, only the
    names.

    Args:
        body: The model, with the collision shapes that the URDF was written with.
        urdf: The file.
        options: Those that it was written with.
        libraries: Which of ``LIBRARIES`` to ask.
        srdf: A file whose ``rotor_params`` give pinocchio the inertias of rotors, which a
            URDF cannot tell; None compares without them.
        packages: Folders that hold packages of ``package://`` URIs; the one that the URDF
            lies in and those of a sourced ROS are found without.
        shapes: Whether to compare visuals and collision shapes too.
        glb_up: Which axis of its GLB files is the URDF's z.
        postures: How many random postures to compare in, besides zero and the initial one.
        seed: Of the random postures.

    Raises:
        OSError: The file cannot be read.
    """
    urdf = Path(urdf)
    options = UrdfOptions() if options is None else options
    quiet = Diagnostics(listener=lambda _: None)
    body = mended(body, quiet)
    changed = [not_applicable(MODEL, d.code, d.message) for d in quiet.found]
    expected = Expected(body, body_frames(body, _silent(), options), mimic_joints(body))
    try:
        meshes = MeshFiles(urdf, packages)
    except ElementTree.ParseError as error:
        return Report((failure(URDF, LOADS, f"it is no XML: {error}"),))
    job = _Job(
        urdf, expected, meshes, tuple(expected.postures(postures, seed)), srdf, shapes, glb_up
    )
    rows = [*changed, *(meshes.rows() if shapes else ())]
    for library in libraries:
        rows += job.rows(library)
    return Report(tuple(rows))


@dataclass(frozen=True, eq=False)
class _Job:
    """Everything that the comparison with one library needs."""

    urdf: Path
    expected: Expected
    meshes: MeshFiles
    postures: tuple[Posture, ...]
    srdf: Path | None
    shapes: bool
    glb_up: UpAxis

    def rows(self, library: str) -> Iterator[Row]:
        """Yield the rows of one library."""
        if library == CHECK_URDF:
            program = check_urdf_program()
            if program is None:
                advice = "apt install liburdfdom-tools"
                yield Row(library, "", Outcome.NOT_INSTALLED, reason=advice)
            else:
                yield from urdfdom_rows(program, self.urdf, self.expected)
            return
        if importlib.util.find_spec(library.lower()) is None:
            yield Row(library, "", Outcome.NOT_INSTALLED, reason=_INSTALL)
            return
        try:
            read = _READERS[library]()
        except Exception as error:  # its own, or of whatever it needs in turn
            reason = f"cannot be imported: {type(error).__name__}: {error}"
            yield Row(library, "", Outcome.UNUSABLE, reason=reason)
            return
        try:
            robot = read(self)
        except ReadingError as error:
            yield failure(library, LOADS, str(error))
            return
        yield _loaded(robot)
        rotors = self.srdf is not None and library == "pinocchio"
        yield from compared(self.expected, robot, self.postures, rotors=rotors)
        if self.shapes:
            yield from compared_shapes(self.expected, robot, self.glb_up)


def _loaded(robot: Robot) -> Row:
    if robot.refusal:
        reason = f"refused as it is: {robot.refusal}; compared without what is refused"
        short = in_words(robot.refusal)
        return Row(robot.library, LOADS, Outcome.REFUSED, reason=reason, short=short)
    found = Differences(robot.library, LOADS, 0.0)
    found.add(0.0, "")
    return found.row(robot.hint)


def _pinocchio() -> Reader:
    from .with_pinocchio import PinocchioRobot

    def read(job: _Job) -> Robot:
        free = job.expected.has_free_root
        packages = job.meshes.packages
        return PinocchioRobot(job.urdf, free_root=free, packages=packages, srdf=job.srdf)

    return read


def _yourdfpy() -> Reader:
    from .with_yourdfpy import YourdfpyRobot

    return lambda job: YourdfpyRobot(job.urdf, resolve=job.meshes.path, meshes=job.shapes)


def _mujoco() -> Reader:
    from .with_mujoco import LEAST_MASS, MujocoRobot

    return lambda job: MujocoRobot(
        job.urdf,
        root=job.expected.frames.root,
        free_root=job.expected.has_free_root,
        files=job.meshes.by_uri,
        massless=any(x.mass < LEAST_MASS or not x.inertia.any() for x in job.expected.moving),
    )


def _silent() -> Diagnostics:
    return Diagnostics(listener=lambda _: None)


Reader = Callable[[_Job], "Robot"]
# Each imports its library and returns what reads a file with it.
_READERS: dict[str, Callable[[], Reader]] = {
    "pinocchio": _pinocchio,
    "yourdfpy": _yourdfpy,
    "MuJoCo": _mujoco,
}
