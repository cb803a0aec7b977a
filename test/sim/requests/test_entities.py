"""Entities that others spawn, find, move, describe and delete."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from controlled_run import ARM, BOX, refused, simulating
from paths import MODELS

from hrp_model.rigid import Pose, matrix_quaternion, rpy_matrix
from hrp_msgs.names import NameCollisionError
from hrp_sim.run.requests.entities import MoveRequest, SpawnRequest
from hrp_sim.run.requests.resources import Resource, available_worlds, spawnables
from hrp_sim.run.requests.standard import (
    Bounds,
    BoundsType,
    Category,
    Code,
    EntityFilters,
    EntityInfo,
    RequestError,
    TagsFilter,
)
from hrp_sim.world.naming import NamespaceError

URDF = """<robot name="pole"><link name="pole">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><cylinder radius="0.1" length="2"/></geometry></collision>
</link></robot>"""
WRL = (MODELS / "humanoid" / "humanoid.wrl").read_text(encoding="utf-8")
AWAY = (5.0, 5.0, 5.0)
TURN = rpy_matrix(0.3, -0.4, 1.2)


def crate(**request):
    return SpawnRequest(**{"resource": Resource(text=BOX), "position": AWAY} | request)


@pytest.fixture
def run():
    with simulating() as harness:
        yield harness


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        (Resource(ARM), "Arm"),
        (Resource(f"file://{ARM}"), "Arm"),
        (Resource("package://hrp_ros/models/arm/arm.body"), "Arm"),
        (Resource(text=BOX), "crate"),
        (Resource(text=URDF), "pole"),
        (Resource(text=WRL), "Humanoid"),
    ],
)
def test_models_of_each_kind_are_spawned(run, resource, name):
    request = SpawnRequest(resource=resource, position=AWAY, name="one" * (name == "Arm"))
    expected = request.name or name
    assert run.control.spawn(request) == expected
    assert expected in run.control.names()
    assert run.changes == 1
    run.step(5)


def test_a_model_in_yaml_is_spawned_and_a_world_is_not(run, tmp_path):
    (tmp_path / "crate.yaml").write_text(BOX, encoding="utf-8")
    (tmp_path / "world.yaml").write_text("bodies: []", encoding="utf-8")
    before = run.control.names()
    assert run.control.spawn(crate(resource=Resource(str(tmp_path / "crate.yaml")))) == "crate"
    with refused(Code.RESOURCE_PARSE_ERROR, "this is a world"):
        run.control.spawn(crate(resource=Resource(str(tmp_path / "world.yaml"))))
    assert run.control.names() == [*before, "crate"]


def test_a_spawned_body_stands_where_it_is_told(run):
    quaternion = matrix_quaternion(TURN)
    run.control.spawn(crate(position=(1.0, -2.0, 3.0), quaternion=quaternion))
    state = run.control.entity_state("crate")
    np.testing.assert_allclose(state.X_WF.p, [1.0, -2.0, 3.0])
    np.testing.assert_allclose(state.X_WF.R, TURN, atol=1e-12)


def test_a_pose_may_be_told_in_the_frame_of_an_entity_or_link(run):
    X_WF = Pose(TURN, np.array([10.0, 0.0, 4.0]))
    first = crate(name="first", position=(10.0, 0.0, 4.0), quaternion=matrix_quaternion(TURN))
    run.control.spawn(first)
    for k, frame in enumerate(("first", "first/CRATE", "CRATE")):
        name = f"second_{k}"
        run.control.spawn(crate(name=name, position=(1.0, 2.0, 3.0), frame=frame))
        state = run.control.entity_state(name)
        np.testing.assert_allclose(state.X_WF.p, X_WF.p + TURN @ [1.0, 2.0, 3.0])
        np.testing.assert_allclose(state.X_WF.R, TURN, atol=1e-12)
        run.control.delete(name)


def test_equal_links_are_no_frame_without_their_entity(run):
    run.control.spawn(crate(name="a"))
    run.control.spawn(crate(name="b", position=(8.0, 8.0, 8.0)))
    with refused(Code.INVALID_POSE, "belongs to several"):
        run.control.spawn(crate(name="c", frame="CRATE"))


NAN = float("nan")
BAD_REQUESTS = [
    (crate(resource=Resource()), Code.NO_RESOURCE, "neither a uri nor"),
    (crate(resource=Resource("robot.usd")), Code.UNSUPPORTED_FORMAT, ".urdf"),
    (crate(resource=Resource("http://x/r.urdf")), Code.UNSUPPORTED_FORMAT, "not supported"),
    (crate(resource=Resource("none.body")), Code.NOT_FOUND, "no file 'none.body'"),
    (crate(resource=Resource("package://nobody/r.urdf")), Code.NOT_FOUND, "'nobody'"),
    (crate(resource=Resource(text="rubbish")), Code.RESOURCE_PARSE_ERROR, "resource_string"),
    (crate(resource=Resource(text="<robot")), Code.RESOURCE_PARSE_ERROR, "resource_string"),
    (crate(resource=Resource(text="\0" * 99)), Code.RESOURCE_PARSE_ERROR, "resource_string"),
    (crate(resource=Resource(text="x" * 50_000_000)), Code.RESOURCE_PARSE_ERROR, "50.0 mill"),
    (crate(position=(NAN, 0, 0)), Code.INVALID_POSE, "nan"),
    (crate(position=(1e9, 0, 0)), Code.INVALID_POSE, "within"),
    (crate(quaternion=(0, 0, 0, 0)), Code.INVALID_POSE, "length 0"),
    (crate(quaternion=(0, 0, 0, NAN)), Code.INVALID_POSE, "length nan"),
    (crate(frame="moon"), Code.INVALID_POSE, "'moon' is unknown"),
    (crate(name="a/b"), Code.NAME_INVALID, "'a/b' is not a valid name"),
    (crate(name="a\nb"), Code.NAME_INVALID, "is not a valid name"),
    (crate(name="a" * 999), Code.NAME_INVALID, "is not a valid name"),
    (crate(namespace="1st"), Code.NAMESPACE_INVALID, "'1st'"),
    (crate(namespace="a//b"), Code.NAMESPACE_INVALID, "'a//b'"),
    (crate(name="arm"), Code.NAME_NOT_UNIQUE, "'arm' already"),
]


@pytest.mark.parametrize(("request_", "code", "words"), BAD_REQUESTS)
def test_what_cannot_be_spawned_says_why_and_changes_nothing(run, request_, code, words):
    names, before = run.control.names(), run.hash()
    with refused(code, words):
        run.control.spawn(request_)
    assert run.control.names() == names
    assert run.hash() == before
    assert run.changes == 0


def test_a_missing_mesh_is_a_missing_asset(run):
    text = URDF.replace('<cylinder radius="0.1" length="2"/>', '<mesh filename="file:///no.stl"/>')
    with refused(Code.MISSING_ASSETS, "no.stl"):
        run.control.spawn(crate(resource=Resource(text=text)))


def test_a_taken_name_is_changed_if_it_may_be(run):
    assert run.control.spawn(crate(name="arm", allow_renaming=True)) == "arm_1"
    again = crate(name="arm", allow_renaming=True, position=(8.0, 8.0, 8.0))
    assert run.control.spawn(again) == "arm_2"


def test_names_whose_topics_would_be_the_same_are_not_free(run):
    run.control.spawn(crate(name="a-b"))
    with refused(
        Code.NAME_NOT_UNIQUE, "'a-b' already exists, and 'a.b' would have the same topics"
    ):
        run.control.spawn(crate(name="a.b"))


def test_whoever_gives_out_topics_may_object(run):
    def check_names(simulation, names):
        for name in names:
            if simulation.namespace(name) == "left" or name == "b":
                raise NamespaceError("taken")
            if name == "c":
                raise NameCollisionError("two of its sensors")

    run.check_names = check_names
    before = run.control.names()
    with refused(Code.NAMESPACE_INVALID, "taken"):
        run.control.spawn(crate(name="a", namespace="left"))
    with refused(Code.NAME_INVALID, "taken"):
        run.control.spawn(crate(name="b"))
    with refused(Code.RESOURCE_PARSE_ERROR, "two of its sensors"):
        run.control.spawn(crate(name="c"))
    assert run.control.names() == before
    run.control.spawn(crate(name="b_too", namespace="right"))
    assert run.runner.call(lambda: run.simulation.namespace("b_too")) == "right"


def test_several_are_spawned_in_order_and_each_has_its_result(run):
    results = run.control.spawn_all(
        [crate(name="a"), crate(name="a"), crate(name="b", position=(9.0, 9.0, 9.0))]
    )
    assert results[0] == "a"
    assert isinstance(results[1], RequestError)
    assert results[1].code is Code.NAME_NOT_UNIQUE
    assert results[2] == "b"
    assert run.changes == 1


def test_a_deleted_entity_is_gone(run):
    run.control.spawn(crate())
    run.control.delete("crate")
    assert "crate" not in run.control.names()
    for ask in (run.control.delete, run.control.entity_state, run.control.bounds, run.control.info):
        with refused(Code.NOT_FOUND, "no entity 'crate'"):
            ask("crate")


def test_falling_is_seen_in_the_state(run):
    run.control.spawn(crate(position=(5.0, 5.0, 50.0)))
    run.step(100)
    state = run.control.entity_state("crate")
    g = run.simulation.engine.settings.gravity[2]
    assert state.time_ns == 100_000_000
    np.testing.assert_allclose(state.v, [0.0, 0.0, g * 0.1], atol=1e-9)
    np.testing.assert_allclose(state.a, [0.0, 0.0, g], rtol=1e-6, atol=1e-9)


def test_an_entity_is_put_elsewhere_and_keeps_its_speed(run):
    run.control.spawn(crate())
    run.step(10)
    before = run.control.entity_state("crate")
    run.control.move("crate", MoveRequest(position=(1.0, 2.0, 30.0)))
    after = run.control.entity_state("crate")
    np.testing.assert_allclose(after.X_WF.p, [1.0, 2.0, 30.0])
    np.testing.assert_allclose(after.v, before.v)
    run.control.move("crate", MoveRequest(linear=(1.0, 0.0, 0.0), angular=(0.0, 0.0, 2.0)))
    run.step(100)
    state = run.control.entity_state("crate")
    assert state.X_WF.p[0] == pytest.approx(1.1)
    assert state.w[2] == pytest.approx(2.0)


def test_a_motion_told_in_a_moving_frame_is_added_to_its_own(run):
    run.control.spawn(crate(name="cart", position=(0.0, 0.0, 50.0)))
    run.control.spawn(crate(name="rider", position=(0.0, 3.0, 50.0)))
    spin = MoveRequest(linear=(1.0, 0.0, 0.0), angular=(0.0, 0.0, 2.0))
    run.control.move("cart", spin)
    on_it = MoveRequest(frame="cart", position=(2.0, 0.0, 0.0), linear=(0.0, 0.5, 0.0))
    run.control.move("rider", on_it)
    state = run.control.entity_state("rider")
    np.testing.assert_allclose(state.X_WF.p, [2.0, 0.0, 50.0], atol=1e-12)
    np.testing.assert_allclose(state.v, [1.0, 2.0 * 2.0 + 0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(state.w, [0.0, 0.0, 2.0], atol=1e-12)


def test_joints_stay_as_they_are_when_a_robot_is_put_elsewhere(run):
    arm = run.simulation.bodies["arm"]
    run.step(50)
    q = arm.motion.q.copy()
    run.control.move("arm", MoveRequest(position=(3.0, 0.0, 1.0)))
    np.testing.assert_allclose(arm.motion.q, q, rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(run.control.entity_state("arm").X_WF.p, [3.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("move", "code", "words"),
    [
        (MoveRequest(position=(NAN, 0, 0)), Code.INVALID_POSE, "nan"),
        (MoveRequest(position=AWAY, quaternion=(0, 0, 0, 3)), Code.INVALID_POSE, "length 3"),
        (MoveRequest(position=AWAY, frame="moon"), Code.INVALID_POSE, "'moon'"),
        (MoveRequest(linear=(NAN, 0, 0)), Code.OPERATION_FAILED, "nan"),
        (MoveRequest(linear=(0, 0, 1)), Code.OPERATION_FAILED, "fixed to the world"),
        (MoveRequest(accelerates=True), Code.OPERATION_FAILED, "fixed to the world"),
    ],
)
def test_what_cannot_be_moved_so_stays_where_it_is(run, move, code, words):
    before = run.hash()
    with refused(code, words):
        run.control.move("arm", move)
    assert run.hash() == before


def test_a_fixed_entity_takes_a_velocity_of_zero(run):
    run.control.move("arm", MoveRequest(position=AWAY, linear=(0.0, 0.0, 0.0)))
    np.testing.assert_allclose(run.control.entity_state("arm").X_WF.p, AWAY)


def test_entities_are_found_by_name(run):
    for k in range(3):
        run.control.spawn(crate(name=f"box_{k}", position=(3.0 * k, 9.0, 9.0)))
    find = run.control.names
    assert find(EntityFilters(name="^box_[12]$")) == ["box_1", "box_2"]
    assert find(EntityFilters(name="_0")) == ["box_0"]
    assert find(EntityFilters(name="x$")) == []
    assert list(run.control.states(EntityFilters(name="^box"))) == ["box_0", "box_1", "box_2"]
    with refused(Code.OPERATION_FAILED, "not a POSIX extended regular expression: '(': "):
        find(EntityFilters(name="("))


def test_without_google_re2_only_filters_by_name_are_refused(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    assert "arm" in run.control.names(EntityFilters())
    with refused(Code.FEATURE_UNSUPPORTED, "pip install google-re2"):
        run.control.names(EntityFilters(name="arm"))


def test_entities_are_found_by_what_they_are(run):
    run.control.spawn(crate())
    assert run.control.info("crate").category == Category.OBJECT
    assert run.control.info("arm").category == Category.ROBOT
    assert "1 link" in run.control.info("crate").description
    told = EntityInfo(Category.DYNAMIC_OBJECT, "a box", ("red", "heavy"))
    run.control.set_info("crate", told)
    assert run.control.info("crate") == told
    find = run.control.names
    assert find(EntityFilters(categories=[Category.ROBOT])) == ["arm"]
    assert "crate" in find(EntityFilters(categories=[Category.ROBOT, Category.DYNAMIC_OBJECT]))
    assert find(EntityFilters(tags=TagsFilter(("red", "blue")))) == ["crate"]
    assert find(EntityFilters(tags=TagsFilter(("red", "blue"), all=True))) == []
    assert find(EntityFilters(tags=TagsFilter(("red", "heavy"), all=True))) == ["crate"]
    with refused(Code.OPERATION_FAILED, "unknown category 3"):
        run.control.set_info("crate", EntityInfo(3))
    run.control.delete("crate")
    run.control.spawn(crate())
    assert run.control.info("crate").category == Category.OBJECT


BOX_AROUND = Bounds(BoundsType.BOX, np.array([[5.5, 5.5, 5.5], [4.5, 4.5, 4.5]]))
BOX_BESIDE = Bounds(BoundsType.BOX, np.array([[6.0, 5.5, 5.5], [5.11, 4.5, 4.5]]))


def sphere(center, radius):
    return Bounds(BoundsType.SPHERE, np.array([center, (radius, 0.0, 0.0)]))


@pytest.mark.parametrize(
    ("bounds", "touches"),
    [
        (BOX_AROUND, True),
        (BOX_BESIDE, False),
        (sphere(AWAY, 0.01), True),
        (sphere((5.0, 5.0, 6.0), 0.69), False),  # the crate is 0.6 m high
        (sphere((5.0, 5.0, 6.0), 0.71), True),
        (sphere((5.5, 5.6, 5.0), math.hypot(0.4, 0.4) - 0.01), False),  # near its edge
        (sphere((5.5, 5.6, 5.0), math.hypot(0.4, 0.4) + 0.01), True),
        (Bounds(BoundsType.CONVEX_HULL, np.eye(3) * 15.0), True),  # x + y + z = 15
        (Bounds(BoundsType.CONVEX_HULL, np.eye(3) * 16.3), False),  # its corner is at 15.6
    ],
)
def test_entities_are_found_by_where_they_are(run, bounds, touches):
    run.control.spawn(crate())
    found = run.control.names(EntityFilters(bounds=bounds))
    assert ("crate" in found) is touches


@pytest.mark.parametrize(
    ("bounds", "code", "words"),
    [
        (Bounds(9), Code.FEATURE_UNSUPPORTED, "type 9"),
        (Bounds(BoundsType.BOX, np.zeros((3, 3))), Code.OPERATION_FAILED, "need 2 points, not 3"),
        (sphere((NAN, 0, 0), 1.0), Code.OPERATION_FAILED, "is not within 1e+12 m"),
        (sphere((0, 0, 0), 1e300), Code.OPERATION_FAILED, "is not within 1e+12 m"),
        (sphere((0, 0, 0), -1.0), Code.OPERATION_FAILED, "negative"),
        (Bounds(BoundsType.BOX, BOX_AROUND.points[::-1]), Code.OPERATION_FAILED, "upper corner"),
    ],
)
def test_bounds_that_are_none_are_refused(run, bounds, code, words):
    with refused(code, words):
        run.control.names(EntityFilters(bounds=bounds))


def test_bounds_lie_along_the_axes_of_the_root(run):
    run.control.spawn(crate(quaternion=matrix_quaternion(TURN)))
    bounds = run.control.bounds("crate")
    assert bounds.type == BoundsType.BOX
    np.testing.assert_allclose(bounds.points, [[0.1, 0.2, 0.3], [-0.1, -0.2, -0.3]], atol=1e-9)


def test_models_and_worlds_are_found_where_they_lie(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "pole.urdf").write_text(URDF, encoding="utf-8")
    (tmp_path / "chair.wrl").write_text("#VRML V2.0 utf8\nShape { }\n", encoding="utf-8")
    (tmp_path / "chair.dae").write_text("<COLLADA/>", encoding="utf-8")
    (tmp_path / "desk.dae").write_text("<COLLADA><kinematics_model/></COLLADA>", encoding="utf-8")
    (tmp_path / "w.yaml").write_text("bodies: []\n", encoding="utf-8")
    (tmp_path / "other.yaml").write_text("links: []\n", encoding="utf-8")
    models, problems = spawnables([str(tmp_path), "relative", "package://nobody"])
    uris = [model.uri for model in models]
    assert "package://hrp_ros/models/arm/arm.body" in uris
    assert uris[-1] == f"file://{tmp_path}/desk.dae"
    assert f"file://{tmp_path}/deep/pole.urdf" in uris
    assert not {f"file://{tmp_path}/chair.wrl", f"file://{tmp_path}/chair.dae"}.intersection(uris)
    assert problems[0].startswith("'relative': ")
    assert len(problems) == 2
    worlds, _ = available_worlds([f"file://{tmp_path}"])
    assert {"arm", "stack", "w"} <= {world.name for world in worlds}
    assert "other" not in {world.name for world in worlds}


def test_worlds_of_sources_that_cannot_be_used():
    with refused(Code.OPERATION_FAILED, "'/nowhere'"):
        available_worlds(["/nowhere"])
    found, problems = available_worlds(["/nowhere"], continue_on_error=True)
    assert found
    assert len(problems) == 1
