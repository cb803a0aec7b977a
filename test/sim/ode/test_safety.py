"""Whatever a model or a drive says, the process goes on and the message names the link."""

import numpy as np
import pytest
from sim.physics.scenes import (
    PRISMATIC,
    REVOLUTE,
    TRACK,
    X,
    Z,
    at,
    child,
    fixed,
    floor,
    lone,
    moving,
    one_joint,
    placed,
    root,
    world,
)

from hrp_model.body import Body, Range
from hrp_model.geometry import Box, Mesh, Shape, Sphere
from hrp_model.rigid import Pose
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings
from hrp_sim.engine.ode import OdeEngine
from hrp_sim.engine.state import MAX_DRIVE_VALUE

NAN = float("nan")
SKEWED = Pose(np.diag([1.0, 1.0, 2.0]), np.zeros(3))
BAD_MESH = Mesh(vertices=np.zeros((3, 3)), triangles=np.array([[0, 1, 7]], dtype=np.int32))
NAN_MESH = Mesh(
    vertices=np.array([[0, 0, 0], [1, 0, 0], [0, 1, NAN]]),
    triangles=np.array([[0, 1, 2]], dtype=np.int32),
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mass": 0.0}, "mass must be positive"),
        ({"mass": -1.0}, "mass must not be negative"),
        ({"mass": NAN}, "its mass must be below"),
        ({"inertia": np.diag([1.0, 1.0, -1e-5])}, "positive definite"),
        ({"inertia": -np.eye(3)}, "positive definite"),
        ({"inertia": np.array([[1, 4, 0], [4, 1, 0], [0, 0, 1]])}, "positive definite"),
        ({"inertia": np.full((3, 3), NAN)}, "its inertia must be below"),
        ({"center_of_mass": np.array([0, np.inf, 0])}, "its centre of mass must be below"),
        ({"axis": np.zeros(3)}, "joint axis"),
        ({"axis": np.array([NAN, 0, 0])}, "joint axis"),
        ({"rotor": -0.1}, "rotor inertia"),
        ({"rotor": NAN}, "rotor inertia"),
        ({"X_PL": SKEWED}, "rigid transform"),
        ({"X_PL": at(NAN)}, "its position in the parent must be below"),
        ({"collision": (placed(Sphere(-1.0)),)}, "size"),
        ({"collision": (placed(Box(np.array([1.0, NAN, 1.0]))),)}, "size"),
        ({"collision": (placed(Box(np.full(3, 1e9))),)}, "size"),
        ({"collision": (Shape(Sphere(1.0), np.full((4, 4), NAN)),)}, "placement is not finite"),
        ({"collision": (placed(BAD_MESH),)}, "vertices that do not exist"),
        ({"collision": (placed(NAN_MESH),)}, "vertices of a collision mesh must be within"),
    ],
)
@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
def test_an_impossible_link_is_refused_by_name(changes, words, kind):
    engine, _ = world(floor())
    body = one_joint(kind, **{"axis": Z, **changes})
    with pytest.raises(PhysicsError, match=f"body 'one', link 'ARM': .*{words}"):
        engine.add_body(fixed(body))
    assert list(engine.state.bodies) == ["floor"]
    engine.step(10)


@pytest.mark.parametrize(
    "placement",
    [
        moving(lone(), at(NAN)),
        moving(lone(), SKEWED),
        moving(lone(), v=np.array([NAN, 0, 0])),
        fixed(one_joint(REVOLUTE), q=np.array([NAN])),
        fixed(one_joint(REVOLUTE), dq=np.array([np.inf])),
        fixed(one_joint(REVOLUTE), q=np.zeros(3)),
        moving(lone(mass=0.0)),
    ],
)
def test_an_impossible_placement_is_refused(placement):
    engine = OdeEngine(PhysicsSettings())
    with pytest.raises(PhysicsError, match=placement.name):
        engine.add_body(placement)


def test_a_name_is_taken_once():
    engine, _ = world(floor())
    with pytest.raises(PhysicsError, match="floor"):
        engine.add_body(floor())


@pytest.mark.parametrize(
    "bad",
    [
        {"time_step": 0.0},
        {"time_step": NAN},
        {"gravity": (0.0, 0.0, NAN)},
        {"iterations": 0},
        {"max_contacts": 0},
        {"erp": -1.0},
        {"cfm": NAN},
        {"friction": -1.0},
        {"seed": -1},
    ],
)
def test_impossible_settings_are_refused(bad):
    with pytest.raises(PhysicsError, match=next(iter(bad))):
        OdeEngine(PhysicsSettings(**bad))


@pytest.mark.parametrize("name", ["q", "dq", "kp", "kd", "effort"])
def test_the_largest_drive_that_controllers_let_through_is_none_too_many(name):
    engine, arm = world(fixed(one_joint(REVOLUTE, X, center_of_mass=0.1 * Z)))
    getattr(arm.drive, name)[0] = 0.999 * MAX_DRIVE_VALUE
    faults = []
    try:
        engine.step()
    except PhysicsError as error:  # where it leads is another matter
        faults.append(str(error))
    assert not [fault for fault in faults if "the drive of its joint" in fault]


def test_a_bad_track_speed_names_the_track():
    body = Body(name="b", links=(root(), child("BELT", "BASE", TRACK)))
    engine, belt = world(fixed(body))
    belt.drive.track_speed[1] = NAN
    with pytest.raises(PhysicsError, match=r"'BELT'.*track"):
        engine.step()


def test_an_absurd_motion_names_link_and_time_and_can_be_reset():
    engine, arm, _ = world(
        fixed(one_joint(REVOLUTE, X)),
        moving(lone(placed(Sphere(0.1)), name="ball")),
        gravity=(0, 0, 0),
    )
    arm.drive.effort[:] = 5e4  # 5e6 rad/s^2
    with pytest.raises(PhysicsError, match=r"body 'one', link 'ARM': .*diverged at 0.019 s"):
        engine.step(100)
    assert engine.state.time_ns == 19_000_000
    assert arm.motion.dq[0] == pytest.approx(5e3 * 19, rel=1e-3)
    with pytest.raises(OverflowError):
        engine.step(2**70)
    assert engine.state.time_ns == 19_000_000
    with pytest.raises(PhysicsError, match="its motion has diverged"):
        engine.step()
    engine.reset()
    arm.drive.effort[:] = 0.0
    engine.step(100)
    assert engine.state.time_ns == 100_000_000
    np.testing.assert_array_equal(arm.motion.q, 0.0)


def test_ranges_that_cannot_hold_are_ignored_aloud(caplog):
    body = one_joint(REVOLUTE, X, position=Range(1.0, -1.0), effort=Range(2.0, 3.0))
    engine, arm = world(fixed(body), gravity=(0, 0, 0))
    assert (
        "position range of joint 'ARM' is inverted: 1 to -1 rad; it means no limit" in caplog.text
    )
    assert "effort range of joint 'ARM' allows one direction only: 2 to 3 N m" in caplog.text
    arm.drive.effort[:] = 1.0
    engine.step(10)
    assert arm.motion.effort[0] == 1.0
