"""The standard simulation services, asked for by another process."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("simulation_interfaces", reason="simulation_interfaces is not built")

from action_msgs.msg import GoalStatus
from controlled_run import BOX
from geometry_msgs.msg import PoseStamped, Vector3
from paths import MODELS
from rclpy.qos import QoSProfile
from ros_peer import PATIENCE, Peer, running
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from simulation_interfaces import msg, srv
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import (
    Bounds,
    EntityFilters,
    Resource,
    Result,
    SimulationState,
    SimulatorFeatures,
    TagsFilter,
)
from simulator_services import ask, feature_numbers
from std_srvs.srv import SetBool, Trigger

pytestmark = pytest.mark.ros

ARM = MODELS / "arm" / "arm.body"
WORLD = MODELS / "worlds" / "arm.yaml"
OK, FAILED = Result.RESULT_OK, Result.RESULT_OPERATION_FAILED
PLAYING, PAUSED = SimulationState.STATE_PLAYING, SimulationState.STATE_PAUSED
STOPPED = SimulationState.STATE_STOPPED
POSES = """\
bodies: []
named_poses:
  - name: dock
    position: [ 2, 0.5, 0.3 ]
    rpy: [ 0, 0, 1.5 ]
    description: at the charger
    tags: [ spawn ]
    bounds: { lower: [ -1, -2, 0 ], upper: [ 1, 2, 3 ] }
  - { name: far }
"""


class Client(Peer):
    """Calls services of the simulator, and tells how its clock goes."""

    def ask(self, name, /, **fields):
        return ask(self, name, **fields)

    def set_state(self, state):
        return self.ask("set_simulation_state", state=SimulationState(state=state)).result

    @property
    def state(self):
        return self.ask("get_simulation_state").state.state

    def spawn(self, **fields):
        if text := fields.pop("text", ""):
            fields["entity_resource"] = Resource(resource_string=text)
        fields.setdefault("initial_pose", at(5.0, 5.0))
        return self.ask("spawn_entity", **fields)


@pytest.fixture(scope="module")
def simulator(tmp_path_factory):
    log = tmp_path_factory.mktemp("simulation") / "log.txt"
    arguments = ["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p", f"world:={WORLD}"]
    with running(arguments, log) as process:
        client = Client()
        client.follow("/clock", Clock)
        try:
            ready = client.messages["/clock"]
            client.wait_until("the clock", lambda: ready or process.poll() is not None)
            assert process.poll() is None
            yield client, process, log
        except AssertionError:
            print(log.read_text(encoding="utf-8"))
            raise
        finally:
            client.close()


@pytest.fixture
def client(simulator):
    """A client of a simulator that is paused at the start of the arm's world."""
    found, process, log = simulator
    assert process.poll() is None, log.read_text(encoding="utf-8")
    if found.ask("get_current_world").world.name != "arm":
        loaded = found.ask("load_world", world_resource=Resource(uri=str(WORLD)))
        assert loaded.result.result == OK, loaded
    found.set_state(STOPPED)
    assert found.set_state(PAUSED).result == OK
    yield found
    print(log.read_text(encoding="utf-8"))


def time_ns(client):
    """Return the newest time that was told."""
    clock = client.messages["/clock"][-1].clock
    return clock.sec * 1_000_000_000 + clock.nanosec


def test_what_it_can_do_is_told_and_offered(client):
    features = client.ask("get_simulator_features").features
    installed = feature_numbers(SimulatorFeatures)
    del installed["WORLD_TAGS"]  # worlds have none
    assert list(features.features) == sorted(installed.values())
    assert list(features.spawn_formats) == ["wrl", "body", "urdf"]
    kinds = {n for n in dir(srv) if n[0].isupper() and "_" not in n}

    def offered():
        return {
            camel(name.removeprefix("/sim_node/"))
            for name, types in client.node.get_service_names_and_types()
            if types[0].startswith("simulation_interfaces/srv/")
        }

    client.wait_until("all services", lambda: offered() >= kinds)
    assert offered() == kinds


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def test_states_follow_each_other(client):
    assert client.state == PAUSED
    already = client.set_state(PAUSED)
    assert already.result == srv.SetSimulationState.Response.ALREADY_IN_TARGET_STATE
    assert "already PAUSED" in already.error_message
    assert client.set_state(PLAYING).result == OK
    client.wait_until("half a second", lambda: time_ns(client) > 500_000_000)
    assert client.state == PLAYING
    step = client.ask("step_simulation", steps=1).result
    assert step.result == FAILED
    assert "PLAYING" in step.error_message
    assert client.set_state(STOPPED).result == OK
    assert client.state == STOPPED
    client.wait_until("the start", lambda: time_ns(client) <= 1)
    assert client.set_state(99).result == srv.SetSimulationState.Response.INCORRECT_TRANSITION


