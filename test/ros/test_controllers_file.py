"""controllers.yaml, read by ROS itself: each controller finds its parameters in any namespace."""

from contextlib import contextmanager

import pytest
import yaml
from paths import MODELS
from silent_diagnostics import silent

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
import rclpy
from package_tools import humanoid, write
from ros_peer import ENVIRONMENT

from hrp_model import load_body
from hrp_model.frames import body_frames
from hrp_model.urdf import (
    MOVEIT,
    CommandInterface,
    Hardware,
    UrdfOptions,
    controllers,
    controllers_yaml,
)

ROBOTS = sorted(
    path
    for path in MODELS.glob("*/*")
    if path.suffix in (".wrl", ".body") and path.parent.name not in ("worlds", "blocks")
)


@contextmanager
def node(name, file):
    """A node of this name in a namespace, started with a file of parameters."""
    context = rclpy.Context()
    rclpy.init(args=["--ros-args", "--params-file", str(file)], context=context)
    try:
        made = rclpy.create_node(
            name,
            namespace="/cell/left",
            context=context,
            automatically_declare_parameters_from_overrides=True,
            start_parameter_services=False,
        )
        try:
            yield made
        finally:
            made.destroy_node()
    finally:
        context.try_shutdown()


def flat(values, prefix=""):
    """Return parameters by their full names."""
    found = {}
    for key, value in values.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


@pytest.mark.parametrize("how", CommandInterface)
@pytest.mark.parametrize("path", ROBOTS, ids=lambda p: p.name)
def test_every_controller_gets_what_the_file_says(path, how, tmp_path, monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    body = load_body(path, silent())
    options = UrdfOptions(ros2_control=Hardware.TOPIC, command_interface=how, frame_prefix="l/")
    frames = body_frames(body, silent(), options)
    made = controllers(body, frames, options)
    if not made:
        pytest.skip("no joint of it has a motor")
    file = tmp_path / "controllers.yaml"
    file.write_text(controllers_yaml(body, frames, options), encoding="utf-8")
    text = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert {f"/**/{c.name}" for c in made} | {"/**/controller_manager"} == set(text)
    for name, content in text.items():
        expected = flat(content["ros__parameters"])
        with node(name.removeprefix("/**/"), file) as reader:
            found = {key: reader.get_parameter(key).value for key in expected}
        assert found == expected
        assert {k: type(v) for k, v in found.items()} == {k: type(v) for k, v in expected.items()}


def test_move_group_gets_its_parameters_with_their_types(tmp_path, monkeypatch):
    pytest.importorskip("coal", reason="coal is not installed")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    folder = write(humanoid(), tmp_path / "p", additions=[MOVEIT])
    # Named as moveit_configs_utils does.
    given = {}
    for stem, prefix in {
        "joint_limits": "robot_description_planning",
        "pilz_cartesian_limits": "robot_description_planning",
        "kinematics": "robot_description_kinematics",
        "ompl_planning": "ompl",
        "moveit_controllers": "",
        "sensors_3d": "",
    }.items():
        values = yaml.safe_load((folder / "config" / f"{stem}.yaml").read_text())
        given |= flat(values, f"{prefix}." if prefix else "")
    file = tmp_path / "parameters.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": given}}))
    with node("move_group", file) as running:
        for name, value in given.items():
            read = running.get_parameter(name).value
            assert type(read) is type(value), name
            assert read == value, name
