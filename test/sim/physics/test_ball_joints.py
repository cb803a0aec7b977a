"""Ball joints of model files, which are three hinges, against closed forms."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk
from silent_diagnostics import silent
from sim.physics.scenes import G, at, floor, world

from hrp_model import load_body_text
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.engine.engine import PhysicsSettings, Placement
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig

LENGTH = 0.5


def inertial(mass, moment):
    axes = "".join(f"<{name}>{moment}</{name}>" for name in ("ixx", "iyy", "izz"))
    return f"<inertial><mass>{mass}</mass><inertia>{axes}</inertia></inertial>"


def pendulum(moment):
    """Return a pendulum of 1 kg that hangs on a ball joint in the world."""
    link = f'<link name="bob"><pose>0 0 {-LENGTH} 0 0 0</pose>{inertial(1.0, moment)}</link>'
    joint = '<joint name="j" type="ball"><parent>world</parent><child>bob</child>'
    joint += f"<pose>0 0 {LENGTH} 0 0 0</pose></joint>"
    text = f'<sdf version="1.9"><model name="pendulum">{link}{joint}</model></sdf>'
    return load_body_text(text, silent(), kind="sdf")


def started(body, R, w):
    """Return an engine with a pendulum whose bob starts with a rotation and angular velocity."""
    z, x, y = angles(R)
    step = 1e-6  # rates from a rotation by w for this time
    rates = (angles(Rotation.from_rotvec(w * step).as_matrix() @ R) - [z, x, y]) / step
    columns = [[link.joint.name for link in body.moving_links].index(f"j_{c}") for c in "zxy"]
    q, dq = np.zeros(3), np.zeros(3)
    q[columns], dq[columns] = (z, x, y), rates
    return world(Placement(name="p", body=body, q=q, dq=dq, fixed=True))


def angles(R):
    """Return z, x and y of R = R_Z(z) R_X(x) R_Y(y)."""
    return np.array(
        [np.arctan2(-R[0, 1], R[1, 1]), np.arcsin(R[2, 1]), np.arctan2(-R[2, 0], R[2, 2])]
    )


@pytest.mark.parametrize("heading", [0.0, 0.9, np.pi / 2.0, 4.0])
def test_a_pendulum_swings_in_any_plane(heading):
    """Its angle is that of the elliptic functions."""
    amplitude, moment = 1.0, 0.02
    axis = np.array([np.cos(heading), np.sin(heading), 0.0])
    engine, swinging = started(pendulum(moment), axis_angle_matrix(axis, amplitude), np.zeros(3))
    rate = np.sqrt(G * LENGTH / (LENGTH**2 + moment))
    m = np.sin(amplitude / 2.0) ** 2
    for t in np.arange(1, 11) * 0.15:
        engine.step(150)
        sn = ellipj(ellipk(m) - rate * t, m)[0]
        angle = 2.0 * np.arcsin(np.sqrt(m) * sn)
        down = -swinging.motion.R[-1][:, 2]
        found = np.arctan2(down @ np.cross([0.0, 0.0, -1.0], axis) * -1.0, -down[2])
        assert found == pytest.approx(angle, abs=1e-3)
        assert down @ axis == pytest.approx(0.0, abs=1e-3)


def test_a_conical_pendulum_goes_round_in_its_period():
    """The bob turns with it, for which its equal moments of inertia need no torque."""
    tilt = 0.9
    rate = np.sqrt(G / (LENGTH * np.cos(tilt)))
    R = axis_angle_matrix(np.array([1.0, 0.0, 0.0]), tilt)
    engine, swinging = started(pendulum(0.02), R, np.array([0.0, 0.0, rate]))
    for _ in range(8):
        engine.step(100)
        turned = rate * engine.state.time_ns * 1e-9
        expected = axis_angle_matrix(np.array([0.0, 0.0, 1.0]), turned) @ R
        np.testing.assert_allclose(swinging.motion.R[-1], expected, atol=1e-3)


def test_a_chain_of_balls_moves_as_that_of_mujoco():
    """Also about the long axes of its slender links."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    geom = '<geom type="box" size="0.03 0.05 0.2" pos="0.02 0 -0.2" contype="0" conaffinity="0"/>'
    text = f'<body name="a"><joint name="j" type="ball"/>{geom}<body name="b" pos="0 0 -0.45">'
    text += f'<joint name="k" type="ball"/>{geom}</body></body>'
    option = f'<option timestep="2e-4" integrator="RK4" gravity="0 0 {-G}"/>'
    text = f"<mujoco>{option}<worldbody>{text}</worldbody></mujoco>"
    body = load_body_text(text, silent(), kind="mjcf")
    angles_of = {"j": (0.3, 0.7, -0.4), "k": (-0.2, 0.5, 0.9)}
    q = {f"{j}_{c}": x for j, zxy in angles_of.items() for c, x in zip("zxy", zxy, strict=True)}
    start = np.array([q[link.joint.name] for link in body.moving_links])
    engine, chain = world(Placement(name="c", body=body, q=start, fixed=True))
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    turns = [Rotation.from_euler("ZXY", zxy).as_quat() for zxy in angles_of.values()]
    data.qpos[:] = np.concatenate([np.roll(xyzw, 1) for xyzw in turns])
    for _ in range(5):
        engine.step(100)
        mujoco.mj_step(model, data, nstep=500)
        for name in "ab":
            R = data.body(name).xmat.reshape(3, 3)
            np.testing.assert_allclose(chain.motion.R[body.link_index(name)], R, atol=1e-3)


