"""What ROS 2 sees of a world and of what is in it."""
