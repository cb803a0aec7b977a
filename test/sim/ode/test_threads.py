"""Several worlds that step at once, each in a thread of its own."""

from threading import Barrier, Thread

from paths import MODELS

from hrp_sim import Simulation, load_world
from hrp_sim.engine.engine import Solver

WORLD = MODELS / "worlds" / "humanoid_in_room.yaml"
STEPS = 80


def hashes(config, count):
    """Return the hash of each of some equal worlds that step at the same time."""
    begin, found = Barrier(count), []

    def run():
        begin.wait(300.0)
        simulation = Simulation(config, defer_images=True)  # made while others step already
        for _ in range(STEPS):
            simulation.step()
        found.append(simulation.state_hash())
        simulation.close()

    threads = [Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_worlds_that_step_at_once_do_not_disturb_one_another():
    config = load_world(WORLD).with_physics(solver=Solver.QUICK)  # whose order is random
    [alone] = hashes(config, 1)
    assert hashes(config, 4) == [alone] * 4
