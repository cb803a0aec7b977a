"""A simulator whose world is stepped by another thread."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from paths import MODELS

from hrp_model import Diagnostics
from hrp_sim import Simulation, load_world
from hrp_sim.run.runner import Runner
from hrp_sim.simulator import Simulator
from hrp_sim.simulator.errors import RequestError
from hrp_sim.simulator.resources import Resource
from hrp_sim.simulator.worlds import world_resource

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
    """A simulator and its runner, with its callbacks recorded."""

    def __init__(self, world=ARM_WORLD, *, run_controllers=False, **runner_options):
        self.changes = 0
        self.check_names = lambda _simulation, _names: None
        self.made = []
        self.diagnostics = Diagnostics.silent()
        config = load_world(world, Diagnostics.silent())
        self.runner = Runner(self.make(config), lambda _time, _readings: None, **runner_options)
        self.runner.pause()
        self.simulator = Simulator(
            self.runner,
            self.make,
            config,
            resource=world_resource(Resource(world)),
            changed=self._count,
            check_names=lambda *bodies: self.check_names(*bodies),
            diagnostics=self.diagnostics,
            run_controllers=run_controllers,
        )

    @property
    def entities(self):
        return self.simulator.entities

    @property
    def simulation(self):
        return self.runner.simulation

    @property
    def time_ns(self):
        return self.runner.call(lambda: self.simulation.state.time_ns)

    def hash(self):
        return self.runner.call(lambda: self.simulation.state_hash())

    def step(self, count):
        assert self.runner.step(count).wait(30.0)

    def make(self, config):
        self.made.append(Simulation(config))
        return self.made[-1]

    def _count(self):
        self.changes += 1


@contextmanager
def simulating(world=ARM_WORLD, **runner_options):
    harness = Harness(world, **runner_options)
    thread = threading.Thread(target=harness.runner.run, name="steps")
    thread.start()
    try:
        yield harness
    finally:
        harness.runner.stop()
        thread.join(30.0)
        harness.simulation.close()
        assert not thread.is_alive()


@contextmanager
def refused(code, words=""):
    """Expect a RequestError with this code and a message that contains ``text``."""
    with pytest.raises(RequestError) as found:
        yield
    assert (type(found.value.code), found.value.code) == (type(code), code), found.value
    assert words in str(found.value)
