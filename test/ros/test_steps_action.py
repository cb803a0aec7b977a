"""simulate_steps over real DDS, in front of something that takes no step."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("simulation_interfaces.action", reason="simulation_interfaces is not installed")

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.qos import qos_profile_action_status_default
from ros_peer import Peer
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import Result

from hrp_sim.ros.simulation_services import StepsAction
from hrp_sim.run.requests.standard import Code, RequestError

pytestmark = pytest.mark.ros

OK, FAILED = Result.RESULT_OK, Result.RESULT_OPERATION_FAILED
EXECUTING, CANCELING = GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING


class Steps:
    """Steps that the test takes, and ends."""

    def __init__(self, count, tell, end) -> None:
        self.count, self.tell, self.end = count, tell, end
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Simulator:
    """An action server in one node, and in another a client that hears of the goals' states."""

    def __init__(self, name: str) -> None:
        self.peer, self.server = Peer(), Peer()
        self.begun: list[Steps] = []
        self.refusal: RequestError | None = None
        self.action = StepsAction(self.server.node, SimulateSteps, name, self)
        self._status = f"{name}/_action/status"
        self.peer.follow(self._status, GoalStatusArray, qos_profile_action_status_default)
        self.client = self.peer.action_client(SimulateSteps, name)
        self.peer.wait_until("an action server", self.client.server_is_ready)
        counted = lambda: self.peer.node.count_publishers(self._status)  # noqa: E731
        self.peer.wait_until("its states", counted)
        listeners, feedback = self.server.node.count_subscribers, f"{name}/_action/feedback"
        self.peer.wait_until("a listener", lambda: listeners(feedback))

    def step(self, count, tell, end):
        if self.refusal is not None:
            raise self.refusal
        self.begun.append(Steps(count, tell, end))
        return self.begun[-1]

    def send(self, count, feedback=lambda _: None):
        """Send a goal; return its handle and what becomes its result."""
        known = len(self.begun)
        goal = SimulateSteps.Goal(steps=count)
        sent = self.peer.at_once(self.client.send_goal_async, goal, feedback)
        self.peer.wait_until("an accepted goal", sent.done)
        if self.refusal is None:
            self.peer.wait_until("steps", lambda: len(self.begun) > known)
        return sent.result(), self.peer.at_once(sent.result().get_result_async)

    def told(self, handle, status) -> None:
        """Wait until the status topic has told a state of a goal."""

        def is_told() -> bool:
            return any(
                bytes(goal.goal_info.goal_id.uuid) == bytes(handle.goal_id.uuid)
                and goal.status == status
                for message in list(self.peer.messages[self._status])
                for goal in message.status_list
            )

        self.peer.wait_until(f"the state {status}", is_told)

    def result(self, future):
        self.peer.wait_until("a result", future.done)
        result = future.result().result.result
        return future.result().status, result.result, result.error_message

    def close(self) -> None:
        self.peer.close()
        self.server.close()


@pytest.fixture(scope="module")
def shared_simulator():
    made = Simulator("simulator/simulate_steps")
    yield made
    made.close()


@pytest.fixture
def simulator(shared_simulator):
    shared_simulator.refusal = None
    return shared_simulator


def test_a_goal_executes_while_its_steps_are_taken(simulator):
    heard = []
    handle, future = simulator.send(2, heard.append)
    steps = simulator.begun[-1]
    simulator.told(handle, EXECUTING)
    steps.tell(1)
    simulator.peer.wait_until("feedback", lambda: heard)
    assert (heard[0].feedback.completed_steps, heard[0].feedback.remaining_steps) == (1, 1)
    assert not future.done()
    steps.end(None)
    assert simulator.result(future) == (GoalStatus.STATUS_SUCCEEDED, OK, "")


def test_a_goal_that_is_cancelled_ends_when_its_steps_do(simulator):
    handle, future = simulator.send(1000)
    steps = simulator.begun[-1]
    simulator.told(handle, EXECUTING)
    answer = simulator.peer.at_once(handle.cancel_goal_async)
    simulator.peer.wait_until("an answer", answer.done)
    assert len(answer.result().goals_canceling) == 1
    assert steps.is_cancelled
    simulator.told(handle, CANCELING)
    assert not future.done()
    steps.end(RequestError(Code.OPERATION_FAILED, "they were cancelled"))
    assert simulator.result(future) == (
        GoalStatus.STATUS_CANCELED,
        FAILED,
        "they were cancelled",
    )


def test_a_goal_of_which_no_step_can_be_taken_is_aborted_at_once(simulator):
    simulator.refusal = RequestError(Code.OPERATION_FAILED, "it is not paused")
    _, future = simulator.send(5)
    assert simulator.result(future) == (GoalStatus.STATUS_ABORTED, FAILED, "it is not paused")


def test_an_action_may_end_while_a_goal_executes():
    """When nobody serves its node any more, as the node does it."""
    simulator = Simulator("other/simulate_steps")
    try:
        handle, _ = simulator.send(1000)
        simulator.told(handle, EXECUTING)
        steps = simulator.begun[-1]
        simulator.server.stop()
        simulator.action.close()
        assert steps.is_cancelled
        steps.tell(1)  # those that are being taken tell nobody any more
        steps.end(RequestError(Code.OPERATION_FAILED, "they were cancelled"))
    finally:
        simulator.close()
