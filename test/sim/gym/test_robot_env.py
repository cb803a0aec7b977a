"""Environments of Gymnasium: spaces, actions, observations, episodes, bad input."""

import copy
import pickle
import re
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from gym_envs import KINDS, MODELS, as_bytes, cart_world, make, rollout
from paths import ROOT
from sim.render.scenes import needs_opengl

from hrp_model import Pose, load_body
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.rigid import quaternion_matrix
from hrp_sim import BodyEntry, ControllerEntry, ForceHook, Placement, WorldConfig, load_world

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.error import ResetNeeded  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.wrappers import FlattenObservation, RescaleAction, TimeLimit  # noqa: E402

from hrp_sim.lab.gym import Quantity, RenderOptions, RobotEnv  # noqa: E402
from hrp_sim.lab.gym.observations import QUANTITIES  # noqa: E402

ONE = Quantity([0.0], [1.0], lambda _: [0.5])

GRIPPER = """<robot name="gripper"><link name="hand"/>
<link name="l"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<link name="r"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="left" type="prismatic"><parent link="hand"/><child link="l"/><axis xyz="0 1 0"/>
<limit lower="0" upper="0.1" effort="9" velocity="1"/></joint>
<joint name="right" type="prismatic"><parent link="hand"/><child link="r"/><axis xyz="0 -1 0"/>
<limit lower="0" upper="0.1" effort="9" velocity="1"/><mimic joint="left"/></joint></robot>"""
ARM_JOINTS = ["J1", "J2", "J3", "J4", "J5", "J6"]


@pytest.fixture
def arm():
    env = make("arm", sensors=[], randomize=None)
    env.reset(seed=1)
    yield env
    env.close()


@pytest.fixture(scope="module", autouse=True)
def _registered():
    gymnasium.register("HrpTest/Robot-v0", entry_point="hrp_sim.lab.gym:RobotEnv")
    yield
    del gymnasium.registry["HrpTest/Robot-v0"]


@needs_opengl
@pytest.mark.parametrize("kind", ["arm", "cart"])
def test_the_checker_of_gymnasium_finds_nothing(kind):
    options = KINDS[kind] | {"normalize_actions": True}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("HrpTest/Robot-v0", **options)
        check_env(env.unwrapped)
    env.close()


def test_bounds_are_the_limits_of_the_model(arm):
    joints = [link.joint for link in load_body(MODELS / "arm/arm.body").moving_links]
    space = arm.observation_space
    np.testing.assert_array_equal(space["q"].low, [j.position_limits.lower for j in joints])
    np.testing.assert_array_equal(space["dq"].high, [j.velocity_limits.upper for j in joints])
    upper = np.array([j.position_limits.upper for j in joints])
    np.testing.assert_array_equal(arm.action_space.high, upper.astype(np.float32))
    assert list(arm.action_joints) == ARM_JOINTS
    assert list(space.spaces) == ["q", "dq"]


def test_what_is_observed_is_the_state_and_described_on_the_page():
    page = (ROOT / "docs" / "gym.md").read_text(encoding="utf-8")
    assert [name for name in QUANTITIES if f"`{name}`" not in page] == []
    env = make("humanoid", observations=QUANTITIES, sensors=["gyro", "left_foot_force"])
    env.reset(seed=1)
    for _ in range(5):
        seen, *_ = env.step(np.zeros(21))
    motion = env.simulation.bodies["humanoid"].motion
    np.testing.assert_array_equal(seen["q"], motion.q)
    np.testing.assert_array_equal(seen["dq"], motion.dq)
    np.testing.assert_array_equal(seen["effort"], 0.0)
    R_WL = motion.R[0]
    np.testing.assert_array_equal(seen["base_pose"][:3], motion.p[0])
    np.testing.assert_allclose(quaternion_matrix(seen["base_pose"][3:]), R_WL, atol=1e-12)
    np.testing.assert_allclose(R_WL @ seen["base_velocity"][:3], motion.v[0], atol=1e-12)
    np.testing.assert_allclose(R_WL @ seen["base_velocity"][3:], motion.w[0], atol=1e-12)
    sensors = env.simulation.sensors
    imu = sensors["gyro"].read(env.simulation.state)
    np.testing.assert_array_equal(seen["gyro/angular_velocity"], imu.angular_velocity)
    np.testing.assert_array_equal(seen["gyro/linear_acceleration"], imu.linear_acceleration)
    foot = sensors["left_foot_force"].read(env.simulation.state)
    np.testing.assert_array_equal(seen["left_foot_force/force"], foot.force)
    env.close()


