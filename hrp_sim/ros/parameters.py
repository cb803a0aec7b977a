"""Parameters of ``sim_node``."""

from __future__ import annotations

from hrp_msgs.names import NAMINGS, STANDARD
from hrp_msgs.node.parameters import Param

from .command_parameters import COMMANDS

SIM_NODE = (
    Param(
        "world",
        "",
        "World file or model, as a path, file:// or package:// URI, or the name of a world of this "
        "package.",
    ),
    Param(
        "engine",
        "ode",
        "Physics engine; 'pyode' needs PyODE, does primitives and common joints, is slower, and "
        "refuses the rest.",
        choices=("ode", "pyode"),
    ),
    Param(
        "solver",
        "",
        "How the constraints of a step are solved; empty means as the world file says.",
        choices=("", "world", "quick"),
    ),
    Param("time_step", 0.0, "Of the physics [s]; 0 = what the world file says.", 0.0, 0.1),
    Param("iterations", 0, "Of the solver 'quick'; 0 = what the world file says.", 0, 10_000),
    Param("joint_limits", True, "false leaves out the position limits of all joints."),
    Param("seed", -1, "Of the random order; -1 = what the world file says.", -1, 2**32 - 1),
    Param(
        "real_time_factor",
        1.0,
        "Simulated per real second; 0 = fast as possible.",
        0.0,
        1e3,
        read_only=False,
    ),
    Param("start_paused", False, "Whether the world stands at its start until it is told to play."),
    Param(
        "lock_step",
        "",
        "Command topics, with blanks between them, that the run waits for in each control period; "
        "empty = waits for none.",
    ),
    Param("lock_step_rate", 500.0, "Control periods per simulated second [Hz].", 0.1, 10000.0),
    Param(
        "lock_step_timeout",
        10.0,
        "Wall time after which a run in lock-step goes on without a command [s]; 0 = never.",
        0.0,
        3600.0,
    ),
    Param("describe", False, "Publish robot_description and TF of the bodies, as model_node does."),
    Param("frame_prefix", "", "Put before every TF frame name."),
    Param(
        "base",
        "auto",
        "Massless link above the root of each body, which the world is the parent of: base_link; "
        "'auto' is base_link where the root has a mass, which KDL does not take.",
        choices=("auto", "none", "base_link"),
    ),
    Param(
        "naming",
        STANDARD,
        "Whose names topics of devices and commands have: those of this package, of Choreonoid's "
        "ROS 2 plugin, or of hrpsys_ros_bridge.",
        choices=tuple(NAMINGS),
    ),
    Param("world_frame", "world", "Name of the frame that nothing moves."),
    Param("clock_rate", 250.0, "Most /clock messages per simulated second [Hz].", 1.0, 10000.0),
    Param(
        "contact_rate",
        0.0,
        "Most contacts/markers messages per simulated second [Hz]; 0 = there are none.",
        0.0,
        10000.0,
    ),
    Param(
        "contact_scale",
        0.001,
        "Length of the arrow of one newton in contacts/markers [m/N].",
        1e-9,
        1e6,
        read_only=False,
    ),
    *COMMANDS,
)
