"""Robots as environments of Gymnasium, for learning."""

from hrp_model.diagnostics import needs_extra

with needs_extra("gym"):
    from .observations import EpisodeState, Quantity
    from .robot_env import RenderOptions, RobotEnv
    from .tasks import ArmReach, CartPole

__all__ = ["ArmReach", "CartPole", "EpisodeState", "Quantity", "RenderOptions", "RobotEnv"]
