"""``hrp-sim page``: a run with its models and their problems as one HTML file."""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Mapping
from itertools import islice
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hrp_model import Body, BodyState, Diagnostic, Diagnostics, Severity
from hrp_model.diagnostics import counted, number_text
from hrp_model.files.writer import write_atomically
from hrp_model.late_dataclass import dataclass
from hrp_model.printable import printable
from hrp_model.program.body_text import body_tree
from hrp_model.program.command import GOOD, PROBLEMS
from hrp_model.program.console import print_message, working
from hrp_model.program.outputs import Kind, Output, check_outputs, report_written, writing
from hrp_model.program.tables import PlainConsole
from hrp_model.view.page_html import SceneRecording, Section, page_html

from ..engine.engine import PhysicsError, Placement
from ..engine.state import BodyPoses, LinkPoses
from ..recording.video import FilmSource, RecordingSource, SimulationSource
from ..simulation import Simulation
from ..world.advice import advise
from ..world.load import load_world
from ..world.projects import AS_IN_PROJECT, ProjectOptions
from ..world.reporting import paragraphs
from .recordings import is_recording, open_recording, recorded_run
from .run_options import DEFAULT_DURATION, project_options

if TYPE_CHECKING:
    from ..recording.recorded_run import RecordedRun

MAX_SIZE = 50_000_000  # of a page, in [B]; browsers open larger ones slowly or not at all
_MAX_TREE = 2000  # links


