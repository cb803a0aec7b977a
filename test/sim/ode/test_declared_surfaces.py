"""What models declare about contacts, gravity and springs, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from sim.physics.scenes import (
    PRISMATIC,
    REVOLUTE,
    G,
    X,
    Y,
    Z,
    at,
    box_inertia,
    fixed,
    moving,
    one_joint,
    placed,
    root,
    world,
)
from verify_samples import silent

from hrp_model.body import Body
from hrp_model.devices import Imu
from hrp_model.geometry import Box, Cylinder, Mesh, Shape, Sphere, Surface, SurfaceRule
from hrp_model.load import load_body_text
from hrp_model.rigid import axis_angle_matrix
from hrp_sim import Simulation
from hrp_sim.engine.engine import Placement, Solver
from hrp_sim.engine.materials import ContactMaterial, MaterialTable, material_pair
from hrp_sim.world.config import BodyEntry, WorldConfig

SIZE = np.array([0.2, 0.2, 0.1])
GROUND = Box(np.array([20.0, 20.0, 1.0]))
LAYER = 1e-4  # [m], of rigid contacts


def gazebo(friction=None, across=None, **more):
    across = friction if across is None else across
    return Surface(rule=SurfaceRule.GAZEBO, friction=friction, friction_across=across, **more)


def mujoco(friction=None, **more):
    rule = SurfaceRule.MUJOCO
    return Surface(rule=rule, friction=friction, friction_across=friction, **more)


BARE = mujoco(0.4, is_frictionless=True)  # as by condim 1


def block(surface, *, mass=1.0, shape=None, **link):
    shape = replace(placed(shape or Box(SIZE)), surface=surface)
    inertia = box_inertia(mass, SIZE)
    return Body(
        name="block",
        links=(root(free=True, mass=mass, inertia=inertia, collision=(shape,), **link),),
    )


def ground(surface=None, R=None):
    shape = replace(placed(GROUND, at(z=-0.5)), surface=surface)
    body = Body(name="ground", links=(root("GROUND", mass=0.0, collision=(shape,)),))
    return Placement(name="ground", body=body, X_WL=at(R=R), fixed=True)


def slide(surface, below=None, *, pull=X * 8.0, R=None, **settings):
    """Return the acceleration of a block on level ground that is pulled along it by gravity."""
    R = np.eye(3) if R is None else R
    start = moving(block(surface), at(R=R, z=SIZE[2] / 2.0 - LAYER))
    engine, thing, _ = world(start, ground(below), gravity=tuple(R @ pull - 10.0 * Z), **settings)
    engine.step(100)
    return R.T @ thing.motion.v[0] / 0.1


PAIRS = [
    (gazebo(0.05), None, 0.05),  # less than the world's friction
    (gazebo(1.7), None, 0.5),  # which bounds it
    (gazebo(0.3), gazebo(0.2), 0.2),
    (gazebo(0.3), gazebo(), 0.3),
    (mujoco(0.3), mujoco(0.2), 0.3),
    (mujoco(0.3), mujoco(), 0.5),  # MuJoCo's default is the world's friction
    (mujoco(0.3), mujoco(0.2, priority=1), 0.2),
    (mujoco(0.7, priority=2), mujoco(0.2, priority=1), 0.7),
    (mujoco(0.0), None, 0.0),
    (mujoco(0.7), gazebo(0.2), 0.2),
    (BARE, None, 0.0),
    (BARE, BARE, 0.0),
    (BARE, mujoco(0.3), 0.4),
    (replace(BARE, priority=1), mujoco(0.3), 0.0),
    (BARE, gazebo(0.2), 0.0),
]


@pytest.mark.parametrize(("a", "b", "mu"), PAIRS)
def test_declared_frictions_combine_by_the_rule_of_their_format(a, b, mu):
    for above, below in ((a, b), (b, a)):
        ax, ay, _ = slide(above, below, friction=0.5)
        assert (ax, ay) == pytest.approx((8.0 - 10.0 * mu, 0.0), abs=0.02)


def test_materials_of_the_world_prevail():
    stated = ContactMaterial(friction=0.3, restitution=0.0)
    for pair, mu in ((("Default", "Default"), 0.3), (("Default", "Ice"), 0.1)):
        table = MaterialTable(pairs={material_pair(*pair): stated})
        ax, *_ = slide(gazebo(0.1), friction=0.5, materials=table)
        assert ax == pytest.approx(8.0 - 10.0 * mu, abs=0.02)


def test_a_link_with_a_material_of_the_table_has_its_friction_alone():
    table = MaterialTable(pairs={material_pair("Ice", "Default"): ContactMaterial(friction=0.3)})
    body = block(gazebo(0.1), contact_material="Ice")
    engine, thing, _ = world(
        moving(body, at(z=0.05 - LAYER)), ground(), gravity=(8.0, 0.0, -10.0), materials=table
    )
    engine.step(200)
    assert thing.motion.v[0, 0] / 0.2 == pytest.approx(5.0, abs=1e-3)


@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize("yaw", [0.0, 0.7])
def test_friction_has_a_coefficient_along_its_direction_and_one_across(yaw, solver):
    directed = gazebo(0.2, 0.6, direction=(2.0, 0.0, 0.0))
    R = axis_angle_matrix(Z, yaw)
    options = {"R": R, "solver": solver}
    for below in (None, gazebo(1.0, direction=(0.0, 1.0, 0.0))):  # of the smaller friction counts
        along = slide(directed, below, pull=8.0 * X, **options)
        across = slide(directed, below, pull=8.0 * Y, **options)
        np.testing.assert_allclose(along[:2], [6.0, 0.0], atol=0.02)
        np.testing.assert_allclose(across[:2], [0.0, 2.0], atol=0.02)


@pytest.mark.parametrize("solver", list(Solver))
def test_a_skate_slides_along_and_holds_across(solver):
    options = {"solver": solver}
    for surface in (
        gazebo(0.0, 0.9, direction=(1.0, 0.0, 0.0)),
        gazebo(0.9, 0.0, direction=(0.0, 1.0, 0.0)),
    ):
        a = slide(surface, gazebo(1.0), pull=8.0 * X + 4.0 * Y, **options)
        np.testing.assert_allclose(a[:2], [8.0, 0.0], atol=0.02)


def test_friction_without_a_direction_along_the_contact_is_the_smaller():
    for direction in (None, (0.0, 0.0, 1.0)):
        surface = gazebo(0.6, 0.2, direction=direction)
        for pull in (8.0 * X, 8.0 * Y):
            a = slide(surface, pull=pull)
            np.testing.assert_allclose(a[:2], pull[:2] * 6.0 / 8.0, atol=1e-3)


@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize("kp", [1e3, 1e5])
def test_a_soft_surface_yields_by_the_load_over_its_stiffness(kp, solver):
    mass = 5.0
    soft = gazebo(stiffness=2.0 * kp, damping=kp / 100.0)
    for above, below in ((gazebo(stiffness=kp, damping=10.0), None), (soft, soft)):
        engine, thing, _ = world(
            moving(block(above, mass=mass), at(z=0.05)), ground(below), solver=solver
        )
        engine.step(3000)
        depth = 0.05 - thing.motion.p[0, 2]
        assert depth == pytest.approx(mass * G / (4.0 * kp), rel=1e-3)


def test_a_soft_surface_oscillates_with_its_frequency():
    kp, mass = 4e3, 4.0
    body = block(gazebo(stiffness=kp, damping=0.0), mass=mass)
    depth = mass * G / (4.0 * kp)
    engine, thing, _ = world(moving(body, at(z=0.05)), ground(), time_step=1e-4)
    engine.step(round(np.pi * np.sqrt(mass / (4.0 * kp)) / 1e-4))  # half a period
    assert thing.motion.p[0, 2] == pytest.approx(0.05 - 2.0 * depth, rel=1e-3)


@pytest.mark.parametrize("solver", list(Solver))
def test_a_stiff_surface_separates_as_slowly_as_others(solver):
    stiff = gazebo(stiffness=1e8, damping=1.0)
    engine, thing, _ = world(moving(block(stiff), at(z=0.045)), ground(), solver=solver)
    for _ in range(100):
        engine.step(10)
        assert abs(thing.motion.v[0, 2]) < 0.0101
    assert thing.motion.p[0, 2] == pytest.approx(0.05 - LAYER, abs=2e-5)


@pytest.mark.parametrize("solver", list(Solver))
def test_a_declared_restitution_bounces_above_its_speed(solver):
    e, drop, step = 0.7, 0.2, 5e-4
    fall = np.sqrt(2.0 * drop / G)
    for below, speed, height in (
        (None, 0.0, e**2),
        (gazebo(restitution=0.5), 0.0, 0.25),
        (None, 2.5, 0.0),  # it hits the ground with 2 m/s
    ):
        ball = block(gazebo(restitution=e, bounce_speed=speed), shape=Sphere(0.05))
        options = {"solver": solver, "time_step": step}
        made, thing, _ = world(moving(ball, at(z=0.05 + drop)), ground(below), **options)
        made.step(round(fall * (1.0 + np.sqrt(height)) / step))
        assert thing.motion.p[0, 2] - 0.05 == pytest.approx(height * drop, abs=0.003)


def test_a_share_of_the_weight_acts():
    for share in (1.0, 0.25, 0.0, -1.0):
        body = block(None, weight_share=share, center_of_mass=np.array([0.1, 0.2, 0.3]))
        made, thing = world(moving(body))
        made.step(100)
        np.testing.assert_allclose(thing.motion.a[0], [0.0, 0.0, -share * G], atol=1e-9)
        np.testing.assert_allclose(thing.motion.w[0], 0.0, atol=1e-9)


def test_an_imu_on_a_link_without_gravity_reads_the_force_that_holds_it():
    imu = Imu(name="imu", link="BASE")
    body = replace(block(None, weight_share=0.0), devices=(imu,))
    entry = BodyEntry(placement=moving(body))
    with Simulation(WorldConfig(bodies=(entry,)), diagnostics=silent()) as made:
        made.run(0.01)
        reading = made.sensors["imu"].read(made.engine.state)
    np.testing.assert_allclose(reading.linear_acceleration, G * Z, atol=1e-9)


def test_a_link_without_gravity_turns_its_group_by_the_weight_of_the_others():
    light = one_joint(REVOLUTE, Y, mass=2.0, watched=True, center_of_mass=np.array([0.3, 0.0, 0.0]))
    for share in (1.0, 0.5, 0.0):
        links = (light.links[0], replace(light.links[1], weight_share=share))
        made, thing = world(fixed(replace(light, links=links)))
        thing.drive.kp[0], thing.drive.kd[0] = 1e6, 1e4
        made.step(200)
        weight = share * 2.0 * G
        np.testing.assert_allclose(thing.motion.force[1], weight * Z, atol=1e-3)
        np.testing.assert_allclose(thing.motion.torque[1], -0.3 * weight * Y, atol=1e-3)
        assert thing.motion.effort[0] == pytest.approx(-0.3 * weight, abs=1e-3)


@pytest.mark.parametrize(("kind", "inertia"), [(PRISMATIC, 2.0), (REVOLUTE, 0.01)])
def test_a_spring_in_a_joint_has_its_period_and_keeps_its_energy(kind, inertia):
    k, rest, amplitude = 100.0 * inertia, 0.2, 0.1
    body = one_joint(kind, Z, mass=2.0, stiffness=k, rest_position=rest)
    start = fixed(body, q=np.array([rest + amplitude]))
    made, thing = world(start, gravity=(0.0, 0.0, 0.0))
    for periods in (0.25, 0.5, 2.0):
        steps = round(periods * 2.0 * np.pi / 10.0 / 0.001)
        made.reset()
        made.step(steps)
        expected = rest + amplitude * np.cos(10.0 * steps * 0.001)
        assert thing.motion.q[0] == pytest.approx(expected, abs=2e-5)
        assert thing.motion.effort[0] == 0.0


@pytest.mark.parametrize("solver", list(Solver))
def test_a_spring_of_any_stiffness_is_stable(solver):
    body = one_joint(PRISMATIC, Z, mass=1.0, stiffness=1e9)
    made, thing = world(fixed(body, q=np.array([0.1])), solver=solver)
    made.step(500)
    assert abs(thing.motion.q[0]) < 1e-6


def test_the_wrench_of_a_joint_contains_its_spring():
    body = one_joint(PRISMATIC, Z, mass=2.0, stiffness=500.0, damping=20.0, watched=True)
    made, thing = world(fixed(body))
    made.step(5000)
    assert thing.motion.q[0] == pytest.approx(-2.0 * G / 500.0, rel=1e-6)
    np.testing.assert_allclose(thing.motion.force[1], 2.0 * G * Z, rtol=1e-6, atol=1e-9)


MASS = '<mass value="1"/><inertia ixx=".01" ixy="0" ixz="0" iyy=".01" iyz="0" izz=".01"/>'
BLOCKS = {
    "urdf": f"""<robot name="b"><link name="a"><inertial>{MASS}</inertial><collision><geometry>
        <box size=".2 .2 .1"/></geometry></collision></link>
        <gazebo reference="a"><mu1>0.05</mu1><mu2 value="0.05"/></gazebo></robot>""",
    "sdf": """<sdf version="1.9"><model name="b"><link name="a"><inertial><mass>1</mass><inertia>
        <ixx>.01</ixx><iyy>.01</iyy><izz>.01</izz></inertia></inertial><collision name="c">
        <geometry><box><size>.2 .2 .1</size></box></geometry><surface><friction><ode><mu>0.05</mu>
        <mu2>0.05</mu2></ode></friction></surface></collision></link></model></sdf>""",
    "mjcf": """<mujoco><worldbody><body name="a"><freejoint/>
        <geom type="box" size=".1 .1 .05" mass="1" friction="0.05 0 0"/></body></worldbody></mujoco>
        """,
}


@pytest.mark.parametrize("kind", list(BLOCKS))
def test_a_block_of_ice_slides_in_every_format(kind):
    if kind == "mjcf":
        pytest.importorskip("mujoco", reason="mujoco is not installed")
    found = silent()
    body = load_body_text(BLOCKS[kind], found, name=f"b.{'xml' if kind == 'mjcf' else kind}")
    assert found.found == []
    start = moving(body, at(z=0.05))
    engine, thing, _ = world(start, ground(), gravity=(3.0, 0.0, -9.3))
    engine.step(500)
    assert thing.motion.v[0, 0] / 0.5 == pytest.approx(3.0 - 0.05 * 9.3, abs=1e-6)


def test_springs_and_compensated_gravity_are_those_of_mujoco():
    mj = pytest.importorskip("mujoco", reason="mujoco is not installed")
    text = """<mujoco><option timestep="1e-4" integrator="RK4"/><worldbody><body name="a">
        <joint name="j" type="hinge" axis="0 1 0" stiffness="2" springref="30" damping="0.1"/>
        <geom type="box" size=".1 .02 .02" pos=".2 0 0" mass="1"/><body name="b" pos=".4 0 0"
        gravcomp="0.4"><joint name="k" type="slide" axis="1 0 0" stiffness="50" frictionloss="0.2"/>
        <geom type="sphere" size=".05" mass="2"/></body></body></worldbody></mujoco>"""
    body = load_body_text(text, silent(), name="b.xml")
    made, thing = world(fixed(body, q=np.zeros(2)), gravity=(0.0, 0.0, -9.81), time_step=5e-4)
    made.step(1000)
    model = mj.MjModel.from_xml_string(text)
    data = mj.MjData(model)
    for _ in range(5000):
        mj.mj_step(model, data)
    q = [data.joint(name).qpos[0] for name in "jk"]
    places = [body.moving_links[i].joint.name for i in range(2)]
    np.testing.assert_allclose(thing.motion.q, [q["jk".index(x)] for x in places], atol=2e-3)


def test_numbers_that_no_surface_has_are_refused():
    for name in ("friction", "friction_across", "stiffness", "damping", "restitution"):
        for value in (-1.0, np.nan, np.inf):
            with pytest.raises(ValueError, match=name):
                Surface(rule=SurfaceRule.GAZEBO, **{name: value})
    with pytest.raises(ValueError, match="direction"):
        gazebo(0.5, direction=(0.0, 0.0, 0.0))


def test_a_turned_shape_or_mesh_has_the_direction_in_its_link():
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) - 0.5
    cube = Mesh(corners, ConvexHull(corners).simplices)  # of any sense of rotation
    upright = axis_angle_matrix(X, np.pi / 2.0)
    for shape in (
        Shape(cube, np.diag([*SIZE, 1.0])),
        placed(Cylinder(0.1, SIZE[2]), at(R=upright)),
        placed(Box(SIZE[[0, 2, 1]]), at(R=upright)),
    ):
        surface = gazebo(0.2, 0.6, direction=(1.0, 0.0, 0.0))
        body = block(None)
        links = (replace(body.links[0], collision=(replace(shape, surface=surface),)),)
        start = moving(replace(body, links=links), at(z=0.05 - LAYER))
        engine, thing, _ = world(start, ground(), gravity=(8.0, 0.0, -10.0))
        engine.step(100)
        assert thing.motion.v[0, 0] / 0.1 == pytest.approx(6.0, abs=0.02)
