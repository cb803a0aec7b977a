"""Cost of collision detection by pair of links."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from hrp_model import Diagnostic, Diagnostics

from ...engine.articulation.flatten import flatten
from ...engine.engine import PhysicsError
from ...engine.engines import make_ode_engine
from ...engine.pair_costs import PairCost
from ...simulation import Simulation
from ...world.advice import advise_costs
from ...world.config import WorldConfig

_Pair = tuple[tuple[str, str], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class PairTime:
    """Mean cost of two links per step.

    Attributes:
        links: Their names, with those of their bodies: "BODY/LINK".
        triangles: Number of triangles of each; 0 for primitives.
        contacts: Number of contact points.
        seconds: Time of collision detection, in [s].
    """

    links: tuple[str, str]
    triangles: tuple[int, int]
    contacts: float
    seconds: float


class PairRun:
    """A simulation that measures the cost of pairs of links in the last step of each slice.

    Args:
        world: The world.

    Raises:
        PhysicsError: It cannot be simulated.
    """

    def __init__(self, world: WorldConfig) -> None:
        self._world, self._engine = world, make_ode_engine(world.physics)
        silent = Diagnostics.silent()
        self._simulation = Simulation(
            world, engine=self._engine, defer_images=True, diagnostics=silent
        )
        self._simulation.wanted = lambda _: False
        self._placements = {entry.placement.name: entry.placement for entry in world.bodies}
        self._seconds: dict[_Pair, float] = defaultdict(float)
        self._contacts: Counter[_Pair] = Counter()
        self._samples = 0
        self._failed = False

    def advance(self, steps: int) -> None:
        """Simulate a slice; nothing after an error."""
        if self._failed:
            return
        try:
            for k in range(steps):
                self._record(k == steps - 1)
                self._simulation.step()
        except PhysicsError:
            self._failed = True
            return
        self._samples += 1
        for cost in self._engine.pair_costs():
            self._seconds[cost.bodies, cost.links] += cost.seconds
        points = self._engine.contact_points()
        for bodies, (a, b) in zip(points.bodies, points.links.tolist(), strict=True):
            self._contacts[bodies, (a, b)] += 1

    def restart(self) -> None:
        """Go back to the start."""
        self._simulation.reset()

    def times(self) -> Iterator[PairTime]:
        """Yield the mean cost of each pair that was examined, the most expensive first."""
        triangles = {name: self._triangles(name) for name in self._placements}
        for (bodies, links), seconds in sorted(self._seconds.items(), key=lambda x: -x[1]):
            (body_a, body_b), (a, b) = bodies, links
            yield PairTime(
                links=(self._link(body_a, a), self._link(body_b, b)),
                triangles=(triangles[body_a][a], triangles[body_b][b]),
                contacts=self._contacts[bodies, links] / self._samples,
                seconds=seconds / self._samples,
            )

    def advice(self) -> list[Diagnostic]:
        """Return a warning if collision detection takes longer than a step."""
        costs = [
            PairCost(*pair, seconds / self._samples) for pair, seconds in self._seconds.items()
        ]
        return advise_costs(self._world, costs)

    def close(self) -> None:
        """Free the engine."""
        self._simulation.close()

    def _record(self, on: bool) -> None:
        self._engine.record_contacts = self._engine.record_pair_costs = on

    def _link(self, body: str, index: int) -> str:
        return f"{body}/{self._placements[body].body.links[index].name}"

    def _triangles(self, body: str) -> Counter[int]:
        """Return the number of triangles of each link of a body, by index."""
        geoms = flatten(self._placements[body], self._world.physics).geoms
        counts = geoms.first_triangle[1:] - geoms.first_triangle[:-1]
        found: Counter[int] = Counter()
        for link, count in zip(geoms.link.tolist(), counts.tolist(), strict=True):
            found[link] += count
        return found
