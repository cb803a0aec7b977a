"""From the parameters of a node to a simulation."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from hrp_model import Diagnostics
from hrp_model.ros.model_node import logged_diagnostics
from hrp_msgs.node.parameters import (
    declare,
    declare_options,
    undeclare,
    undeclare_overrides,
    unknown_parameters,
)
from hrp_msgs.node.start import WrongUseError
from hrp_sim.ros.command_parameters import joint_of
from hrp_sim.ros.parameters import SIM_NODE

from ..physics.engine import PHYSICS_RANGES, Solver
from ..running.build import build_simulation
from ..simulation import Simulation
from ..world.config import WorldConfig
from ..world.load import load_world
from ..world.sensor_options import COMMON_OPTIONS, OPTIONS, find_targets, single_options


class WorldLoader:
    """Makes simulations as the parameters of a node ask for.

    Args:
        node: Made with ``automatically_declare_parameters_from_overrides``.

    Attributes:
        given: What the node was started with, by name.
        settings: Values of the parameters ``SIM_NODE`` by name.
        world: The newest world that a simulation was made of, as the parameters have it.
        failure_hint: What to look for if the physics of the newest world fails.

    Raises:
        WrongUseError: A parameter makes no sense.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.given = undeclare_overrides(node)
        self._options: list[str] = []  # parameters that are options of sensors in this world
        self.settings: dict[str, Any] = declare(node, SIM_NODE)
        self.world = WorldConfig()
        self.failure_hint = ""

    def load(self) -> Simulation:
        """Make the simulation of the world that is named.

        Raises:
            ModelError: The world or a model in it cannot be used.
            PhysicsError: The physics cannot take a body.
            WrongUseError: A parameter makes no sense.
        """
        self._warn_of_unknown()
        if not self.settings["world"]:
            start = "--ros-args -p world:=FILE, or --help"
            raise WrongUseError(f"no world is named; start with: {start}")
        config = load_world(self.settings["world"], logged_diagnostics(self._node))
        return self.make(config)

    def make(self, config: WorldConfig) -> Simulation:
        """Make a simulation of a world, which has its physics and options as the parameters say.

        Raises:
            PhysicsError: The physics cannot take a body.
            WrongUseError: A parameter makes no sense.
        """
        return self.build(self.configure(config))

    def configure(self, config: WorldConfig) -> WorldConfig:
        """Declare what of a world is a parameter; return the world as the parameters have it.

        To be called in the thread that serves the node, as long as somebody does.

        Raises:
            WrongUseError: A parameter makes no sense; all are as before.
        """
        settings = self.settings
        least, most = PHYSICS_RANGES["time_step"]
        if 0.0 < (time_step := settings["time_step"]) < least:
            raise WrongUseError(f"time_step is 0 or from {least:g} to {most:g}, not {time_step:g}")
        diagnostics = logged_diagnostics(self._node)
        try:
            config = self._with_sensor_options(config, diagnostics)
        except WrongUseError:
            self._with_sensor_options(self.world, Diagnostics(listener=lambda _: None))
            raise
        self.world = config.with_physics(
            solver=Solver(settings["solver"]) if settings["solver"] else None,
            time_step=time_step or None,
            iterations=settings["iterations"] or None,
            joint_limits=None if settings["joint_limits"] else False,
            seed=settings["seed"] if settings["seed"] >= 0 else None,
        )
        return self.world

    def build(self, config: WorldConfig) -> Simulation:
        """Make a simulation of a configured world; callable from any thread.

        Raises:
            PhysicsError: The physics cannot take a body.
        """
        diagnostics = logged_diagnostics(self._node)
        engine = self.settings["engine"]
        simulation, self.failure_hint = build_simulation(config, engine, diagnostics)
        return simulation

    def _with_sensor_options(self, config: WorldConfig, diagnostics: Diagnostics) -> WorldConfig:
        """Declare the options of sensors as parameters; return a world that has their values.

        Declared are those of all sensors, and of single ones what is said of them anywhere.
        """
        undeclare(self._node, self._options)  # those of the world before
        before = set(self._node.get_parameters_by_prefix(""))
        doubtful = Diagnostics(listener=lambda d: diagnostics.warn(d.code, d.message))
        given = [k for k in self.given if "." in k or k in OPTIONS]
        given = [k for k in given if not k.startswith("qos_overrides.") and joint_of(k) is None]
        found = find_targets(
            config, (*(option.name for option in COMMON_OPTIONS), *given), doubtful
        )
        config = declare_options(self._node, found, config)
        known = Diagnostics(listener=lambda _: None)
        config = declare_options(
            self._node, find_targets(config, single_options(config), known), config
        )
        self._options = sorted(self._node.get_parameters_by_prefix("").keys() - before)
        return config

    def _warn_of_unknown(self) -> None:
        # Those with a point are about sensors and joints, and are looked at there.
        given = [name for name in self.given if "." not in name]
        known = (*self.settings, *OPTIONS)
        for message in unknown_parameters(given, known):
            self._node.get_logger().warning(message)
