"""The rover drives in a circle until somebody else commands it.

hrp-sim run driving_rover --view
"""

from hrp_sim.world.samples.drive import Course


class Round(Course):
    """Drives in a circle of 0.75 m to the left, with 0.4 m/s."""

    parts = ((10.0, 0.4, 0.4 / 0.75),)  # [s], [m/s], [rad/s]
