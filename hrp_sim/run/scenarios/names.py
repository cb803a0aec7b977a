"""The names to which a scenario may refer, of a world or a running simulation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hrp_model import Body, Diagnostics
from hrp_model.diagnostics import Span, did_you_mean_or_all

from ...engine.engine import PhysicsError
from ...simulation import Simulation
from ...world.config import WorldConfig
from ..summary import quantities


@dataclass(frozen=True)
class Names:
    """What a scenario may refer to.

    Attributes:
        bodies: The models by the names of their bodies.
        quantities: Units by the names of quantities.
        devices: Names of sensors, lights, holders and conveyors.
    """

    bodies: Mapping[str, Body]
    quantities: Mapping[str, str]
    devices: Collection[str]

    @classmethod
    def of(cls, simulation: Simulation) -> Names:
        """Return the names of a simulation."""
        bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
        return cls(bodies, quantities(simulation), list(simulation.devices))

    @classmethod
    def of_world(cls, world: WorldConfig, diagnostics: Diagnostics) -> Names | None:
        """Return the names of a world, which is simulated for no step; None after an error.

        Args:
            world: The world; its controllers are not executed.
            diagnostics: Receives the error, but no warnings.
        """
        quiet = Diagnostics.silent()
        try:
            with Simulation(world, run_controllers=False, diagnostics=quiet) as simulation:
                return cls.of(simulation)
        except PhysicsError as error:
            diagnostics.error("unusable-physics", str(error))
            return None

    def check_body(self, body: str, at: Span, diagnostics: Diagnostics) -> bool:
        """Return whether there is a body of this name; if not, report it at its place."""
        if body not in self.bodies:
            message = f"the world has no body '{body}'.{did_you_mean_or_all(body, self.bodies)}"
            diagnostics.error("unknown-body", message, at)
        return body in self.bodies

    def check_link(self, body: str, link: str, at: Span, diagnostics: Diagnostics) -> bool:
        """Return whether a body has a link of this name; if not, report it at its place."""
        links = [known.name for known in self.bodies[body].links]
        if link not in links:
            message = f"body '{body}' has no link '{link}'.{did_you_mean_or_all(link, links)}"
            diagnostics.error("unknown-link", message, at)
        return link in links
