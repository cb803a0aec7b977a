"""The operations of ROS 2's standard simulation services, without ROS."""
