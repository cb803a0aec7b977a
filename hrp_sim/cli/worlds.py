"""``hrp-sim check``, ``sensors``, ``rviz``, ``map``, ``scene``, ``bench``: facts about worlds."""

from __future__ import annotations

import argparse
import json
import logging
import textwrap
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hrp_model import Diagnostics, ModelError, Severity
from hrp_model.diagnostics import did_you_mean_or_all, listed
from hrp_model.files.writer import write_all_atomically
from hrp_model.printable import printable
from hrp_model.program.command import GOOD, PROBLEMS, UsageError
from hrp_model.program.console import print_data, print_message, print_note, print_text, working
from hrp_model.program.outputs import (
    Kind,
    Output,
    check_outputs,
    print_or_write,
    report_written,
    writing,
)
from hrp_model.program.report import summary
from hrp_model.program.tables import message_console, output_console
from hrp_msgs.names import STANDARD, NameCollisionError

from ..engine.engine import PhysicsError, make_ode_engine
from ..engine.state import PairCost
from ..lab.benchmark.measure import WorldBench, result_object, result_text
from ..lab.benchmark.runs import check_drives
from ..ros.rviz_config import RvizOptions, world_rviz
from ..sensors import instruments
from ..sensors.settings import OptionValue, applies_to
from ..simulation import Simulation
from ..topics.devices import device_topics
from ..world.advice import advise, advise_costs, remarks
from ..world.config import WorldConfig
from ..world.load import load_world
from ..world.naming import name_bodies
from ..world.obstacles import obstacles, planning_pose, scene_text
from ..world.occupancy import occupancy_map, scan_planes
from ..world.projects import AS_IN_PROJECT, ProjectOptions
from ..world.reporting import print_all, printed_warnings
from ..world.sensor_options import OPTIONS
from .run_options import project_options

if TYPE_CHECKING:
    from ..engine.ode import OdeEngine

_MAX_LISTED = 8  # bodies in a message


