"""Run a scenario with ROS nodes, in lock-step or in real time, and count messages."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from hrp_model.files.resources import share_folder
from hrp_msgs.node.executor import ExecutorThread
from hrp_msgs.node.parameters import unknown_parameters
from hrp_msgs.node.start import WrongUseError, creating, destroy, fastdds_environment
from hrp_msgs.topics.listen import Listener
from hrp_sim.ros.parameters import SIM_NODE
from hrp_sim.ros.run_services import cause_without_command
from hrp_sim.ros.sim_node import RosSession, SimNode
from hrp_sim.run.lock_step import LockStep
from hrp_sim.run.run import Consumer, Run
from hrp_sim.run.scenarios import CourseOutcome, CourseRun
from hrp_sim.run.summary import Expectation
from hrp_sim.sensors import Reading
from hrp_sim.simulation import Simulation
from hrp_sim.topics.run_recording import RunRecording
from hrp_sim.world.config import WorldConfig
from hrp_sim.world.sensor_options import OPTIONS

from ..stage import ParameterValue, Problem, RosSetup, ScenarioError, Stage
from .nodes import NodeProcess, environment_of, reserved_domain

# Periods of wall time, in [s].
_LOOK_PERIOD = 0.1  # between looks for new topics, and at the nodes
_QUIET_PERIOD = 0.5  # without a message, after which none is on its way any more
_MAX_SETTLING = 20.0
# How long to wait for topics of rates, in [s] of wall time: for those that have publishers, and for
# others, which may be published only later in the run.
_CONNECTION, _DISCOVERY = 10.0, 2.0
_MAX_LINES = 20  # of the output of a node in a message


class RateMeter:
    """Counts the messages of topics.

    Args:
        rates: Expected rates, whose quantities are topics.
        context: Context of its node.

    Raises:
        WrongUseError: The name of a topic is invalid.
    """

    def __init__(self, rates: Sequence[Expectation], context: Context) -> None:
        topics: set[str] = set()
        self._node = Listener(topics, context)
        self._rates: list[tuple[str, Expectation]] = []
        for rate in rates:
            with creating(f"the rate of '{rate.quantity}'"):
                self._rates.append((self._node.resolve_topic_name(rate.quantity), rate))
        topics.update(topic for topic, _ in self._rates)
        self._looks = 0  # of the executor for new topics, between messages
        self._node.create_timer(
            _LOOK_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(self._node)
        self._serving = ExecutorThread(executor, self._node.get_logger(), "rates")

    def missing(self, sim_node: Node) -> set[str]:
        """Return the topics that it does not receive yet, as far as it and a publisher know.

        Args:
            sim_node: The node of the simulation, which publishes some of them.
        """
        publishers = {s.topic_name: s.get_publisher_count() for s in self._node.subscriptions}
        topics = {topic for topic, _ in self._rates}
        return {t for t in topics if not (publishers.get(t) and sim_node.count_subscribers(t))}

    def settle(self) -> None:
        """Wait until the messages that were published have arrived."""
        end, before = time.monotonic() + _MAX_SETTLING, None
        while self._rates and self._node.counts != before and time.monotonic() < end:
            before, looks = dict(self._node.counts), self._looks
            while True:
                threading.Event().wait(_QUIET_PERIOD)
                if self._looks > looks + 1 or time.monotonic() > end:
                    break  # else the machine has not let it count

    def missed(self, duration: float) -> Iterator[str]:
        """Yield a message for each expectation that is not met.

        Args:
            duration: Simulation time of the run, in [s].
        """
        for topic, rate in self._rates:
            count = self._node.counts.get(topic)
            outcome = rate.evaluate((count or 0) / duration)
            if outcome.holds:
                continue
            if count is None:
                yield f"expected {rate.text}, but nothing has published on '{topic}'"
            else:
                yield f"{outcome}: {count} messages in {duration:.9g} s"

    def _look(self) -> None:
        self._looks += 1
        self._node.subscribe_to_new()

    def close(self) -> None:
        """Stop counting."""
        self._serving.close()
        destroy(self._node)


class RosStage(Stage):
    """A simulation with the nodes of a scenario.

    Args:
        name: Path of the scenario, for messages.
        session: The simulation.
        setup: The ROS side of the scenario.
        nodes: The running nodes.
    """

    def __init__(
        self, name: str, session: RosSession, setup: RosSetup, nodes: Sequence[NodeProcess]
    ) -> None:
        super().__init__(session.simulation, session.node.failure_hint)
        self._name, self._session, self._setup, self._nodes = name, session, setup, nodes

    def run(self, course: CourseRun, consumers: Sequence[Consumer]) -> CourseOutcome:
        """Run a course with the nodes, as ``Stage.run``."""
        session, setup = self._session, self._setup
        with ExitStack() as stack:
            with _use_errors(self._name):
                meter = RateMeter(setup.rates, session.context)
            stack.callback(meter.close)
            watch = _Watch(self._nodes, setup.timeout, session.node)
            run = stack.enter_context(Run(self.simulation, real_time_factor=setup.real_time_factor))
            with _use_errors(self._name):
                session.serve(run)
            for consumer in (course, *consumers, watch):
                run.add(consumer)
            self._connect(watch, meter)
            if not watch.failure:
                with watch.watching(run):
                    run.run()
            if not watch.failure:
                meter.settle()
            if watch.check():  # also of a node that has failed at the end of the run
                self.problems.append(Problem(course.time, watch.failure))
            elif course.time > 0.0:
                missed = meter.missed(course.time)
                self.problems += [Problem(course.time, text) for text in missed]
            return course.outcome("" if run.error is None else str(run.error))

    @property
    def outputs(self) -> Mapping[str, str]:
        """The end of the output of each node, by its command."""
        return {f"{k}: {node.name}": node.output for k, node in enumerate(self._nodes, start=1)}

    def _connect(self, watch: _Watch, meter: RateMeter) -> None:
        """Wait until the commands and the counted topics have publishers, with a time limit.

        Without publishers of commands the run waits at its first control period anyway, unless
        the commands are those of ros2_control: then it would go on without them.
        """
        node = self._session.node
        topics = [node.resolve_topic_name(topic) for topic in self._setup.lock_step]
        start = time.monotonic()
        while not watch.check():
            waited = time.monotonic() - start
            has_commands = all(node.count_publishers(topic) for topic in topics)
            missing = meter.missing(node)
            if waited > _DISCOVERY:
                missing = {topic for topic in missing if node.count_publishers(topic)}
            is_ready = has_commands and (not missing or waited > _CONNECTION)
            if is_ready or waited > self._setup.timeout:
                break
            threading.Event().wait(_LOOK_PERIOD)
        watch.progressed()


class _Watch(Consumer):
    """Consumer of a run that watches whether the nodes run and the simulation goes on.

    Args:
        nodes: The nodes.
        timeout: Wall time without progress that is a failure, in [s].
        sim_node: The node of the simulation.

    Attributes:
        failure: Why the run failed, or "".
    """

    def __init__(self, nodes: Sequence[NodeProcess], timeout: float, sim_node: SimNode) -> None:
        self.failure = ""
        self._nodes, self._timeout, self._sim_node = nodes, timeout, sim_node
        self._last = time.monotonic()

    def next_ns(self, simulation: Simulation) -> int:  # noqa: ARG002
        """Return 0, for each step is progress."""
        return 0

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:  # noqa: ARG002
        """Note that a step was taken."""
        self.progressed()

    def progressed(self) -> None:
        """Note that the run goes on, or is about to."""
        self._last = time.monotonic()

    def check(self) -> str:
        """Return ``failure``, after looking at the nodes."""
        for node in self._nodes:
            if node.status and not self.failure:
                self.failure = f"the node '{node.name}' ended with {_end(node.status)}{_tail(node)}"
        return self.failure

    @contextmanager
    def watching(self, run: Run) -> Iterator[None]:
        """Stop a run as soon as it has failed."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(_LOOK_PERIOD):
                if self.check() or self._hangs(run):
                    run.stop()
                    return

        thread = threading.Thread(target=watch, name="watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _hangs(self, run: Run) -> bool:
        if time.monotonic() - self._last < self._timeout:
            return False
        cause = ""
        if isinstance(gate := run.gate, LockStep) and (missing := gate.missing):
            stamps, node = gate.misstamped, self._sim_node
            listed = [t + cause_without_command(node, t, stamps.get(t)) for t in missing]
            cause = f": it waits for a command on {', '.join(listed)}"
        tails = "".join(f"\nthe node '{n.name}'{_ended(n)}{_tail(n)}" for n in self._nodes)
        self.failure = f"the run made no step for {self._timeout:g} s{cause}{tails}"
        return True


@contextmanager
def ros_stage(
    name: str,
    world: WorldConfig,
    setup: RosSetup,
    recording: RunRecording | None = None,
) -> Iterator[RosStage]:
    """Yield a simulation and running nodes in a ROS domain of their own.

    Args:
        name: Path of the scenario, for messages.
        world: The world.
        setup: The ROS side of the scenario.
        recording: Records all topics of the simulation.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        ScenarioError: A parameter or a command cannot be used, or no ROS domain is free.
    """
    parameters: dict[str, ParameterValue] = {**setup.parameters}
    if setup.lock_step:
        parameters |= {
            "lock_step": " ".join(setup.lock_step),
            "lock_step_rate": setup.lock_step_rate,
            "lock_step_timeout": 0.0,  # a run that goes on without a command is not a test
        }
    with ExitStack() as stack:
        with _use_errors(name):
            domain = stack.enter_context(reserved_domain())
            environment = environment_of(domain)
            _check_names(parameters)
            make_recording = None if recording is None else lambda: recording
            with _environment(environment):
                session = RosSession(parameters, [], domain, make_recording, world=world)
            stack.callback(session.close)
            _check_devices(parameters, session)
            environment |= fastdds_environment(share_folder() / "config")
            nodes = []
            for command in setup.nodes:
                nodes.append(NodeProcess(command, setup.folder, environment))
                stack.callback(nodes[-1].close)
        yield RosStage(name, session, setup, nodes)


@contextmanager
def _use_errors(name: str) -> Iterator[None]:
    """Report errors in what the scenario has under ``ros``.

    Raises:
        ScenarioError: There is one.
    """
    try:
        yield
    except (ParameterException, WrongUseError, OSError) as error:
        raise ScenarioError(f"{name}: ros: {error}") from None


def _check_names(parameters: Mapping[str, ParameterValue]) -> None:
    """Check the names of parameters, of which nodes only warn.

    Raises:
        WrongUseError: There is no such parameter.
    """
    given = [name for name in parameters if "." not in name]  # others are those of sensors, joints
    known = (*(param.name for param in SIM_NODE), *OPTIONS)
    if problems := list(unknown_parameters(given, known)):
        raise WrongUseError(problems[0])


def _check_devices(parameters: Mapping[str, ParameterValue], session: RosSession) -> None:
    """Check the parameters of sensors and joints, of which nodes only warn, too.

    Raises:
        WrongUseError: There is no such sensor, option or joint.
    """
    node = session.node
    of_sensors = (
        d.message for d in node.problems if d.code in ("unknown-sensor", "unknown-option")
    )
    if problems := [*of_sensors, *node.unknown_joints(parameters)]:
        raise WrongUseError(problems[0])


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables in a block, and restore all at its end."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _end(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal
        return f"signal {-status}"


def _ended(node: NodeProcess) -> str:
    return "" if node.status is None else f", which has ended with {_end(node.status)}"


def _tail(node: NodeProcess) -> str:
    """Return the end of the output of a node, behind the beginning of a sentence."""
    lines = node.output.splitlines()[-_MAX_LINES:]
    return ":\n" + "\n".join(f"  {line}" for line in lines) if lines else ", without output"
