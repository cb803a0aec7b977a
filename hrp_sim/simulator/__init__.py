"""The operations of ROS 2's standard simulation services, without ROS."""

from .simulator import Simulator

__all__ = ["Simulator"]
