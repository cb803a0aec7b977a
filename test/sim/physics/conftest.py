"""The engine is a parameter of the tests of physics."""

from functools import partial

import pytest
from sim.physics import scenes

from hrp_sim.engine.engine import Solver
from hrp_sim.engine.engines import ENGINES


def pytest_collection_modifyitems(config, items):
    """Leave out ``dense`` with PyODE, where ``world`` is the same solver; mark slow tests.

    PyODE steps in Python. Of each file its first test is fast enough; ``sim/pyode`` compares it
    with the engine of this package.
    """

    def is_repetition(item):
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        return parameters.get("engine_name") == "pyode" and parameters.get("solver") is Solver.DENSE

    config.hook.pytest_deselected(items=[item for item in items if is_repetition(item)])
    items[:] = [item for item in items if not is_repetition(item)]
    files = set()
    for item in items:
        if "engine_name" in getattr(item, "fixturenames", ()) and "pyode" in item.name:
            if item.path in files:
                item.add_marker(pytest.mark.slow)
            files.add(item.path)


@pytest.fixture(params=ENGINES)
def engine_name(request):
    """Each engine that is installed; ``scenes.ODE_ONLY`` leaves PyODE out."""
    if request.param == "pyode":
        pytest.importorskip("ode", reason="PyODE is not installed (python3-pyode)")
    return request.param


@pytest.fixture
def world(engine_name):
    """Return a function that makes a world of an engine, as ``scenes.world`` does."""
    return partial(scenes.world, engine=engine_name)