def page(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim page``; return the exit status.

    Raises:
        ModelError: The world, or the robot of the recording, cannot be used.
        UsageError: The output must not or cannot be written.
    """
    _check_output(options)
    diagnostics = Diagnostics.silent()
    with working(f"reading {options.file}"):
        motion, facts, notes = _motion_of(options, diagnostics)
    _check_output(options)  # again, since now all input files are known
    with working(f"drawing {options.file}"):
        scene, undrawn = _scene(motion)
        notes += undrawn
        title = Path(options.file).stem
        sections = [_problems(options.file, diagnostics, notes), *map(_tree, motion.bodies.items())]
        content = page_html(title, facts, sections, scene).encode()
    if len(content) > MAX_SIZE:
        print_message(
            f"error: the page would have {_megabytes(len(content))}, more than the limit of "
            f"{_megabytes(MAX_SIZE)}: choose a shorter --duration, or simplify the meshes of the "
            "model"
        )
        return PROBLEMS
    with writing():
        write_atomically(options.output, content)
    for note in notes:
        print_message(f"warning: {printable(note)}")
    if count := len(_serious(diagnostics)):
        print_message(f"warning: {counted(count, 'problem')} of the models, listed in the page")
    report_written([options.output], [_megabytes(len(content)), f"{motion.duration:g} s"])
    return GOOD


def _check_output(options: argparse.Namespace) -> None:
    output = Output("OUT.html", options.output, Kind.PAGE)
    check_outputs([output], inputs=[options.file], force=options.force)


def _motion_of(
    options: argparse.Namespace, diagnostics: Diagnostics
) -> tuple[RecordedMotion, list[tuple[str, str]], list[str]]:
    """Return the motion, facts about the run, and problems that are not diagnostics."""
    if is_recording(options.file):
        run = recorded_run(open_recording(options.file, diagnostics), diagnostics)
        motion, kind = recorded_motion(run, options.duration), "recorded"
    else:
        duration = options.duration or DEFAULT_DURATION
        motion, kind = (
            simulated_motion(options.file, duration, diagnostics, project=project_options(options)),
            "simulated",
        )
    facts = [
        ("run", f"{motion.duration:g} s, {kind}"),
        ("bodies", ", ".join(motion.bodies)),
        ("postures", f"{number_text(motion.rate)} per second"),
    ]
    return motion, facts, [motion.problem] if motion.problem else []


def _scene(motion: RecordedMotion) -> tuple[str, list[str]]:
    """Return the document of the scene, and what it does not draw."""
    moving = [name for name, body in motion.bodies.items() if not body.is_static]
    points = [poses[name].p for poses in motion.postures for name in moving]
    path = np.concatenate(points) if points else np.empty((0, 3))
    first, *others = motion.postures
    with SceneRecording(motion.bodies, first, path) as scene:
        for poses in others:
            scene.wait(1.0 / motion.rate)
            scene.move(poses)
        return scene.html(), scene.notes


def _problems(name: str, diagnostics: Diagnostics, notes: list[str]) -> Section:
    count = len(_serious(diagnostics)) + len(notes)
    texts = [(Severity.WARNING, f"warning: {note}") for note in notes]
    # The page is for others, to whom the folders of this machine say nothing.
    folder = Path(name).parent if os.path.isabs(name) else Path.cwd()
    found = paragraphs(diagnostics.found, folder)
    return Section(f"Problems: {count or 'none'}", [*texts, *found])


def _serious(diagnostics: Diagnostics) -> list[Diagnostic]:
    return [x for x in diagnostics.found if x.severity is not Severity.NOTE]


def _tree(named: tuple[str, Body]) -> Section:
    name, body = named
    title = f"{name}: {counted(len(body.links), 'link')}"
    if len(body.links) > _MAX_TREE:
        return Section(title, [(None, f"not listed, as there are more than {_MAX_TREE}")])
    text = io.StringIO()
    PlainConsole(file=text).print(body_tree(body))
    return Section(title, [(None, text.getvalue().rstrip("\n"))], is_tree=True)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


MAX_RATE = 25.0  # in [Hz]
# Poses of moving links, as many as 60 s of 80 links at the highest rate: about 7 MB of a page.
MAX_POSES = 120_000


@dataclass(frozen=True)
class RecordedMotion:
    """The postures of bodies over time.

    Attributes:
        bodies: By name.
        rate: Postures per second, in [Hz].
        postures: Poses of all links by body, the first at the start; later ones without the
            bodies that cannot move.
        problem: Why the physics ended the run early; empty otherwise.
    """

    bodies: Mapping[str, Body]
    rate: float
    postures: list[BodyPoses]
    problem: str

    @property
    def duration(self) -> float:
        """Time from the first to the last posture, in [s]."""
        return max(len(self.postures) - 1, 0) / self.rate


def recorded_motion(run: RecordedRun, duration: float | None = None) -> RecordedMotion:
    """Return the motion of a recorded run.

    Args:
        run: The run.
        duration: Of the part from its start, in [s]; by default all of it.
    """
    source = RecordingSource(run)
    length = source.duration if duration is None else min(source.duration, duration)
    return _motion(source, length)


def simulated_motion(
    world: str,
    duration: float,
    diagnostics: Diagnostics,
    *,
    project: ProjectOptions = AS_IN_PROJECT,
) -> RecordedMotion:
    """Simulate a world, and return the motion.

    Args:
        world: As for ``load_world``.
        duration: In [s] of simulation time; shorter if the physics fails.
        diagnostics: Receives the problems of the world and its models, as ``hrp-sim check``
            reports them.
        project: How a project is read.

    Raises:
        ModelError: The world cannot be used.
    """
    config = load_world(world, diagnostics, project=project)
    try:
        with Simulation(config, defer_images=True, diagnostics=diagnostics) as simulation:
            for advice in advise(config):
                diagnostics.add(advice)
            return _motion(SimulationSource(simulation), duration)
    except PhysicsError as error:
        placed = [entry.placement for entry in config.bodies]
        bodies = {placement.name: placement.body for placement in placed}
        return RecordedMotion(bodies, MAX_RATE, [{x.name: _placed(x) for x in placed}], str(error))


def _placed(placement: Placement) -> LinkPoses:
    """Return the poses of the links of a body in its initial state."""
    state = BodyState(placement.body)
    state.p[0], state.R[0] = placement.X_WL.p, placement.X_WL.R
    state.q = placement.initial_q
    state.calc_forward_kinematics()
    return LinkPoses(state.p, state.R)


def _motion(source: FilmSource, duration: float) -> RecordedMotion:
    """Return the motion of a run at a rate at which there are at most ``MAX_POSES``."""
    moving = {name for name, body in source.bodies.items() if not body.is_static}
    links = max(sum(len(source.bodies[name].links) for name in moving), 1)
    rate = min(MAX_RATE, MAX_POSES / max(duration * links, 1.0))
    postures: list[BodyPoses] = []
    for frame in islice(source.frames(rate), ceil(duration * rate - 1e-9) + 1):
        poses = {name: x for name, x in frame.poses.items() if not postures or name in moving}
        postures.append(poses)
    return RecordedMotion(source.bodies, rate, postures, source.problem)
