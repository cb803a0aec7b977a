"""A ROS 2 description package of a robot, and the files in it."""
