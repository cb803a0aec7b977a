"""Controllers and force hooks of the tests."""

import numpy as np

from hrp_sim import Controller, ForceHook


class Idle(Controller):
    """Does nothing."""

    def control(self):
        return True


class Recorder(Controller):
    """Records the calls of its methods, and the times of ``control``."""

    def __init__(self):
        self.calls, self.times = [], []

    def initialize(self, io):
        self.io = io
        self.calls.append("initialize")

    def start(self):
        self.calls.append("start")

    def control(self):
        self.times.append(self.io.time_ns)
        return True

    def stop(self):
        self.calls.append("stop")


class Swing(Controller):
    """Swings the joints about their first positions by PD control with efforts."""

    def initialize(self, io):
        self.io = io
        io.drive("effort")

    def start(self):
        self.middle = self.io.q.copy()

    def control(self):
        io = self.io
        goal = self.middle + 0.2 * np.sin(4.0 * io.time)
        io.effort_target = 80.0 * (goal - io.q) - 8.0 * io.dq
        return True

    def save(self):
        return {"middle": self.middle}

    def restore(self, arrays):
        self.middle = arrays["middle"]


class Counter(Controller):
    """Commands positions that depend on the number of its calls, which it saves."""

    def initialize(self, io):
        self.io, self.count = io, 0
        io.drive("position")
        io.enable("wrist_force")

    def start(self):
        self.count = 0

    def control(self):
        self.count += 1
        reading = self.io.reading("wrist_force")
        force = 0.0 if reading is None else float(reading.force[2])
        self.io.q_target = 0.3 * np.sin(0.05 * self.count) + 1e-3 * force
        return True

    def save(self):
        return {"count": self.count}

    def restore(self, arrays):
        self.count = int(arrays["count"])


class SpringDamper(ForceHook):
    """A spring and a damper in the first joint of a body."""

    def __init__(self, stiffness=0.0, damping=0.0):
        self.stiffness, self.damping = stiffness, damping

    def apply(self, state, dt):
        state.joint_effort[0] = -self.stiffness * state.q[0] - self.damping * state.dq[0]

    def save(self):
        return {}

    def restore(self, arrays):
        pass


class Bad(Controller):
    """Does one bad thing in its third call of ``control``."""

    def __init__(self, act, mode="effort"):
        self.act, self.mode, self.count = act, mode, 0

    def initialize(self, io):
        self.io = io
        io.drive(self.mode)

    def control(self):
        self.count += 1
        if self.count < 3:
            self.io.effort_target = 5.0
            return True
        return self.act(self.io)
