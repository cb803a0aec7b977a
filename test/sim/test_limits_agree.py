"""Whatever reads the limits of a joint takes them for the same."""

from math import inf, isfinite
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml
from vehicles import vehicle, wheel

from hrp_model import Diagnostics, Range, Severity, load_body_text
from hrp_model.body import MAX_LIMIT as LARGE
from hrp_model.description.description import joint_limit_parameters
from hrp_model.frames import body_frames
from hrp_model.kinematics.vehicle import rolling_wheels
from hrp_model.urdf import (
    CommandInterface,
    Hardware,
    UrdfOptions,
    body_to_srdf,
    controllers_yaml,
    convert,
    joint_state_publisher_yaml,
)
from hrp_sim import (
    BodyEntry,
    JointCommand,
    PhysicsSettings,
    Placement,
    Simulation,
    WorldConfig,
    load_world,
)

NONE = Range()
KEYS = {
    "position": "joint_range",
    "velocity": "joint_velocity_range",
    "effort": "max_joint_effort",
}
UNITS = {
    "revolute": {"position": "rad", "velocity": "rad/s", "effort": "N m"},
    "prismatic": {"position": "m", "velocity": "m/s", "effort": "N"},
}
# What is stated, the limits that hold, and what a check says.
CASES = {
    "position": [
        (Range(-0.5, 0.25), Range(-0.5, 0.25), None),
        (Range(0.125, 0.25), Range(0.125, 0.25), None),
        (Range(-0.5, inf), Range(-0.5, inf), None),
        (Range(-inf, 0.25), Range(-inf, 0.25), None),
        (NONE, NONE, None),
        (Range(0.25, 0.25), Range(0.25, 0.25), "empty-range"),
        (Range(0.0, 0.0), Range(0.0, 0.0), "empty-range"),
        (Range(0.5, -0.25), NONE, "inverted-range"),
        (Range(0.5, 0.25), NONE, "inverted-range"),
    ],
    "velocity": [
        (Range(-2.0, 2.0), Range(-2.0, 2.0), None),
        (Range(-2.0, 3.0), Range(-2.0, 3.0), None),
        (Range(-2.0, inf), Range(-2.0, inf), None),
        (NONE, NONE, None),
        (Range(0.0, 0.0), NONE, "empty-range"),
        (Range(2.0, 2.0), NONE, "empty-range"),
        (Range(0.0, 2.0), NONE, "one-sided-range"),
        (Range(-3.0, -2.0), NONE, "one-sided-range"),
        (Range(2.0, -2.0), NONE, "inverted-range"),
    ],
    "effort": [
        (Range(-2.0, 2.0), Range(-2.0, 2.0), None),
        (Range(-2.0, 3.0), Range(-2.0, 3.0), None),
        (Range(-inf, 3.0), Range(-inf, 3.0), None),
        (NONE, NONE, None),
        (Range(0.0, 0.0), Range(0.0, 0.0), "empty-range"),
        (Range(2.0, 2.0), NONE, "empty-range"),
        (Range(0.0, 2.0), Range(0.0, 2.0), "one-sided-range"),
        (Range(-3.0, -2.0), NONE, "one-sided-range"),
        (Range(2.0, -2.0), NONE, "inverted-range"),
    ],
}
STEP = 0.001  # [s]


def cases(*quantities):
    """Parametrise a test over the ranges of quantities; most of sliders are slow."""
    rows = [
        pytest.param(
            kind,
            quantity,
            *row,
            id=f"{kind}-{quantity}-{row[0].lower:g}-{row[0].upper:g}",
            marks=[pytest.mark.slow] if kind == "prismatic" and i % 4 else [],
        )
        for kind in UNITS
        for quantity in quantities
        for i, row in enumerate(CASES[quantity])
    ]
    return pytest.mark.parametrize(("kind", "quantity", "stated", "limits", "code"), rows)


def read(kind, quantity, stated):
    """Return a body from a file whose one joint has a range, and what reading it reported."""
    ends = ", ".join(repr(end) if isfinite(end) else "unlimited" for end in stated)
    inertia = "mass: 1.0, inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1]"
    text = f"""
format: ChoreonoidBody
format_version: 1.0
angle_unit: radian
name: B
links:
  - {{name: A, joint_type: fixed, {inertia}}}
  - {{name: J, parent: A, joint_type: {kind}, joint_axis: Z, joint_id: 0, {inertia},
     {KEYS[quantity]}: [{ends}]}}
"""
    found = Diagnostics.silent()
    return load_body_text(text, found), found.found


