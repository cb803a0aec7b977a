"""``sim_node``: ROS interfaces of a world and its bodies."""
