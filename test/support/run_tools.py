"""For tests of runs: a simulation that counts steps, a clock moved by sleeping, consumers."""

from types import SimpleNamespace

from hrp_sim.engine.engine import PhysicsError, PhysicsSettings
from hrp_sim.run import lock_step, pace
from hrp_sim.run.calls import Mailbox
from hrp_sim.run.run import Consumer


class Counter:
    """Replacement for a Simulation: a step takes ``cost`` seconds of the given clock."""

    def __init__(self, time_step=0.001, *, fails_at=None, clock=None, cost=0.0, most=1):
        settings = PhysicsSettings(time_step=time_step)
        self.interrupts = 0
        self.engine = SimpleNamespace(settings=settings, contacts=0, time_ns=0)
        self.bodies = {}
        self.steps = 0
        self._fails_at = fails_at
        self._clock = clock
        self._cost = cost
        self.most = most

    @property
    def state(self):
        return SimpleNamespace(time_ns=self.engine.time_ns)

    def interrupt(self):
        self.interrupts += 1

    def reset(self):
        self.engine.time_ns = 0
        self._fails_at = None

    def state_hash(self):
        return f"after {self.steps} steps"

    def advance(self, steps):
        """Take a step, or up to ``most`` at once; the last one is read."""
        if self.steps == self._fails_at:
            raise PhysicsError("link ARM is nowhere")
        taken = min(steps, self.most)
        if self._clock:
            self._clock.now += self._cost(self.steps) if callable(self._cost) else self._cost
        self.steps += taken
        self.engine.time_ns += taken * self.engine.settings.step_ns
        return {"imu": self.steps}


class Clock:
    """A steady clock that is advanced by sleeping; no sleep ends early."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        self.naps = []
        monkeypatch.setattr(pace, "time", self)
        monkeypatch.setattr(lock_step, "time", self)
        monkeypatch.setattr(Mailbox, "wait", lambda _, seconds: self.sleep(seconds))

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.naps.append(seconds)
        self.now += seconds


class OnStep(Consumer):
    """Wants all sensors, and calls a function after steps.

    Args:
        act: Called with the time in [ns] and the readings.
        due: Returns the time of the next step that it needs, in [ns]; by default each.
        changed: Called with each change of the run.
    """

    def __init__(self, act=lambda *_: None, due=lambda: 0, changed=lambda _: None):
        self.act, self.due, self.changed = act, due, changed

    def wants(self, simulation, sensor):
        return True

    def next_ns(self, simulation):
        return self.due()

    def take_step(self, time_ns, readings):
        self.act(time_ns, readings)
