"""MJCF as read by us, by MuJoCo itself and by pinocchio."""

import numpy as np
import pytest
from paths import ROOT
from scipy.spatial.transform import Rotation
from silent_diagnostics import silent

from hrp_model import BodyState, load_body, load_body_text
from hrp_model.body import JointType
from hrp_model.devices import Camera, ForceSensor, Imu, RangeSensor

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")

FOLDER = ROOT / "test" / "data" / "mjcf"
MODELS = sorted(path for path in FOLDER.glob("*.xml") if "robot" not in path.stem)
EXACT = {"rtol": 0.0, "atol": 1e-9}


def name_of(path):
    return path.stem


def postures(body, count, seed=0):
    """Yield states of a body in random postures, and its root's position and quaternion."""
    state, rng = BodyState(body), np.random.default_rng(seed)
    for _ in range(count):
        state.q[:] = rng.uniform(-1.5, 1.5, len(body.moving_links))
        wxyz = rng.normal(size=4)
        wxyz /= np.linalg.norm(wxyz)
        state.p[0], state.R[0] = body.root.X_PL.p, body.root.X_PL.R
        position = np.array(body.root.X_PL.p)
        if not body.is_root_fixed:
            position = rng.normal(size=3)
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, wxyz)
            state.p[0], state.R[0] = position, R.reshape(3, 3)
        state.calc_forward_kinematics()
        yield state, position, wxyz


@pytest.mark.parametrize("path", MODELS, ids=name_of)
def test_kinematics_and_mass_matrix_are_those_of_mujoco(path):
    body = load_body(path, silent())
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    moving = body.moving_links
    ids = [model.joint(link.joint.name).id for link in moving]
    for state, position, wxyz in postures(body, 10):
        data.qpos[:] = model.qpos0
        if not body.is_root_fixed:
            data.qpos[:7] = [*position, *wxyz]
        data.qpos[model.jnt_qposadr[ids]] = state.q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        checked = 0
        for i, link in enumerate(body.links):
            b = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, link.name)
            if b < 0:
                continue  # between the joints of one body
            checked += 1
            last = model.body_jntadr[b] + model.body_jntnum[b] - 1
            is_hinge = link.joint.type is JointType.REVOLUTE
            R = data.xmat[b].reshape(3, 3)
            np.testing.assert_allclose(state.R[i], R, **EXACT)
            anchor = data.xanchor[last] if is_hinge else data.xpos[b]
            np.testing.assert_allclose(state.p[i], anchor, **EXACT)
        assert checked > 1
        M = np.zeros((model.nv, model.nv))
        _full_mass_matrix(model, data, M)
        dofs = model.jnt_dofadr[ids]
        n = len(moving)
        ours = state.calc_mass_matrix()[-n:, -n:]
        np.testing.assert_allclose(ours, M[np.ix_(dofs, dofs)], **EXACT)


def _full_mass_matrix(model, data, M):
    try:
        mujoco.mj_fullM(model, data, M)
    except TypeError:  # before MuJoCo 3.5
        mujoco.mj_fullM(model, M, data.qM)


@pytest.mark.parametrize("path", MODELS, ids=name_of)
def test_mass_matrix_is_that_of_pinocchio(path, tmp_path):
    pin = pytest.importorskip("pinocchio", reason="pinocchio reads MJCF independently of MuJoCo")
    copy = tmp_path / path.name
    copy.write_text(_with_inertials(path), encoding="utf-8")
    body = load_body(copy, silent())
    model = pin.buildModelFromMJCF(str(copy))
    columns = mujoco.MjModel.from_xml_path(str(path)).jnt_dofadr
    names = {j.name: int(columns[j.id]) for j in _joints(path)}
    wanted = [names[link.joint.name] for link in body.moving_links]
    data, n = model.createData(), len(wanted)
    first = model.nq - model.nv
    for state, position, wxyz in postures(body, 5):
        q = pin.neutral(model)
        if not body.is_root_fixed:
            q[:7] = [*position, *wxyz[1:], wxyz[0]]
        q[[first + column for column in wanted]] = state.q
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        ours = state.calc_mass_matrix()[-n:, -n:]
        np.testing.assert_allclose(ours, M[np.ix_(wanted, wanted)], **EXACT)


