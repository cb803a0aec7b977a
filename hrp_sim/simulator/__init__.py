"""What ROS 2's standard simulation services ask of a simulator, in plain Python."""

from .simulator import Simulator

__all__ = ["Simulator"]
