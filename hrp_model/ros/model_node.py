"""The ROS 2 face of a robot model: its URDF, and TF from joint states."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.context import Context
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from hrp_msgs import names
from hrp_msgs.convert.basic import NS_PER_S
from hrp_msgs.convert.diagnostics import PERIOD
from hrp_msgs.node import qos
from hrp_msgs.node.executor import ExecutorThread
from hrp_msgs.node.parameters import (
    DerivedParams,
    Param,
    declare,
    undeclare_overrides,
    unknown_parameters,
)
from hrp_msgs.node.start import WrongUseError, creating, init_ros
from hrp_msgs.topics.robot import FramePose, RobotTopics
from hrp_msgs.topics.topic import Topic

from ..body import Body
from ..description.description import Description, Wanted, describe
from ..description.follower import JointFollower, LastPositions
from ..description.frame_tree import MovedFrame
from ..description.health import JointHealth, Reminder, model_health
from ..description.model_file import UNUSABLE, ModelFile, first_line, what_went_wrong
from ..diagnostics import Diagnostic, Diagnostics, MissingLibraryError, Severity, counted
from ..files.cache import mesh_folder
from ..frames import Base, Frame, FrameOptions
from ..program.console import print_message
from ..program.stop_signals import StopSignals
from ..rigid import matrix_quaternion
from .parameters import MODEL_NODE

PARAMETERS = MODEL_NODE
_PARAMS = {param.name: param for param in PARAMETERS}
# What to do anew when a parameter changes; after that of others only their values are known.
_OF_RATE = frozenset(("publish_frequency", "ignore_timestamp"))
_OF_FRAMES = frozenset(("frame_prefix", "world_frame"))
_OF_MODEL = frozenset(_PARAMS) - _OF_RATE - _OF_FRAMES - {"watch"}
_LANGUAGES = {names.ROBOT_DESCRIPTION: "URDF", names.ROBOT_DESCRIPTION_SEMANTIC: "SRDF"}
_NO_MODEL = "no model is named"
_WATCH_PERIOD = 0.5  # [s] of wall time; two looks pass before a changed file is read
_SELDOM = 10.0  # [s]; how often one and the same thing is worth a warning


def logged_diagnostics(node: Node) -> Diagnostics:
    """Return diagnostics that go to a node's log, all but the errors, which end it."""

    def log(diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.WARNING:
            node.get_logger().warning(str(diagnostic))
        elif diagnostic.severity is Severity.NOTE:
            node.get_logger().debug(str(diagnostic))

    return Diagnostics(listener=log)


def _text(name: str, text: str) -> Param:
    return Param(name, text, f"{_LANGUAGES[name]} of the robot.")


class ModelNode(Node):
    """Publishes a robot's description and the transforms of its links.

    Publishes: robot_description, robot_description_semantic if asked for, /tf_static (all
    latched), /tf, /diagnostics.
    Subscribes: joint_states, once ``listen`` was called.
    Parameters: see ``hrp_model.ros.parameters``; and, to be read only, robot_description,
    robot_description_semantic and joint_limits.<joint>.<limit>.

    Attributes:
        settings: Values of the parameters by name.

    Args:
        node_options: What rclpy's Node takes, such as ``namespace``.

    Raises:
        ParameterException, WrongUseError: A parameter cannot be used.
    """

    def __init__(self, **node_options: Any) -> None:
        given = {"automatically_declare_parameters_from_overrides": True}
        super().__init__("model_node", **{**given, **node_options})
        self._given = undeclare_overrides(self)
        self.settings = declare(self, MODEL_NODE)
        self._derived = DerivedParams(self, "model", [_text(names.ROBOT_DESCRIPTION, "")])
        self._file: ModelFile | None = None
        self._topics: list[Topic] = []
        self._changes, self._problem = 0, ""
        self._reminder = Reminder(_SELDOM)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)

    def load(self) -> None:
        """Read the model that the parameters name, and publish it; from now on it may change.

        Raises:
            ModelError, OSError, MissingLibraryError: It cannot be described.
            WrongUseError: No model is named.
        """
        for message in unknown_parameters(self._given, (*_PARAMS, *_LANGUAGES)):
            self.get_logger().warning(message)
        model = self.settings["model"]
        if not model:
            raise WrongUseError(f"{_NO_MODEL}; start with: --ros-args -p model:=FILE, or --help")
        if objection := Wanted.objection(self.settings):
            raise WrongUseError(objection)
        self._file = ModelFile(mesh_folder(), logged_diagnostics(self).add)
        self._begin(self._file.describe(model, Wanted.by(self.settings)))
        self.create_timer(_WATCH_PERIOD, self._look_at_files, clock=self._steady)

    def start(self, body: Body) -> None:
        """Publish a body that is there already, with frames of the model's names.

        The parameter about the naming of links plays no part: whoever has the body publishes where
        the topmost frame is.

        Raises:
            WrongUseError: What the parameters ask for cannot be made.
            OSError: The meshes cannot be written.
        """
        if objection := Wanted.objection(self.settings):
            raise WrongUseError(objection)
        names_of_model = FrameOptions(base=Base(self.settings["base"]))
        wanted = Wanted.by(self.settings).with_frames(names_of_model)
        try:
            made = describe(body, wanted, mesh_folder(), logged_diagnostics(self))
        except MissingLibraryError as error:
            raise WrongUseError(str(error)) from None
        self._begin(made)

    def listen(self) -> None:
        """Follow joint_states from now on, unless TF is left to others.

        Raises:
            WrongUseError: ROS does not take its quality of service.
        """
        if self.settings["publish_tf"]:
            with creating(f"topic '{names.JOINT_STATES}'"):
                self.create_subscription(
                    JointState,
                    names.JOINT_STATES,
                    self._take,
                    **qos.changeable(qos.SENSOR_INPUT),
                )

    def move(
        self,
        time_ns: int,
        joints: Sequence[str],
        positions: Sequence[float],
        above: Sequence[FramePose] = (),
    ) -> None:
        """Publish where joints have moved their links, if it is time to.

        Args:
            time_ns: When they were there, in [ns].
            joints: Names; those that the body does not have are told once.
            positions: In [rad] or [m], one per name; what is not finite is left out.
            above: Frames to publish in the same message, such as the root's.
        """
        known = len(self._follower.unknown)
        frames = self._follower.follow(time_ns, joints, positions, time.monotonic())
        if new := list(self._follower.unknown)[known:]:
            text = ", ".join(f"'{name}'" for name in new)
            self.get_logger().warning(f"joint_states: not moving joints of this model: {text}")
        for problem in self._reminder.due(self._follower.open_loops, time.monotonic()):
            self.get_logger().warning(problem)
        if frames:
            self._robot.publish_moving(time_ns, [*above, *self._prefixed(frames)])

    @property
    def topics(self) -> list[Topic]:
        """Everything that is published."""
        return self._topics

    def _take(self, msg: JointState) -> None:
        if len(msg.position) != len(msg.name):
            self._follower.ignored += 1
            if msg.position:
                given = ((msg.name, "name"), (msg.position, "position"))
                counts = " but ".join(counted(len(values), kind) for values, kind in given)
                self.get_logger().warning(f"joint_states with {counts} is ignored", once=True)
            return
        time_ns = msg.header.stamp.sec * NS_PER_S + msg.header.stamp.nanosec
        if time_ns == 0:  # a publisher that fills in no stamp means now
            time_ns = self.get_clock().now().nanoseconds
        self.move(time_ns, msg.name, msg.position)

    def _begin(self, description: Description) -> None:
        tf = self.settings["publish_tf"]
        self._robot = RobotTopics(self, semantics=bool(description.srdf), tf=tf)
        self._topics = self._robot.all
        self._publish(description)
        self.add_on_set_parameters_callback(self._on_set)
        self.create_timer(PERIOD, self._report, clock=self._steady)

    def _publish(self, description: Description, last: LastPositions | None = None) -> None:
        """Publish a robot in place of the one before, whose joints were last at some positions."""
        self._description = description
        self._follower = JointFollower(description.tree, description.loops, last)
        self._joint_health = JointHealth()
        self._limit_rate()
        derived = [_text(names.ROBOT_DESCRIPTION, description.urdf)]
        if description.srdf:
            derived.append(_text(names.ROBOT_DESCRIPTION_SEMANTIC, description.srdf))
        derived += [
            Param(name, limit.value, limit.doc, limit.minimum)
            for name, limit in description.limits.items()
        ]
        self._derived.renew(derived)
        self._robot.describe(description.urdf, description.srdf)
        self._publish_fixed()
        self._publish_moved_again()
        for link in description.tree.floating:
            self.get_logger().warning(f"no joint tells where '{link}' floats; it gets no transform")
        body = description.body
        parts = {"link": body.links, "moving joint": body.moving_links, "device": body.devices}
        counts = ", ".join(counted(len(of_a_kind), kind) for kind, of_a_kind in parts.items())
        self.get_logger().info(f"'{body.name}': {counts}")

    def _publish_fixed(self) -> None:
        frames = self._placed(self._description.tree.fixed)
        if world := self.settings["world_frame"]:
            [(_, top, *pose)] = self._placed([self._description.in_world(world)])
            prefix = self.settings["frame_prefix"]
            if world in (names.frame(x, prefix) for x in self._description.frames.names):
                self.get_logger().warning(
                    f"a frame of the model is called '{world}' as world_frame is: no transform "
                    "tells where the model is",
                    once=True,
                )
            else:
                frames.append((world, top, *pose))  # robots share the world: it has no prefix
        self._robot.publish_static(frames)

    def _publish_moved_again(self) -> None:
        for time_ns, frames in self._follower.again().items():
            self._robot.publish_moving(time_ns, self._prefixed(frames))

    def _placed(self, frames: Iterable[Frame]) -> list[FramePose]:
        return self._prefixed(
            MovedFrame(f.name, f.parent, tuple(f.pose.p.tolist()), matrix_quaternion(f.pose.R))
            for f in frames
        )

    def _prefixed(self, frames: Iterable[MovedFrame]) -> list[FramePose]:
        prefix = self.settings["frame_prefix"]
        return [
            (names.frame(f.parent, prefix), names.frame(f.name, prefix), f.p, f.xyzw)
            for f in frames
        ]

    def _limit_rate(self) -> None:
        all_count = self.settings["ignore_timestamp"]
        self._follower.limit(0.0 if all_count else self.settings["publish_frequency"])

    def _report(self) -> None:
        """Publish how all this is going."""
        parts = [model_health(self._description, self._changes, self._problem)]
        if self.settings["publish_tf"]:
            parts.append(self._joint_health.report(self._follower, time.monotonic()))
        self._robot.report(parts, self._description.body.name)

    def _on_set(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        """Do what changed parameters ask for, if all of that can be done."""
        reason = self._change({p.name: p.value for p in parameters})
        return SetParametersResult(successful=not reason, reason=reason)

    def _change(self, values: Mapping[str, Any]) -> str:
        """Change settings; return why they all stay as they are, or nothing."""
        mine = {name: value for name, value in values.items() if name in _PARAMS}
        objections = [self._derived.objection(name) for name in values]
        objections += [_PARAMS[name].objection(value) for name, value in mine.items()]
        if self._file is None and not mine.keys() <= _OF_RATE:
            objections.append(f"here only {' and '.join(sorted(_OF_RATE))} can be set")
        if any(objections):
            return next(filter(None, objections))
        settings = {**self.settings, **mine}
        if not settings["model"] and self._file is not None:
            return _NO_MODEL
        if objection := Wanted.objection(settings):
            return objection
        if mine.keys() & _OF_MODEL:
            return self._replace(settings)
        self.settings = settings
        if mine.keys() & _OF_RATE:
            self._limit_rate()
        if mine.keys() & _OF_FRAMES:
            self._publish_fixed()
        if "frame_prefix" in mine:
            self._publish_moved_again()
        return ""

    def _look_at_files(self) -> None:
        if self.settings["watch"] and self._file is not None and self._file.has_changed():
            self._replace(self.settings, again=True)

    def _replace(self, settings: dict[str, Any], *, again: bool = False) -> str:
        """Describe the model anew; return why the old one stays, or nothing."""
        assert self._file is not None
        read = self._file.describe_again if again else self._file.describe
        try:
            description = read(settings["model"], Wanted.by(settings))
        except UNUSABLE as error:
            return self._keep(what_went_wrong(error), again)
        except Exception as error:  # not even a defect of a reader may end a running robot
            self.get_logger().error(traceback.format_exc())
            return self._keep(f"error: {type(error).__name__}: {error}", again)
        if gone := self._description.tree.names - description.tree.names:
            listed = ", ".join(sorted(gone))
            self.get_logger().info(f"no longer published, but remembered by listeners: {listed}")
        self.settings = settings
        self._changes, self._problem = self._changes + 1, ""
        self._publish(description, self._follower.last)
        return ""

    def _keep(self, problem: str, again: bool) -> str:
        """Tell why the old model stays; return one line of it."""
        self.get_logger().error(f"the old model stays: {problem}")
        if again:  # else somebody asked for this, and is told
            self._problem = first_line(problem)
        return first_line(problem)


def _run(args: Sequence[str] | None) -> int:
    """Run the node until a signal comes; return the exit status.

    rclpy's own handlers of signals would end the context while a callback still publishes there, or
    while the node is being made.
    """
    with StopSignals() as signals, ExitStack() as undo:
        context = Context()
        init_ros(args, context=context, signal_handler_options=SignalHandlerOptions.NO)
        undo.callback(context.try_shutdown)
        with creating("the node"):
            node = ModelNode(context=context)
        undo.callback(node.destroy_node)
        node.load()
        node.listen()
        signals.stop()
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        undo.callback(ExecutorThread(executor, node.get_logger()).close)
        signals.wait()
    return 0


def main(args: Sequence[str] | None = None) -> int:
    """Run ``model_node``; return 0 after Ctrl-C, 1 for a bad model, 2 for wrong use."""
    try:
        return _run(args)
    except KeyboardInterrupt:
        return 0
    except (ParameterException, WrongUseError) as error:
        print_message(f"error: {error}")
        return 2
    except UNUSABLE as error:
        print_message(what_went_wrong(error))
        return 1


if __name__ == "__main__":
    from ..program.node_entry import run_node

    sys.exit(run_node("hrp_model.ros.model_node", "model_node"))  # which knows --help, too