def _with_inertials(path):
    """Return a model in one text, with the inertials that MuJoCo derives from its geoms.

    Pinocchio derives others, and includes no files inside of bodies.
    """
    spec = mujoco.MjSpec.from_file(str(path))
    model = spec.compile()
    for body in spec.bodies[1:]:
        own = model.body(body.name)
        body.mass, body.inertia = own.mass[0], own.inertia
        body.ipos, body.iquat = own.ipos, own.iquat
        body.fullinertia = np.full(6, np.nan)
        body.explicitinertial = True
    for part in (*spec.geoms, *spec.meshes):
        spec.delete(part)
    return spec.to_xml()


def _joints(path):
    model = mujoco.MjModel.from_xml_path(str(path))
    return [model.joint(j) for j in range(model.njnt)]


def test_parts_of_an_arm():
    body = load_body(FOLDER / "arm.xml", silent())
    joints = {link.joint.name: link.joint for link in body.links}
    shoulder = joints["shoulder_x"]
    assert shoulder.position == pytest.approx((-np.pi / 2, np.pi / 2))
    assert shoulder.effort == (-20.0, 20.0)
    assert shoulder.initial == pytest.approx(np.radians(15))
    assert shoulder.equivalent_rotor_inertia == 0.02
    assert joints["elbow"].effort == (-8.0, 8.0)
    assert joints["elbow"].friction == 0.1
    assert joints["elbow"].damping == 0.5
    assert [name for name, joint in joints.items() if joint.id is not None] == [
        "shoulder_x",
        "elbow",
    ]
    assert joints["g2"].mimic.link == "f1"
    assert (joints["g2"].mimic.multiplier, joints["g2"].mimic.offset) == (1.0, 0.01)
    [gains] = body.link("up_shoulder_x").info["actuators"]
    assert (gains["type"], gains["kp"], gains["kd"]) == ("position", 100.0, 3.0)
    assert [type(device) for device in body.devices] == [Imu, RangeSensor, ForceSensor, Camera]
    eye = body.devices[-1]
    assert (eye.width, eye.height, eye.field_of_view) == (320, 200, pytest.approx(np.radians(60)))
    assert frozenset(("base", "fore")) in body.self_collision_disabled


def test_a_range_sensor_looks_along_z_of_its_site():
    body = load_body(FOLDER / "arm.xml", silent())
    imu, ranger = body.devices[0], body.devices[1]
    np.testing.assert_allclose(-ranger.X_LS.R[:, 2], imu.X_LS.R[:, 2], atol=1e-12)
    assert ranger.max_distance == 3.0


def test_geoms_are_shapes_where_mujoco_has_them():
    path = FOLDER / "arm.xml"
    body = load_body(path, silent())
    upper = body.link("up")
    assert len(upper.visual) == 2
    assert len(upper.collision) == 1  # the other one has no masks
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    state = BodyState(body)
    state.p[0], state.R[0] = body.root.X_PL.p, body.root.X_PL.R
    state.q[:] = [link.joint.initial for link in body.moving_links]
    for i, link in enumerate(body.moving_links):
        if link.joint.mimic:  # MuJoCo starts with the joint off its leader
            state.q[i] = model.qpos0[model.joint(link.joint.name).qposadr[0]]
    state.calc_forward_kinematics()
    shapes = [
        state.R[i] @ shape.T_FG[:3, 3] + state.p[i]
        for i, link in enumerate(body.links)
        for shape in link.visual
    ]
    theirs = [data.geom_xpos[g] for g in range(model.ngeom) if model.geom_bodyid[g] > 0]
    np.testing.assert_allclose(shapes, theirs, **EXACT)


