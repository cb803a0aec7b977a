"""The parameters of the nodes, one table for each."""

from __future__ import annotations

from .command_params import COMMANDS
from .names import NAMINGS, STANDARD
from .params import Param

MODEL_NODE = (
    Param(
        "model",
        "",
        "Robot model (.wrl, .body, .urdf): its path, from the folder that the node was started in "
        "if it is relative, or its file:// or package:// URI.",
        read_only=False,
    ),
    Param("watch", False, "Read the model again when one of its files changes.", read_only=False),
    Param(
        "publish_tf",
        True,
        "Whether to publish /tf and /tf_static; false leaves them to robot_state_publisher.",
    ),
    Param("frame_prefix", "", "Put before every TF frame name.", read_only=False),
    Param(
        "world_frame",
        "",
        "Frame in which the root stands where its model puts it; empty: a simulator knows.",
        read_only=False,
    ),
    Param(
        "publish_frequency",
        100.0,
        "Most /tf messages per second of message time [Hz]; 0 = one for every joint_states.",
        0.0,
        10000.0,
        read_only=False,
    ),
    Param(
        "ignore_timestamp",
        False,
        "Follow every joint_states, whatever its stamp; publish_frequency then limits nothing.",
        read_only=False,
    ),
    Param(
        "description_format",
        "urdf",
        "What describes the robot: robot_description, with 'urdf+srdf' also "
        "robot_description_semantic, from which MoveIt knows what may touch.",
        choices=("urdf", "urdf+srdf"),
    ),
    Param(
        "link_naming",
        "joint",
        "Where links have their names from: from the joints, as in the model, or from the "
        "OpenHRP Segment nodes.",
        read_only=False,
        choices=("joint", "segment"),
    ),
    Param(
        "base",
        "auto",
        "Massless links above the root: base_link, or also base_footprint on the floor below; "
        "'auto' is base_link where the root has a mass, which KDL does not take.",
        read_only=False,
        choices=("auto", "none", "base_link", "base_footprint"),
    ),
    Param(
        "collision",
        "as_modelled",
        "Collision shapes in the URDF: the model's, or what is made of them.",
        read_only=False,
        choices=("as_modelled", "convex", "box", "decomposed"),
    ),
    Param(
        "glb_up",
        "z",
        "Which axis of the GLB meshes is the URDF's z: 'z' for RViz up to ROS 2 Kilted, 'y', as "
        "glTF has it, for RViz from rviz_rendering 15.1.4 on.",
        read_only=False,
        choices=("z", "y"),
    ),
    Param("gazebo", False, "Whether the URDF has <gazebo> blocks of the sensors.", read_only=False),
    Param(
        "ros2_control",
        "none",
        "Hardware of the URDF's <ros2_control> block; 'none' leaves the block out.",
        read_only=False,
        choices=("none", "topic", "mock", "gz", "mujoco"),
    ),
    Param(
        "controllers",
        "",
        "File of the controllers' parameters, which a URDF for 'gz' names; 'hrp-model urdf' "
        "writes one with --controllers.",
        read_only=False,
    ),
    Param(
        "transmissions",
        False,
        "Whether the URDF has <transmission> blocks with the gear ratios.",
        read_only=False,
    ),
)

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
        "Physics engine; 'pyode' needs PyODE, does primitives and common joints, and has the same "
        "results.",
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
