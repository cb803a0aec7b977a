"""``hrp-sim check``: report all problems of a world without a run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hrp_model import Diagnostics, ModelError, Severity
from hrp_model.program.command import GOOD, PROBLEMS
from hrp_model.program.console import print_text, working
from hrp_model.program.report import summary

from ..engine.contact_points import PairCost
from ..engine.engine import PhysicsError
from ..engine.engines import make_ode_engine
from ..simulation import Simulation
from ..world.advice import advise, advise_costs, remarks
from ..world.load import load_world
from ..world.projects import AS_IN_PROJECT, ProjectOptions
from ..world.reporting import print_all
from .run_options import project_options

if TYPE_CHECKING:
    from ..engine.ode import OdeEngine


def check(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim check``; return the exit status."""
    has_errors = False
    for world in options.worlds:
        diagnostics = Diagnostics.silent(strict=options.strict)
        with working(f"checking {world}"):
            check_world(world, diagnostics, project_options(options))
        print_all(world, diagnostics.found, every=options.all)
        print_text(summary(world, diagnostics.found))
        has_errors |= any(d.severity is Severity.ERROR for d in diagnostics.found)
    return PROBLEMS if has_errors else GOOD


def check_world(
    world: str, diagnostics: Diagnostics, project: ProjectOptions = AS_IN_PROJECT
) -> None:
    """Report all problems of a world and its models, including bad settings for the physics.

    Args:
        world: As for ``load_world``.
        diagnostics: Receives the problems.
        project: How a project is read.
    """
    try:
        config = load_world(world, diagnostics, project=project)
        engine = make_ode_engine(config.physics)
        with Simulation(
            config, engine=engine, defer_images=True, run_controllers=False, diagnostics=diagnostics
        ) as simulation:
            notes = list(remarks(simulation.bodies.values()))
            costs = _costs_of_first_step(engine)
    except ModelError:
        return  # all errors are in the diagnostics
    except PhysicsError as error:
        diagnostics.error("unusable-physics", str(error))
        return
    for advice in (*advise(config), *notes, *advise_costs(config, costs)):
        diagnostics.add(advice)


def _costs_of_first_step(engine: OdeEngine) -> list[PairCost]:
    """Return the costs of collision detection in a step; none if the physics fails in it."""
    engine.record_pair_costs = True
    try:
        engine.step()
    except PhysicsError:  # a run reports it
        return []
    return engine.pair_costs()
