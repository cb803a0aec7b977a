"""Where ``sim_node`` begins, also on a machine without ROS."""

from __future__ import annotations

from hrp_model.program.node_entry import run_node


def sim_node() -> int:
    """Run ``sim_node``."""
    return run_node("hrp_sim.node", "sim_node")
