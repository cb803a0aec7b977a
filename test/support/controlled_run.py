"""A run in another thread, and its ``WorldControl``."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from paths import MODELS
from run_tools import OnStep

from hrp_model import Diagnostics
from hrp_sim import Simulation, load_world
from hrp_sim.run.requests.standard import RequestError
from hrp_sim.run.requests.world_control import ControlOptions, WorldControl
from hrp_sim.run.run import Run

ARM_WORLD = str(MODELS / "worlds" / "arm.yaml")
ARM = str(MODELS / "arm" / "arm.body")
BOX = """\
format: ChoreonoidBody
format_version: 2.0
name: crate
links:
  - name: CRATE
    joint_type: free
    mass: 1
    inertia: [ 0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01 ]
    elements:
      - { type: Shape, geometry: { type: Box, size: [ 0.2, 0.4, 0.6 ] } }
"""


class Harness:
    """A paused run and its control, whose host counts the changes."""

    def __init__(self, world=ARM_WORLD, *, keeps_time=False, run_controllers=False, **of_runner):
        self.changes = 0
        self.check_names = lambda _simulation, _names: None
        self.made = []
        self.diagnostics = Diagnostics.silent()
        config = load_world(world, Diagnostics.silent())
        simulation = self.make_simulation(config)
        self.on_step = OnStep()
        self.runner = Run(simulation, [self.on_step], **of_runner)
        options = ControlOptions(keeps_time=keeps_time, run_controllers=run_controllers)
        self.control = WorldControl(self.runner, self, config, world, options, self.diagnostics)
        self.runner.pause()

    @property
    def simulation(self):
        return self.runner.simulation

    @property
    def time_ns(self):
        return self.runner.call(lambda: self.simulation.state.time_ns)

    def hash(self):
        return self.runner.call(lambda: self.simulation.state_hash())

    def step(self, count):
        assert self.runner.step(count).wait(300.0)

    def make_simulation(self, config):
        self.made.append(Simulation(config))
        return self.made[-1]

    def sync(self):
        self.changes += 1


@contextmanager
def simulating(world=ARM_WORLD, **options):
    harness = Harness(world, **options)
    thread = threading.Thread(target=harness.runner.run, name="steps")
    thread.start()
    try:
        yield harness
    finally:
        harness.runner.stop()
        thread.join(300.0)
        harness.simulation.close()
        assert not thread.is_alive()


@contextmanager
def refused(code, words=""):
    """Expect a RequestError with this code and a message that contains ``text``."""
    with pytest.raises(RequestError) as found:
        yield
    assert (type(found.value.code), found.value.code) == (type(code), code), found.value
    assert words in str(found.value)