def described(body, command="position"):
    """Return what is written of the joint for other programs, and what that reported."""
    found = Diagnostics.silent()
    options = UrdfOptions(ros2_control=Hardware.MUJOCO, command_interface=CommandInterface(command))
    made = convert(body, None, options=options, diagnostics=found)
    robot = ElementTree.fromstring(made.urdf)
    srdf = ElementTree.fromstring(body_to_srdf(made.body, made.frames, found))
    (actuator,) = robot.findall("mujoco_inputs/raw_inputs/actuator/*")
    parameters = joint_limit_parameters(made.body, made.frames)
    return SimpleNamespace(
        joint=robot.find("joint[@name='J']"),
        command={
            p.get("name"): float(p.text)
            for p in robot.findall("ros2_control/joint/command_interface/param")
        },
        actuator=actuator,
        states={s.get("name") for s in srdf.findall("group_state")},
        sliders=yaml.safe_load(joint_state_publisher_yaml(made.body, made.frames)),
        parameters={
            name.removeprefix("joint_limits.J."): limit.value for name, limit in parameters.items()
        },
        found=found.found,
    )


def simulated(body):
    placement = Placement(name="B", body=body, fixed=True)
    physics = PhysicsSettings(gravity=(0.0, 0.0, 0.0), time_step=STEP)
    return Simulation(WorldConfig(physics=physics, bodies=(BodyEntry(placement=placement),)))


def pushed(body, effort, steps):
    """Return where an effort moves the joint, and what of it the joint exerts."""
    simulation = simulated(body)
    simulation.command("B", JointCommand(["J"], effort=[effort]))
    simulation.step()
    motion = simulation.bodies["B"].motion
    exerted = float(motion.effort[0])
    for _ in range(steps - 1):
        simulation.step()
    return float(motion.q[0]), exerted


def finite(**ends):
    """Return the limits that there are, by name."""
    return {name: end for name, end in ends.items() if isfinite(end)}


def attribute(element, name):
    text = element.get(name)
    return None if text is None else Range(*map(float, text.split()))


def room(limits):
    """Return what MuJoCo can be told of limits: both ends, one below the other."""
    return limits if all(map(isfinite, limits)) and limits.lower < limits.upper else None


@cases("position", "velocity", "effort")
def test_the_model_keeps_what_is_stated_and_warns_once(
    kind, quantity, stated, limits, code, caplog
):
    body, found = read(kind, quantity, stated)
    joint = body.link("J").joint
    assert getattr(joint, quantity) == stated
    assert getattr(joint, f"{quantity}_limits") == limits
    warnings = [d for d in found if d.severity is not Severity.NOTE]
    assert [d.code for d in warnings] == ([] if code is None else [code])
    for warning in warnings:
        assert warning.at is not None
        assert f"the {quantity} range of joint 'J'" in warning.message
        assert f"{stated.lower:g} to {stated.upper:g} {UNITS[kind][quantity]};" in warning.message
        assert warning.message.endswith("means no limit") == (limits == NONE)
    # Who uses the limits has nothing to add, but that URDF has one number for two.
    assert {d.code for d in described(body).found if d.severity is not Severity.NOTE} <= {
        "lopsided-limits"
    }
    simulated(body)
    assert "range" not in caplog.text


@cases("position")
def test_everybody_has_the_same_limits_of_the_position(kind, quantity, stated, limits, code):
    body, _ = read(kind, quantity, stated)
    made, (lower, upper) = described(body), limits
    endless = limits == NONE and kind == "revolute"
    assert made.joint.get("type") == ("continuous" if endless else kind)
    limit = made.joint.find("limit")
    if not endless:
        ends = float(limit.get("lower")), float(limit.get("upper"))
        assert ends == (max(lower, -LARGE), min(upper, LARGE))
    assert made.command == finite(min=lower, max=upper)
    assert attribute(made.actuator, "ctrlrange") == room(limits)
    assert ("zero" in made.states) == (lower <= 0.0 <= upper)
    zeros = made.sliders["/**"]["ros__parameters"]["zeros"]
    assert zeros == {"J": min(max(0.0, lower), upper)}
    assert made.parameters["has_position_limits"] == (limits != NONE)
    if limits != NONE:
        assert (made.parameters["min_position"], made.parameters["max_position"]) == limits
    # The stops of the engine, where it is pushed against them, and what commands are clipped to.
    for effort, end in ((-5.0, lower), (5.0, upper)):
        q, _ = pushed(body, effort, 1000)
        assert q == pytest.approx(end, abs=2e-3) if isfinite(end) else abs(q) > 1.0
        simulation = simulated(body)
        simulation.command("B", JointCommand(["J"], position=[effort]))
        simulation.step()
        assert simulation.bodies["B"].drive.q[0] == min(max(effort, lower), upper)


