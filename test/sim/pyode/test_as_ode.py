"""Tests of the C engine, with PyODE instead: it shall do the same, or refuse."""

import pytest
from sim.ode import scenes

pytest.importorskip("ode", reason="PyODE is not installed (python3-pyode)")

from sim.ode.test_contacts import *  # noqa: F403
from sim.ode.test_drives import *  # noqa: F403
from sim.ode.test_force_sensors import *  # noqa: F403
from sim.ode.test_joint_friction import *  # noqa: F403
from sim.ode.test_rays import *  # noqa: F403
from sim.ode.test_repeatability import *  # noqa: F403
from sim.ode.test_safety import *  # noqa: F403
from sim.ode.test_sticking import *  # noqa: F403
from sim.ode.test_surfaces import *  # noqa: F403

from hrp_sim.physics.engine import PhysicsError
from hrp_sim.pyode import PyOdeEngine

# What crosses into C is checked there, PyODE holds the interpreter lock, and a program of its
# own has a test of its own.
del test_the_interpreter_runs_while_physics_steps  # noqa: F821
del test_impossible_tables_are_refused_where_they_enter  # noqa: F821
del test_restitution_beyond_one_and_a_late_table_are_refused  # noqa: F821
del test_bodies_come_and_go_without_growth  # noqa: F821  # its interpreter warms up longer
del test_another_process_computes_the_same  # noqa: F821
del test_absurd_bodies_do_not_end_the_process  # noqa: F821


class Engine(PyOdeEngine):
    """Skips the test where it refuses what PyODE does not have."""

    def add_body(self, placement):
        try:
            return super().add_body(placement)
        except PhysicsError as error:
            if "--engine ode" in str(error):
                pytest.skip(str(error))
            raise


@pytest.fixture(autouse=True)
def _on_pyode(monkeypatch):
    monkeypatch.setattr(scenes, "OdeEngine", Engine)
