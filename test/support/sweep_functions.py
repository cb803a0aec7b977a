"""Functions that worker processes run in tests of sweeps; they must be importable by name."""

import os
import signal
from pathlib import Path

import numpy as np

from hrp_sim import BodyEntry

STEPS = 5


def pushed(sim, case):
    """Push the only body of the world; return its path and how far it moved."""
    (name,) = sim.bodies
    link = sim.bodies[name].body.links[0].name
    sim.push(name, link, np.array([case["force"], 0.0, 0.0]), np.zeros(3), 0.003)
    path = []
    for _ in range(STEPS):
        sim.step()
        path.append(sim.bodies[name].motion.p[0].copy())
    return {"path": np.array(path), "distance": path[-1][0] - path[0][0], "moved": True}


def raising(sim, case):
    """Fail for one case."""
    if case["force"] == 2.0:
        raise ValueError("too strong")
    return pushed(sim, case)


def returning(sim, case):
    """Return a value of the case."""
    return case["returned"]


def meddling(sim, case):
    """Change more of the simulation than its state."""
    result = pushed(sim, case)
    (name,) = sim.bodies
    if case["meddle"] == "spawn":
        placement = sim.placements.initial(name)
        sim.spawn(BodyEntry(placement=type(placement)(name="other", body=placement.body)))
    elif case["meddle"] == "close":
        sim.state_hash()
        sim.controllers.close()
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
