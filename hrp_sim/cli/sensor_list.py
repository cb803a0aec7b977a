"""What ``hrp-sim sensors`` shows: sensors and lights of a world, and what can be set of them."""

from __future__ import annotations

import textwrap
from collections.abc import Collection

from rich.table import Table

from hrp_model.printable import printable
from hrp_msgs.names import STANDARD

from ..ros.topics import device_topics
from ..sensors import instruments
from ..sensors.settings import OptionValue, applies_to
from ..simulation import Simulation
from ..world.config import WorldConfig
from ..world.naming import name_bodies
from ..world.sensor_options import OPTIONS


def device_table(config: WorldConfig, simulation: Simulation, preset: str = STANDARD) -> Table:
    """Return all sensors and lights: their names, kinds, rates, topics, and options of their own.

    Args:
        config: The world.
        simulation: Made of it.
        preset: Whose names the topics have, of ``hrp_msgs.names.NAMINGS``.

    Raises:
        NameCollisionError: Two of them would have the same topic.
    """
    bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
    wishes = {name: simulation.namespace(name) for name in bodies}
    naming = name_bodies(bodies, namespaces=wishes, preset=preset)
    own = {entry.placement.name: entry.sensors for entry in config.bodies}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in (
        "name",
        "kind",
        "rate",
        "topics",
        "options of its own" if any(own.values()) else "",
    ):
        table.add_column(column, overflow="fold")
    for body, model in bodies.items():
        known = instruments(model)
        for key, topics in device_topics(simulation, body, naming[body]).items():
            sensor = simulation.sensors.get(key)
            device = simulation.lights[key] if sensor is None else sensor
            options = own[body].get(device.name, {})
            table.add_row(
                printable(key if simulation.is_enabled(key) else f"{key} (off)"),
                known[device.name].kind,
                "" if sensor is None else f"{sensor.rate_hz:g} Hz",
                "\n".join(topics.data or (topics.switch,)),
                "\n".join(f"{name}={_word(value)}" for name, value in options.items()),
            )
    return table


def option_text(config: WorldConfig, kinds: Collection[str]) -> str:
    """Return the options of some kinds of sensors, what they are for all, and what they mean."""
    lines = []
    for name, option in OPTIONS.items():
        rules = option.metadata
        if for_these := [kind for kind in kinds if applies_to(option, kind)]:
            lines.append(f"{name}={_word(getattr(config.sensors, name))}  ({', '.join(for_these)})")
            choices = f" One of {', '.join(rules['choices'])}." if "choices" in rules else ""
            lines += textwrap.wrap(
                rules["doc"] + choices, 90, initial_indent=" " * 4, subsequent_indent=" " * 4
            )
    return "\n".join(lines)


def _word(value: OptionValue) -> str:
    """Return a value as it is written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
