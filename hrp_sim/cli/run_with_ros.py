"""Set up a run of ``hrp-sim run --ros``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from hrp_model.program.command import UsageError, missing_ros

from ..run.run import Run
from ..run.summary import RunRecorder
from ..sensors.settings import OptionValue
from ..topics.run_recording import RunRecording
from .listener import Listener
from .live_table import Row
from .record import open_recording
from .run_alone import prepare, restore
from .run_course import RunSetup
from .run_options import take_duration


@contextmanager
def set_up_with_ros(options: argparse.Namespace) -> Iterator[RunSetup]:
    """Set up a run with the nodes of its world, and close them at the end.

    Raises:
        ModelError, PhysicsError: The world, or the state to restore, cannot be used.
        UsageError: ROS is not installed.
        OSError: A file cannot be read or written.
    """
    try:
        from ..ros.sim_node import RosSession
    except ImportError as error:
        raise UsageError(missing_ros(error)) from None
    if options.strict:
        prepare(options).simulation.close()
    make_recording = partial(open_recording, options.record) if options.record else None
    session = RosSession(
        _parameters(options), make_recording=make_recording, prepare=partial(restore, options)
    )
    with ExitStack() as stack:
        stack.callback(session.close)
        listener = None
        if options.listen:
            listener = Listener(lambda: {k: count for k, (_, count) in session.published().items()})
            stack.callback(listener.close)
            listener.wait_for_discovery()

        def rows(_: RunRecorder) -> list[Row]:
            share: Callable[[str], float | None] = listener.share if listener else lambda _: None
            totals, subscribed = sorted(session.published().items()), session.subscribed()
            return [Row(k, kind, n, share(k), k in subscribed) for k, (kind, n) in totals]

        def missed() -> list[str]:
            if listener is None:
                return []
            listener.settle()
            return listener.missed()

        def serve(runner: Run) -> RunRecording | None:
            session.serve(runner)
            return session.node.recording

        take_duration(options, session.node.world)
        yield RunSetup(
            session.simulation,
            session.node.failure_hint,
            session.node.problems,
            real_time_factor=1.0,
            reads_all=False,
            rows=rows,
            serve=serve,
            missed=missed,
        )


def _parameters(options: argparse.Namespace) -> dict[str, OptionValue]:
    """Return the parameters of the node that have the effect of the options."""
    parameters: dict[str, OptionValue] = {
        "world": options.world,
        "engine": options.engine,
        "describe": True,
        "start_paused": options.paused,
        **dict(options.sensor),
    }
    if options.controller:
        parameters["python_controllers"] = " ".join(options.controller)
    if not options.run_controllers:
        parameters["run_controllers"] = "none"
    if options.solver:
        parameters["solver"] = options.solver
    if options.simulator:
        parameters["simulator"] = options.simulator
    if options.variables:
        given = [f"{name}={os.pathsep.join(folders)}" for name, folders in options.variables]
        parameters["variables"] = os.pathsep.join(given)
    for name in ("seed", "time_step", "joint_limits"):
        if (value := getattr(options, name)) is not None:
            parameters[name] = value
    return parameters
