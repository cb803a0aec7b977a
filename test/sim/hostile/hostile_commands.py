"""Commands to the bodies of a running world that may be hostile."""

import random

import numpy as np
from controlled_run import Harness
from paths import MODELS
from sim.hostile.hostile_bodies import Hostile

from hrp_sim.run.lock_step import LockStep
from hrp_sim.topics.commands import BodyCommands, CommandOptions

WORLDS = [str(MODELS / "worlds" / f"{name}.yaml") for name in ("arm", "rover", "press")]
INTEGERS = (0, 1, -1, 2, 255, 2**15, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, -(2**63), 2**64 - 1)
NAMES = (
    *("", " ", "/", "//", "..", "../arm", "a/b", "\n", "\t", "\0", "\x1b[31m", "%s%n", "${HOME}"),
    *("ärm", "腕", "\u202e", "\U0001f916", "e\u0301", "1", "-", "world", "floor", "arm", "ARM"),
    *("x" * 201, "y" * 100_000, "nan", "None", "__ns", "~", "*", "{}", "{0}", "'", '"', "\\"),
)
_SOURCES = ("/joint_commands", "/joint_trajectory", "/cmd_vel", "")
_NS = 1_000_000_000


class Commander(Hostile):
    """Commands the bodies of a run, with words and numbers that may be hostile.

    Attributes:
        handed: How many commands each world was handed.
    """

    def __init__(self, seed):
        super().__init__(seed)
        self.rate = 10.0 ** self.rng.uniform(-2.0, -0.3)
        self.words = random.Random(seed)
        self.harness = Harness(self.pick(WORLDS), real_time_factor=0.0, on_failure=lambda _: None)
        self.handed = {}
        self.count_commands()
        self.runs = []
        self.waits = self.rng.random() < 0.2
        if self.waits:
            self.harness.runner.gate = LockStep(
                _SOURCES[:1],
                float(self.pick([1.0, 500.0, 333.3, 1000.0])),
                0.001,
                on_timeout=lambda _missing, _now: None,
                republish=lambda: None,
                wake=self.harness.runner.wake,
            )
        self.commands = (
            *(self.joints, self.joints, self.trajectory, self.in_order, self.drive, self.wrench),
            *(self.follow, self.cancel, self.set_joint, self.set_timeout, self.set_rate_limit),
        )

    @property
    def simulation(self):
        return self.harness.runner.simulation

    def count_commands(self):
        """Count the commands that come through to the present world."""
        simulation = self.simulation
        if simulation in self.handed:
            return
        self.handed[simulation] = 0
        put = simulation.commands.put

        def counted(*arguments):
            put(*arguments)
            self.handed[simulation] += 1

        simulation.commands.put = counted

    def name(self, usual):
        return self.pick(NAMES) if self.rng.random() < self.rate else self.pick(usual)

    def integer(self, usual):
        return self.pick(INTEGERS) if self.rng.random() < self.rate else usual

    def values(self, count):
        """Return numbers, as a rule as many as are wanted."""
        if self.rng.random() < self.rate:
            count = int(self.pick([0, 1, count + 1, max(count - 1, 0), 1000]))
        return [self.number(float(x)) for x in self.rng.normal(size=count)]

    def stamp(self):
        now_ns = self.simulation.state.time_ns
        usual = self.pick([0, now_ns, now_ns + 10_000_000, now_ns - 10_000_000])
        return self.integer(usual) * (_NS if self.rng.random() < self.rate else 1)

    def body(self):
        """Return what takes commands to a body, maybe one of a world that is gone."""
        simulation = self.simulation
        movable = [n for n, b in list(simulation.bodies.items()) if not b.body.is_static]
        if not movable:
            raise ValueError("nothing can be commanded")
        name = self.pick(movable)
        body = simulation.bodies[name].body
        frames = {link.name: link.name for link in body.links}
        taken = BodyCommands(simulation, name, frames, self.harness.runner.submit)
        taken.options = CommandOptions(
            max_age=self.pick([0.0, 0.005]), wrench_duration=self.pick([1e-9, 0.1])
        )
        return taken, body, [link.joint.name for link in body.jointed_links]

    def joint_names(self, joints):
        names = [self.name([joint]) for joint in joints]
        if self.rng.random() < self.rate:
            names = names * int(self.pick([0, 2, 50]))
        if self.rng.random() < 0.1 * self.rate:
            names = [f"n{k}" for k in range(20_000)]
        return names

    def joints(self):
        taken, _, joints = self.body()
        names = self.joint_names(joints)
        columns = [self.values(len(names)) if self.rng.random() < 0.5 else [] for _ in range(3)]
        taken.joints(self.pick(_SOURCES), self.stamp(), names, *columns)

    def plain_trajectory(self, joints):
        names = self.joint_names([j for j in joints if self.rng.random() < 0.8])
        count = int(self.pick([0, 1, 2, 5, 20]))
        times = np.cumsum(self.rng.integers(1_000_000, 50_000_000, count)).tolist()
        n = len(names)
        kinds = int(self.rng.integers(1, 5))
        points = [
            (self.integer(t), *(self.values(n) if k < kinds else () for k in range(4)))
            for t in times
        ]
        return self.stamp(), names, points

    def trajectory(self):
        taken, _, joints = self.body()
        taken.trajectory(self.pick(_SOURCES), self.plain_trajectory(joints))

    def tolerances(self, names):
        return {
            self.name([name]): (self.pick([None, self.number(0.1)]), self.number(1.0))
            for name in names[:3]
            if self.rng.random() < 0.5
        }

    def follow(self):
        taken, _, joints = self.body()
        trajectory = self.plain_trajectory(joints)
        tolerances = self.tolerances(trajectory[1]), self.tolerances(trajectory[1])
        time_ns = self.pick([0, -1, self.integer(10_000_000)])
        self.runs.append(
            (taken, taken.follow(self.pick(_SOURCES), (trajectory, *tolerances, time_ns)))
        )

    def cancel(self):
        if not self.runs:
            raise ValueError("nothing to cancel")
        taken, run = self.pick(self.runs)
        taken.cancel("", run)

    def in_order(self):
        taken, body, _ = self.body()
        mode = self.pick(["position", "velocity", "effort", "none"])
        taken.array(self.pick(_SOURCES), mode, self.values(len(body.moving_links)))

    def drive(self):
        taken, *_ = self.body()
        taken.drive(self.pick(_SOURCES), self.stamp(), self.number(0.1), self.number(0.1))

    def wrench(self):
        taken, body, _ = self.body()
        frame = self.name([link.name for link in body.links])
        force, torque = self.array_of(3), self.array_of(3)
        taken.wrench(self.pick(_SOURCES), self.stamp(), frame, force, torque)

    def array_of(self, count):
        return [self.number(float(x)) for x in self.rng.normal(size=count)]

    def set_joint(self):
        taken, _, joints = self.body()
        mode = self.pick([None, "position", "velocity", "effort"])
        gains = {"kp": self.number(10.0), "kd": self.number(1.0)}
        taken.set_joint(self.name(joints or ["none"]), **gains, mode=mode)

    def set_rate_limit(self):
        taken, *_ = self.body()
        taken.set_rate_limit(self.pick(["", "model", "none", "hold"]))

    def set_timeout(self):
        taken, *_ = self.body()
        taken.set_timeout(self.number(0.01), self.pick(["", "hold", "limp", "last", "none"]))
