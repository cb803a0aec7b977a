"""Pure conversions between numbers and ROS messages, without nodes."""
