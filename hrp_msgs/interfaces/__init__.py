"""Definitions of standard interface packages, for machines where ROS was never installed."""
