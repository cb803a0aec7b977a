"""Robots as ROS packages describe them: read by us, and by xacro and pinocchio."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from each_case import check_each, some_or_all
from paths import ROOT
from silent_diagnostics import silent

from hrp_model import load_body
from hrp_model.files.model_file import split_model_name

pin = pytest.importorskip("pinocchio", reason="pinocchio reads URDFs independently of us")
pytest.importorskip("xacro", reason="xacro is not installed")
from pinocchio_states import check_as_in_pinocchio  # noqa: E402 - needs pinocchio

FOLDER = ROOT / "test" / "data" / "descriptions"
ROBOTS = [
    *(f"{path}" for path in sorted(FOLDER.glob("*/urdf/*.urdf"))),
    *(f"{path}" for path in sorted(FOLDER.glob("*/urdf/*.urdf.xacro"))),
    f"{FOLDER / 'arms_description/urdf/arm6.urdf.xacro'} prefix:=a_ gripper:=true",
    f"{FOLDER / 'walkers_description/urdf/quadruped.urdf.xacro'} thigh:=0.3",
]
# The program xacro in a process of its own, which finds packages beside each other.
XACRO = """
import sys, xacro
from xacro import substitution_args
substitution_args._eval_find = lambda name: sys.argv[1] + "/" + name
arguments = dict(word.split(":=") for word in sys.argv[3:])
print(xacro.process_file(sys.argv[2], mappings=arguments).toxml())
"""


def urdf_of(robot):
    """Return the URDF that the program xacro makes of a robot."""
    path, arguments = split_model_name(robot)
    if path.endswith(".urdf"):
        return Path(path).read_text("utf-8")
    words = [f"{name}:={value}" for name, value in arguments.items()]
    command = [sys.executable, "-c", XACRO, str(FOLDER), path, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_there_are_ten_robots():
    assert len({Path(split_model_name(robot)[0]) for robot in ROBOTS}) >= 10


@some_or_all("robots", ROBOTS, 4)
def test_kinematics_and_mass_matrix_are_those_of_pinocchio(robots):
    check_each(robots, check_against_pinocchio)


def check_against_pinocchio(robot):
    body = load_body(robot, silent())
    root = () if body.is_root_fixed else (pin.JointModelFreeFlyer(),)
    model = pin.buildModelFromXML(urdf_of(robot), *root)
    check_as_in_pinocchio(body, model)


def test_limits_follow_yaml_and_expressions():
    body = load_body(ROBOTS[1], silent())
    shoulder = body.link("link_1").joint
    assert shoulder.position == pytest.approx((-np.radians(170), np.radians(170)), rel=1e-15)
    assert shoulder.effort.upper == 150.0
    assert shoulder.damping == pytest.approx(0.6)


def test_mimics_follow_their_leader():
    robot = FOLDER / "arms_description" / "urdf" / "hand.urdf.xacro"
    body = load_body(robot, silent())
    outer = body.link("thumb_link_3").joint.mimic
    assert outer is not None
    assert outer.link == "thumb_link_1"
    assert outer.multiplier == pytest.approx(0.6 * 0.7)


def test_problems_are_reported_where_they_are_written():
    found = silent()
    walker = FOLDER / "walkers_description" / "urdf" / "quadruped.urdf.xacro"
    load_body(walker, found)
    outside = [d for d in found.found if d.code == "initial-out-of-range"]
    number, _ = outside[0].at.source.line_column(outside[0].at.start)
    line = walker.read_text("utf-8").splitlines()[number - 1]
    assert '<link name="${name}_calf_link">' in line
    assert len(outside) == 4
