"""Write the tables of parameters: docs/data/parameters_*.csv.

They are those from which the nodes declare their parameters. Needs ROS 2.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from math import inf
from pathlib import Path

from hrp_model.ros.parameters import MODEL_NODE, VIEW_NODE
from hrp_msgs.node.parameters import Param
from hrp_sim.ros.sim_node import PARAMETERS
from hrp_sim.world.sensor_options import OPTIONS
from scripts.data_tables import DATA, Table, write_tables

SENSORS = set(OPTIONS)
SIM_NODE = [p for p in PARAMETERS if p.name not in SENSORS and p.name != "<sensor>.<option>"]
TABLES = {"sim_node": SIM_NODE, "model_node": MODEL_NODE, "view_node": VIEW_NODE}


def parameter_table(params: Iterable[Param]) -> Table:
    """Return a table of parameters."""
    header = ["parameter", "default", "values", "set", "meaning"]
    return header, [
        [
            param.name,
            _word(param.default),
            _values(param),
            "at the start" if param.read_only else "at any time",
            param.doc,
        ]
        for param in params
    ]


def _values(param: Param) -> str:
    if param.choices:
        return ", ".join(map(_word, param.choices))
    if isinstance(param.default, bool):
        return "true, false"
    if param.minimum == -inf and param.maximum == inf:
        return "text" if isinstance(param.default, str) else "any number"
    return f"{param.minimum:.10g} to {param.maximum:.10g}"


def _word(value: bool | float | str) -> str:
    """Return a value as it is written in YAML; a string without quotes, unless it is empty."""
    return value if isinstance(value, str) and value else json.dumps(value)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("-o", "--output", type=Path, default=DATA, metavar="FOLDER")


def run(options: argparse.Namespace) -> int:
    """Write the tables."""
    tables = {f"parameters_{node}": parameter_table(p) for node, p in TABLES.items()}
    write_tables(tables, options.output)
    return 0
