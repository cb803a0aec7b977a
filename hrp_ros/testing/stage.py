"""The simulation of a scenario, with or without the ROS nodes that its file states."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hrp_model import Diagnostics
from hrp_model.diagnostics import MissingLibraryError, number_text, out_of_range
from hrp_model.program.command import missing_ros
from hrp_model.readers.yaml.nodes import Mapping as MappingNode
from hrp_model.readers.yaml.nodes import Node, Scalar
from hrp_sim import Simulation
from hrp_sim.engine.engine import ENGINES
from hrp_sim.run.run import Consumer
from hrp_sim.run.scenarios import CourseOutcome, CourseRun, Scenario
from hrp_sim.run.summary import Expectation, ExpectationError
from hrp_sim.simulation import build_simulation
from hrp_sim.topics.run_recording import RunRecording

ParameterValue = bool | int | float | str

_TOPIC = re.compile(r"[^\s<>=!]+")
_PYTHON = ("python", "python3")
_DEFAULT_RATE = 500.0  # [Hz]
_MAX_RATE = 1e4  # [Hz]
_DEFAULT_TIMEOUT, _MAX_TIMEOUT = 60.0, 3600.0  # [s]
_MAX_FACTOR = 1e3
# Parameters of sim_node that keys of the scenario replace.
_RESERVED = {
    "world": "world",
    "simulator": "world",
    "variables": "world",
    "engine": "world",
    "solver": "physics.solver",
    "time_step": "physics.time_step",
    "iterations": "physics.iterations",
    "joint_limits": "physics.joint_limits",
    "seed": "physics.seed",
    "python_controllers": "controllers",
    "run_controllers": "controllers",
    "real_time_factor": "ros.real_time_factor",
    "lock_step": "ros.lock_step",
    "lock_step_rate": "ros.lock_step_rate",
    "lock_step_timeout": "ros.timeout",
}
_USELESS = ("start_paused", "record")


@dataclass(frozen=True, kw_only=True)
class RosSetup:
    """The ROS side of a scenario.

    Attributes:
        folder: Folder of the scenario, in which the nodes run.
        nodes: Commands that start nodes, each as its words.
        lock_step: Topics of the commands that the run waits for.
        lock_step_rate: Control periods per simulated second, in [Hz].
        real_time_factor: Target real-time factor; 0 is as fast as possible.
        timeout: Wall time without progress after which the run fails, in [s].
        parameters: Of ``sim_node``, by name.
        rates: Expected rates of topics; the quantity is the topic, in [Hz] of simulation time.
    """

    folder: Path
    nodes: tuple[tuple[str, ...], ...] = ()
    lock_step: tuple[str, ...] = ()
    lock_step_rate: float = _DEFAULT_RATE
    real_time_factor: float = 0.0
    timeout: float = _DEFAULT_TIMEOUT
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    rates: tuple[Expectation, ...] = ()


def read_ros(root: MappingNode, folder: Path) -> RosSetup | None:
    """Read what is under ``ros``; None if there is no such key.

    Problems are reported to the diagnostics of the mapping.

    Args:
        root: The mapping of the scenario.
        folder: Folder of its file.
    """
    node = root.mapping("ros")
    if node is None:
        return None
    lock_step = tuple(_texts(node, "lock_step"))
    setup = RosSetup(
        folder=folder,
        nodes=tuple(_commands(node, folder)),
        lock_step=lock_step,
        lock_step_rate=_positive(node, "lock_step_rate", _DEFAULT_RATE, _MAX_RATE, "Hz"),
        real_time_factor=_factor(node, default=0.0 if lock_step else 1.0),
        timeout=_positive(node, "timeout", _DEFAULT_TIMEOUT, _MAX_TIMEOUT, "s"),
        parameters=_parameters(node),
        rates=tuple(_rates(node)),
    )
    node.finish()
    return setup


def _texts(node: MappingNode, key: str) -> Iterator[str]:
    """Yield the texts of a list, or the words of a text."""
    written = node.get(key)
    if isinstance(written, Scalar):
        yield from written.text.split()
        return
    for item in _items(node, key):
        if isinstance(item, Scalar):
            yield item.text
        else:
            node.diagnostics.error(
                "wrong-type", f"expected text, found {item.description}", item.span
            )


def _items(node: MappingNode, key: str) -> list[Node]:
    written = node.sequence(key)
    return [] if written is None else written.items


def _commands(node: MappingNode, folder: Path) -> Iterator[tuple[str, ...]]:
    for item in _items(node, "nodes"):
        try:
            words = shlex.split(item.text) if isinstance(item, Scalar) else []
        except ValueError:  # a quotation without end
            words = []
        if not words:
            message = "expected a command such as 'python node.py'"
            node.diagnostics.error("bad-command", message, item.span)
        elif (program := _program(words[0], folder)) is None:
            message = f"there is no program '{words[0]}'"
            node.diagnostics.error("missing-program", message, item.span)
        else:
            yield (program, *words[1:])


def _program(name: str, folder: Path) -> str | None:
    """Return the path of a program, or None if there is none."""
    if name in _PYTHON:  # that of the tests, whose environment need not be active
        return sys.executable
    return shutil.which(str(folder / name) if "/" in name else name)


def _positive(node: MappingNode, key: str, default: float, highest: float, unit: str) -> float:
    value = node.number(key, default=default)
    if not 0.0 < value <= highest:
        shown = number_text(value, 6, bound=highest)
        message = f"'{key}' must be above 0 {unit} and at most {highest:g} {unit}, not {shown}"
        node.diagnostics.error("out-of-range", message, node.at(key))
    return value


def _factor(node: MappingNode, default: float) -> float:
    value = node.number("real_time_factor", default=default)
    if not 0.0 <= value <= _MAX_FACTOR:
        message = f"'real_time_factor' {out_of_range(value, 0.0, _MAX_FACTOR)}"
        node.diagnostics.error("out-of-range", message, node.at("real_time_factor"))
    return value


def _parameters(node: MappingNode) -> dict[str, ParameterValue]:
    written = node.mapping("parameters")
    parameters: dict[str, ParameterValue] = {}
    for key, value in written.items() if written else ():
        plain = value.plain_value() if isinstance(value, Scalar) else None
        if key.text in _RESERVED:
            message = f"'{key.text}' is not set here, but by the key '{_RESERVED[key.text]}'"
            node.diagnostics.error("bad-parameter", message, key.span)
        elif key.text in _USELESS:
            message = f"'{key.text}' cannot be set in a scenario"
            node.diagnostics.error("bad-parameter", message, key.span)
        elif isinstance(plain, ParameterValue):
            parameters[key.text] = plain
        else:
            message = f"expected text, a number, true or false, found {value.description}"
            node.diagnostics.error("wrong-type", message, value.span)
    return parameters


def _rates(node: MappingNode) -> Iterator[Expectation]:
    for item in _items(node, "rates"):
        topic = _TOPIC.match(item.text.strip()) if isinstance(item, Scalar) else None
        if topic is None or not isinstance(item, Scalar):
            message = "expected the rate of a topic, such as 'joint_states > 99 Hz'"
            node.diagnostics.error("bad-expectation", message, item.span)
            continue
        try:
            yield Expectation.parse(item.text, {topic[0]: "Hz"})
        except ExpectationError as error:
            found = error.diagnostic
            node.diagnostics.error(found.code, found.message, item.span)


class ScenarioError(AssertionError):
    """A scenario did not pass, or cannot be run; the message has all reasons."""


@dataclass(frozen=True)
class Problem:
    """Why a run does not pass.

    Attributes:
        moment: Simulation time, in [s].
        text: For users, possibly of several lines.
    """

    moment: float
    text: str


class Stage:
    """A simulation in its initial state, in which the course of a scenario can run once.

    All sensors are read, except for cameras that no expectation needs.

    Args:
        simulation: The simulation.
        hint: For users if its physics fails.

    Attributes:
        simulation: The simulation.
        hint: As given.
        problems: Why the run does not pass, besides its outcome.
    """

    def __init__(self, simulation: Simulation, hint: str) -> None:
        self.simulation, self.hint = simulation, hint
        self.problems: list[Problem] = []

    @property
    def outputs(self) -> Mapping[str, str]:
        """The end of the output of each node, by its command."""
        return {}

    def run(self, course: CourseRun, consumers: Sequence[Consumer]) -> CourseOutcome:
        """Run a course; further consumers take its steps.

        Raises:
            ScenarioError: The name of a topic is invalid.
        """
        return course.run(consumers)


@contextmanager
def stage_of(
    name: str,
    scenario: Scenario,
    ros: RosSetup | None,
    recording: RunRecording | None = None,
) -> Iterator[Stage]:
    """Yield the simulation of a scenario, with its ROS nodes if it has any.

    Args:
        name: Path of the scenario, for messages.
        scenario: The scenario.
        ros: Its ROS side; None for a simulation without ROS.
        recording: Records all topics of the simulation; only with ROS.

    Raises:
        ModelError: A controller of the world cannot be used.
        PhysicsError: The world cannot be simulated.
        MissingLibraryError: ROS is needed, and not installed.
        ScenarioError: The ROS side cannot be used.
    """
    if ros is not None:
        try:
            from .ros.stage import ros_stage
        except ImportError as error:
            raise MissingLibraryError(f"{name}: {missing_ros(error)}") from None
        with ros_stage(name, scenario.world, ros, recording) as stage:
            yield stage
        return
    diagnostics = Diagnostics(listener=lambda _found: None)
    simulation, hint = build_simulation(scenario.world, ENGINES[0], diagnostics)
    with simulation:
        yield Stage(simulation, hint)
