"""World files: every key, and every mistake with its place."""

from math import pi

import pytest
from numpy.testing import assert_allclose

from hrp_model import Diagnostics, ModelError
from hrp_model.rigid import axis_angle_matrix, rpy_matrix
from hrp_sim.control import (
    HOLD,
    LIMP,
    CommandRateLimit,
    CommandTimeout,
    ControlMode,
    Fallback,
    JointControl,
)
from hrp_sim.engine.engine import PhysicsSettings, Solver
from hrp_sim.world.load import load_world

ARM = """\
format: ChoreonoidBody
format_version: 2.0
name: Arm
links:
  - { name: BASE, joint_type: fixed, translation: [ 0, 0, 1 ], mass: 1 }
  - { name: J1, parent: BASE, joint_type: revolute, joint_id: 0, joint_axis: Z, mass: 1,
      inertia: [1,0,0,0,1,0,0,0,1] }
  - { name: J2, parent: J1, joint_type: prismatic, joint_id: 1, joint_axis: X, mass: 1,
      inertia: [1,0,0,0,1,0,0,0,1], joint_displacement: 0.25 }
"""


@pytest.fixture
def world(tmp_path, diagnostics):
    """Read a world file of this text, beside a model arm.body."""
    (tmp_path / "arm.body").write_text(ARM)

    def read(text, diagnostics=diagnostics):
        path = tmp_path / "world.yaml"
        path.write_text(text)
        return load_world(path, diagnostics)

    return read


@pytest.fixture
def problems(tmp_path, world):
    """Read a bad world; return its problems as "line:column: code message"."""

    def read(text):
        quiet = Diagnostics.silent()
        with pytest.raises(ModelError) as caught:
            world(text, quiet)
        assert set(caught.value.diagnostics) <= set(quiet.found)
        prefix = f"{tmp_path / 'world.yaml'}:"
        return [
            f"{str(d.at).removeprefix(prefix)}: {d.code}: {d.message}"
            for d in quiet.found
            if str(d.at).startswith(prefix)
        ]

    return read


def only_body(config):
    (entry,) = config.bodies
    return entry


def with_body(keys):
    return "bodies:\n  - model: arm.body\n" + "".join(f"    {k}\n" for k in keys.splitlines())


def test_a_body_needs_only_its_model_and_is_then_as_the_model_says(world):
    entry = only_body(world("bodies: [ { model: arm.body } ]"))
    placement = entry.placement
    assert (placement.name, placement.fixed, entry.control) == ("Arm", True, HOLD)
    assert placement.X_WL.p.tolist() == [0, 0, 1]
    assert placement.q.tolist() == placement.initial_q.tolist() == [0.0, 0.25]
    assert not any(array.any() for array in (placement.dq, placement.v, placement.w))


def test_every_key_of_a_body_is_taken(world):
    text = """
      name: left
      position: [ 1, -2.5, 3e-1 ]
      rpy: [ 0.1, 0.2, 0.3 ]
      joints: { J2: 0.5, J1: -1 }
      joint_velocities: { J1: 2 }
      velocity: { linear: [ 1, 2, 3 ], angular: [ 4, 5, 6 ] }
      fixed: false
      control: none
      namespace: /team/left
    """
    entry = only_body(world(with_body("\n".join(line.strip() for line in text.split("\n")))))
    placement = entry.placement
    assert (placement.name, placement.fixed, entry.control) == ("left", False, LIMP)
    assert entry.namespace == "/team/left"
    assert placement.X_WL.p.tolist() == [1, -2.5, 0.3]
    assert_allclose(placement.X_WL.R, rpy_matrix(0.1, 0.2, 0.3))
    assert placement.q.tolist() == [-1.0, 0.5]
    assert placement.dq.tolist() == [2.0, 0.0]
    assert (placement.v.tolist(), placement.w.tolist()) == ([1, 2, 3], [4, 5, 6])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("axis", ["0, 3, 4", "0, 3e300, 4e300", "0, 3e-300, 4e-300"])
def test_a_rotation_may_be_an_axis_of_any_length_and_an_angle(world, axis):
    placement = only_body(world(with_body(f"rotation: [ {axis}, {pi / 3} ]"))).placement
    assert_allclose(placement.X_WL.R, axis_angle_matrix([0, 0.6, 0.8], pi / 3))
    assert placement.X_WL.p.tolist() == [0, 0, 1]


