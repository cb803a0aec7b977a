"""Parameters of ``model_node``."""

from __future__ import annotations

from hrp_msgs.node.parameters import Param

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
)
