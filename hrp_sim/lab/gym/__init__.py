"""Robots as environments of Gymnasium, for learning."""

from hrp_model.diagnostics import needs_extra

with needs_extra("gym"):
    from .robot_env import EpisodeState, RenderOptions, RobotEnv

__all__ = ["EpisodeState", "RenderOptions", "RobotEnv"]