def test_every_setting_of_physics_is_taken(world):
    config = world("""
physics:
  time_step: 0.002
  solver: quick
  gravity: [ 0, 0.5, -1.62 ]
  iterations: 20
  over_relaxation: 1.1
  erp: 0.2
  cfm: 1e-6
  friction: 0.7
  max_correcting_velocity: 0.5
  surface_layer: 0.001
  max_contacts: 8
  joint_limits: false
  self_collision: off
  sleeping: yes
  convex_meshes: true
  seed: 42
bodies: []
""")
    assert config.bodies == ()
    assert config.physics == PhysicsSettings(
        time_step=0.002,
        solver=Solver.QUICK,
        gravity=(0.0, 0.5, -1.62),
        iterations=20,
        over_relaxation=1.1,
        erp=0.2,
        cfm=1e-6,
        friction=0.7,
        max_correcting_velocity=0.5,
        surface_layer=0.001,
        max_contacts=8,
        joint_limits=False,
        self_collision=False,
        sleeping=True,
        convex_meshes=True,
        seed=42,
    )
    assert config.physics.step_ns == 2_000_000


@pytest.mark.parametrize(
    ("word", "value"),
    [("auto", "auto"), ("parts", "parts"), ("true", True), ("no", False), ("off", False)],
)
def test_convex_meshes_is_a_word_or_a_switch(world, word, value):
    assert world(f"physics: {{ convex_meshes: {word} }}\nbodies: []").physics.convex_meshes == value


@pytest.mark.parametrize("physics", ["", "physics: {}\n", "physics:\n", "physics: { gravity: }\n"])
def test_what_is_not_written_has_its_default(world, physics):
    assert world(f"{physics}bodies: []").physics == PhysicsSettings()


def test_settings_may_be_overridden_one_by_one(world):
    config = world("{ physics: { seed: 3, friction: 0.5 }, bodies: [] }")
    assert config.with_physics() == config
    changed = config.with_physics(solver=Solver.QUICK, seed=0).physics
    assert (changed.solver, changed.seed, changed.friction) == (Solver.QUICK, 0, 0.5)


@pytest.mark.parametrize("mode", ControlMode)
def test_control_may_be_spelled_out(world, mode):
    joints = "{ J1: none, J2: { mode: effort, kp: 3 } }"
    keys = f"control: {{ mode: {mode.value}, kp: 10, kd: {{ J2: 0.5 }}, joints: {joints} }}"
    control = only_body(world(with_body(keys))).control
    assert (control.mode, control.kp, control.kd) == (mode, 10.0, None)
    assert control.joints == {
        "J1": JointControl(mode=ControlMode.EFFORT),
        "J2": JointControl(mode=ControlMode.EFFORT, kp=3.0, kd=0.5),
    }


@pytest.mark.parametrize("fallback", Fallback)
def test_control_may_say_what_happens_when_commands_stop_coming(world, fallback):
    keys = f"control: {{ timeout: 0.25, fallback: {fallback.value} }}"
    control = only_body(world(with_body(keys))).control
    assert control.timeout == CommandTimeout(after_s=0.25, fallback=fallback)
    control = only_body(world(with_body("control: { timeout: 2 }"))).control
    assert control.timeout == CommandTimeout(after_s=2.0, fallback=Fallback.HOLD)


@pytest.mark.parametrize("rate_limit", CommandRateLimit)
def test_control_may_say_how_fast_positions_become_targets(world, rate_limit):
    keys = f"control: {{ command_rate_limit: {rate_limit.value} }}"
    assert only_body(world(with_body(keys))).control.rate_limit is rate_limit


@pytest.mark.parametrize(
    "keys", ["control: {}", "control: { kp: {} }", "control: hold", "control: { timeout: 0 }"]
)
def test_control_that_says_nothing_holds(world, keys):
    control = only_body(world(with_body(keys))).control
    assert control == HOLD


def test_one_model_may_stand_in_many_places_and_is_read_once(world):
    config = world("bodies: [ { model: arm.body }, { model: ./arm.body, name: other } ]")
    first, second = (entry.placement for entry in config.bodies)
    assert first.body is second.body
    assert (first.name, second.name) == ("Arm", "other")


