"""Lists of numbers and speeds of vehicles, as commands to joints."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from paths import MODELS
from vehicles import vehicle, wheel

from hrp_model import Body, Joint, JointType, Link, Pose, load_body
from hrp_model.geometry import Box, Shape
from hrp_model.kinematics.drive import drive_kinematics
from hrp_model.kinematics.vehicle import track_drive
from hrp_sim import BodyEntry, Placement, Simulation, WorldConfig, load_world
from hrp_sim.control import ControlMode, array_command, vehicle_command

WIDTH = 0.1  # of a track, in [m]


def chain(*joints):
    """Links in a row, with (joint name, joint id, type)."""
    links = [Link(name="BASE", parent=None, joint=Joint(type=JointType.FIXED, name="BASE"))]
    for name, number, kind in joints:
        joint = Joint(type=kind, name=name, id=number)
        links.append(Link(name=f"{name}_LINK", parent=links[-1].name, joint=joint, mass=1.0))
    return Body(name="chain", links=tuple(links))


REVOLUTE, TRACK = JointType.REVOLUTE, JointType.TRACK


@pytest.mark.parametrize("mode", ControlMode)
def test_values_go_to_the_joints_with_an_id_by_id(mode):
    body = chain(("B", 1, REVOLUTE), ("X", None, REVOLUTE), ("A", 0, REVOLUTE), ("T", 2, TRACK))
    command = array_command(body, mode, [1.0, 2.0, 3.0])
    assert list(command.names) == ["A", "B", "T"]
    given = {"position": (), "velocity": (), "effort": (), mode.value: [1.0, 2.0, 3.0]}
    assert {name: getattr(command, name) for name in given} == given


def test_without_ids_they_go_to_all_joints_in_the_order_of_joint_states():
    body = chain(("B", None, REVOLUTE), ("T", None, TRACK), ("A", None, JointType.PRISMATIC))
    command = array_command(body, ControlMode.EFFORT, [1.0, 2.0, 3.0])
    assert list(command.names) == ["B", "T", "A"]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_values_is_refused_with_the_names_of_the_joints(count):
    body = chain(("B", 1, REVOLUTE), ("A", 0, REVOLUTE))
    words = f"{count} values of position for 2 joints: A, B"
    with pytest.raises(ValueError, match=words):
        array_command(body, ControlMode.POSITION, [0.0] * count)


def track(name, y, *, box_y=0.0, axis=(0, 1, 0), pose=None, parent="CHASSIS"):
    shape = Shape(Box([0.5, WIDTH, 0.2]), Pose(p=[0, box_y, 0]).matrix())
    return Link(
        name=name,
        parent=parent,
        joint=Joint(type=TRACK, name=f"J_{name}", axis=list(axis)),
        X_PL=pose or Pose(p=[0, y, 0]),
        mass=1.0,
        collision=(shape,),
    )


def test_two_tracks_drive_a_vehicle():
    """The middles of the shapes count, not the origins of the links."""
    body = vehicle(track("R", -0.2, box_y=-0.1), track("L", 0.3))
    drive = track_drive(body)
    assert ([x.name for x in drive.left], [x.name for x in drive.right]) == (["L"], ["R"])
    assert drive.track_separation == pytest.approx(0.6)
    command = vehicle_command(body, 0.5, 2.0)
    half = 0.5 * drive_kinematics(body).effective_track
    assert half > 0.3
    assert dict(zip(command.names, command.velocity, strict=True)) == pytest.approx(
        {"J_L": 0.5 - 2.0 * half, "J_R": 0.5 + 2.0 * half}
    )


def test_a_root_that_is_turned_in_the_world_changes_nothing():
    turn = Pose(R=[[0, -1, 0], [1, 0, 0], [0, 0, 1]], p=[1, 2, 3])
    body = vehicle(track("R", -0.2), track("L", 0.2), pose=turn)
    assert track_drive(body).track_separation == pytest.approx(0.4)


def test_tracks_of_flippers_run_along():
    flipper = Link(
        name="FLIPPER",
        parent="CHASSIS",
        joint=Joint(type=REVOLUTE, name="FLIPPER", axis=[0, 1, 0]),
        X_PL=Pose(p=[0.2, 0.3, 0]),
        mass=1.0,
    )
    body = vehicle(track("R", -0.2), track("L", 0.2), flipper, track("F", 0.1, parent="FLIPPER"))
    drive = track_drive(body)
    assert [x.name for x in drive.left] == ["L", "F"]
    assert drive.track_separation == pytest.approx(0.2 + 0.5 * (0.2 + 0.4))


@pytest.mark.parametrize(
    "links",
    [
        (),
        (track("L", 0.2),),
        (track("L", 0.2), track("M", 0.0), track("R", -0.2)),
        (track("L", 0.2), track("R", -0.2, axis=(0, -1, 0))),
        (track("L", 0.2, axis=(1, 0, 0)), track("R", -0.2, axis=(1, 0, 0))),
        (wheel("W", [0, 0.2, 0]),),
    ],
)
def test_what_drives_on_no_two_sides_takes_no_speeds(links):
    body = vehicle(*links)
    assert track_drive(body) is None
    with pytest.raises(ValueError, match="'vehicle' has no tracks or wheels on both sides"):
        vehicle_command(body, 1.0, 0.0)


def test_a_body_that_is_fixed_to_the_world_does_not_drive():
    body = vehicle(track("R", -0.2), track("L", 0.2), root=JointType.FIXED)
    assert track_drive(body) is None


def test_wheels_take_their_speeds_as_turns():
    body = vehicle(wheel("L", [0, 0.2, 0]), wheel("R", [0, -0.2, 0]))
    command = vehicle_command(body, 0.5, 1.5)
    assert dict(zip(command.names, command.velocity, strict=True)) == pytest.approx(
        {"L": (0.5 - 0.2 * 1.5) / 0.1, "R": (0.5 + 0.2 * 1.5) / 0.1}
    )


def test_wheels_with_the_opposite_axis_turn_the_opposite_way():
    body = vehicle(wheel("L", [0, 0.2, 0], axis=[0, -1, 0]), wheel("R", [0, -0.2, 0]))
    command = vehicle_command(body, 0.5, 1.5)
    assert dict(zip(command.names, command.velocity, strict=True)) == pytest.approx(
        {"L": -(0.5 - 0.2 * 1.5) / 0.1, "R": (0.5 + 0.2 * 1.5) / 0.1}
    )


def test_casters_turn_freely_while_a_vehicle_drives():
    tiny = Shape(Box([0.02] * 3))
    body = vehicle(
        wheel("L", [0, 0.2, 0]),
        wheel("R", [0, -0.2, 0]),
        wheel("SWIVEL", [0.3, 0, 0], axis=[0, 0, 1], shape=tiny),
        wheel("CASTER", [-0.05, 0, -0.05], radius=0.05, parent="SWIVEL"),
    )
    command = vehicle_command(body, 0.5, 0.0)
    assert list(command.names) == ["L", "R", "SWIVEL", "CASTER"]
    assert_allclose(command.velocity, [5.0, 5.0, np.nan, np.nan])
    assert_allclose(command.effort, [np.nan, np.nan, 0.0, 0.0])


def driven(simulation, body, linear, angular, seconds):
    """Return how far a vehicle got along its first x axis, in [m], and turned, in [rad]."""
    simulated = simulation.bodies[body]
    for _ in range(200):  # it settles
        simulation.step()
    p, R = simulated.motion.p[0].copy(), simulated.motion.R[0].copy()
    simulation.command(body, vehicle_command(simulated.body, linear, angular), "cmd_vel")
    for _ in range(round(seconds * 1000)):
        simulation.step()
    turned = R.T @ simulated.motion.R[0]
    return (R.T @ (simulated.motion.p[0] - p))[0], np.arctan2(turned[1, 0], turned[0, 0])


def test_the_rover_drives_ahead_and_turns_to_the_left():
    world = load_world(MODELS / "worlds" / "rover.yaml")
    simulation = Simulation(world, defer_images=True)
    ahead, turned = driven(simulation, "rover", 0.3, 0.0, 1.0)
    assert ahead == pytest.approx(0.3, rel=0.05)
    assert abs(turned) < 0.02
    simulation.reset()
    _, turned = driven(simulation, "rover", 0.0, 0.5, 1.0)
    assert turned == pytest.approx(0.5, rel=0.1)  # after it has started


def test_two_wheels_turn_as_fast_as_they_are_asked():
    """A vehicle on two wheels and a smooth skid that carries nothing sideways."""
    body = vehicle(
        wheel("L", [0, 0.2, 0], id=0), wheel("R", [0, -0.2, 0], id=1), chassis=(0.1, 0.3, 0.1)
    )
    heavy = [
        Link(
            **{f: getattr(x, f) for f in ("name", "parent", "joint", "X_PL", "collision")},
            mass=2.0,
            inertia=0.01 * np.eye(3),
        )
        for x in body.links
    ]
    floor = load_body(MODELS / "floor.body")
    vehicle_body = Body(name="vehicle", links=tuple(heavy))
    start = Pose(p=[0.0, 0.0, 0.1])
    world = WorldConfig(
        bodies=(
            BodyEntry(placement=Placement(name="floor", body=floor, fixed=True)),
            BodyEntry(placement=Placement(name="car", body=vehicle_body, X_WL=start)),
        )
    )
    ahead, turned = driven(Simulation(world), "car", 0.0, 1.0, 1.0)
    assert turned == pytest.approx(1.0, rel=0.05)
    assert abs(ahead) < 0.02


def test_numbers_that_are_none_are_left_out_by_the_controller():
    body = vehicle(wheel("L", [0, 0.2, 0]), wheel("R", [0, -0.2, 0]))
    assert_allclose(vehicle_command(body, np.nan, 0.0).velocity, np.nan)


def car(wheelbase, track, radius):
    """Return the URDF of a car with its origin between the rear wheels, and angles of 1.57."""
    mass = (
        "<inertial><mass value='{0}'/>"
        "<inertia ixx='{1}' iyy='{1}' izz='{1}' ixy='0' ixz='0' iyz='0'/></inertial>"
    )
    rim = f"<geometry><cylinder radius='{radius}' length='0.04'/></geometry>"
    links = [f"<link name='base'>{mass.format(8, 0.2)}</link>"]
    for name, x, y in (
        *(("rear_left", 0.0, track / 2), ("rear_right", 0.0, -track / 2)),
        *(("front_left", wheelbase, track / 2), ("front_right", wheelbase, -track / 2)),
    ):
        parent, at = "base", f"xyz='{x} {y} {radius}'"
        if x:
            links.append(
                f"<link name='{name}_knuckle'>{mass.format(0.5, 0.001)}</link>"
                f"<joint name='{name}_steer' type='revolute'><parent link='base'/>"
                f"<child link='{name}_knuckle'/><origin {at}/><axis xyz='0 0 1'/>"
                "<limit lower='-0.6' upper='0.6' effort='100' velocity='5'/></joint>"
            )
            parent, at = f"{name}_knuckle", "xyz='0 0 0'"
        links.append(
            f"<link name='{name}'>{mass.format(0.5, 0.001)}<collision>{rim}</collision></link>"
            f"<joint name='{name}_wheel' type='continuous'><parent link='{parent}'/>"
            f"<child link='{name}'/><origin {at} rpy='-1.57 0 0'/><axis xyz='0 0 1'/></joint>"
        )
    return f"<robot name='car'>{''.join(links)}</robot>"


def test_a_car_drives_along_the_circle_of_its_command(tmp_path):
    (tmp_path / "car.urdf").write_text(car(0.5, 0.4, 0.1), encoding="utf-8")
    world = tmp_path / "world.yaml"
    floor = MODELS / "floor.body"
    world.write_text(f"bodies: [{{model: '{floor}'}}, {{model: car.urdf}}]", encoding="utf-8")
    simulation = Simulation(load_world(world))
    body, v, w = simulation.bodies["car"], 0.8, 0.6
    simulation.command("car", vehicle_command(body.body, v, w), "cmd_vel")
    for _ in range(1000):
        simulation.step()
    path, yaw = [], []
    for _ in range(1500):
        simulation.step()
        path.append(body.motion.p[0, :2].copy())
        yaw.append(np.arctan2(*body.motion.R[0, [1, 0], 0]))
    # A circle: x^2 + y^2 = 2 x cx + 2 y cy + (r^2 - cx^2 - cy^2).
    points = np.array(path)
    columns = np.column_stack([2.0 * points, np.ones(len(points))])
    *center, rest = np.linalg.lstsq(columns, (points**2).sum(axis=1), rcond=None)[0]
    assert np.sqrt(rest + np.square(center).sum()) == pytest.approx(v / w, rel=0.01)
    assert np.ptp(np.unwrap(yaw)) == pytest.approx(w * 1.499, rel=0.02)
