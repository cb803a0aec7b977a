"""Build the simulation of a configured world, for the command line and for nodes."""

from __future__ import annotations

from hrp_model import Diagnostics

from ..engine.engines import make_engine
from ..simulation import Simulation
from ..world.advice import advise, failure_hint, remarks
from ..world.config import WorldConfig


def build_simulation(
    config: WorldConfig, engine: str, diagnostics: Diagnostics
) -> tuple[Simulation, str]:
    """Build a simulation, with camera images drawn on request, and report advice on its world.

    Args:
        config: The world, with all options applied.
        engine: Name of the physics engine.
        diagnostics: Receives warnings and advice.

    Returns:
        The simulation, and a hint to print if its physics fails later.

    Raises:
        PhysicsError: The engine is not available, or cannot simulate a body.
    """
    physics = make_engine(engine, config.physics)
    simulation = Simulation(config, engine=physics, defer_images=True, diagnostics=diagnostics)
    found = [*advise(config), *remarks(simulation.bodies.values())]
    for advice in found:
        diagnostics.add(advice)
    return simulation, failure_hint(found)
