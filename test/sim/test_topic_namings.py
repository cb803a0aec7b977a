"""Presets of topic names: those of other simulators, where the meaning is the same."""

from contextlib import closing

import pytest
from paths import MODELS

from hrp_msgs import names
from hrp_msgs.names import NAMINGS, NameCollisionError
from hrp_sim import Simulation, load_world
from hrp_sim.cli.main import main
from hrp_sim.topics.devices import device_topics
from hrp_sim.world.naming import BodyNaming, name_bodies, spawned_naming

ROOM = MODELS / "worlds" / "humanoid_in_room.yaml"
BODY = """\
format: ChoreonoidBody
format_version: 2.0
name: Robot
links:
  - name: BASE
    joint_type: free
    mass: 1
    inertia: [1,0,0,0,1,0,0,0,1]
    elements:
      - {{ type: ForceSensor, name: "{name}", id: 0 }}
"""


def found(simulation, body, preset):
    bodies = {name: s.body for name, s in simulation.bodies.items()}
    return device_topics(simulation, body, name_bodies(bodies, preset=preset)[body])


def topics_of(world, preset, diagnostics):
    config = load_world(world, diagnostics)
    with closing(Simulation(config, defer_images=True, diagnostics=diagnostics)) as simulation:
        robot = next(k for k, s in simulation.bodies.items() if not s.body.is_static)
        return {k: t.data for k, t in found(simulation, robot, preset).items()}


def test_choreonoid_has_all_below_the_body_and_sensors_by_their_names(diagnostics):
    assert topics_of(ROOM, "choreonoid", diagnostics) == {
        "joint_states": ("humanoid/joint_states",),
        "odometry": ("humanoid/ground_truth/odom",),
        "gyro": ("humanoid/gyro",),
        "left_foot_force": ("humanoid/left_foot_force",),
        "right_foot_force": ("humanoid/right_foot_force",),
        "scanner": ("humanoid/scanner/scan",),
        "head_camera": (
            "humanoid/head_camera",
            "humanoid/head_camera/camera_info",
            "humanoid/head_camera/depth/image_rect_raw",
            "humanoid/head_camera/depth/camera_info",
            "humanoid/head_camera/point_cloud",
        ),
    }


def test_hrpsys_has_odom_imu_and_forces_by_their_names(diagnostics):
    topics = topics_of(ROOM, "hrpsys", diagnostics)
    assert topics["odometry"] == ("odom",)
    assert topics["gyro"] == ("imu",)
    assert topics["left_foot_force"] == ("left_foot_force",)
    assert topics["scanner"] == ("range",)
    assert topics["joint_states"] == ("joint_states",)
    assert topics["head_camera"][2:] == (
        "head_camera/depth",
        "head_camera/depth/camera_info",
        "head_camera/points",
    )


def test_commands_of_hrpsys_are_those_of_its_whole_body():
    naming = BodyNaming("lab", "", "hrpsys")
    assert naming.topic(names.JOINT_TRAJECTORY) == "lab/fullbody_controller/command"
    action = naming.topic(names.FOLLOW_JOINT_TRAJECTORY)
    assert action == "lab/fullbody_controller/follow_joint_trajectory_action"
    assert naming.topic(names.JOINT_COMMANDS) == "lab/joint_commands"


@pytest.mark.parametrize("preset", NAMINGS)
def test_frames_do_not_depend_on_the_naming(preset, diagnostics):
    config = load_world(ROOM, diagnostics)
    bodies = {e.placement.name: e.placement.body for e in config.bodies}
    frames = {k: n.frame_prefix for k, n in name_bodies(bodies, "x/", preset=preset).items()}
    assert frames == {k: n.frame_prefix for k, n in name_bodies(bodies, "x/").items()}


def test_a_namespace_that_is_wished_for_goes_before_that_of_the_naming(diagnostics):
    bodies = {e.placement.name: e.placement.body for e in load_world(ROOM, diagnostics).bodies}
    named = name_bodies(bodies, namespaces={"humanoid": "lab"}, preset="choreonoid")
    assert named["humanoid"] == BodyNaming("lab", "lab/", "choreonoid")


def test_a_body_that_comes_later_follows_the_naming_and_takes_no_namespace(diagnostics):
    bodies = {e.placement.name: e.placement.body for e in load_world(ROOM, diagnostics).bodies}
    taken = name_bodies(bodies, preset="choreonoid")
    late = spawned_naming("two", None, taken, preset="choreonoid")
    assert late.topic(names.WRENCH, "foot") == "two/foot"
    with pytest.raises(NameCollisionError, match="namespace 'humanoid'"):
        spawned_naming("two", "humanoid", taken, preset="choreonoid")


def test_what_is_renamed_is_a_topic_of_this_package_and_legal():
    validate = pytest.importorskip("rclpy.validate_topic_name")
    known = {v for k, v in vars(names).items() if k.isupper() and isinstance(v, str)}
    for table in NAMINGS.values():
        assert table.keys() <= known
        assert all(validate.validate_topic_name(new.format("x")) for new in table.values())


@pytest.mark.parametrize(
    ("preset", "name", "other"),
    [
        ("choreonoid", "joint_commands", "'joint_commands' of its body"),
        ("choreonoid", "robot-description", "'robot_description' of its body"),
        ("hrpsys", "odom", "would both be topic 'odom'"),
    ],
)
def test_a_device_that_has_the_name_of_another_topic_is_refused(
    preset, name, other, tmp_path, capsys
):
    model = tmp_path / "robot.body"
    model.write_text(BODY.format(name=name), encoding="utf-8")
    assert main(["sensors", str(model), "--naming", preset]) == 1
    told = capsys.readouterr().err
    assert other in told
    assert f"'{name}'" in told
    assert main(["sensors", str(model)]) == 0  # where sensors have topics of two levels


def test_the_list_of_sensors_follows_the_naming(capsys):
    assert main(["sensors", str(ROOM), "--naming", "choreonoid"]) == 0
    out = capsys.readouterr().out
    assert "humanoid/left_foot_force\n" in out
    assert "left_foot_force/wrench" not in out
    assert main(["sensors", str(ROOM), "--naming", "gazebo"]) == 2
    assert "choose from" in capsys.readouterr().err
