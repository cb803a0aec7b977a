"""``hrp-sim page``: a run with its models and their problems as one HTML file."""

from __future__ import annotations

import argparse
import io
import os
from pathlib import Path

import numpy as np

from hrp_model import Body, Diagnostic, Diagnostics, Severity
from hrp_model.diagnostics import counted
from hrp_model.files.writer import write_atomically
from hrp_model.printable import printable
from hrp_model.program.body_text import body_tree
from hrp_model.program.command import GOOD, PROBLEMS
from hrp_model.program.console import PlainConsole, print_message, working
from hrp_model.program.outputs import Kind, Output, check_outputs, report_written, writing
from hrp_model.view.page_html import SceneRecording, Section, page_html

from ..recording.motion import RecordedMotion, recorded_motion, simulated_motion
from ..world.reporting import paragraphs
from .recordings import is_recording, open_recording, recorded_run
from .run_options import DEFAULT_DURATION, project_options

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
        motion, facts, notes = _motion(options, diagnostics)
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


def _motion(
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
        ("postures", f"{motion.rate:.3g} per second"),
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
