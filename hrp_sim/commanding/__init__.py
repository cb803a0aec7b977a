"""Commands from ROS 2 to the bodies of a world."""