def test_joints_of_one_body_are_not_those_of_its_twin(world):
    config = world(
        "bodies: [ { model: arm.body, joints: { J1: 1 } }, { model: arm.body, name: other } ]"
    )
    assert [entry.placement.q.tolist() for entry in config.bodies] == [[1.0, 0.25], [0.0, 0.25]]


def test_models_may_be_named_by_package(world):
    assert only_body(
        world("bodies: [ { model: 'package://hrp_ros/models/floor.body' } ]")
    ).placement.body.is_static


MISTAKES = [
    ("model: arm.bdy", "missing-model", "2:12", "no such file: "),
    ("model: ", "missing-model", "2:11", "a body needs 'model'"),
    ("position: [ 1, 2 ]", "wrong-count", "3:15", "3 numbers are needed here, not 2"),
    ("position: [ 1, x, 2 ]", "wrong-type", "3:20", "expected a number, found 'x'"),
    ("rpy: [ 0, 0, inf ]", "wrong-type", "3:18", "expected a finite number"),
    ("rotation: [ 0, 0, 1 ]", "wrong-count", "3:15", "4 numbers are needed here, not 3"),
    ("rotation: [ 0, 0, 0, 1 ]", "zero-axis", "3:15", "has zero length"),
    ("joints: { J11: 1 }", "unknown-joint", "3:15", "joint 'J11'. Did you mean 'J1'?"),
    ("joints: { BASE: 1 }", "unknown-joint", "3:15", "no moving joint 'BASE'"),
    ("joint_velocities: { J9: 1 }", "unknown-joint", "3:25", "no moving joint 'J9'"),
    ("velocity: { linear: [ 1 ] }", "wrong-count", "3:25", "3 numbers are needed here"),
    ("fixed: perhaps", "wrong-type", "3:12", "expected true or false, found 'perhaps'"),
    ("namespace: 2nd", "bad-namespace", "3:16", "'2nd' is not a valid namespace"),
    ("control: hodl", "unknown-word", "3:14", "control 'hodl' is unknown. Did you mean 'hold'?"),
    ("control: { mode: force }", "unknown-word", "3:22", "mode 'force' is unknown."),
    ("control: { kp: -1 }", "out-of-range", "3:20", "a gain must not be negative, but 'kp' is -1"),
    (
        "control: { kd: { J1: -2 } }",
        "out-of-range",
        "3:26",
        "a gain must not be negative, but 'J1' is -2",
    ),
    ("control: { kp: { J7: 2 } }", "unknown-joint", "3:22", "no moving joint 'J7'"),
    ("control: { timeout: -1 }", "out-of-range", "3:25", "must be greater than 0 s: -1"),
    ("control: { timeout: 1, fallback: fall }", "unknown-word", "3:38", "fallback 'fall'"),
    ("control: { joints: { J7: hold } }", "unknown-joint", "3:26", "no moving joint 'J7'"),
    ("control: { joints: { J1: hodl } }", "unknown-word", "3:30", "Did you mean 'hold'?"),
]


@pytest.mark.parametrize(("keys", "code", "place", "message"), MISTAKES, ids=lambda x: str(x)[:30])
def test_a_mistake_in_a_body_is_found_in_its_place(problems, keys, code, place, message):
    text = f"bodies:\n  - {keys}" if keys.startswith("model") else with_body(keys)
    (problem,) = problems(text)
    assert problem.startswith(place)
    assert f": {code}: " in problem
    assert message in problem


@pytest.mark.parametrize(
    ("text", "code", "place", "message"),
    [
        ("time_step: 0", "out-of-range", "1:23", "'time_step' must be from 1e-06 to 0.1"),
        ("solver: quik", "unknown-word", "1:20", "Did you mean 'quick'?"),
        ("erp: 1.5", "out-of-range", "1:17", "'erp' must be from 0 to 1, not 1.5"),
        ("joint_limits: 2", "wrong-type", "1:26", "expected true or false, found '2'"),
    ],
)
def test_a_mistake_in_the_physics_is_found_in_its_place(problems, text, code, place, message):
    (problem,) = problems(f"physics: {{ {text} }}\nbodies: []")
    assert problem.startswith(f"{place}: {code}: ")
    assert message in problem


