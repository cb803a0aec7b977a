"""A robot as a node publishes it: its description, frames, limits and health. Knows no ROS."""