def test_what_is_beyond_a_limit_is_clipped(arm):
    arm.simulation.bodies["arm"].motion.dq[0] = 99.0  # until the next step
    assert arm._observations.observe(arm.state, {})["dq"][0] == arm.observation_space["dq"].high[0]


@needs_opengl
def test_scanners_and_cameras_are_observed_without_infinities():
    tracks = {"TRACK_L": "velocity", "TRACK_R": "velocity"}
    env = RobotEnv(
        "rover",
        actions=tracks,
        action_limits=dict.fromkeys(tracks, (-1.0, 1.0)),
        sensors=["scanner", "lidar", "mast_camera"],
    )
    seen, _ = env.reset(seed=1)
    assert seen in env.observation_space
    assert seen["mast_camera/color"].shape == (240, 320, 3)
    assert seen["lidar/ranges"].shape == (16, 180)
    for _ in range(25):
        seen, *_ = env.step([1.0, 1.0])
        assert seen in env.observation_space
    assert env.state.motion.v[0, 0] == pytest.approx(1.0, abs=0.02)
    expected = env.simulation.sensors["scanner"].read(env.simulation.state).ranges
    np.testing.assert_allclose(seen["scanner/ranges"], expected, atol=0.1)  # is up to 0.1 s older
    env.close()


def test_a_reading_stays_until_the_next_one():
    world = load_world("humanoid_in_room")  # whose scanner has 20 Hz
    env = RobotEnv(world, actions="effort", sensors=["scanner"], control_period=0.01)
    env.reset(seed=1)
    scans = [env.step(np.zeros(21))[0]["scanner/ranges"] for _ in range(20)]
    changes = [i for i in range(1, 20) if not np.array_equal(scans[i], scans[i - 1])]
    assert changes == [4, 9, 14, 19]  # at 0.05, 0.10, 0.15 and 0.20 s
    env.close()


@pytest.mark.parametrize(("mode", "target"), [("position", 0.3), ("velocity", 0.4)])
def test_joints_follow_positions_and_velocities(mode, target):
    env = make("arm", actions={"J1": mode}, sensors=[], randomize=None)
    env.reset(seed=1)
    for _ in range(60):
        env.step([target])
    reached = env.state.q("J1") if mode == "position" else env.state.dq("J1")
    assert reached == pytest.approx(target, abs=1e-3)
    assert env.state.action == pytest.approx([target])
    env.close()


def test_efforts_act_alone_and_other_joints_hold():
    env = make("arm", actions={"J6": "effort", "J1": "velocity"}, observations=["effort"])
    env.reset(seed=1)
    for _ in range(3):
        seen, *_ = env.step([0.25, 0.0])
    assert env.action_joints == ("J6", "J1")
    assert seen["effort"][5] == pytest.approx(0.25)
    assert env.state.q("J2") == pytest.approx(0.5, abs=1e-3)  # as the world has it
    env.close()


