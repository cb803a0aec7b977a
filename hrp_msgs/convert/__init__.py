"""Conversions between numbers and ROS messages: pure functions, no node."""
