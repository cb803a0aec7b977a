"""Create the simulation of a node from its parameters."""

from __future__ import annotations

from dataclasses import replace

from rclpy.node import Node

from hrp_model import Diagnostic, Diagnostics
from hrp_model.ros.model_node import logged_diagnostics
from hrp_msgs.node.parameters import (
    Settings,
    declare,
    declare_options,
    undeclare,
    undeclare_overrides,
    unknown_parameters,
)
from hrp_msgs.node.start import WrongUseError
from hrp_sim.ros.command_parameters import joint_of
from hrp_sim.ros.parameters import SIM_NODE

from ..engine.engine import PHYSICS_RANGES, Solver
from ..simulation import Simulation, build_simulation
from ..world.config import WorldConfig
from ..world.control_file import with_controllers
from ..world.load import load_world
from ..world.projects import ProjectOptions, parse_variables
from ..world.sensor_options import COMMON_OPTIONS, OPTIONS, find_targets, single_options


class WorldLoader:
    """Creates simulations with the parameters of a node.

    Args:
        node: A node with ``automatically_declare_parameters_from_overrides``.

    Attributes:
        given: Parameter overrides of the node by name.
        settings: Values of the parameters ``SIM_NODE`` by name.
        world: The world of the newest simulation, with the parameters applied.
        failure_hint: Hint for users if the physics of the newest world fails.
        problems: Warnings about the first world and its models, which were logged.

    Raises:
        WrongUseError: A parameter is invalid.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.given = undeclare_overrides(node)
        self._options: list[str] = []  # declared parameters of sensor options
        self.settings: Settings = declare(node, SIM_NODE)
        self.world = WorldConfig()
        self.failure_hint = ""
        self.problems: list[Diagnostic] = []

    def load(self, world: WorldConfig | None = None) -> Simulation:
        """Create the simulation of a world.

        Args:
            world: The world; None for that of the parameter ``world``, with its controllers.

        Raises:
            ModelError: The world or a model in it cannot be used.
            PhysicsError: The physics cannot simulate a body.
            WrongUseError: A parameter is invalid.
        """
        self._warn_of_unknown()
        diagnostics = logged_diagnostics(self._node)
        world = self._read(diagnostics) if world is None else world
        config = self._configure(world, diagnostics)
        simulation = self._build(config, diagnostics)
        self.problems = diagnostics.found
        return simulation

    def _read(self, diagnostics: Diagnostics) -> WorldConfig:
        """Return the world of the parameter ``world``, with the controllers that are to run."""
        if not self.settings["world"]:
            usage = "--ros-args -p world:=FILE, or --help"
            raise WrongUseError(f"parameter 'world' is empty; start with: {usage}")
        project = ProjectOptions(
            simulator=self.settings["simulator"],
            variables=self.variables,
            controlled=[x.partition("=")[0] for x in self.settings["python_controllers"].split()],
        )
        world = load_world(self.settings["world"], diagnostics, project=project)
        world = with_controllers(world, self.settings["python_controllers"].split(), diagnostics)
        diagnostics.raise_errors()
        if self.settings["run_controllers"] == "none":
            world = replace(world, controllers=())
        return world

    @property
    def variables(self) -> dict[str, tuple[str, ...]]:
        """Folders in the paths of projects, by variable.

        Raises:
            WrongUseError: The parameter ``variables`` is invalid.
        """
        try:
            return parse_variables(self.settings["variables"])
        except ValueError as error:
            raise WrongUseError(f"parameter 'variables': {error}") from None

    def make(self, config: WorldConfig) -> Simulation:
        """Create a simulation of a world with the parameters applied.

        Raises:
            PhysicsError: The physics cannot simulate a body.
            WrongUseError: A parameter is invalid.
        """
        return self.build(self.configure(config))

    def configure(self, config: WorldConfig) -> WorldConfig:
        """Declare the parameters of a world; return the world with the parameters applied.

        To be called in the executor thread while the node has one.

        Raises:
            WrongUseError: A parameter is invalid; all parameters are restored.
        """
        return self._configure(config, logged_diagnostics(self._node))

    def _configure(self, config: WorldConfig, diagnostics: Diagnostics) -> WorldConfig:
        settings = self.settings
        low, high = PHYSICS_RANGES["time_step"]
        if 0.0 < (time_step := settings["time_step"]) < low:
            message = f"time_step must be 0 or from {low:g} to {high:g} s, not {time_step:g} s"
            raise WrongUseError(message)
        try:
            config = self._with_sensor_options(config, diagnostics)
        except WrongUseError:
            self._with_sensor_options(self.world, Diagnostics.silent())
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
        """Create a simulation of a configured world; callable from any thread.

        Raises:
            PhysicsError: The physics cannot simulate a body.
        """
        return self._build(config, logged_diagnostics(self._node))

    def _build(self, config: WorldConfig, diagnostics: Diagnostics) -> Simulation:
        engine = self.settings["engine"]
        simulation, self.failure_hint = build_simulation(config, engine, diagnostics)
        return simulation

    def _with_sensor_options(self, config: WorldConfig, diagnostics: Diagnostics) -> WorldConfig:
        """Declare sensor options as parameters; return the world with their values.

        Declares the options of all sensors, and those options of single sensors that are set in
        the world or by parameter overrides.
        """
        undeclare(self._node, self._options)  # those of the previous world
        before = set(self._node.get_parameters_by_prefix(""))
        as_warnings = Diagnostics(listener=lambda d: diagnostics.warn(d.code, d.message))
        given = [k for k in self.given if "." in k or k in OPTIONS]
        given = [k for k in given if not k.startswith("qos_overrides.") and joint_of(k) is None]
        found = find_targets(
            config, (*(option.name for option in COMMON_OPTIONS), *given), as_warnings
        )
        config = declare_options(self._node, found, config)
        ignored = Diagnostics.silent()  # reported when the world was loaded
        config = declare_options(
            self._node, find_targets(config, single_options(config), ignored), config
        )
        self._options = sorted(self._node.get_parameters_by_prefix("").keys() - before)
        return config

    def _warn_of_unknown(self) -> None:
        # Names with a dot belong to sensors and joints, and are checked there.
        given = [name for name in self.given if "." not in name]
        known = (*self.settings, *OPTIONS)
        for message in unknown_parameters(given, known):
            self._node.get_logger().warning(message)