def test_two_rotations_are_one_too_many(problems):
    (problem,) = problems(with_body("rpy: [ 0, 0, 0 ]\nrotation: [ 0, 0, 1, 0 ]"))
    assert problem == "4:15: two-rotations: give 'rpy' or 'rotation', not both"


def test_two_bodies_cannot_have_one_name(problems):
    text = "bodies:\n  - model: arm.body\n  - { model: arm.body }\n  - { model: arm.body, name: b }"
    assert problems(text) == [
        "3:5: duplicate-name: two bodies are named 'Arm'; give one of them another 'name'"
    ]


def test_a_body_is_more_than_the_name_of_a_file(problems):
    assert problems("bodies: [ arm.body ]") == [
        "1:11: wrong-type: a body must be a mapping with 'model: FILE' and further keys"
    ]


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("physics: { time_stp: 0.01 }\nbodies: []", "1:12", "Did you mean 'time_step'?"),
        ("phisics: {}\nbodies: []", "1:1", "Did you mean 'physics'?"),
        (with_body("positon: [ 0, 0, 0 ]"), "3:5", "Did you mean 'position'?"),
        (with_body("velocity: { anglar: [ 0, 0, 0 ] }"), "3:17", "Did you mean 'angular'?"),
        (with_body("control: { modes: position }"), "3:16", "Did you mean 'mode'?"),
        (with_body("colour: red"), "3:5", "ignored."),
        ("bodies: []\nnamed_poses: [ { name: a, positoin: [ 0, 0, 0 ] } ]", "2:27", "'position'?"),
    ],
)
def test_an_unknown_key_is_a_warning_with_a_suggestion(world, diagnostics, text, place, hint):
    world(text)
    found = diagnostics.take("unknown-key")
    assert str(found.at).endswith(f"world.yaml:{place}")
    assert found.message.endswith(hint)


def test_one_run_finds_every_problem_wherever_it_is(problems):
    text = """\
physics: { solver: fast, erp: 7 }
bodies:
  - { model: nowhere.body }
  - { model: arm.body, joints: { J1: nan, J8: 0 }, control: hodl }
  - { model: arm.body, position: [ 0 ], colour: red }
"""
    assert [problem.split(": ")[:2] for problem in problems(text)] == [
        ["1:20", "unknown-word"],
        ["1:31", "out-of-range"],
        ["3:14", "missing-model"],
        ["4:38", "wrong-type"],
        ["4:43", "unknown-joint"],
        ["4:61", "unknown-word"],
        ["5:34", "wrong-count"],
        ["5:41", "unknown-key"],
        ["5:5", "duplicate-name"],
    ]


def test_a_bad_model_is_located_in_its_own_file_and_the_world_is_read_on(tmp_path, world):
    (tmp_path / "bad.body").write_text(ARM.replace("joint_axis: X", "joint_axis: W"))
    quiet = Diagnostics.silent()
    with pytest.raises(ModelError) as caught:
        world("bodies: [ { model: bad.body }, { model: arm.body, joints: { J8: 0 } } ]", quiet)
    model, joint = caught.value.diagnostics
    assert str(model.at) == f"{tmp_path / 'bad.body'}:8:77"
    assert joint.code == "unknown-joint"


def test_warnings_of_models_count_as_errors_in_a_strict_world(tmp_path, world):
    (tmp_path / "bad.body").write_text(ARM.replace("format_version: 2.0\n", ""))
    strict = Diagnostics.silent(strict=True)
    with pytest.raises(ModelError, match="no-version"):
        world("bodies: [ { model: bad.body } ]", strict)


@pytest.mark.parametrize(
    ("text", "place"), [("", "1:1"), ("\nphysics: {}", "2:1"), ("- a\n- b", "1:1")]
)
def test_what_is_no_world_says_so_in_its_place(problems, text, place):
    assert problems(text) == [f"{place}: not-a-world: a world file needs a list 'bodies'"]


def test_bad_yaml_is_located(problems):
    (problem,) = problems("bodies:\n  - { model: arm.body\n")
    assert problem.startswith("3:1: yaml-syntax: ")


# Angles that were meant in degrees.

LIMITED = ARM.replace("joint_axis: Z,", "joint_axis: Z, joint_range: [ -100, 100 ],").replace(
    "joint_axis: X,", "joint_axis: X, joint_range: [ -1, 1 ],"
)


