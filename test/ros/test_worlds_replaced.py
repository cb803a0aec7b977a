"""Worlds and bodies that others ask for, whose names or parameters cannot all be had."""

from __future__ import annotations

import threading

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("simulation_interfaces", reason="simulation_interfaces is not built")

from rcl_interfaces.srv import ListParameters
from ros_peer import Peer
from ros_session import session
from simulation_interfaces import msg, srv
from simulation_interfaces.msg import Resource, Result, SimulationState
from simulator_services import ask

pytestmark = pytest.mark.ros

ARM = MODELS / "arm" / "arm.body"
OK = Result.RESULT_OK
TWINS = """\
format: ChoreonoidBody
format_version: 2.0
name: twins
links:
  - name: TRUNK
    joint_type: fixed
    mass: 1
    elements:
      - { type: ForceSensor, name: a-b, id: 0 }
      - { type: ForceSensor, name: a.b, id: 1 }
"""
TOO_HEAVY = """\
format: ChoreonoidBody
format_version: 2.0
name: heavy
links:
  - { name: TRUNK, joint_type: free, mass: 1e300 }
"""


@pytest.fixture(scope="module")
def world():
    with session({"world": str(ARM)}) as running:
        peer = Peer()
        try:
            yield running, peer
        finally:
            peer.close()


def topics(running):
    return sorted(running.ros.published())


def parameters(running):
    return sorted(running.ros.node.list_parameters([], 0).names)


def load(peer, path):
    return ask(peer, "load_world", world_resource=Resource(uri=str(path))).result


def world_of(tmp_path, text, bodies):
    (tmp_path / "it.body").write_text(text, encoding="utf-8")
    world = tmp_path / "world.yaml"
    world.write_text(f"bodies: [ {', '.join(bodies)} ]\n", encoding="utf-8")
    return world


@pytest.mark.parametrize(
    ("text", "bodies", "words"),
    [
        (TWINS, ["{ model: it.body }"], "'a-b' and 'a.b' would both be topic 'a_b'"),
        (
            ARM.read_text(encoding="utf-8"),
            [
                "{ model: it.body, name: a, namespace: x }",
                "{ model: it.body, name: b, namespace: x }",
            ],
            "'a' and 'b' would both have namespace 'x'",
        ),
        (
            ARM.read_text(encoding="utf-8"),
            ["{ model: it.body, name: a-1 }", "{ model: it.body, name: a_1 }"],
            "'a-1' and 'a_1' would both be topic 'a_1'",
        ),
        (TOO_HEAVY, ["{ model: it.body, name: q }"], "mass"),
    ],
)
def test_a_world_that_cannot_be_shown_is_refused_and_the_old_one_stays(
    world, tmp_path, text, bodies, words
):
    running, peer = world
    before = running.runner.simulation, topics(running), parameters(running)
    result = load(peer, world_of(tmp_path, text, bodies))
    assert result.result == srv.LoadWorld.Response.RESOURCE_PARSE_ERROR
    assert words in result.error_message
    assert (running.runner.simulation, topics(running), parameters(running)) == before
    assert ask(peer, "get_simulation_state").state.state == SimulationState.STATE_PLAYING


def test_bodies_of_one_request_have_different_namespaces(world):
    running, peer = world
    if not hasattr(msg, "SpawnEntity"):
        pytest.skip("the installed simulation_interfaces cannot spawn several entities at once")
    requests = [
        msg.SpawnEntity(name=name, entity_namespace="pair", entity_resource=Resource(uri=str(ARM)))
        for name in ("one", "other")
    ]
    for number, request in enumerate(requests):
        request.initial_pose.pose.position.x = 3.0 + number
    results = ask(peer, "spawn_entities", spawn_requests=requests).results
    assert results[0].result.result == OK
    assert results[1].result.result == srv.SpawnEntity.Response.NAMESPACE_INVALID
    assert "'one' and 'other' would both have namespace 'pair'" in results[1].result.error_message
    assert "other" not in running.runner.simulation.bodies
    assert ask(peer, "delete_entity", entity="one").result.result == OK


def test_a_body_whose_sensors_would_share_a_topic_is_refused(world):
    running, peer = world
    resource = Resource(resource_string=TWINS)
    result = ask(peer, "spawn_entity", name="t", entity_resource=resource).result
    assert result.result == srv.SpawnEntity.Response.RESOURCE_PARSE_ERROR
    assert "'a-b' and 'a.b'" in result.error_message
    assert "t" not in running.runner.simulation.bodies


def test_parameters_change_in_the_thread_that_serves_them(world, monkeypatch):
    running, peer = world
    node = running.ros.node
    threads = set()
    for name in ("declare_parameter", "undeclare_parameter"):
        original = getattr(node, name)

        def spy(*args, original=original, **options):
            threads.add(threading.current_thread().name)
            return original(*args, **options)

        monkeypatch.setattr(node, name, spy)
    assert load(peer, MODELS / "worlds" / "arm.yaml").result == OK
    assert threads == {"executor"}
    assert peer.call("sim_node/list_parameters", ListParameters).result.names


def test_what_to_do_after_a_failure_is_told_of_the_world_that_is_there(world):
    running, peer = world
    assert load(peer, MODELS / "worlds" / "arm.yaml").result == OK
    node = running.ros.node
    node._loader.failure_hint = "look at the moon"
    assert "look at the moon" in node._served.services._failure(RuntimeError("it fell"))


def test_a_world_may_stand_at_its_start_until_it_is_told_to_play():
    with session({"world": str(ARM), "start_paused": True}) as running:
        control = running.ros.node.control
        assert running.runner.call(lambda: running.runner.simulation.state.time_ns) == 0
        assert control.state == SimulationState.STATE_STOPPED
        control.set_state(SimulationState.STATE_PLAYING)
        assert control.state == SimulationState.STATE_PLAYING
