"""The standard simulation services beside other versions of simulation_interfaces, or none."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("simulation_interfaces", reason="simulation_interfaces is not built")

from controlled_run import simulating
from paths import MODELS
from ros_peer import Peer
from ros_session import session
from simulation_interfaces import action, srv
from simulation_interfaces.msg import Result, SimulatorFeatures
from simulator_services import ask, feature_numbers
from std_srvs.srv import Trigger

from hrp_sim.ros import simulation_requests
from hrp_sim.ros.simulation_requests import ROWS
from hrp_sim.run.requests.entities import MoveRequest
from hrp_sim.run.requests.resources import Resource

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"


def offered(peer):
    return {
        types[0].rpartition("/")[2]
        for name, types in peer.node.get_service_names_and_types()
        if types[0].startswith("simulation_interfaces/srv/") and name.startswith("/sim_node/")
    }


def test_without_some_types_the_others_are_offered_and_one_warning_names_them(monkeypatch, capfd):
    monkeypatch.delattr(srv, "SpawnEntities", raising=False)  # new in 2.1
    monkeypatch.delattr(srv, "DeleteEntity")
    monkeypatch.delattr(action, "SimulateSteps")
    with session({"world": str(WORLD)}):
        peer = Peer()
        try:
            features = ask(peer, "get_simulator_features").features.features
            gone = {"SPAWNING_ENTITIES", "DELETING", "STEP_SIMULATION_ACTION", "WORLD_TAGS"}
            numbers = feature_numbers(SimulatorFeatures)
            assert set(features) == {numbers[name] for name in numbers.keys() - gone}
            there = {row.type_name for row in ROWS} - {"SpawnEntities", "DeleteEntity"}
            there |= {"StepSimulation"}
            peer.wait_until("all services", lambda: offered(peer) >= there)
            assert offered(peer) == there
        finally:
            peer.close()
    warnings = [line for line in capfd.readouterr().err.splitlines() if "WARN" in line]
    (warning,) = (line for line in warnings if "simulation_interfaces" in line)
    assert warning.endswith(
        "the installed simulation_interfaces has no srv/SpawnEntities, srv/DeleteEntity, "
        "action/SimulateSteps: these are not available"
    )


def test_without_the_package_one_note_says_so_and_the_rest_works(monkeypatch, capfd):
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    for module in ("srv", "action"):
        monkeypatch.setitem(sys.modules, f"simulation_interfaces.{module}", None)
    with session({"world": str(WORLD)}):
        peer = Peer()
        try:
            assert peer.call("sim_node/reset", Trigger).success
            assert not offered(peer)
        finally:
            peer.close()
    lines = capfd.readouterr().err.splitlines()
    (note,) = (line for line in lines if "simulation_interfaces" in line)
    assert "INFO" in note  # nothing was asked of the package
    assert "hrp_msgs.interfaces.build simulation_interfaces" in note  # what installs it


@pytest.mark.parametrize("flat", [True, False])
def test_a_resource_is_read_and_written_in_either_form(flat):
    """Before version 2.0 its two fields were those of the message."""
    message = SimpleNamespace(uri="file:///a.urdf", resource_string="<robot/>")
    holder = message if flat else SimpleNamespace(world_resource=message)
    found = simulation_requests.resource(holder, "world_resource")
    assert found == Resource("file:///a.urdf", "<robot/>")
    simulation_requests.set_resource(holder, "world_resource", Resource("file:///b", "text"))
    assert (message.uri, message.resource_string) == ("file:///b", "text")


def test_a_spawnable_without_a_text_keeps_its_uri():
    message = SimpleNamespace(uri="")
    simulation_requests.set_resource(message, "entity_resource", Resource("file:///b.urdf"))
    assert vars(message) == {"uri": "file:///b.urdf"}


def answer(name, control, request, response):
    (row,) = (row for row in ROWS if row.name == name)
    simulation_requests.respond(row, control, request, response)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, (True, True, True)),  # as before version 2.1
        ({"set_pose": False, "set_twist": True, "set_acceleration": False}, (False, True, False)),
    ],
)
def test_without_flags_all_parts_of_a_state_are_set(flags, expected):
    moves = []
    control = SimpleNamespace(move=lambda _entity, move: moves.append(move))
    state = srv.SetEntityState.Request().state
    state.acceleration.linear.x = 1.0
    request = SimpleNamespace(entity="box", state=state, **flags)
    answer("set_entity_state", control, request, srv.SetEntityState.Response())
    (move,) = moves
    assert isinstance(move, MoveRequest)
    found = move.position is not None, move.linear is not None, move.accelerates
    assert found == expected


def test_a_world_is_loaded_by_a_request_with_two_fields():
    request = SimpleNamespace(
        uri=str(WORLD),
        resource_string="",
        fail_on_unsupported_element=False,
        ignore_missing_or_unsupported_assets=False,
    )
    response = srv.LoadWorld.Response()
    with simulating() as run:
        answer("load_world", run.control, request, response)
    assert response.result.result == Result.RESULT_OK
    assert response.world.world_resource.uri == str(WORLD)