@pytest.fixture
def suspicions(tmp_path, world):
    """Read a body with these keys; return the warnings as "line:column: message"."""

    def read(keys, model=LIMITED):
        (tmp_path / "arm.body").write_text(model)
        quiet = Diagnostics.silent()
        world(with_body(keys), quiet)
        assert {d.code for d in quiet.found} <= {"maybe-degrees"}
        prefix = f"{tmp_path / 'world.yaml'}:"
        return [f"{d.at}: {d.message}".removeprefix(prefix) for d in quiet.found]

    return read


def test_a_position_that_fits_in_degrees_only_is_shown_in_radians(suspicions):
    assert suspicions("joints: { J1: 90 }") == [
        "3:19: joint 'J1' at 90 rad is outside its limits, -1.745 to 1.745 rad; if degrees were "
        "meant: 90 degrees are 1.5708 rad"
    ]
    assert suspicions("joints: { J1: 90 }", ARM) == []  # turns without end


@pytest.mark.parametrize(
    "joints",
    [
        "J1: 1.57",  # fits
        "J1: 1.8",  # a little too far; degrees would be 0.03 rad
        "J1: 120",  # in neither unit
        "J2: 30",  # [m]
    ],
)
def test_other_positions_are_taken_as_they_are(suspicions, joints):
    assert suspicions(f"joints: {{ {joints} }}") == []


def test_rotations_of_several_turns_are_shown_in_radians(suspicions):
    assert suspicions("rpy: [ 0, 0, -90 ]") == [
        "3:10: 'rpy' has -90 rad, which is 14.3 turns; if degrees were meant: -90 degrees are "
        "-1.5708 rad"
    ]
    assert "'rotation' has 45 rad" in suspicions("rotation: [ 0, 0, 2, 45 ]")[0]
    assert suspicions("rpy: [ 6.28, -3.14, 0 ]") == suspicions("rotation: [ 0, 9, 0, 1 ]") == []


# Named poses.

POSES = """\
bodies: []
named_poses:
  - name: dock
    position: [ 2, 0.5, 0.3 ]
    rpy: [ 0, 0, 1.5 ]
    description: at the charger
    tags: [ spawn, parking ]
    bounds: { lower: [ -1, -2, 0 ], upper: [ 1, 2, 3 ] }
  - { name: far, rotation: [ 0, 0, 2, 0.5 ] }
"""


def test_all_keys_of_named_poses_are_read(world):
    dock, far = world(POSES).named_poses
    assert (dock.name, dock.description, dock.tags) == (
        "dock",
        "at the charger",
        ("spawn", "parking"),
    )
    assert dock.X_WP.p.tolist() == [2.0, 0.5, 0.3]
    assert_allclose(dock.X_WP.R, rpy_matrix(0.0, 0.0, 1.5))
    assert dock.bounds.tolist() == [[-1.0, -2.0, 0.0], [1.0, 2.0, 3.0]]
    assert (far.description, far.tags, far.bounds) == ("", (), None)
    assert_allclose(far.X_WP.R, axis_angle_matrix([0.0, 0.0, 1.0], 0.5))


@pytest.mark.parametrize(
    ("pose", "problem"),
    [
        ("dock", "3:5: wrong-type: a named pose must be a mapping with 'name' and further keys"),
        ("{ rpy: [ 0, 0, 1 ] }", "3:5: missing-name: a named pose needs a name"),
        ("{ name: a }\n  - { name: a }", "4:13: duplicate-name: two poses are named 'a'"),
        ("{ name: a, position: [ 1, 2, 1e7 ] }", "out-of-range: the position must be within 1e+06"),
        ("{ name: a, tags: [ [ spawn ] ] }", "wrong-type: a tag must be a text"),
        ("{ name: a, bounds: { upper: [ 1, 1, 1 ] } }", "bad-bounds: bounds need 'lower' and"),
        ("{ name: a, bounds: { lower: [ 0, 2, 0 ], upper: [ 1, 1, 1 ] } }", "bad-bounds"),
    ],
)
def test_a_mistake_in_a_named_pose_is_found_in_its_place(problems, pose, problem):
    (found,) = problems(f"bodies: []\nnamed_poses:\n  - {pose}\n")
    assert problem in found