def test_normalized_actions_are_shares_of_the_limits():
    env = make("arm", actions={"J2": "effort"}, action_limits={"J2": (-20, 60)}, randomize=None)
    scaled = make(
        "arm",
        actions={"J2": "effort"},
        action_limits={"J2": (-20, 60)},
        randomize=None,
        normalize_actions=True,
    )
    library = RescaleAction(env, np.float32(-1), np.float32(1))
    for action in (-1.0, 0.0, 0.5, 1.0):
        library.reset(seed=2), scaled.reset(seed=2)
        theirs, *_ = library.step(np.array([action], dtype=np.float32))
        ours, *_ = scaled.step([action])
        np.testing.assert_allclose(ours["q"], theirs["q"], atol=1e-9)
        assert scaled.state.action == pytest.approx([20.0 + 40.0 * action])
    scaled.step([7.0])
    assert scaled.state.action == [60.0]
    env.close(), scaled.close()


@pytest.mark.parametrize("normalize_actions", [False, True])
def test_large_actions_are_clipped_without_a_warning(normalize_actions):
    env = make("arm", sensors=[], actions="effort", normalize_actions=normalize_actions)
    env.reset(seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.step([1e308, -1e308, 1e308, 1e308, 1e200, -1e200])
    limits = [
        link.joint.effort_limits.upper
        for link in env.state.simulation.bodies["arm"].body.moving_links
    ]
    np.testing.assert_array_equal(env.state.action, np.multiply(limits, [1, -1, 1, 1, 1, -1]))
    env.close()


@pytest.mark.parametrize("copy_of", [pickle.dumps, copy.copy, copy.deepcopy])
def test_an_environment_is_not_copied(arm, copy_of):
    with pytest.raises(TypeError, match="cannot be copied or pickled: pass a function that makes"):
        copy_of(arm)


def test_wrappers_of_gymnasium_apply():
    env = TimeLimit(FlattenObservation(make("arm", sensors=[])), 3)
    seen, _ = env.reset(seed=1)
    assert seen.shape == (12,)
    assert [env.step(seen[:6])[3] for _ in range(3)] == [False, False, True]
    env.close()


@pytest.mark.parametrize("kind", ["arm", "humanoid"])
def test_equal_seeds_give_equal_episodes_also_after_others(kind):
    env, fresh = make(kind), make(kind)
    first = as_bytes(rollout(env, 5))
    other = as_bytes(rollout(env, 6))
    assert as_bytes(rollout(env, 5)) == first != other
    assert as_bytes(rollout(fresh, 5)) == first
    env.close(), fresh.close()


def test_noise_depends_on_the_seed_of_the_episode():
    world = load_world("arm")
    noisy = WorldConfig(
        physics=world.physics,
        sensors=world.sensors.with_values({"force_stdev": 1.0}),
        bodies=world.bodies,
    )
    env = RobotEnv(noisy, sensors=["wrist_force"])

    def force(**options):
        return env.reset(**options)[0]["wrist_force/force"].tolist()

    found = [force(seed=1), force(), force(seed=1), force(), force(seed=2)]
    assert found[:2] == found[2:4]
    assert len({tuple(x) for x in found}) == 3
    env.close()


class Push(ForceHook):
    def apply(self, state, dt):
        state.force[-1] = (5.0, 0.0, 0.0)


def test_what_randomize_adds_is_gone_in_the_next_episode():
    additions = ["controller", "body", ""]

    def change(sim, _rng):
        match additions[0]:
            case "controller":
                sim.add_controller("arm", Push())
            case "body":
                box = load_body(MODELS / "blocks/wood.body")
                sim.spawn(BodyEntry(placement=Placement(name="box", body=box)))

    env = make("arm", randomize=change, sensors=[])
    plain = make("arm", randomize=None, sensors=[])
    expected = as_bytes(rollout(plain, 3))
    assert as_bytes(rollout(env, 3)) != expected
    additions.pop(0)
    rollout(env, 3)
    assert "box" in env.simulation.bodies
    additions.pop(0)
    assert as_bytes(rollout(env, 3)) == expected
    assert "box" not in env.simulation.bodies
    env.close(), plain.close()


def test_an_episode_may_start_from_a_saved_state(arm):
    for _ in range(3):
        arm.step(np.full(6, 0.2))
    snapshot, state = arm.simulation.save(), arm.simulation.state_hash()
    ahead, *_ = arm.step(np.zeros(6))
    arm.reset()
    arm.reset(options={"snapshot": snapshot})
    assert arm.simulation.state_hash() == state
    assert arm.state.time == 0.0
    again, *_ = arm.step(np.zeros(6))
    np.testing.assert_array_equal(again["q"], ahead["q"])


def test_reward_and_end_see_state_and_action():
    env = make(
        "arm",
        sensors=[],
        reward=lambda state: float(state.action @ state.action) + state.time,
        terminated=lambda state: state.time > 0.05,
        randomize=None,
    )
    env.reset(seed=1)
    results = [env.step(np.full(6, 0.5))[1:3] for _ in range(3)]
    assert [ended for _, ended in results] == [False, False, True]
    np.testing.assert_allclose([r for r, _ in results], 1.5 + np.array([0.02, 0.04, 0.06]))
    with pytest.raises(ResetNeeded, match="the episode has ended: call reset"):
        env.step(np.zeros(6))
    env.reset()
    env.step(np.zeros(6))
    env.close()


def test_an_episode_whose_physics_fails_is_truncated(arm, caplog):
    arm.simulation.bodies["arm"].wrench.force[3, 0] = np.nan
    seen, _, terminated, truncated, info = arm.step(np.zeros(6))
    assert (terminated, truncated) == (False, True)
    assert "the external force" in info["physics_error"]
    assert "the episode ends" in caplog.text
    assert seen in arm.observation_space
    with pytest.raises(ResetNeeded):
        arm.step(np.zeros(6))
    arm.reset()
    assert arm.step(np.zeros(6))[4] == {}


@needs_opengl
def test_pictures_are_those_of_the_robot():
    options = RenderOptions(size=(80, 60))
    env = make("arm", sensors=[], render_mode="rgb_array", render_options=options, randomize=None)
    assert env.metadata["render_fps"] == 50
    env.reset(seed=1)
    first = env.render()
    for _ in range(30):
        env.step(np.full(6, 0.7))
    second = env.render()
    assert first.shape == (60, 80, 3)
    assert first.dtype == np.uint8
    assert np.abs(first.astype(int) - second).max() > 50
    env.reset(seed=1)
    np.testing.assert_array_equal(env.render(), first)
    env.close()


@needs_opengl
def test_pictures_show_what_was_added():
    wood = load_body(MODELS / "blocks/wood.body")
    beside = Pose(p=[0.3, -0.3, 0.3])
    added = [BodyEntry(placement=Placement(name="box", body=wood, X_WL=beside))]
    env = make(
        "arm",
        randomize=lambda sim, _rng: [sim.spawn(entry) for entry in added],
        render_mode="rgb_array",
        render_options=RenderOptions(size=(80, 60), follow="J1"),
    )
    env.reset(seed=1)
    first = env.render()
    added.clear()
    env.reset(seed=1)
    assert not np.array_equal(env.render(), first)
    env.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"follow": "J9"}, "there is no link 'J9'"),
        ({"camera": "eye"}, "there is no camera 'eye'"),
        ({"size": (320, 240, 3)}, "pixels, not 320x240x3"),
        ({"size": (320.5, 240)}, "pixels, not 320.5x240"),
        (
            {"size": (0, 10)},
            "width and height must be whole numbers from 16 to 4096 pixels, not 0x10",
        ),
    ],
)
def test_unsuitable_pictures_are_refused_at_once(options, message):
    with pytest.raises(ValueError, match=message):
        make("arm", render_mode="rgb_array", render_options=RenderOptions(**options))


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.zeros(5), r"shape \(6,\), one number for each of J1, J2, .*, not \(5,\)"),
        (np.zeros((1, 6)), r"not \(1, 6\)"),
        ([0, 0, np.nan, 0, 0, 0], "the action of joint 'J3' must be finite, not nan"),
        ([0, 0, 0, 0, 0, -np.inf], "the action of joint 'J6' must be finite, not -inf"),
    ],
)
def test_bad_actions_are_refused_and_change_nothing(arm, action, message):
    before = arm.simulation.state_hash()
    with pytest.raises(ValueError, match=message):
        arm.step(action)
    assert arm.simulation.state_hash() == before
    arm.step(np.zeros(6))


