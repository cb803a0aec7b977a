"""Parameters of ``sim_node``."""

from __future__ import annotations

from dataclasses import replace

from hrp_model.ros.parameters import MODEL_NODE
from hrp_msgs.names import NAMINGS
from hrp_msgs.node.parameters import Param

from ..engine.engine import Solver
from ..engine.engines import ENGINES
from ..topics.options import TopicOptions
from .command_parameters import COMMANDS

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
    *COMMANDS,
)