def test_actuators_add_inertia_and_damping_to_their_joint(tmp_path):
    body = '<body><joint name="j" armature="0.1" damping="1"/><geom size="0.1"/></body>'
    motor = '<actuator><motor joint="j" gear="3" armature="0.5" damping="2"/></actuator>'
    path = tmp_path / "m.xml"
    text = f"<mujoco><worldbody>{body}</worldbody>{motor}</mujoco>"
    path.write_text(text, encoding="utf-8")
    try:
        model = mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip("actuators of this MuJoCo have no armature")
    data = mujoco.MjData(model)
    data.qvel[:] = 1.0
    mujoco.mj_forward(model, data)
    M = np.zeros((1, 1))
    _full_mass_matrix(model, data, M)
    arm = load_body(path, silent())
    np.testing.assert_allclose(BodyState(arm).calc_mass_matrix()[-1:, -1:], M, **EXACT)
    assert arm.moving_links[0].joint.damping == pytest.approx(-data.qfrc_passive[0])


def test_a_ball_joint_moves_as_that_of_mujoco():
    """Its quaternion is that of hinges about z, x and y, whose rates give its angular velocity."""
    geom = '<geom type="box" size="0.1 0.2 0.3" pos="0.05 0 -0.3"/>'
    slide = '<joint name="s" type="slide" axis="1 0 0"/>'
    ball = '<joint name="{}" type="ball" pos="0.1 0 0.2" damping="0.5"/>'
    text = f'<body name="a" pos="0 0 1" euler="20 0 40">{slide}{ball.format("j")}{geom}'
    text += f'<body name="b" pos="0 0 -0.6" euler="0 50 0">{ball.format("k")}{geom}</body></body>'
    text = f"<mujoco><worldbody>{text}</worldbody></mujoco>"
    found = silent()
    body, model = load_body_text(text, found, kind="mjcf"), mujoco.MjModel.from_xml_string(text)
    assert found.found == []
    names = ["s", "j_z", "j_x", "j_y", "k_z", "k_x", "k_y"]
    assert sorted(link.joint.name for link in body.moving_links) == sorted(names)
    assert all(x.joint.damping == 0.5 for x in body.moving_links if x.joint.name != "s")
    order = [[x.joint.name for x in body.moving_links].index(name) for name in names]
    data = mujoco.MjData(model)
    for state, _, _ in postures(body, 5):
        q = state.q[order]
        turns = [Rotation.from_euler("ZXY", angles) for angles in (q[1:4], q[4:])]
        data.qpos[:] = [q[0], *(np.roll(turn.as_quat(), 1)[i] for turn in turns for i in range(4))]
        mujoco.mj_forward(model, data)
        for name in "ab":
            i, b = body.link_index(name), model.body(name).id
            np.testing.assert_allclose(state.R[i], data.xmat[b].reshape(3, 3), **EXACT)
            anchor = data.xanchor[model.joint({"a": "j", "b": "k"}[name]).id]
            np.testing.assert_allclose(state.p[i], anchor, **EXACT)
        rates = np.eye(7)  # of MuJoCo's coordinates, per rate of ours
        for at in (1, 4):
            _, x, y = q[at : at + 3]
            about = Rotation.from_euler("XY", [x, y]).inv().apply([0.0, 0.0, 1.0])
            across = Rotation.from_euler("Y", y).inv().apply([1.0, 0.0, 0.0])
            rates[at : at + 3, at : at + 3] = np.column_stack((about, across, [0.0, 1.0, 0.0]))
        M = np.zeros((model.nv, model.nv))
        _full_mass_matrix(model, data, M)
        ours = state.calc_mass_matrix()[-7:, -7:][np.ix_(order, order)]
        np.testing.assert_allclose(ours, rates.T @ M @ rates, **EXACT)