def several():
    arm, humanoid = load_world("arm"), load_world("humanoid_in_room")
    return WorldConfig(bodies=(arm.bodies[1], humanoid.bodies[1]))


@pytest.mark.parametrize(
    ("world", "options", "message"),
    [
        ("arm", {"robot": "amr"}, "no robot 'amr', but arm. Did you mean 'arm'?"),
        ("arm", {"robot": "Floor"}, "no robot 'Floor'"),
        (MODELS / "floor.body", {}, "the world has no robot: none of its bodies has joints"),
        (several, {}, "several robots; choose one: arm, humanoid"),
        ("arm", {"actions": "torque"}, "no control mode 'torque'"),
        ("arm", {"actions": {"J11": "effort"}}, "no joint 'J11' that actions can move. Did you"),
        ("arm", {"actions": {"J1": "efort"}}, "mode 'efort'. Did you mean 'effort'?"),
        ("arm", {"actions": {}}, "an action for at least one joint"),
        ("arm", {"action_limits": {"J7": (0, 1)}}, "a limit for joint 'J7', but no action"),
        ("arm", {"action_limits": {"J1": (0, 9)}}, "ascending and within those of its position"),
        ("arm", {"action_limits": {"J1": (1, 0)}}, "ascending"),
        ("arm", {"action_limits": {"J1": (0, np.nan)}}, "ascending"),
        ("arm", {"action_limits": {"J1": 1}}, "'J1' must be two numbers, lower and upper, not 1"),
        ("rover", {"actions": "velocity"}, "does not limit the velocity of joint 'TRACK_L'"),
        (
            "rover",
            {"actions": {"TRACK_L": "velocity"}, "action_limits": {"TRACK_L": (-1e300, 1)}},
            "must be ascending and within those of its velocity, -100000 to 100000, not -1e+300",
        ),
        ("rover", {"actions": {"TRACK_L": "effort"}}, "is a track: its action must be 'velocity'"),
        (
            "arm",
            {"observations": ["qd"]},
            "no observation 'qd', but q, dq, effort, base_pose,",
        ),
        ("arm", {"observations": ["wrist_force"]}, "is a sensor: give it in 'sensors'"),
        ("arm", {"observations": []}, "something to observe"),
        (
            "arm",
            {"sensors": ["wrist"]},
            "no sensor 'wrist'; it has joint_states, odometry, wrist",
        ),
        ("arm", {"sensors": ["odometry"]}, "'odometry' of robot 'arm' cannot be observed"),
        ("arm", {"sensors": "wrist"}, "has no sensor 'wrist'"),
        ("arm", {"control_period": 0.0015}, "a multiple of the time step of 0.001 s, not 0.0015"),
        ("arm", {"control_period": 0.0}, "a multiple"),
        ("arm", {"control_period": np.nan}, "a multiple"),
        ("arm", {"render_mode": "ansi"}, "no render_mode 'ansi'"),
        ("arm", {"quantities": {"q": ONE}}, "cannot be named 'q'"),
        ("arm", {"quantities": {"a/b": ONE}}, "cannot be named 'a/b'"),
    ],
    ids=lambda x: getattr(x, "__name__", None) or str(x)[:40],
)
def test_unsuitable_options_are_named(world, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        RobotEnv(world() if callable(world) else world, **options)


@pytest.mark.parametrize(
    ("lower", "upper"), [([0.0], [np.inf]), ([1.0], [0.0]), ([0.0], [1.0, 2.0]), (0.0, 1.0)]
)
def test_the_bounds_of_a_quantity_are_finite_vectors(lower, upper):
    with pytest.raises(ValueError, match="two vectors of finite numbers"):
        Quantity(lower, upper, lambda _: [0.5])


def test_quantities_of_a_task_are_observed_and_clipped():
    twice = Quantity([-1.0, -1.0], [1.0, 1.0], lambda state: [2.0 * state.q("J2"), state.time])
    env = make("arm", sensors=[], quantities={"twice": twice}, actions={"J2": "position"})
    seen, _ = env.reset(seed=1)
    np.testing.assert_array_equal(seen["twice"], [1.0, 0.0])  # J2 starts at 0.5 rad
    seen = env.step(np.array([-1.7], dtype=np.float32))[0]
    assert seen["twice"][1] == pytest.approx(env.state.time)
    assert list(seen) == ["q", "dq", "twice"]
    env.close()
    short = Quantity([-1.0, -1.0], [1.0, 1.0], lambda state: [state.time])
    env = make("arm", quantities={"short": short})
    with pytest.raises(ValueError, match=r"'short' must have the shape \(2,\)"):
        env.reset(seed=1)
    env.close()


def test_wrong_use_is_explained():
    env = make("arm", sensors=[])
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before step\(\)"):
        env.step(np.zeros(6))
    with pytest.raises(ValueError, match="reset has no option 'state', only 'snapshot'"):
        env.reset(options={"state": 1})
    with pytest.raises(TypeError, match="a snapshot is what simulation"):
        env.reset(options={"snapshot": 1})
    with pytest.raises(KeyError, match="no joint that moves 'J9'"):
        env.state.q("J9")
    assert env.render() is None
    env.close()
    env.close()
    with pytest.raises(ResetNeeded, match="the environment is closed"):
        env.step(np.zeros(6))
    for use in (env.reset, env.render):
        with pytest.raises(ValueError, match="the environment is closed"):
            use()


def test_a_joint_that_follows_another_has_no_action(tmp_path):
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    env = RobotEnv(tmp_path / "gripper.urdf")
    assert env.action_joints == ("left",)
    env.close()
    with pytest.raises(ValueError, match="joint 'right' follows another joint and has no action"):
        RobotEnv(tmp_path / "gripper.urdf", actions={"right": "position"})


@pytest.mark.parametrize(
    ("mode", "limit", "problem"),
    [
        ("position", "upper", "'left' can have no action, since .* its position at 0"),
        ("effort", "effort", "the model does not limit the effort of joint 'left'"),
    ],
)
def test_a_limit_of_zero_gives_no_action(tmp_path, mode, limit, problem):
    """As in URDFs of exporters that write 0 for limits which are not known."""
    (tmp_path / "gripper.urdf").write_text(re.sub(rf'{limit}="[\d.]+"', f'{limit}="0"', GRIPPER))
    with pytest.raises(ValueError, match=problem):
        RobotEnv(tmp_path / "gripper.urdf", actions=mode)


def test_sensors_that_nobody_needs_are_off_but_those_of_controllers():
    env = make("humanoid", sensors=["gyro"])
    on = [name for name in env.simulation.sensors if env.simulation.is_enabled(name)]
    assert on == ["gyro"]
    env.close()
    entry = ControllerEntry(class_name="controller_samples:Counter", body="arm")
    env = RobotEnv(replace(load_world("arm"), controllers=(entry,)))
    on = [name for name in env.simulation.sensors if env.simulation.is_enabled(name)]
    assert on == ["wrist_force"]
    env.close()


def test_a_velocity_is_that_of_the_wheels():
    env = RobotEnv(cart_world(), actions="velocity")
    env.reset(seed=1)
    for _ in range(50):
        env.step([5.0, 5.0])
    assert env.state.motion.v[0, 0] == pytest.approx(0.5, abs=0.02)  # radius of 0.1 m
    assert env.state.height == pytest.approx(0.083, abs=0.01)
    assert env.state.upright > 0.9
    env.close()


def test_without_gymnasium_the_command_to_install_it_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("hrp_sim.lab.gym")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'hrp_ros\[gym\]'"):
        import hrp_sim.lab.gym  # noqa: F401
