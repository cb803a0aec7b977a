"""Robots as environments of Gymnasium, for learning."""

from hrp_model.diagnostics import needs_extra

with needs_extra("gym"):
    from .pictures import RenderOptions
    from .robot_env import RobotEnv
    from .state import EpisodeState

__all__ = ["EpisodeState", "RenderOptions", "RobotEnv"]
