"""Frames called "world", which simulators have themselves."""

from dataclasses import replace

import numpy as np
import pytest
from control_tools import text_of
from urdf_tools import chain

from hrp_model.body import Joint, JointType
from hrp_model.devices import Imu
from hrp_model.urdf import Hardware, UrdfOptions, body_to_urdf

SIMULATORS = {
    "MuJoCo": (UrdfOptions(mujoco_meshes="."), UrdfOptions(ros2_control=Hardware.MUJOCO)),
    "Gazebo": (UrdfOptions(gazebo=True), UrdfOptions(ros2_control=Hardware.GZ)),
}


def arm(*names):
    """Return a chain of links on hinges, each with a mass."""
    body = chain(*names, mass=1.0)
    hinges = [
        replace(
            link,
            joint=Joint(type=JointType.REVOLUTE, name=f"J{i}", id=i),
            mass=1.0,
            inertia=np.eye(3),
        )
        for i, link in enumerate(body.links[1:])
    ]
    return replace(body, links=(body.root, *hinges))


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_link_called_world_is_told_where_there_is_another_world(simulator, diagnostics):
    for options in SIMULATORS[simulator]:
        body_to_urdf(arm("base", "world"), diagnostics=diagnostics, options=options)
        assert simulator in diagnostics.take("reserved-name").message
        prefixed = replace(options, frame_prefix="r1/")
        body_to_urdf(arm("base", "world"), diagnostics=diagnostics, options=prefixed)


def test_so_is_a_device(diagnostics):
    body = replace(arm("base", "tip"), devices=(Imu(name="world", link="tip"),))
    body_to_urdf(body, diagnostics=diagnostics, options=UrdfOptions(gazebo=True))
    diagnostics.take("reserved-name")


@pytest.mark.parametrize("options", [UrdfOptions(), UrdfOptions(ros2_control=Hardware.MOCK)])
def test_readers_without_a_world_take_the_name(options, diagnostics):
    body_to_urdf(arm("base", "world"), diagnostics=diagnostics, options=options)


def test_a_root_called_world_is_the_world(diagnostics):
    options = UrdfOptions(gazebo=True, mujoco_meshes=".")
    body_to_urdf(arm("world", "tip"), diagnostics=diagnostics, options=options)


def test_mujoco_takes_just_what_is_not_told():
    mujoco = pytest.importorskip("mujoco")
    mujoco.MjModel.from_xml_string(text_of(arm("world", "tip"), mujoco_meshes="."))
    with pytest.raises(ValueError, match="world"):
        mujoco.MjModel.from_xml_string(text_of(arm("base", "world"), mujoco_meshes="."))