def test_steps_are_taken_and_the_clock_shows_it(client):
    assert client.ask("step_simulation", steps=7).result.result == OK
    client.wait_until("7 ms", lambda: time_ns(client) == 7_000_000)
    assert client.ask("step_simulation", steps=0).result.result == OK
    assert client.state == PAUSED


def test_other_services_answer_while_steps_are_taken(client):
    endless = client.node.create_client(srv.StepSimulation, "sim_node/step_simulation")
    client.wait_until("the service", endless.service_is_ready)
    future = endless.call_async(srv.StepSimulation.Request(steps=2**63))
    client.wait_until("some steps", lambda: client.state == PLAYING)
    assert client.ask("get_entities").entities
    assert client.set_state(PAUSED).result == OK
    client.wait_until("the answer", future.done)
    assert future.result().result.result == FAILED
    assert "cancelled" in future.result().result.error_message


@pytest.fixture(scope="module")
def steps(simulator):
    """A client of the action that hears its feedback."""
    client, qos = simulator[0], QoSProfile(depth=100)
    name = "sim_node/simulate_steps"
    action = client.action_client(SimulateSteps, name, feedback_sub_qos_profile=qos)
    client.wait_until("the action", action.server_is_ready)
    return action


def send_goal(client, action, steps, feedback):
    goal = SimulateSteps.Goal(steps=steps)
    heard = lambda f: feedback.append(f.feedback)  # noqa: E731
    sent = client.at_once(action.send_goal_async, goal, heard)
    client.wait_until("an accepted goal", sent.done)
    assert sent.result().accepted
    return sent.result()


def result_of(client, handle):
    future = client.at_once(handle.get_result_async)
    client.wait_until("the result", future.done)
    return future.result()


def test_the_action_is_cancelled_and_tells_of_each_step(client, steps):
    feedback = []
    handle = send_goal(client, steps, 2**40, feedback)
    client.wait_until("some steps", lambda: feedback)
    cancelled = client.at_once(handle.cancel_goal_async)
    client.wait_until("the cancel", cancelled.done)
    ended = result_of(client, handle)
    assert ended.status == GoalStatus.STATUS_CANCELED
    assert "they were cancelled" in ended.result.result.error_message
    assert client.state == PAUSED
    told = []  # feedback is heard for sure now that some was
    handle = send_goal(client, steps, 20, told)
    client.wait_until("all feedback", lambda: len(told) == 20)
    ended = result_of(client, handle)  # only now: with it a client forgets what comes later
    assert ended.status == GoalStatus.STATUS_SUCCEEDED
    assert ended.result.result.result == OK
    assert [f.completed_steps for f in told] == list(range(1, 21))
    assert [f.remaining_steps for f in told] == list(range(19, -1, -1))


def test_what_is_spawned_has_topics_and_what_is_deleted_has_none(client):
    done = client.spawn(
        name="second", entity_resource=Resource(uri=f"file://{ARM}"), entity_namespace="other/one"
    )
    assert (done.result.result, done.entity_name) == (OK, "second"), done
    client.follow("other/one/joint_states", JointState)
    client.set_state(PLAYING)
    client.wait_for("other/one/joint_states")
    client.follow("joint_states", JointState)
    client.wait_for("joint_states")  # the first robot keeps its names
    assert client.ask("delete_entity", entity="second").result.result == OK
    count = client.node.count_publishers
    client.wait_until("no publisher", lambda: count("/other/one/joint_states") == 0)
    missing = client.ask("delete_entity", entity="second").result
    assert missing.result == Result.RESULT_NOT_FOUND
    assert "no entity 'second'" in missing.error_message


