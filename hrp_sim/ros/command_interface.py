"""What others may command over ROS 2: topics, actions and parameters of each body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from hrp_model.diagnostics import did_you_mean_or_all
from hrp_msgs import names
from hrp_msgs.node import qos
from hrp_msgs.node.command_executor import HearingThread
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.topics.commands import KINDS, CommandTopics
from hrp_msgs.topics.follow_joint_trajectory import TrajectoryAction, is_available
from hrp_sim.ros.command_parameters import COMMANDS, JointParams, JointValues, LiveParams, joint_of

from ..running.body_commands import BodyCommands, CommandOptions
from ..running.runner import Runner
from ..simulation import Simulation
from ..world.naming import BodyNaming

_OF_JOINTS = (
    names.JOINT_COMMANDS,
    names.JOINT_TRAJECTORY,
    names.POSITION_COMMANDS,
    names.VELOCITY_COMMANDS,
    names.EFFORT_COMMANDS,
    names.FOLLOW_JOINT_TRAJECTORY,
)
_ALL = (*KINDS, names.FOLLOW_JOINT_TRAJECTORY)


class Commanding:
    """The commands to all bodies of a node, and the parameters about them.

    Args:
        node: Has declared ``hrp_sim.ros.command_parameters.COMMANDS``.
        settings: Values of its parameters by name.

    Attributes:
        hearing: The thread in which commands are heard.

    Raises:
        WrongUseError: A parameter makes no sense.
    """

    def __init__(self, node: Node, settings: Mapping[str, Any]) -> None:
        self.node = node
        self.joints = JointParams(node)
        self._settings = dict(settings)
        self._ports: list[CommandPort] = []
        chosen = settings["command_topics"].split()
        for kind in chosen:
            if kind not in _ALL:
                known = did_you_mean_or_all(kind, _ALL)
                raise WrongUseError(f"command_topics: there is no '{kind}'.{known}")
        self._chosen = set(chosen) or set(_ALL)
        self._lacks_action = not is_available()
        live = [param for param in COMMANDS if not param.read_only]
        self._live = LiveParams(node, live, self._change)
        self.hearing = HearingThread(node)

    @property
    def hardware(self) -> bool:
        """Whether ros2_control reads the joints and commands them."""
        return bool(self._settings["hardware_topics"])

    @property
    def profile(self) -> QoSProfile:
        """Quality of service of commands: where a run waits for them, none may get lost."""
        return qos.COMMAND_IN_STEP if self._settings["lock_step"] else qos.COMMAND

    @property
    def velocity_type(self) -> str:
        """Message of velocities of vehicles."""
        return str(self._settings["cmd_vel_type"])

    def open(
        self, simulation: Simulation, body: str, naming: BodyNaming, frames: Mapping[str, str]
    ) -> CommandPort:
        """Let others command a body.

        Args:
            simulation: The world that it is in.
            body: Its name; it is not static.
            naming: Where its topics live.
            frames: Its links by the names of their frames.

        Raises:
            WrongUseError: The node was started with a parameter of a joint that makes no sense.
        """
        port = CommandPort(self, simulation, body, naming, frames)
        self._apply(port, self._settings)
        self._ports.append(port)
        return port

    def forget(self, port: CommandPort) -> None:
        """Tell a port of no changes any more."""
        self._ports.remove(port)

    def close(self) -> None:
        """Hear no more commands, once all ports are closed."""
        self.hearing.close()

    def kinds(self, commands: BodyCommands, joints: int) -> list[str]:
        """Return what a body with so many joints is commanded by."""
        wanted = [names.EXTERNAL_WRENCH]
        if joints and self.hardware:
            wanted += [names.HARDWARE_COMMANDS]
        elif joints:
            wanted += [*_OF_JOINTS, *([names.CMD_VEL] if commands.is_vehicle else [])]
        if self._lacks_action and names.FOLLOW_JOINT_TRAJECTORY in wanted:
            self.node.get_logger().warning(
                f"there is no {names.FOLLOW_JOINT_TRAJECTORY}: the package control_msgs is not "
                "installed",
                once=True,
            )
            wanted.remove(names.FOLLOW_JOINT_TRAJECTORY)
        return [kind for kind in wanted if kind in self._chosen]

    def warn_of_strangers(self, given: Iterable[str]) -> None:
        """Warn of given parameters of joints that there are not."""
        for name in given:
            joint = joint_of(name)
            if joint is not None and not self.joints.has(joint):
                known = did_you_mean_or_all(joint, self.joints.joints)
                what = f"parameter '{name}': there is no joint '{joint}' to command"
                self.node.get_logger().warning(f"{what}.{known}")

    def _change(self, values: Mapping[str, Any]) -> None:
        self._settings |= values
        for port in self._ports:
            self._apply(port, values)

    def _apply(self, port: CommandPort, changed: Mapping[str, Any]) -> None:
        settings = self._settings
        port.commands.options = CommandOptions(
            max_age=settings["command_max_age"], push=settings["wrench_duration"]
        )
        timeout = settings["command_timeout"], settings["command_fallback"]
        if timeout != (0.0, "") or "command_timeout" in changed or "command_fallback" in changed:
            port.commands.set_timeout(*timeout)
        rate_limit = settings["command_rate_limit"]
        if rate_limit or "command_rate_limit" in changed:
            port.commands.set_rate_limit(rate_limit)


class CommandPort:
    """The topics, the action and the parameters by which one body is commanded.

    Args:
        commanding: Of the node.
        simulation, body, naming, frames: As for ``Commanding.open``.

    Attributes:
        commands: Takes what comes.
    """

    def __init__(
        self,
        commanding: Commanding,
        simulation: Simulation,
        body: str,
        naming: BodyNaming,
        frames: Mapping[str, str],
    ) -> None:
        self._commanding = commanding
        self._runner: Runner | None = None
        self.commands = BodyCommands(simulation, body, frames, self._deliver, self._hasten)
        model = simulation.bodies[body].body
        self._controller = simulation.controller(body)
        self._joints: dict[str, str] = {}  # names by those that they have in parameters
        try:
            self._add_joints(simulation, body)
        except (KeyError, WrongUseError):
            self._remove_joints()
            raise
        kinds = commanding.kinds(self.commands, len(model.jointed_links))
        node = commanding.node
        self._topics = CommandTopics(
            node,
            naming.topic,
            self.commands,
            kinds,
            commanding.hearing,
            profile=commanding.profile,
            velocity_type=commanding.velocity_type,
        )
        self._action = None
        if names.FOLLOW_JOINT_TRAJECTORY in kinds and model.moving_links:
            action = naming.topic(names.FOLLOW_JOINT_TRAJECTORY)
            self._action = TrajectoryAction(node, action, self.commands)

    def serve(self, runner: Runner) -> None:
        """Let a run decide when commands have their effect."""
        self._runner = runner

    def show_joints(self) -> None:
        """Let parameters say how joints are driven, for a saved state may have brought it back."""
        for key, joint in self._joints.items():
            gains, mode = self._controller.gains(joint), self._controller.mode(joint)
            self._commanding.joints.show(key, *gains, mode.value)

    def poll(self) -> None:
        """Tell clients how far their goals have come; called by the thread that steps."""
        if self._action is not None:
            self._action.poll()

    def close(self) -> None:
        """End all of it."""
        self._commanding.forget(self)
        self._topics.close()
        if self._action is not None:
            self._action.close()
        self._remove_joints()

    def _deliver(self, source: str, stamp_ns: int, act: Callable[[], None]) -> None:
        if self._runner is None:
            act()
        else:
            self._runner.submit(source, stamp_ns, act)

    def _hasten(self, act: Callable[[], None]) -> None:
        """Have the thread that steps do something, and tell clients, though it stands still."""

        def do() -> None:
            act()
            self.poll()

        if self._runner is not None:
            self._runner.call_soon(do)

    def _add_joints(self, simulation: Simulation, body: str) -> None:
        """Declare parameters; where another body has a joint of the name, with the body's name."""
        others = {
            link.joint.name
            for name, simulated in simulation.bodies.items()
            for link in simulated.body.moving_links
            if name != body
        }
        controller, params = self._controller, self._commanding.joints
        for link in simulation.bodies[body].body.moving_links:
            name = link.joint.name
            key = f"{body}/{name}" if name in others or params.has(name) else name
            change = partial(self.commands.set_joint, name)
            mode = controller.mode(name).value
            values = JointValues(*controller.gains(name), mode, change)
            if link.joint.mimic is not None:  # it goes where another takes it
                values = replace(values, modes=[mode])
            self._joints[key] = name
            params.add(key, values)

    def _remove_joints(self) -> None:
        for joint in self._joints:
            self._commanding.joints.remove(joint)
