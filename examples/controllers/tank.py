"""Drives a vehicle on tracks by keys: w, s, a, d for forward, back, left and right.

hrp-sim run examples/controllers/tank.yaml

``joystick.py`` drives it by a joystick over ROS.
"""

from bisect import bisect_right

from hrp_sim import Controller
from hrp_sim.control.conversions import vehicle_command

# Forward speed in [m/s] and yaw rate in [rad/s] by key.
KEYS = {"w": (0.5, 0.0), "s": (-0.5, 0.0), "a": (0.0, 1.0), "d": (0.0, -1.0)}


def velocity(keys):
    """Return forward speed and yaw rate for the keys that are held down, such as "wa"."""
    pressed = [KEYS[key] for key in keys]
    return sum(v for v, _ in pressed), sum(w for _, w in pressed)


class Tank(Controller):
    """Drives as if keys were pressed at given times.

    Argument ``keys``: a list of [time in [s], keys held down from then on].
    """

    def initialize(self, io):
        self.io = io
        self.times = [float(time) for time, _ in io.args["keys"]]
        self.held = ["", *(keys for _, keys in io.args["keys"])]

    def control(self):
        forward, yaw = velocity(self.held[bisect_right(self.times, self.io.time)])
        self.io.command(vehicle_command(self.io.model, forward, yaw))
        return True

    def save(self):
        return {}  # there is nothing to save