def check(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim check``; return the exit status."""
    has_errors = False
    for world in options.worlds:
        diagnostics = Diagnostics.silent(strict=options.strict)
        with working(f"checking {world}"):
            check_world(world, diagnostics, project_options(options), drive=options.drive)
        print_all(world, diagnostics.found, every=options.all)
        print_text(summary(world, diagnostics.found))
        has_errors |= any(d.severity is Severity.ERROR for d in diagnostics.found)
    return PROBLEMS if has_errors else GOOD


def check_world(
    world: str,
    diagnostics: Diagnostics,
    project: ProjectOptions = AS_IN_PROJECT,
    *,
    drive: bool = False,
) -> None:
    """Report all problems of a world and its models, including bad settings for the physics.

    Args:
        world: As for ``load_world``.
        diagnostics: Receives the problems.
        project: How a project is read.
        drive: Whether to measure, too, how its vehicles turn.
    """
    try:
        config = load_world(world, diagnostics, project=project)
        engine = make_ode_engine(config.physics)
        with Simulation(
            config, engine=engine, defer_images=True, run_controllers=False, diagnostics=diagnostics
        ) as simulation:
            notes = list(remarks(simulation.bodies.values()))
            costs = _costs_of_first_step(engine)
        drives = list(check_drives(config)) if drive else []
    except ModelError:
        return  # all errors are in the diagnostics
    except PhysicsError as error:
        diagnostics.error("unusable-physics", str(error))
        return
    for advice in (*advise(config), *notes, *advise_costs(config, costs), *drives):
        diagnostics.add(advice)


def _costs_of_first_step(engine: OdeEngine) -> list[PairCost]:
    """Return the costs of collision detection in a step; none if the physics fails in it."""
    engine.record_pair_costs = True
    try:
        engine.step()
    except PhysicsError:  # a run reports it
        return []
    return engine.pair_costs()


def list_sensors(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim sensors``; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
    """
    with ExitStack() as stack:
        diagnostics = stack.enter_context(printed_warnings(options.world))
        with working(f"reading {options.world}"):
            config = load_world(options.world, diagnostics, project=project_options(options))
            simulation = Simulation(
                config, defer_images=True, run_controllers=False, diagnostics=diagnostics
            )
        stack.callback(simulation.close)
        if not simulation.devices:
            print_text("this world has no sensors")
            return GOOD
        try:
            devices = device_table(config, simulation, options.naming)
        except NameCollisionError as error:
            diagnostics.error("name-collision", str(error))
            diagnostics.raise_errors()
    known = (i for e in config.bodies for i in instruments(e.placement.body).values())
    kinds = dict.fromkeys(i.kind for i in known if i.is_sensor)
    output_console().print(devices)
    print_text(f"\n{option_text(config, kinds)}")
    print_text("\nSet one with: hrp-sim run WORLD --sensor [SENSOR.]OPTION=VALUE")
    return GOOD


def device_table(config: WorldConfig, simulation: Simulation, preset: str = STANDARD) -> Table:
    """Return a table of all sensors and other devices: names, kinds, rates, topics and own options.

    Args:
        config: The world.
        simulation: A simulation of this world.
        preset: Topic naming, a key of ``hrp_msgs.names.NAMINGS``.

    Raises:
        NameCollisionError: Two of them would have the same topic.
    """
    bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
    namespaces = {name: simulation.namespace(name) for name in bodies}
    naming = name_bodies(bodies, namespaces=namespaces, preset=preset)
    own = {entry.placement.name: entry.sensors for entry in config.bodies}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in (
        "name",
        "kind",
        "rate",
        "topics",
        "own options" if any(own.values()) else "",
    ):
        table.add_column(column, overflow="fold")
    known = simulation.devices
    for body, model in bodies.items():
        devices = instruments(model)
        for key, topics in device_topics(simulation, body, naming[body]).items():
            sensor = simulation.sensors.get(key)
            device = known[key]
            options = own[body].get(device.name, {})
            table.add_row(
                printable(key if simulation.is_enabled(key) else f"{key} (off)"),
                devices[device.name].kind,
                "" if sensor is None else f"{sensor.rate_hz:g} Hz",
                "\n".join(topics.data or filter(None, (topics.switch, topics.command))),
                "\n".join(f"{name}={_text(value)}" for name, value in options.items()),
            )
    return table


def option_text(config: WorldConfig, kinds: Collection[str]) -> str:
    """Return the options of some kinds of sensors with their common values and meanings."""
    lines = []
    for name, option in OPTIONS.items():
        rules = option.metadata
        if concerned := [kind for kind in kinds if applies_to(option, kind)]:
            lines.append(f"{name}={_text(getattr(config.sensors, name))}  ({', '.join(concerned)})")
            choices = f" One of {', '.join(rules['choices'])}." if "choices" in rules else ""
            lines += textwrap.wrap(
                rules["doc"] + choices, 90, initial_indent=" " * 4, subsequent_indent=" " * 4
            )
    return "\n".join(lines)


def _text(value: OptionValue) -> str:
    """Return a value as users write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def print_rviz(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim rviz``; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        UsageError: An option is invalid, or the file cannot be written.
    """
    outputs = [Output("-o", options.output, Kind.RVIZ)]
    check_outputs(outputs, inputs=[options.world], force=options.force)
    names = RvizOptions(
        options.namespace,
        options.frame_prefix,
        options.world_frame,
        options.naming,
        options.contacts,
    )
    try:
        with printed_warnings(options.world) as diagnostics, working(f"reading {options.world}"):
            text = world_rviz(options.world, names, diagnostics, project_options(options))
    except ModelError:
        raise  # a subclass of ValueError, which is handled below
    except NameCollisionError as error:
        print_message(f"error: {error}")
        return PROBLEMS
    except ValueError as error:
        raise UsageError(str(error)) from None
    print_or_write(text, options.output)
    return GOOD


def write_map(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim map``; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        UsageError: An option is needed or invalid, or the file cannot be written.
    """
    description: Path = options.output
    image = description.with_suffix(".pgm")
    outputs = [Output("-o", description, Kind.MAP), Output("its image", image, Kind.MAP)]
    check_outputs(outputs, inputs=[options.world], force=options.force)
    with closing(_still_world(options)) as simulation:
        planes = scan_planes(simulation.bodies)
        height, source = options.height, "as --height states"
        if height is None and not planes:
            reason = "no vehicle of the world has a level planar scanner"
            raise UsageError(f"{reason}, whose height a map has by default: give --height")
        if height is None:
            source, height = next(iter(planes.items()))
            source = f"as '{source}'"
        fixed = [name for name in simulation.bodies if simulation.is_fixed(name)]
        try:
            grid = occupancy_map(simulation.bodies, fixed, height, options.resolution)
        except ValueError as error:
            raise UsageError(str(error)) from None
    with writing():
        texts = {description: grid.description(image.name).encode(), image: grid.image()}
        write_all_atomically(texts)
    rows, columns = grid.occupied.shape
    print_text(f"{columns} x {rows} cells of {grid.resolution:g} m, {height:.4g} m high, {source}")
    if grid.moving:
        print_note(f"left out, as they can move: {listed(list(grid.moving), _MAX_LISTED)}")
    if not grid.occupied.any():
        print_note("note: nothing that cannot move is at this height: the map is empty")
    report_written([description, image])
    return GOOD


def write_scene(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim scene``; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        UsageError: There is no or more than one robot to plan for, or not the one that is named,
            or nothing to write.
    """
    outputs = [Output("-o", options.output, Kind.SCENE)]
    check_outputs(outputs, inputs=[options.world], force=options.force)
    with closing(_still_world(options)) as simulation:
        bodies = simulation.bodies
        robots = [name for name, simulated in bodies.items() if simulated.body.moving_links]
        robot = options.robot or (robots[0] if len(robots) == 1 else "")
        if robot and robot not in bodies:
            hint = did_you_mean_or_all(robot, robots)
            raise UsageError(f"--robot: the world has no body '{robot}'.{hint}")
        if not robot:
            hint = f"give --robot: {listed(robots, _MAX_LISTED)}" if robots else "there is none"
            raise UsageError(f"a scene is for one robot with joints: {hint}")
        fixed = [name for name in bodies if simulation.is_fixed(name)]
        found = obstacles(bodies, fixed, robot)
        if not found:
            raise UsageError(f"besides '{robot}', no body of the world has collision shapes")
        X_WP = planning_pose(bodies[robot], is_fixed=options.frame == "root")
        text = scene_text(options.output.stem, found, X_WP)
    with writing():
        write_all_atomically({options.output: text.encode()})
    print_text(f"obstacles for {robot}: {listed(list(found), _MAX_LISTED)}")
    report_written([options.output])
    return GOOD


def _still_world(options: argparse.Namespace) -> Simulation:
    """Return the world of a command, at its beginning."""
    with printed_warnings(options.world) as diagnostics, working(f"reading {options.world}"):
        config = load_world(options.world, diagnostics, project=project_options(options))
        return Simulation(config, defer_images=True, run_controllers=False, diagnostics=diagnostics)


def bench(options: argparse.Namespace) -> int:
    """Do what ``hrp-sim bench`` does; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
    """
    with printed_warnings(options.world) as diagnostics, working(f"reading {options.world}"):
        world = load_world(options.world, diagnostics, project=project_options(options))
        measured = WorldBench(world, diagnostics)
    columns = TextColumn("measuring"), BarColumn(), TimeRemainingColumn()
    console = message_console()
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with closing(measured), _without_warnings(), progress:
        task = progress.add_task("", total=1.0)
        result = measured.measure(
            options.duration, lambda done: progress.update(task, completed=done)
        )
    if options.json:
        print_data(f"{json.dumps(result_object(options.world, result), indent=1)}\n")
    else:
        output_console().print(result_text(options.world, result))
    return GOOD


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Drop log messages of the physics: engines count the messages of ODE over repeated runs."""
    logger = logging.getLogger("hrp_sim")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
