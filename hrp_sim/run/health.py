"""Health of a run for diagnostics, without ROS."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from hrp_model.description.publisher import Health

from ..engine.schedule import NS_PER_S

if TYPE_CHECKING:
    from ..control import CommandCounts
    from .lock_step import LockStep
    from .pace import StateRecord
    from .run import Run


def start_message(run: Run, lock_step: Collection[str] = (), rate: float = 0.0) -> str:
    """Return the log message for the start of a run.

    Args:
        run: The run.
        lock_step: Command topics that it waits for.
        rate: Rate of the control periods in lock-step, in [Hz].
    """
    count, factor = len(run.simulation.bodies), run.pace.target
    pace = "in real time" if factor == 1.0 else f"at {factor:g} times real time"
    parts = [
        f"simulating {count} {'body' if count == 1 else 'bodies'}",
        pace if factor > 0.0 else "as fast as possible",
    ]
    if lock_step:
        parts.append(f"in lock-step with {', '.join(sorted(lock_step))} at {rate:g} Hz")
    return ", ".join(parts)


def run_health(run: Run, failure: str = "") -> Health:
    """Return the health of the run as a whole; step times cover the steps since the last call.

    Args:
        run: The run.
        failure: Message if the physics has failed; by default that of the error.
    """
    pace, simulation = run.pace, run.simulation
    times = pace.take_step_times()
    values = {
        "time [s]": simulation.state.time_ns / NS_PER_S,
        "real-time factor": pace.measured,
        "target real-time factor": pace.target if pace.target > 0.0 else "as fast as possible",
        "lag [s]": pace.lag,
        "time lost [s]": pace.lost,
        "steps": times.count,
        "step, mean [s]": times.mean,
        "step, longest [s]": times.longest,
        "contacts": simulation.engine.contacts,
        "bodies": len(simulation.bodies),
    }
    if run.error is not None:
        return Health("simulation", "error", failure or str(run.error), values)
    if run.paused:
        return Health("simulation", "warn", "paused", values)
    if pace.is_slow:
        message = f"slow: real-time factor {pace.measured:.2g} instead of {pace.target:g}"
        return Health("simulation", "warn", message, values)
    return Health("simulation", "ok", "running", values)


def command_health(counts: CommandCounts) -> Health:
    """Return the health of the commands to all bodies."""
    values = {
        "taken": counts.taken,
        "dropped": counts.dropped,
        "refused": counts.refused,
        "stale": counts.stale,
        "timed out": counts.timed_out,
    }
    lost = counts.dropped + counts.refused + counts.stale
    return Health("commands", "ok", f"{lost} not taken" if lost else "all taken", values)


def state_health(record: StateRecord) -> Health:
    """Return the hashes of the latest states, and of all since the last call."""
    states = record.take()
    values = {f"sha256 at {time_ns / NS_PER_S:.9g} s": digest for time_ns, digest in states}
    message = f"{states[-1][0] / NS_PER_S:.9g} s" if states else "no whole second has passed"
    return Health("state", "ok", message, values)


def lock_step_health(lock_step: LockStep) -> Health:
    """Return the health of the lock-step with controllers."""
    counts, missing = lock_step.counts, lock_step.missing
    values = {
        "controllers": " ".join(sorted(lock_step.sources)),
        "waited for": " ".join(missing),
        "control periods": counts.boundaries,
        "time-outs": counts.timeouts,
        "dropped commands": counts.dropped,
        "waited [s]": counts.waited,
        "longest wait [s]": counts.longest,
    }
    if missing and lock_step.is_waiting_long:
        return Health("lock-step", "warn", f"waiting for {' '.join(missing)}", values)
    if free := lock_step.free:
        message = f"not waiting for {' '.join(free)} until it sends commands"
        return Health("lock-step", "warn", message, values)
    if counts.timeouts:  # the run is not reproducible
        message = f"{counts.timeouts} of {counts.boundaries} control periods lacked a command"
        return Health("lock-step", "warn", message, values)
    return Health("lock-step", "ok", "in step", values)