def test_a_body_that_is_spawned_into_another_is_there_and_the_log_warns_of_it(client, simulator):
    log = simulator[2]
    box = Resource(resource_string=BOX)  # at the origin: in the floor, and in the arm
    done = client.ask("spawn_entity", name="sunk", entity_resource=box)
    assert (done.result.result, done.result.error_message) == (OK, "")
    words = "body 'sunk': link 'CRATE' is 100 mm deep inside 'FLOOR' of body 'Floor'"
    client.wait_until("a warning", lambda: words in log.read_text(encoding="utf-8"))
    assert "WARN" in next(k for k in log.read_text(encoding="utf-8").splitlines() if words in k)
    assert client.ask("delete_entity", entity="sunk").result.result == OK


def at(x, z):
    stamped = PoseStamped()
    stamped.pose.position.x, stamped.pose.position.z = x, z
    return stamped


@pytest.mark.skipif(
    not hasattr(srv, "SpawnEntities"), reason="the installed simulation_interfaces lacks it"
)
def test_several_are_spawned_at_once(client):
    box = Resource(resource_string=BOX)
    done = client.ask(
        "spawn_entities",
        spawn_requests=[
            msg.SpawnEntity(name=f"box_{k}", entity_resource=box, initial_pose=at(3.0 + k, 4.0))
            for k in (0, 1, 1)
        ],
    )
    assert done.result.result == srv.SpawnEntities.Response.ENTITIES_SPAWN_FAILED
    assert "1 of 3" in done.result.error_message
    assert [r.entity_name for r in done.results] == ["box_0", "box_1", ""]


def test_spawned_entities_are_found_and_reset(client):
    for k in (0, 1):
        client.spawn(text=BOX, name=f"crate_{k}", initial_pose=at(3.0 + k, 8.0))
    bounds = Bounds(type=Bounds.TYPE_SPHERE, points=[Vector3(x=4.0, z=8.0), Vector3(x=0.1)])
    filters = EntityFilters(filter="^crate_[[:digit:]]$", bounds=bounds)
    assert list(client.ask("get_entities", filters=filters).entities) == ["crate_1"]
    states = client.ask("get_entities_states", filters=EntityFilters(filter="^crate"))
    assert [s.pose.position.x for s in states.states] == [3.0, 4.0]
    box = client.ask("get_entity_bounds", entity="crate_0").bounds
    assert box.type == Bounds.TYPE_BOX
    corners = [[p.x, p.y, p.z] for p in box.points]
    np.testing.assert_allclose(corners, [[0.1, 0.2, 0.3], [-0.1, -0.2, -0.3]], atol=1e-9)
    reset = client.ask("reset_simulation", scope=srv.ResetSimulation.Request.SCOPE_SPAWNED)
    assert reset.result.result == OK
    assert not client.ask("get_entities", filters=filters).entities


def test_an_entity_is_moved_and_described(client):
    client.spawn(text=BOX, name="box")
    state = client.ask("get_entity_state", entity="box").state
    assert (state.header.frame_id, state.pose.position.z) == ("world", 5.0)
    state.pose.position.z = 9.0
    state.twist.linear.x = 2.0
    moved = client.ask("set_entity_state", entity="box", state=state, set_pose=True)
    assert moved.result.result == OK
    now = client.ask("get_entity_state", entity="box").state
    is_optional = hasattr(srv.SetEntityState.Request, "set_twist")  # older versions set both
    assert (now.pose.position.z, now.twist.linear.x) == (9.0, 0.0 if is_optional else 2.0)
    client.ask("set_entity_state", entity="box", state=state, set_twist=True)
    assert client.ask("get_entity_state", entity="box").state.twist.linear.x == 2.0
    state.pose.orientation.w = 0.0
    bad = client.ask("set_entity_state", entity="box", state=state, set_pose=True).result
    assert bad.result == srv.SetEntityState.Response.INVALID_POSE
    info = client.ask("get_entity_info", entity="arm").info
    assert info.category.category == info.category.CATEGORY_ROBOT
    info.tags = ["tested"]
    assert client.ask("set_entity_info", entity="arm", info=info).result.result == OK
    assert list(client.ask("get_entity_info", entity="arm").info.tags) == ["tested"]


