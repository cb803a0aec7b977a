"""The humanoid walks around a room, looks about and waves; it catches itself when pushed.

hrp-sim run walking_humanoid --view

A step is planned with the divergent component of motion (DCM), xi = c + c' / omega, of a linear
inverted pendulum: it runs away from the centre of pressure p as xi(t) = p + (xi(0) - p) exp(omega
t). See J. Englsberger, C. Ott and A. Albu-Schaeffer, "Three-dimensional bipedal walking control
based on divergent component of motion", IEEE T-RO 31 (2015). Where and when the foot lands, so
that the DCM has its usual offset to it: M. Khadiv, A. Herzog, S. A. A. Moosavian and L. Righetti,
"Walking control based on step timing adaptation", IEEE T-RO 36 (2020).
"""

from math import atan, atan2, cos, exp, pi, sin

import numpy as np
from whole_body import GRAVITY, HALF, WholeBody, clip

from hrp_model import BodyState
from hrp_sim import Controller

HEIGHT = 0.66  # of the centre of mass, in [m]
OMEGA = (GRAVITY / HEIGHT) ** 0.5  # of the pendulum, in [1/s]
STEP, SHORTEST = 0.45, 0.2  # duration of a step, in [s]
WIDTH, LIFT = 0.19, 0.05  # between the feet, and height of the swinging one, in [m]
REACH, NARROW, WIDE = 0.4, 0.135, 0.42  # of a step, forward and to the side, in [m]
CENTRE, STRAIGHT, RADIUS = np.array([-0.15, 0.25]), 0.75, 0.65  # of the way, in [m]
LAP, PAUSE = 24.0, 7.0  # of walking, and of waving after it, in [s]
FIRST = 6.0  # of walking at the start, in [s]
REST = 4.0  # on the floor, in [s]
PELVIS = 0.7086  # height on bent knees, in [m]

STATE = ["mode", "phase", "stance", "clock", "yaw", "headings", "feet"]
STATE += ["swing", "lift_off", "hold"]


