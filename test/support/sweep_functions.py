"""Functions that worker processes run in tests of sweeps; they must be importable by name."""

import os
import signal
import sys
import threading
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


def returning(sim, case):
    """Return a value of the case."""
    return case["returned"]


def counted(sim, case):
    """Leave a file for this run of the case, with the number of its process."""
    (Path(case["folder"]) / f"{case['force']}-{os.getpid()}-{uuid.uuid4().hex}").touch()
    return pushed(sim, case)


def troubled(sim, case):
    """Do what the case calls its trouble, and count it if it goes on."""
    match case["trouble"]:
        case "raises":
            raise ValueError("too strong")
        case "exits":
            sys.exit("enough")
        case "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        case "dies once":
            mark = Path(case["folder"], "mark")
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        case "kills another":
            os.kill(case["victim"], signal.SIGKILL)
        case "holds the lock":
            deque(repeat(0), maxlen=0)
        case "leaves a thread":
            threading.Thread(target=threading.Event().wait).start()
    return counted(sim, case)


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


def endless(sim, case):
    """Step forever in the last two of six cases, which leave the number of their process."""
    if case["force"] >= 4.0:
        (Path(case["folder"]) / f"{os.getpid()}.pid").touch()
        while True:
            sim.step()
    return pushed(sim, case)
