"""Runs of scenarios with ROS nodes."""
