"""Parameters of ``sim_node``, and the simulation that is created from them."""

from __future__ import annotations

from dataclasses import replace

from rclpy.node import Node

from hrp_model import Diagnostic, Diagnostics
from hrp_model.ros.model_node import logged_diagnostics
from hrp_model.ros.parameters import MODEL_NODE
from hrp_msgs.names import NAMINGS
from hrp_msgs.node.parameters import (
    Param,
    Settings,
    declare,
    declare_options,
    undeclare,
    undeclare_overrides,
    unknown_parameters,
)
from hrp_msgs.node.start import WrongUseError

from ..engine.engine import ENGINES, PHYSICS_RANGES, Solver
from ..simulation import Simulation, build_simulation
from ..topics.body import TopicOptions
from ..world.config import WorldConfig
from ..world.control_file import with_controllers
from ..world.load import load_world
from ..world.projects import ProjectOptions, parse_variables
from ..world.sensor_options import COMMON_OPTIONS, OPTIONS, find_targets, single_options
from .command_parameters import COMMANDS, joint_of

_DEFAULTS = TopicOptions()

# Parameters of ``model_node`` for the descriptions of all bodies.
DESCRIPTION = tuple(
    replace(param, read_only=param.name != "publish_frequency")
    for param in MODEL_NODE
    if param.name
    in (
        "publish_tf",
        "publish_frequency",
        "description_format",
        "collision",
        "glb_up",
        "gazebo",
        "ros2_control",
        "controllers",
    )
)
SIM_NODE = (
    Param(
        "world",
        "",
        "World file, project or model: a path, file:// or package:// URI, or the name of a bundled "
        "world.",
    ),
    Param("simulator", "", "Simulator item of a project whose settings apply; empty = the first."),
    Param(
        "variables",
        "",
        "Folders by the name of the variable that stands for them in paths of a project, as "
        "SHARE=FOLDER or SHARE=FOLDER:FOLDER, separated by colons; empty = from the environment, "
        "or above the project.",
    ),
    Param(
        "engine",
        "ode",
        "Physics engine; 'pyode' needs PyODE, supports primitives and common joints only, and is "
        "slower.",
        choices=ENGINES,
    ),
    Param(
        "solver",
        "",
        "Constraint solver; empty = as in the world file.",
        choices=("", *(solver.value for solver in Solver)),
    ),
    Param("time_step", 0.0, "Physics time step [s]; 0 = as in the world file.", 0.0, 0.1),
    Param(
        "iterations", 0, "Iterations of the solver 'quick'; 0 = as in the world file.", 0, 10_000
    ),
    Param("joint_limits", True, "false ignores the position limits of all joints."),
    Param("seed", -1, "Seed of random numbers; -1 = as in the world file.", -1, 2**32 - 1),
    Param(
        "python_controllers",
        "",
        "Controllers to run in the simulation, besides those of the world file: BODY=MODULE:CLASS "
        "or BODY=FILE.py:CLASS, separated by blanks.",
    ),
    Param(
        "run_controllers",
        "first",
        "Controllers whose code runs: those of the first world, those of all worlds that the "
        "service load_world loads too, or none.",
        choices=("first", "all", "none"),
    ),
    Param(
        "real_time_factor",
        1.0,
        "Simulation time per real time; 0 = as fast as possible.",
        0.0,
        1e3,
        read_only=False,
    ),
    Param("start_paused", False, "Start paused."),
    Param(
        "lock_step",
        _DEFAULTS.lock_step,
        "Command topics, separated by blanks, to wait for in each control period; empty = none.",
    ),
    Param("lock_step_rate", 500.0, "Control periods per simulated second [Hz].", 0.1, 10000.0),
    Param(
        "lock_step_timeout",
        10.0,
        "Wall time after which a run in lock-step continues without a command [s]; 0 = never.",
        0.0,
        3600.0,
    ),
    Param(
        "record",
        "",
        "MCAP file that records all published topics but compressed images; it must not exist; "
        "empty = none.",
    ),
    Param("describe", False, "Publish robot_description and TF of the bodies, as model_node does."),
    *DESCRIPTION,
    Param("frame_prefix", _DEFAULTS.frame_prefix, "Prefix of all TF frame names."),
    Param(
        "base",
        _DEFAULTS.base,
        "Massless links above the root of each body: base_link, or also base_footprint on the "
        "floor; 'auto' is base_link if the root has a mass, which KDL does not support.",
        choices=("auto", "none", "base_link", "base_footprint"),
    ),
    Param(
        "naming",
        _DEFAULTS.naming,
        "Naming of the topics of devices and commands: that of this package, of Choreonoid's "
        "ROS 2 plugin, or of hrpsys_ros_bridge.",
        choices=tuple(NAMINGS),
    ),
    Param("world_frame", _DEFAULTS.world_frame, "Name of the world frame."),
    Param(
        "odom_frame",
        _DEFAULTS.odom_frame,
        "Frame of the odometry, between world_frame and the topmost frame of each robot; empty = "
        "none, with odometry 'wheels': odom.",
    ),
    Param(
        "odom_topic",
        _DEFAULTS.odom_topic,
        "Topic of the odometry that the frame of each robot follows, beside ground_truth/odom; "
        "empty = none, with odometry 'wheels': odom.",
    ),
    Param(
        "initial_pose_topic",
        _DEFAULTS.initial_pose_topic,
        "Topic of the true pose of each robot in world_frame, at the start and after resets, for "
        "localization such as AMCL: initialpose; empty = none.",
    ),
    Param(
        "clock_rate",
        _DEFAULTS.clock_rate,
        "Maximum rate of /clock in simulation time [Hz].",
        1.0,
        10000.0,
    ),
    Param(
        "contact_rate",
        _DEFAULTS.contact_rate,
        "Maximum rate of contacts and contacts/markers in simulation time [Hz]; 0 = not published.",
        0.0,
        10000.0,
    ),
    Param(
        "contact_scale",
        _DEFAULTS.contact_scale,
        "Arrow length per force in contacts/markers [m/N].",
        1e-9,
        1e6,
        read_only=False,
    ),
    Param(
        "planning_scene_rate",
        _DEFAULTS.planning_scene_rate,
        "Maximum rate in simulation time of planning_scene, by which MoveIt knows the bodies "
        "around each robot [Hz]; 0 = not published.",
        0.0,
        100.0,
    ),
    *COMMANDS,
)


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
        config = self.configure(world, diagnostics)
        simulation = self.build(config, diagnostics)
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

    def configure(self, config: WorldConfig, diagnostics: Diagnostics | None = None) -> WorldConfig:
        """Declare the parameters of a world; return the world with the parameters applied.

        To be called in the executor thread while the node has one.

        Args:
            config: The world.
            diagnostics: Receives the problems; by default they are logged.

        Raises:
            WrongUseError: A parameter is invalid; all parameters are restored.
        """
        settings, diagnostics = self.settings, diagnostics or logged_diagnostics(self._node)
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

    def build(self, config: WorldConfig, diagnostics: Diagnostics | None = None) -> Simulation:
        """Create a simulation of a configured world; callable from any thread.

        Args:
            config: The world.
            diagnostics: Receives the problems; by default they are logged.

        Raises:
            PhysicsError: The physics cannot simulate a body.
        """
        engine, diagnostics = self.settings["engine"], diagnostics or logged_diagnostics(self._node)
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
        given = [k for k in self.given if ("." in k or k in OPTIONS) and k not in self.settings]
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
