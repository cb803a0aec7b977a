"""Functions that worker processes run in tests of sweeps; they must be importable by name."""

import os
import signal
import sys
import threading
import time
import uuid
from collections import deque
from itertools import repeat
from pathlib import Path

import numpy as np

from hrp_sim import BodyEntry, Controller

NAME = "Wood"
STEPS = 5


class Idle(Controller):
    """Does nothing."""

    def control(self):
        return True


class Failing(Controller):
    """Fails at its first call."""

    def control(self):
        raise ArithmeticError("broken law")


def pushed(sim, case):
    """Push the body; return its path and how far it moved."""
    sim.push(NAME, NAME, np.array([case["force"], 0.0, 0.0]), np.zeros(3), 0.003)
    path = []
    for _ in range(STEPS):
        sim.step()
        path.append(sim.bodies[NAME].motion.p[0].copy())
    return {"path": np.array(path), "distance": path[-1][0] - path[0][0], "moved": True}


def raising(sim, case):
    """Fail for one case."""
    if case["force"] == 2.0:
        raise ValueError("too strong")
    return pushed(sim, case)


def exiting(sim, case):
    """Exit in one case."""
    if case["force"] == 2.0:
        sys.exit("enough")
    return pushed(sim, case)


def leaving_a_thread(sim, case):
    """Leave a thread behind that keeps the process alive."""
    threading.Thread(target=threading.Event().wait).start()
    return pushed(sim, case)


def returning(sim, case):
    """Return a value of the case."""
    return case["returned"]


def meddling(sim, case):
    """Change more of the simulation than its state."""
    if case["meddle"] == "close":
        sim.close()
    result = pushed(sim, case)
    if case["meddle"] == "spawn":
        placement = sim.placements.initial(NAME)
        sim.spawn(BodyEntry(placement=type(placement)(name="other", body=placement.body)))
    elif case["meddle"] == "control":
        sim.add_controller(NAME, Idle())
    elif case["meddle"] == "fail":
        sim.add_controller(NAME, Failing())
        sim.step()
    elif case["meddle"] == "ignore":
        sim.wanted = lambda _name: False
    return result


def killed_once(sim, case):
    """Kill the process in the middle of a case, if no one has been killed yet."""
    result = pushed(sim, case)
    if case["force"] == 3.0:
        try:
            Path(case["mark"]).touch(exist_ok=False)
        except FileExistsError:
            return result
        os.kill(os.getpid(), signal.SIGKILL)
    return result


def killed_always(sim, case):
    """Kill the process in one case."""
    if case["force"] == 3.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return pushed(sim, case)


def logged(sim, case):
    """Append the case to a file, and fail while another file exists."""
    with Path(case["log"]).open("a") as file:
        file.write(f"{case['force']}\n")
    if case["force"] == 2.0 and Path(case["log"] + ".fail").exists():
        raise RuntimeError("not yet")
    return pushed(sim, case)


def counted(sim, case):
    """Leave a file for this run of the case, with the number of its process."""
    (Path(case["folder"]) / f"{case['force']}-{os.getpid()}-{uuid.uuid4().hex}").touch()
    return pushed(sim, case)


def killed_counted(sim, case):
    """Kill the process once, before the case is counted."""
    if case["force"] == 3.0 and not Path(case["mark"]).exists():
        Path(case["mark"]).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return counted(sim, case)


def killing_another(sim, case):
    """Kill another process in one case."""
    if case["force"] == 3.0:
        os.kill(case["victim"], signal.SIGKILL)
    return pushed(sim, case)


def hanging(sim, case):
    """Hang in one case: in Python, deaf to exceptions, in a call, or holding the global lock."""
    if case["force"] == 3.0:
        if case["hang"] == "holds the lock":
            counted(sim, case)
            deque(repeat(0), maxlen=0)
        if case["hang"] == "sleeps":
            time.sleep(300.0)
        while True:
            try:
                sim.step()
            except BaseException:  # noqa: PERF203
                if case["hang"] != "is deaf":
                    raise
    return counted(sim, case)


def endless(sim, case):
    """Step forever in the last two of six cases, which leave the number of their process."""
    if case["force"] >= 4.0:
        (Path(case["folder"]) / f"{os.getpid()}.pid").touch()
        while True:
            sim.step()
    return pushed(sim, case)


def slower(sim, case):
    """Take 30 ms from the fifth case on."""
    time.sleep(0.03 if case["force"] > 4.0 else 0.0)
    return pushed(sim, case)
