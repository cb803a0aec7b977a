"""A lock-step without a runner, for its tests."""

from hrp_sim.run.lock_step import LockStep

MS = 1_000_000


class Waiting:
    """A lock-step of 500 Hz without a runner, which records its callbacks."""

    def __init__(self, *sources, timeout=0.0, rate=500.0, by_arrival=()):
        self.timeouts, self.republished, self.woken = [], 0, 0
        self.lock_step = LockStep(
            sources or ("a",),
            rate,
            timeout,
            by_arrival=by_arrival,
            on_timeout=lambda missing, now_ns: self.timeouts.append((missing, now_ns)),
            republish=self._republish,
            wake=self._wake,
        )
        self.lock_step.start(0)
        self.taken = []

    def _republish(self):
        self.republished += 1

    def _wake(self):
        self.woken += 1

    def step_to(self, now_ns):
        self.lock_step.stepped(now_ns)
        return self.lock_step.wait_time(now_ns)

    def give(self, source, stamp_ns, what=None):
        self.lock_step.submit(source, stamp_ns, lambda: self.taken.append(what or source))
