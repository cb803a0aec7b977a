"""The initial state of a simulation, to which it goes back before each case or episode."""

from __future__ import annotations

from ..simulation import Simulation


class InitialState:
    """The present state of a simulation and its own controllers, to be restored many times.

    Args:
        simulation: It is restored once, so that the first run starts exactly as the others.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._snapshot = simulation.save()
        self._plugins = tuple(simulation.controllers.plugins)
        self.restore()

    def restore(self) -> None:
        """Go back to the initial state; controllers that were added are removed.

        Raises:
            Exception: More was changed than can be restored, such as the bodies.
        """
        sim = self.simulation
        sim.wanted, sim.switched = _always, _ignore
        for plugin in sim.controllers.plugins:
            if not any(plugin is own for own in self._plugins):
                sim.remove_controller(plugin)
        sim.restore(self._snapshot)


def _always(_name: str) -> bool:
    return True


def _ignore(_name: str, _on: bool) -> None:
    pass