@cases("velocity")
def test_everybody_has_the_same_limit_of_the_velocity(kind, quantity, stated, limits, code):
    body, _ = read(kind, quantity, stated)
    made, fastest = described(body, "velocity"), min(-limits.lower, limits.upper)
    assert float(made.joint.find("limit").get("velocity")) == min(fastest, LARGE)
    assert made.command == finite(min=-fastest, max=fastest)
    assert attribute(made.actuator, "ctrlrange") == room(limits)
    assert made.parameters["has_velocity_limits"] == isfinite(fastest)
    assert made.parameters.get("max_velocity", inf) == fastest
    simulation = simulated(body)
    simulation.command("B", JointCommand(["J"], position=[0.5]))
    simulation.step()
    assert simulation.bodies["B"].drive.q[0] == pytest.approx(min(0.5, STEP * fastest))


@cases("effort")
def test_everybody_has_the_same_limits_of_the_effort(kind, quantity, stated, limits, code):
    body, _ = read(kind, quantity, stated)
    made, largest = described(body, "effort"), max(-limits.lower, limits.upper)
    assert float(made.joint.find("limit").get("effort")) == min(largest, LARGE)
    assert made.command == finite(min=-largest, max=largest)
    assert attribute(made.actuator, "ctrlrange") == room(limits)
    servo = described(body, "position").actuator
    assert attribute(servo, "forcerange") == room(limits)
    powerless = largest == 0.0
    assert (made.actuator.get("gear"), servo.get("gear")) == (
        ("0", "0") if powerless else (None,) * 2
    )
    assert made.parameters["has_effort_limits"] == isfinite(largest)
    assert made.parameters.get("max_effort", inf) == largest
    for effort in (-5.0, 5.0):
        _, exerted = pushed(body, effort, 1)
        assert exerted == min(max(effort, limits.lower), limits.upper)


def test_a_simulation_warns_once_also_where_it_renames_joints(tmp_path, caplog):
    (tmp_path / "renamed.body").write_text("""
format: ChoreonoidBody
format_version: 2.0
name: B
links:
  - {name: A, joint_type: fixed}
  - {name: J, joint_name: /J, parent: A, joint_type: revolute, joint_range: [60, -60],
     mass: 1, inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
""")
    found = Diagnostics.silent()
    world = load_world(tmp_path / "renamed.body", found)
    Simulation(world)
    body = world.bodies[-1].placement.body
    assert body.link("J").joint.name != "/J"  # which no URDF can hold
    assert [d.code for d in found.found].count("inverted-range") == 1
    assert "inverted" not in caplog.text


@pytest.mark.parametrize(("stated", "limits", "code"), CASES["velocity"])
def test_a_vehicle_is_as_fast_as_its_wheels_may_turn(stated, limits, code):
    turning = {"velocity": stated, "radius": 0.1}
    body = vehicle(
        wheel("L", [0.0, 0.2, 0.0], id=0, **turning), wheel("R", [0.0, -0.2, 0.0], id=1, **turning)
    )
    options = UrdfOptions(ros2_control=Hardware.GZ)
    frames = body_frames(body, Diagnostics.silent(), options)
    text = controllers_yaml(body, frames, options)
    drive = yaml.safe_load(text)["/**/diff_drive_controller"]["ros__parameters"]
    fastest = 0.1 * min(-limits.lower, limits.upper)
    assert drive.get("linear", {"x": {"max_velocity": inf}})["x"]["max_velocity"] == fastest


def test_wheels_with_inverted_limits_turn_endlessly():
    wheels = [
        wheel(name, [0.0, y, 0.0], id=i, position=Range(1.0, -1.0))
        for i, (name, y) in enumerate((("L", 0.2), ("R", -0.2)))
    ]
    assert rolling_wheels(vehicle(*wheels)) == {"L", "R"}
