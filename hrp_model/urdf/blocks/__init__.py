"""Blocks of a URDF for other tools: Gazebo, MuJoCo, ros2_control."""
