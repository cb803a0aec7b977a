"""A drone rises and flies a circle, by the thrust of its rotors."""

from collections.abc import Mapping

import numpy as np

from hrp_model import BodyState
from hrp_model.kinematics.state import STANDARD_GRAVITY
from hrp_model.rigid import Array

from ...control.controllers import Controller, ControllerIO, ForceHook, ForceState

UP = np.array([0.0, 0.0, STANDARD_GRAVITY])  # against gravity, in [m/s^2]


class Fly(Controller, ForceHook):
    """Tilts the drone so that its thrust accelerates it to its goal, and turns its propellers.

    Attributes:
        kp, kd: Of its position, in [1/s^2] and [1/s].
        stiffness, damping: Of its attitude, likewise.
        drag: Torque of a rotor about its axis for its thrust, in [N m/N].
        height, radius, period: Of the circle, in [m], [m] and [s].
    """

    kp, kd = 4.0, 3.0
    stiffness, damping = 100.0, 20.0
    drag = 0.02
    height, radius, period = 1.0, 0.5, 8.0

    def initialize(self, io: ControllerIO) -> None:
        """Compute which thrusts of the rotors result in which force and torque."""
        self.io = io
        state = BodyState(io.model)
        state.root_link.p, state.root_link.R = np.zeros(3), np.eye(3)
        state.calc_forward_kinematics()
        self.mass, cm = state.calc_total_mass(), state.calc_cm()
        of_cm = self.mass * (cm @ cm * np.eye(3) - np.outer(cm, cm))
        self.inertia = state.calc_root_inertia()[3:, 3:] - of_cm
        arms = {i: state.p[i] - cm for i in range(len(state.p)) if self.is_rotor(i)}
        if not arms:
            raise ValueError("no link of the body has a rotor by its name")
        # Around the drone, so that neighbours turn in opposite directions.
        self.rotors = sorted(arms, key=lambda i: float(np.arctan2(arms[i][1], arms[i][0])))
        self.senses = np.array([1.0 if k % 2 else -1.0 for k in range(len(self.rotors))])
        x, y, _ = np.array([arms[i] for i in self.rotors]).T
        self.thrusts = np.linalg.pinv(np.array([np.ones_like(x), y, -x, self.drag * self.senses]))
        names = [link.joint.name for link in io.model.moving_links]
        self.propellers = [i for i, name in enumerate(names) if name.startswith("PROP")]
        if self.propellers:
            io.drive("velocity", [names[i] for i in self.propellers])

    def is_rotor(self, link: int) -> bool:
        """Return whether a link has a rotor, by its name."""
        return self.io.model.links[link].name.startswith("ROTOR")

    def start(self) -> None:
        """Fly from here."""
        self.begin, self.home = self.io.time, self.io.motion.p[0].copy()

    def control(self) -> bool:
        """Turn the propellers."""
        self.io.dq_target[self.propellers] = 40.0
        return True

    def apply(self, state: ForceState, dt: float) -> None:  # noqa: ARG002
        """Add the thrust of the rotors."""
        p, v, w, R = (
            x[0] for x in (state.motion.p, state.motion.v, state.motion.w, state.motion.R)
        )
        way = np.clip(self.kp * (self.goal() - p), -2.0, 2.0)
        wanted = way - self.kd * v + UP
        tilt = np.cross(R[:, 2], wanted / np.linalg.norm(wanted))
        yaw = np.array([0.0, 0.0, -R[1, 0]])
        torque = self.inertia @ (R.T @ (self.stiffness * (tilt + yaw) - self.damping * w))
        thrusts = self.thrusts @ (self.mass * wanted @ R[:, 2], *torque)
        forces = np.outer(np.maximum(thrusts, 0.0), R[:, 2])
        state.force[self.rotors] = forces
        state.torque[self.rotors] = self.drag * self.senses[:, None] * forces

    def goal(self) -> Array:
        """Return the position of this moment on the circle, in [m]."""
        turn = 2.0 * np.pi * (self.io.time - self.begin) / self.period
        x, y = self.radius * np.sin(turn), self.radius * (1.0 - np.cos(turn))
        goal: Array = self.home + np.array([x, y, self.height])
        return goal

    def save(self) -> Mapping[str, Array]:
        """Return where and when it took off."""
        return {"begin": np.array(self.begin), "home": self.home}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Fly on."""
        self.begin, self.home = float(arrays["begin"]), arrays["home"].copy()
