#!/usr/bin/env python3
"""Write the tables of parameters into docs/ros2.md.

python scripts/ros2_tables.py [-o docs/ros2.md]

They are generated from the tables from which the nodes declare their parameters. Needs ROS 2.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from math import inf
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from page_section import table, write_section

from hrp_model.ros.parameters import MODEL_NODE, VIEW_NODE
from hrp_msgs.node.parameters import Param
from hrp_sim.ros.sim_node import PARAMETERS
from hrp_sim.world.sensor_options import COMMON_OPTIONS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ros2.md"
SENSORS = {option.name for option in COMMON_OPTIONS}
# docs/sensors.md lists the options of sensors.
SIM_NODE = [p for p in PARAMETERS if p.name not in SENSORS and p.name != "<sensor>.<option>"]
TABLES = {"sim_node": SIM_NODE, "model_node": MODEL_NODE, "view_node": VIEW_NODE}


def marks(node: str) -> tuple[str, str]:
    """Return the lines that enclose the parameters of a node."""
    return (
        f"<!-- Parameters of {node}: made by scripts/ros2_tables.py -->",
        f"<!-- end of the parameters of {node} -->",
    )


def parameter_table(params: Iterable[Param]) -> str:
    """Return a table of parameters; those in bold can be set at any time."""
    return table(("parameter", "default", "values", "meaning"), [_row(p) for p in params])


def _row(param: Param) -> tuple[str, str, str, str]:
    name = f"`{param.name}`" if param.read_only else f"**`{param.name}`**"
    doc = param.doc.replace("|", "\\|").replace("<", "&lt;")
    return name, f"`{_word(param.default)}`", _values(param), doc


def _values(param: Param) -> str:
    if param.choices:
        return ", ".join(f"`{_word(choice)}`" for choice in param.choices)
    if isinstance(param.default, bool):
        return "`true`, `false`"
    if param.minimum == -inf and param.maximum == inf:
        return "text" if isinstance(param.default, str) else "any number"
    return f"{param.minimum:.10g} to {param.maximum:.10g}"


def _word(value: bool | float | str) -> str:
    """Return a value as it is written in YAML; a string without quotes, unless it is empty."""
    return value if isinstance(value, str) and value else json.dumps(value)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the tables."""
    parser = argparse.ArgumentParser(description="Write the tables of docs/ros2.md.")
    parser.add_argument("-o", "--output", type=Path, default=PAGE, metavar="FILE")
    output = parser.parse_args(argv).output
    for node, params in TABLES.items():
        write_section(output, *marks(node), parameter_table(params))
    return 0


if __name__ == "__main__":
    sys.exit(main())