RADIUS, BALL = 0.02, 0.05  # in [m], [kg]


def tripod():
    """Return a plate of 1 kg on three ball casters."""
    text = f'<link name="plate">{inertial(1.0, 0.01)}</link>'
    geometry = f"<geometry><sphere><radius>{RADIUS}</radius></sphere></geometry>"
    for i, angle in enumerate(np.arange(3) * 2.0 * np.pi / 3.0):
        p = f"{0.1 * np.cos(angle)} {0.1 * np.sin(angle)} -0.01 0 0 0"
        text += f'<link name="ball{i}"><pose>{p}</pose>{inertial(BALL, 0.4 * BALL * RADIUS**2)}'
        text += f'<collision name="c">{geometry}</collision></link><joint name="j{i}" type="ball">'
        text += f"<parent>plate</parent><child>ball{i}</child></joint>"
    return load_body_text(
        f'<sdf version="1.9"><model name="tripod">{text}</model></sdf>', silent(), kind="sdf"
    )


@pytest.mark.parametrize(("heading", "spin"), [(0.0, 0.0), (0.0, 1.0), (0.7, 1.0), (1.5707, 0.0)])
def test_ball_casters_roll_freely_in_every_direction(heading, spin):
    """Of the speed remains what friction does not need to start the balls."""
    layer = PhysicsSettings().surface_layer
    start = np.array([np.cos(heading), np.sin(heading), 0.0])
    plate = Placement(
        name="tripod",
        body=tripod(),
        X_WL=at(z=RADIUS + 0.01 - layer),
        v=0.5 * start,
        w=np.array([0.0, 0.0, spin]),
    )
    bodies = tuple(BodyEntry(placement=x) for x in (floor(), plate))
    simulation = Simulation(WorldConfig(bodies=bodies))  # with the usual control of joints
    simulation.run(1.0)
    motion = simulation.state.bodies["tripod"].motion
    mass = 1.0 + 3.0 * BALL
    speed = 0.5 * mass / (mass + 3.0 * 0.4 * BALL)
    np.testing.assert_allclose(motion.v[0][:2], speed * start[:2], atol=1e-3)
    assert np.linalg.norm(motion.w[1:][-1]) > 0.9 * speed / RADIUS
