"""``hrp-sim video``: film a simulation or a recording."""

from __future__ import annotations

import argparse
import os
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from math import inf

from hrp_model import Diagnostics
from hrp_model.devices import Camera
from hrp_model.files.writer import is_special
from hrp_model.program.command import GOOD, PROBLEMS, StopSignals, UsageError
from hrp_model.program.console import print_message, working
from hrp_model.program.outputs import Kind, Output, check_outputs, report_written, writing
from hrp_model.program.tables import progress

from ..engine.state import BodyPoses
from ..recording.video import (
    MAX_SIDE,
    MIN_SIDE,
    FilmSource,
    Format,
    Frame,
    RecordingSource,
    SimulationSource,
    StudioRenderer,
    View,
    Viewpoint,
    ffmpeg,
    film_frames,
    find_camera,
    make_view,
    writing_film,
)
from ..render.gl import THREADS_VARIABLE, cores
from ..simulation import build_simulation
from ..world.load import load_world
from ..world.reporting import printed_warnings
from .recordings import is_recording, open_recording, recorded_run
from .run_options import DEFAULT_DURATION, project_options, with_physics_options

_SIZE = 1280, 720


def video(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim video``; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        UsageError: An option is invalid, the output cannot be written, or this machine cannot
            render.
        MissingLibraryError: ffmpeg is not installed.
        OSError: Reading a file failed.
        KeyboardInterrupt: A signal came before the first frame.
    """
    # The physics needs little time beside the pictures, so they get all cores.
    os.environ.setdefault(THREADS_VARIABLE, str(cores()))
    with _usage_errors():
        _check(options)
    with StopSignals() as signals:
        return _film(options, signals)


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Report unsuitable options, and failures of renderer and encoder, as usage errors."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        raise UsageError(str(error)) from None


def _check(options: argparse.Namespace) -> None:
    """Check everything that does not need the world, which may take long to read."""
    film = Format(options.output, options.size or _SIZE, options.fps)
    film.check_length(_frame_count(film, options.duration or 0.0))
    Viewpoint(*(options.view or ()))
    if options.view and options.camera:
        raise UsageError("--view and --camera exclude each other")
    if film.needs_ffmpeg:
        ffmpeg()
    check_outputs([_output(options)], inputs=[options.world], force=options.force)


def _output(options: argparse.Namespace) -> Output:
    return Output("OUT", options.output, Kind.FILM)


def _film(options: argparse.Namespace, signals: StopSignals) -> int:
    with ExitStack() as stack:
        with printed_warnings(options.world) as diagnostics, working(f"reading {options.world}"):
            source = _source(options, diagnostics, stack)
            frames = source.frames(options.fps)
            first = next(frames)
            with _usage_errors():
                film, view = _format_and_view(options, source, first.poses)
                total = _frame_count(film, _duration(options, source))
                film.check_length(total)
                renderer = StudioRenderer(
                    source.bodies, view, first.poses, hide_walls=not options.camera
                )
                renderer.prepare(diagnostics)
        check_outputs([_output(options)], force=options.force)  # now all input files are known
        frames = islice(chain((first,), frames), total)
        if film.is_picture:
            with working(f"simulating {options.world}"):
                frames = iter(deque(frames, maxlen=1))
        _write(film, frames, renderer, signals, total)
    report_written([options.output])
    if source.problem:
        print_message(f"error: {source.problem}")
        return PROBLEMS
    return GOOD


def _source(options: argparse.Namespace, diagnostics: Diagnostics, stack: ExitStack) -> FilmSource:
    """Return the run to film, which is closed with the stack."""
    if is_recording(options.world):
        recording = open_recording(options.world, diagnostics)
        return RecordingSource(recorded_run(recording, diagnostics))
    world = load_world(options.world, diagnostics, project=project_options(options))
    config = with_physics_options(world, options)
    diagnostics.raise_errors()
    simulation, hint = build_simulation(config, options.engine, diagnostics)
    stack.callback(simulation.close)
    return SimulationSource(simulation, hint)


def _duration(options: argparse.Namespace, source: FilmSource) -> float:
    """Return the simulation time to film, in [s]."""
    wanted: float | None = options.duration
    if wanted is None:
        return DEFAULT_DURATION if source.duration == inf else source.duration
    return min(wanted, source.duration)


def _frame_count(film: Format, duration: float) -> int:
    """Return the number of frames; the last one of a picture is at the end of the duration."""
    return max(round(duration * film.fps), 1) + film.is_picture


def _format_and_view(
    options: argparse.Namespace, source: FilmSource, first: BodyPoses
) -> tuple[Format, View]:
    """Return the format of the film, and its camera.

    Raises:
        ValueError: There is no such camera or link, or it does not suit the format.
    """
    size = options.size or _SIZE
    bodies = source.bodies
    if options.camera and not options.size:
        size = _size_like(find_camera(bodies, options.camera)[1])
    view = make_view(
        bodies,
        [first] if options.follow else source.known_poses(_duration(options, source)),
        size,
        viewpoint=Viewpoint(*options.view) if options.view else None,
        follow=options.follow or "",
        camera=options.camera or "",
    )
    return Format(options.output, size, options.fps), view


def _size_like(device: Camera) -> tuple[int, int]:
    """Return the default height of films, and the width of a camera's images of this height."""
    width = 2 * round(_SIZE[1] * device.width / max(device.height, 1) / 2)
    return min(max(width, MIN_SIDE), MAX_SIDE), _SIZE[1]


def _write(
    film: Format,
    frames: Iterator[Frame],
    renderer: StudioRenderer,
    signals: StopSignals,
    total: int,
) -> None:
    """Write the film; a signal ends it with the frames taken so far, a second one a wait.

    Raises:
        UsageError: It cannot be written.
    """
    requests: list[None] = []

    def stop() -> None:
        if requests and is_special(film.path):  # it may wait for the reader of a pipe
            raise KeyboardInterrupt
        requests.append(None)

    signals.stop(stop)
    bar = progress(f"filming {film.path}", None if film.is_picture else total)
    with _usage_errors(), writing(), writing_film(film) as writer, bar as advance:
        film_frames(frames, renderer, writer, advance=advance, stopped=lambda: bool(requests))
