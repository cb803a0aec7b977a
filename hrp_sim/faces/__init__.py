"""What ROS 2 sees of the bodies of a world."""
