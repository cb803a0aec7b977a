"""Publish a simulation on topics, in ROS or in a recording."""
