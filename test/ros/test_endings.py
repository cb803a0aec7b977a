"""How a simulation in ROS ends: by Ctrl-C at any time, and when its physics fails."""

from __future__ import annotations

import json
import os
import signal

import pytest
from paths import MODELS, ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from rcl_interfaces.srv import GetParameters
from rclpy.qos import ReliabilityPolicy
from ros_peer import PATIENCE, Peer, node_and_peer, running

from hrp_sim import Simulation, Snapshot

pytestmark = pytest.mark.ros

NODE = ["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p"]

# Run by Python when it starts: reading a file waits for somebody to write to a pipe.
_READ_FOR_EVER = """
from hrp_model.files import resources

def read_file(path, *_):
    with open({pipe!r}) as pipe:
        return pipe.read().encode()

resources.read_file = read_file
"""


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (lambda world: [*NODE, f"world:={world}"], 0),
        pytest.param(
            lambda world: ["-m", "hrp_sim.cli.main", "run", world, "--ros"],
            130,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["sim_node", "run --ros"],
)
def test_ctrl_c_while_the_world_is_read_ends_it_cleanly(arguments, status, tmp_path, monkeypatch):
    world, log, pipe = (tmp_path / name for name in ("world.yaml", "log.txt", "pipe"))
    world.write_text("bodies: []")
    os.mkfifo(pipe)
    (tmp_path / "sitecustomize.py").write_text(_READ_FOR_EVER.format(pipe=str(pipe)))
    places = (str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, places)))
    # A pipe opens when the other side opens it, too, which then waits for the text.
    with running(arguments(str(world)), log, forked=False) as process, pipe.open("w"):
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        ended = process.wait(PATIENCE)
    said = log.read_text(encoding="utf-8")
    assert ended == status, said
    assert "Traceback" not in said


@pytest.fixture
def mad_world(tmp_path):
    """A world that no physics can step more than once."""
    path = tmp_path / "mad.yaml"
    model = MODELS / "arm" / "arm.body"
    path.write_text(
        "physics: { joint_limits: false }\n"
        f"bodies: [ {{ model: {model}, joint_velocities: {{ J1: 9e4, J2: 9e4 }} }} ]"
    )
    return path


def test_a_node_whose_physics_failed_stands_still_says_what_to_do_and_answers(mad_world, tmp_path):
    log = tmp_path / "log.txt"
    override = "qos_overrides./joint_states.publisher.reliability:=best_effort"
    peer = Peer()
    try:
        with running([*NODE, f"world:={mad_world}", "-p", override], log) as process:
            client = peer.node.create_client(GetParameters, "/sim_node/get_parameters")
            peer.wait_until(
                "an error", lambda: "simulation is halted" in log.read_text(encoding="utf-8")
            )
            peer.wait_until("the parameter service", client.service_is_ready)
            answer = client.call_async(GetParameters.Request(names=["world"]))
            peer.wait_until("an answer", answer.done)
            assert answer.result().values[0].string_value == str(mad_world)
            publishers = peer.node.get_publishers_info_by_topic
            peer.wait_until("its joints", lambda: publishers("/joint_states"))
            (publisher,) = publishers("/joint_states")
            assert publisher.qos_profile.reliability is ReliabilityPolicy.BEST_EFFORT
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 1
    finally:
        peer.close()
    said = log.read_text(encoding="utf-8")
    assert "its motion has diverged" in said
    assert "the cause: fast-start" in said
    assert "ros2 service call /sim_node/reset std_srvs/srv/Trigger" in said
    assert "Traceback" not in said


def test_a_run_whose_physics_failed_ends_with_the_reason(mad_world, tmp_path):
    log = tmp_path / "log.txt"
    with running(["-m", "hrp_sim.cli.main", "run", str(mad_world), "--ros"], log) as process:
        assert process.wait(PATIENCE) == 1
    said = log.read_text(encoding="utf-8")
    assert "error: body " in said
    assert "hint: a warning reported at the start may be the cause: fast-start" in said


def test_a_run_ends_with_the_result_and_files_of_the_world_that_was_loaded_last(tmp_path):
    msg = pytest.importorskip("simulation_interfaces.msg", reason="it is not built")
    import simulator_services

    def ask(name, **fields):
        answer = simulator_services.ask(peer, name, **fields)
        assert answer.result.result == msg.Result.RESULT_OK, answer.result.error_message

    def load(path):
        ask("load_world", world_resource=msg.Resource(uri=str(path)))

    saved, trace, log = (tmp_path / name for name in ("end.npz", "run.jsonl", "log.txt"))
    outputs = ["--save", str(saved), "--trace", str(trace), "--expect", "contacts.count == 0"]
    arguments = [
        "-m",
        "hrp_sim.cli.main",
        "run",
        "stack",
        "--ros",
        "--rtf",
        "0",
        "--json",
        *outputs,
    ]
    with node_and_peer(arguments, log) as (peer, process):
        load(MODELS / "arm" / "arm.body")
        paused = msg.SimulationState(state=msg.SimulationState.STATE_PAUSED)
        ask("set_simulation_state", state=paused)
        ask("step_simulation", steps=5)
        # No step follows, which would be noticed by what watches the run.
        load(MODELS / "worlds" / "rover.yaml")
        process.send_signal(signal.SIGINT)
        status = process.wait(PATIENCE)
    said = log.read_text(encoding="utf-8")
    assert "Traceback" not in said
    assert status == 0, said
    result = json.loads(said[said.index("\n{\n") : said.rindex("\n}\n") + 2])
    assert "rover" in result["bodies"]
    assert result["simulated"] > result["time"] == 0.0
    assert "Arm" in json.loads(trace.read_text(encoding="utf-8").splitlines()[-1])["bodies"]
    with Simulation("rover") as simulation:
        simulation.restore(Snapshot.from_file(saved))