class Walk(Controller):
    """Walks around the room for ever. Argument ``speed``: in [m/s], 0.3 by default.

    After a fall it lies limp for ``REST``; then it is put on its feet again, at the nearest place
    of its way: this is a teleport, no movement of a robot.
    """

    def initialize(self, io):
        self.io = io
        self.robot = WholeBody(BodyState(io.model), ["LLEG_SOLE", "RLEG_SOLE"])
        self.standing = io.q.copy()
        io.drive("effort")

    def start(self):
        self.mode, self.clock, self.stance, self.phase = "stand", LAP - FIRST, 0, 0.0
        self.yaw = atan2(*self.io.motion.R[0, 1::-1, 0])
        self.headings = np.full(2, self.yaw)
        self.swing, self.lift_off = np.zeros((3, 3)), 0.0
        self.robot.update(self.io)
        self.feet = self.robot.foot.copy()
        self.hold = self.io.q[12:].copy()

    def save(self):
        return {name: getattr(self, name) for name in STATE}

    def restore(self, arrays):
        for name in STATE:
            value = arrays[name]
            setattr(self, name, value.item() if value.ndim == 0 else value.copy())

    def control(self):
        io, robot = self.io, self.robot
        robot.update(io)
        if np.abs(robot.foot - self.feet)[self.stance].max() > 0.05:  # somebody has moved it
            self.start()
        self.feet = robot.foot.copy()
        self.clock += io.time_step
        up = robot.state.R[0, 2, 2]
        if self.mode != "fallen" and (up < 0.6 or robot.com[2] < 0.7 * HEIGHT):
            self.mode, self.clock = "fallen", 0.0
        if self.mode == "fallen":
            io.effort_target = -3.0 * io.dq
            if self.clock > REST:
                self.rise()
            return True
        self.dcm = (robot.com + robot.com_velocity / OMEGA)[:2]
        speed, turn = self.way() if self.clock % (LAP + PAUSE) < LAP else (0.0, 0.0)
        if self.mode == "stand":
            pressure = self.stand(speed)
        if self.mode == "walk":
            pressure = self.step(speed, turn)
        io.effort_target = self.torques(pressure)
        return True

    def way(self):
        """Return speed and turning rate along a closed way: two straights and two half circles."""
        place = self.robot.com[:2] - CENTRE
        out = place - [clip(place[0], STRAIGHT), 0.0]
        away = float(np.hypot(*out))
        goal = atan2(out[0], -out[1]) + atan(2.0 * (away - RADIUS))
        error = (goal - self.yaw + pi) % (2.0 * pi) - pi
        speed = self.io.args.get("speed", 0.3)
        return speed * max(cos(error), 0.1), clip(2.0 * error, 0.6)

    def stand(self, speed):
        """Stand on both feet; begin to walk if that is wanted, or if the DCM leaves the feet."""
        robot, middle = self.robot, self.robot.foot[:, :2].mean(axis=0)
        off = rotation(self.yaw)[:2, :2].T @ (self.dcm - middle)
        goal = middle
        if speed > 0.0:  # first to where the DCM begins a step: near the foot that stands
            goal = 0.27 * middle + 0.73 * robot.foot[self.stance, :2]
            if np.hypot(*(self.dcm - goal)) < 0.015:
                self.lift()
        if abs(off[0]) > 0.08 or abs(off[1]) > 0.1:
            self.stance = 0 if off[1] > 0.0 else 1
            self.lift()
        return 2.0 * self.dcm - goal  # the DCM comes with exp(-OMEGA t)

    def lift(self):
        """Begin a step with the foot that does not stand."""
        foot = 1 - self.stance
        self.mode, self.phase = "walk", 0.0
        self.swing = np.array([self.robot.foot[foot], np.zeros(3), np.zeros(3)])
        self.lift_off = float(self.robot.foot[foot, 2])

    def step(self, speed, turn):
        """Move the swinging foot, and return the centre of pressure below the other one."""
        robot, stance, swing = self.robot, self.stance, 1 - self.stance
        side = 1.0 if swing == 0 else -1.0
        base = robot.foot[stance, :2]
        self.headings[swing] = self.headings[stance] + clip(turn * STEP, 0.3)
        R, R_foot = rotation(self.headings[swing])[:2, :2], rotation(self.headings[stance])[:2, :2]
        dcm, growth = R.T @ (self.dcm - base), exp(OMEGA * STEP)
        usual = np.array([speed * STEP, side * WIDTH])
        offset = np.array([usual[0] / (growth - 1.0), -usual[1] / (growth + 1.0)])

        # The ankle first: it leads the DCM to where the usual step wants it, if the foot allows.
        left = (1.0 - self.phase) * STEP
        e = exp(OMEGA * max(left, 0.1))
        pressure = (usual + offset - dcm * e) / (1.0 - e)
        pressure = np.clip(R_foot.T @ R @ pressure, -0.85 * HALF, 0.85 * HALF)
        pressure = R.T @ R_foot @ pressure
        # Then the step: to where the DCM will be, and sooner if that is too far away.
        soonest = max(SHORTEST - self.phase * STEP, 0.06)
        while True:
            goal = pressure + (dcm - pressure) * exp(OMEGA * left) - offset
            ahead, aside = clip(goal[0], REACH), min(max(side * goal[1], NARROW), WIDE)
            reached = np.array([ahead, side * aside])
            if left < soonest or np.hypot(*(goal - reached)) < 0.02:
                break
            left -= 0.02

        self.move_foot(base + R @ reached, max(left, 0.01))
        if self.phase > 0.6 and robot.foot[swing, 2] < 0.0015:
            self.stance = swing
            calm = np.hypot(*(goal - usual)) < 0.05 and abs(np.diff(self.headings)[0]) < 0.02
            if speed == 0.0 and calm:
                self.mode, self.stance = "stand", 1 - swing
            else:
                self.lift()
        return base + R @ pressure

    def move_foot(self, goal, left):
        """Move the swinging foot to a goal on the floor, where it stops in a time in [s]."""
        p, v, a = self.swing
        dt, tau = self.io.time_step, max(left - 0.04, 0.04)
        a[:2] = np.clip(6.0 * (goal - p[:2]) / tau**2 - 4.0 * v[:2] / tau, -80.0, 80.0)
        v[:2] += a[:2] * dt
        p[:2] += v[:2] * dt
        rate = (1.0 - self.phase) / left
        self.phase = s = min(self.phase + rate * dt, 1.0)
        if s < 0.98:
            p[2] = 16.0 * LIFT * (s * (1.0 - s)) ** 2 + (1.0 - s) * self.lift_off
            v[2] = 32.0 * LIFT * s * (1.0 - s) * (1.0 - 2.0 * s) * rate
            a[2] = 32.0 * LIFT * (1.0 - 6.0 * s + 6.0 * s * s) * rate**2
        else:  # down until it touches
            p[2], v[2], a[2] = p[2] - 0.1 * dt, -0.1, 0.0

    def torques(self, pressure):
        """Return the torques of all joints for a wanted centre of pressure."""
        robot, dt = self.robot, self.io.time_step
        feet, load = -20.0 * robot.foot_velocity, np.full(2, 0.5)
        if self.mode == "walk":
            k = 1 - self.stance
            load[:] = k, 1 - k
            (p, v, a), u = self.swing, robot.foot_velocity[k]
            tilt = rotation_between(robot.foot_R[k], rotation(self.headings[k]))
            feet[k, :3] = a + 900.0 * (p - robot.foot[k]) + 60.0 * (v - u[:3])
            feet[k, 3:] = 900.0 * tilt - 60.0 * u[3:]
        self.yaw += clip(3.0 * (self.headings.mean() - self.yaw), 1.0) * dt
        sideways = OMEGA**2 * (robot.com[:2] - pressure)
        upwards = 100.0 * (HEIGHT - robot.com[2]) - 20.0 * robot.com_velocity[2]
        tilt = rotation_between(robot.state.R[0], rotation(self.yaw))
        self.hold += np.clip(self.posture() - self.hold, -2.5 * dt, 2.5 * dt)
        return robot.torques(
            feet,
            [*sideways, upwards],
            100.0 * tilt - 20.0 * robot.state.w[0],
            100.0 * (self.hold - self.io.q[12:]) - 20.0 * self.io.dq[12:],
            load,
        )

    def posture(self):
        """Return where chest, neck, head and arms should be: swinging, looking about, waving."""
        ahead = rotation(self.yaw)[:, 0] @ (self.robot.foot[0] - self.robot.foot[1])
        q = self.standing[12:].copy()
        q[3], q[6] = 1.2 * ahead, -1.2 * ahead
        t = self.clock % (LAP + PAUSE) - LAP
        q[1] = 0.4 * sin(0.7 * self.clock)
        if 1.0 < t < PAUSE - 0.5:
            q[1], q[2] = 0.9 * sin(1.2 * (t - 1.0)), -0.1
            q[6:] = -2.7, -0.4 + 0.35 * sin(6.0 * t), -0.4
        return q

    def rise(self):
        """Be put on the feet, at the nearest place of the way."""
        place = self.io.motion.p[0, :2] - CENTRE
        axis = np.array([clip(place[0], STRAIGHT), 0.0])
        out = (place - axis) / max(np.hypot(*(place - axis)), 1e-6)
        goal = CENTRE + axis + RADIUS * out
        yaw = atan2(out[0], -out[1])
        self.io.place([*goal, PELVIS], rotation(yaw), self.standing)


def rotation(yaw):
    """Return the rotation about the vertical by an angle in [rad], shape (3, 3)."""
    c, s = cos(yaw), sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_between(R, goal):
    """Return the rotation from R to goal as a vector in world axes, in [rad], shape (3,)."""
    E = goal @ R.T
    v = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
    s, c = float(np.hypot(np.hypot(v[0], v[1]), v[2])), 0.5 * (E.trace() - 1.0)
    return v * (atan2(s, c) / s) if s > 1e-9 else v