def test_worlds_are_found_loaded_and_unloaded(client):
    worlds = {w.name: w for w in client.ask("get_available_worlds").worlds}
    assert {"arm", "stack"} <= worlds.keys()
    spawnables = client.ask("get_spawnables").spawnables
    assert any(getattr(s, "entity_resource", s).uri.endswith("arm.body") for s in spawnables)
    missing = client.ask("load_world", world_resource=Resource(uri="none.yaml")).result
    assert missing.result == Result.RESULT_NOT_FOUND
    loaded = client.ask("load_world", world_resource=worlds["rover"].world_resource)
    assert loaded.result.result == OK, loaded
    assert loaded.world.name == "rover"
    assert client.state == STOPPED
    client.follow("joint_states", JointState)
    client.set_state(PLAYING)
    states = client.messages["joint_states"]
    client.wait_until("joints of the rover", lambda: states and "TRACK_L" in states[-1].name)
    assert client.ask("unload_world").result.result == OK
    assert client.state == SimulationState.STATE_NO_WORLD
    gone = client.ask("unload_world").result
    assert gone.result == srv.UnloadWorld.Response.NO_WORLD_LOADED
    refused = client.set_state(PLAYING)
    assert refused.result == srv.SetSimulationState.Response.INCORRECT_TRANSITION
    for paused in (True, False):
        answer = client.call("sim_node/pause", SetBool, data=paused)
        assert (answer.success, answer.message) == (False, refused.error_message)
    answer = client.call("sim_node/reset", Trigger)
    assert (answer.success, answer.message) == (False, refused.error_message)
    assert client.state == SimulationState.STATE_NO_WORLD


def test_a_body_is_spawned_at_a_named_pose(client):
    loaded = client.ask("load_world", world_resource=Resource(resource_string=POSES))
    assert loaded.result.result == OK, loaded
    answer = client.ask("get_named_poses", tags=TagsFilter(tags=["spawn"]))
    assert answer.result.result == OK
    (dock,) = answer.poses
    assert (dock.name, dock.description, dock.tags) == ("dock", "at the charger", ["spawn"])
    bounds = client.ask("get_named_pose_bounds", name="dock").bounds
    assert bounds.type == bounds.TYPE_BOX
    assert [[p.x, p.y, p.z] for p in bounds.points] == [[1.0, 2.0, 3.0], [-1.0, -2.0, 0.0]]
    spawned = client.ask(
        "spawn_entity",
        name="box",
        entity_resource=Resource(resource_string=BOX),
        initial_pose=PoseStamped(pose=dock.pose),
    )
    assert spawned.result.result == OK, spawned
    pose = client.ask("get_entity_state", entity="box").state.pose
    assert (pose.position.x, pose.position.y, pose.position.z) == (2.0, 0.5, 0.3)
    assert pose.orientation.z == pytest.approx(math.sin(0.75))
    missing = client.ask("get_named_pose_bounds", name="dokc").result
    assert missing.result == Result.RESULT_NOT_FOUND
    assert "Did you mean 'dock'?" in missing.error_message


def test_pausing_by_std_srvs_is_the_same_pause(client):
    assert client.call("sim_node/pause", SetBool, data=False).success
    assert client.state == PLAYING
    assert client.call("sim_node/pause", SetBool, data=True).success
    assert client.state == PAUSED


def test_quitting_ends_the_process_with_its_answer(simulator):
    client, process, log = simulator
    assert client.set_state(SimulationState.STATE_QUITTING).result == OK
    assert process.wait(PATIENCE) == 0, log.read_text(encoding="utf-8")
    assert "Traceback" not in log.read_text(encoding="utf-8")
