"""``model_node``: publish the URDF of a robot model, and TF from joint states."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from hrp_msgs import names
from hrp_msgs.convert.basic import DIAGNOSTICS_PERIOD, NS_PER_S
from hrp_msgs.node import qos
from hrp_msgs.node.parameters import (
    DerivedParams,
    Param,
    declare,
    undeclare_overrides,
    unknown_parameters,
)
from hrp_msgs.node.start import WrongUseError, creating
from hrp_msgs.topics.node_topics import HealthTopic, NodeTopics

from ..description.description import (
    MODEL_ERRORS,
    Description,
    DescriptionOptions,
    ModelFile,
    error_text,
    first_line,
)
from ..description.publisher import DescriptionPublisher, JointHealth, LastPositions, model_health
from ..diagnostics import Diagnostic, Diagnostics, Severity, counted
from ..files.writer import mesh_folder
from ..program.console import print_message
from ..program.report import SHOWN_NOTES
from .parameters import MODEL_NODE, serve_until_signal

PARAMETERS = MODEL_NODE
_PARAMS = {param.name: param for param in PARAMETERS}
# Parameters by what their change affects.
_RATE_PARAMS = frozenset(("publish_frequency", "ignore_timestamp"))
_FRAME_PARAMS = frozenset(("frame_prefix", "world_frame"))
_MODEL_PARAMS = frozenset(_PARAMS) - _RATE_PARAMS - _FRAME_PARAMS - {"watch"}
_FORMATS = {names.ROBOT_DESCRIPTION: "URDF", names.ROBOT_DESCRIPTION_SEMANTIC: "SRDF"}
_NO_MODEL = "parameter 'model' is empty"
_WATCH_PERIOD = 0.5  # [s] of wall time; a changed file is read at the second check
_INITIAL_PERIOD = 1.0  # [s] of wall time, of /tf before the first joint states
_TF_CACHE_NS = 10 * NS_PER_S  # listeners of /tf drop transforms that are older than others by this


def logged_diagnostics(node: Node) -> Diagnostics:
    """Return diagnostics that are logged by a node, except errors, which end it."""

    def log(diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.WARNING:
            node.get_logger().warning(str(diagnostic))
        elif diagnostic.code in SHOWN_NOTES:
            node.get_logger().info(str(diagnostic))
        elif diagnostic.severity is Severity.NOTE:
            node.get_logger().debug(str(diagnostic))

    return Diagnostics(listener=log)


def _text(name: str, text: str) -> Param:
    return Param(name, text, f"{_FORMATS[name]} of the robot.")


class ModelNode(Node):
    """Publishes a robot's description and the transforms of its links.

    After ``listen``, it publishes the initial posture on /tf until a joint has a position.

    Publishes: robot_description, robot_description_semantic if selected, /tf_static (all
    latched), /tf, /diagnostics.
    Subscribes: joint_states, after ``listen`` was called.
    Parameters: see ``hrp_model.ros.parameters``; and read-only robot_description,
    robot_description_semantic and joint_limits.<joint>.<limit>.

    Attributes:
        settings: Values of the parameters by name.

    Args:
        node_options: Options of rclpy's Node, such as ``namespace``.

    Raises:
        ParameterException, WrongUseError: A parameter is invalid.
    """

    def __init__(self, **node_options: Any) -> None:
        defaults = {"automatically_declare_parameters_from_overrides": True}
        super().__init__("model_node", **{**defaults, **node_options})
        self._overrides = undeclare_overrides(self)
        self.settings = declare(self, MODEL_NODE)
        self._derived = DerivedParams(self, "model", [_text(names.ROBOT_DESCRIPTION, "")])
        self._maker = NodeTopics(self)
        self._file = ModelFile(mesh_folder(), logged_diagnostics(self).add)
        self._changes, self._problem = 0, ""
        self._has_moved = False  # a joint state was received
        self._initial_ns = 0  # stamp of the initial posture
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)

    def load(self) -> None:
        """Read and publish the model in parameter 'model', and watch its files.

        Raises:
            ModelError, OSError, MissingLibraryError: The model is invalid.
            WrongUseError: The parameter is empty, or parameters conflict.
        """
        for message in unknown_parameters(self._overrides, (*_PARAMS, *_FORMATS)):
            self.get_logger().warning(message)
        model = self.settings["model"]
        if not model:
            raise WrongUseError(f"{_NO_MODEL}; start with: --ros-args -p model:=FILE, or --help")
        if conflict := DescriptionOptions.conflict(self.settings):
            raise WrongUseError(conflict)
        options = DescriptionOptions.from_parameters(self.settings)
        self._start(self._file.describe(model, options))
        self.create_timer(_WATCH_PERIOD, self._check_files, clock=self._steady)

    def listen(self) -> None:
        """Subscribe to joint_states, if the node publishes TF, and publish the initial posture.

        Raises:
            WrongUseError: A quality of service override is invalid.
        """
        if self.settings["publish_tf"]:
            with creating(f"topic '{names.JOINT_STATES}'"):
                self.create_subscription(
                    JointState,
                    names.JOINT_STATES,
                    self._on_joint_states,
                    **qos.changeable(qos.SENSOR_INPUT),
                )
            publish = self._publish_initial_posture
            self._initial = self.create_timer(_INITIAL_PERIOD, publish, clock=self._steady)
            publish()

    def _publish_initial_posture(self) -> None:
        if self._has_moved:
            self._initial.cancel()
            return
        simulated = self.get_parameter("use_sim_time").value
        if simulated or not self.count_publishers(names.CLOCK):
            # Else listeners would ignore the stamps of the simulation, which are earlier.
            self._initial_ns = self.get_clock().now().nanoseconds
            self.publisher.publish_initial_posture(self._initial_ns)

    def _on_joint_states(self, msg: JointState) -> None:
        if len(msg.position) != len(msg.name):
            self.publisher.follower.ignored += 1
            if msg.position:
                arrays = ((msg.name, "name"), (msg.position, "position"))
                counts = " but ".join(counted(len(values), kind) for values, kind in arrays)
                self.get_logger().warning(f"ignoring joint_states with {counts}", once=True)
            return
        time_ns = msg.header.stamp.sec * NS_PER_S + msg.header.stamp.nanosec
        if time_ns == 0:  # without a stamp
            time_ns = self.get_clock().now().nanoseconds
        if time_ns < self._initial_ns - _TF_CACHE_NS and not self._has_moved:
            self.get_logger().warning(
                "joint_states are stamped before the clock of this node, so listeners of /tf keep "
                "the initial posture: restart them and this node with use_sim_time"
            )
        self.publisher.move(time_ns, msg.name, msg.position)
        self._has_moved = self._has_moved or bool(self.publisher.follower.seen)

    def _start(self, description: Description) -> None:
        self.publisher = DescriptionPublisher(
            self._maker,
            self._warn,
            semantics=bool(description.srdf),
            tf=self.settings["publish_tf"],
        )
        self._health = HealthTopic(self, self._maker)
        self._publish(description)
        self.add_on_set_parameters_callback(self._on_set)
        self.create_timer(DIAGNOSTICS_PERIOD, self._report, clock=self._steady)

    def _warn(self, message: str) -> None:
        self.get_logger().warning(message)

    def _publish(self, description: Description, last: LastPositions | None = None) -> None:
        """Publish a robot, in place of a previous one with the given last joint positions."""
        self._joint_health = JointHealth()
        self._configure()
        derived = [_text(names.ROBOT_DESCRIPTION, description.urdf)]
        if description.srdf:
            derived.append(_text(names.ROBOT_DESCRIPTION_SEMANTIC, description.srdf))
        derived += [
            Param(name, limit.value, limit.doc, limit.minimum)
            for name, limit in description.limits.items()
        ]
        self._derived.renew(derived)
        self.publisher.publish(description, last)
        body = description.body
        parts = {"link": body.links, "moving joint": body.moving_links, "device": body.devices}
        counts = ", ".join(counted(len(items), kind) for kind, items in parts.items())
        self.get_logger().info(f"'{body.name}': {counts}")

    def _configure(self) -> None:
        """Pass the settings of the frames to their publisher."""
        settings, publisher = self.settings, self.publisher
        unlimited = settings["ignore_timestamp"]
        publisher.max_frequency = 0.0 if unlimited else settings["publish_frequency"]
        publisher.frame_prefix = settings["frame_prefix"]
        publisher.world_frame = settings["world_frame"]

    def _report(self) -> None:
        """Publish the health of model and joint states."""
        description, follower = self.publisher.description, self.publisher.follower
        parts = [model_health(description, self._changes, self._problem)]
        if self.settings["publish_tf"]:
            parts.append(self._joint_health.report(follower, time.monotonic()))
        self._health.report(parts, description.body.name)

    def _on_set(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        """Apply changed parameters, all or none."""
        reason = self._change({p.name: p.value for p in parameters})
        return SetParametersResult(successful=not reason, reason=reason)

    def _change(self, values: Mapping[str, Any]) -> str:
        """Change settings; return why none has changed, or an empty string."""
        mine = {name: value for name, value in values.items() if name in _PARAMS}
        objections = [self._derived.objection(name) for name in values]
        objections += [_PARAMS[name].objection(value) for name, value in mine.items()]
        if any(objections):
            return next(filter(None, objections))
        settings = {**self.settings, **mine}
        if not mine.get("model", True):
            return _NO_MODEL
        if conflict := DescriptionOptions.conflict(settings):
            return conflict
        if mine.keys() & _MODEL_PARAMS:
            return self._replace(settings)
        self.settings = settings
        self._configure()
        if mine.keys() & _RATE_PARAMS:
            self.publisher.follower.set_max_frequency(self.publisher.max_frequency)
        if mine.keys() & _FRAME_PARAMS:
            self.publisher.publish_fixed()
        if "frame_prefix" in mine:
            self.publisher.publish_last_positions()
        return ""

    def _check_files(self) -> None:
        if self.settings["watch"] and self._file.has_changed():
            self._replace(self.settings, again=True)

    def _replace(self, settings: dict[str, Any], *, again: bool = False) -> str:
        """Read the model again; return why the previous one is kept, or an empty string."""
        read = self._file.describe_again if again else self._file.describe
        try:
            description = read(settings["model"], DescriptionOptions.from_parameters(settings))
        except MODEL_ERRORS as error:
            return self._keep(error_text(error), again)
        except Exception as error:  # a defect of a reader must not end a running robot
            self.get_logger().error(traceback.format_exc())
            return self._keep(f"error: {type(error).__name__}: {error}", again)
        if removed := self.publisher.description.tree.names - description.tree.names:
            listed = ", ".join(sorted(removed))
            self.get_logger().info(f"removed frames, still in the buffers of listeners: {listed}")
        self.settings = settings
        self._changes, self._problem = self._changes + 1, ""
        self._publish(description, self.publisher.follower.last)
        return ""

    def _keep(self, problem: str, again: bool) -> str:
        """Log why the previous model is kept; return the first line of it."""
        self.get_logger().error(f"keeping the previous model: {problem}")
        if again:  # else the caller of the service gets the reason
            self._problem = first_line(problem)
        return first_line(problem)


def main(args: Sequence[str] | None = None) -> int:
    """Run ``model_node``; return 0 after Ctrl-C, 1 for an invalid model, 2 for a usage error."""

    def prepare(node: ModelNode, _undo: ExitStack) -> None:
        node.load()
        node.listen()

    try:
        serve_until_signal(args, lambda context: ModelNode(context=context), prepare)
        return 0
    except KeyboardInterrupt:
        return 0
    except (ParameterException, WrongUseError) as error:
        print_message(f"error: {error}")
        return 2
    except MODEL_ERRORS as error:
        print_message(error_text(error))
        return 1


if __name__ == "__main__":
    from ..program.command import run_node

    sys.exit(run_node("hrp_model.ros.model_node", "model_node"))  # also handles --help
