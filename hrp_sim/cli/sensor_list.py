"""``hrp-sim sensors``: the sensors and lights of a world, and their options."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Collection
from contextlib import ExitStack

from rich.table import Table

from hrp_model.printable import printable
from hrp_model.program.command import GOOD
from hrp_model.program.console import output_console, print_text, working
from hrp_msgs.names import STANDARD, NameCollisionError

from ..sensors import instruments
from ..sensors.settings import OptionValue, applies_to
from ..simulation import Simulation
from ..topics.devices import device_topics
from ..world.config import WorldConfig
from ..world.load import load_world
from ..world.naming import name_bodies
from ..world.reporting import printed_warnings
from ..world.sensor_options import OPTIONS
from .run_options import project_options


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
