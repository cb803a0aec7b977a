"""A body of a simulation in ROS: its topics, with commands, services and parameters of joints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from rclpy.node import Node
from rclpy.subscription import Subscription
from std_msgs.msg import Bool, Float64

from hrp_model import Body, Pose
from hrp_model.body import UNLIMITED
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_msgs import names
from hrp_msgs.messages import not_installed
from hrp_msgs.node import qos
from hrp_msgs.node.executor import CommandExecutor
from hrp_msgs.node.parameters import Value
from hrp_msgs.node.start import WrongUseError, creating
from hrp_msgs.topics.action_servers import TRAJECTORY, TrajectoryAction, is_available
from hrp_msgs.topics.commands import KINDS, CommandTopics, UnusedVelocities
from hrp_msgs.topics.joint_actions import JointAction
from hrp_msgs.topics.topic import Topic, TopicMaker

from ..control import TrajectoryRun
from ..engine.engine import PhysicsError
from ..run.run import Run
from ..simulation import Simulation
from ..topics.body import BodyTopics, TopicOptions
from ..topics.commands import BodyCommands, CommandOptions
from ..topics.hardware import INTERFACES, HardwareCommands
from ..world.naming import BodyNaming
from ..world.obstacles import planning_pose
from .command_parameters import COMMANDS, DynamicParams, JointParams, JointValues, joint_of
from .moveit_controllers import controllers_of, read_moveit_controllers, unmatched
from .planning_scene import PlanningRobot, PlanningSceneTopic, planning_scene
from .run_services import SwitchServices

_TOOL_MESSAGES = {"holder": Bool, "conveyor": Float64}


class NodeBody(BodyTopics):
    """Topics of one body, with the commands to it and the services of its devices.

    Args:
        node: The node that offers them.
        command_interfaces: Creates the interface of the commands to it.
        topics, tf, options, simulation, name, naming: See ``BodyTopics``.

    Raises:
        KeyError: The body was deleted meanwhile.
        NameCollisionError: Two of its sensors would have the same topic.
        WrongUseError: A joint parameter, a topic name or quality of service is invalid.
    """

    def __init__(
        self,
        node: Node,
        command_interfaces: CommandInterfaces,
        topics: TopicMaker,
        tf: Topic,
        options: TopicOptions,
        simulation: Simulation,
        name: str,
        naming: BodyNaming,
    ) -> None:
        self._node = node
        self._switch_services: SwitchServices | None = None
        self._tools: ToolTopics | None = None
        self._commands: BodyCommandInterface | None = None
        self._scene: PlanningSceneTopic | None = None
        self._run: Run | None = None
        super().__init__(topics, tf, options, simulation, name, naming)
        try:
            if options.planning_scene_rate > 0.0 and self.simulated.body.moving_links:
                topic = naming.qualified(names.PLANNING_SCENE)
                rate, robot = options.planning_scene_rate, self._planning_robot()
                self._scene = planning_scene(node, topic, simulation, robot, rate)
            if not self.simulated.body.is_static:
                self._commands = command_interfaces.open(simulation, name, naming, self.links)
                self.after_step += [action.poll for action in self._commands.actions]
            if self._scene is not None:
                self.after_step.append(self._publish_scene)
        except (KeyError, WrongUseError):
            self.close()
            raise

    def serve(self, run: Run) -> None:
        """Publish which devices are on, and offer the services and commands for a run."""
        super().serve(run)
        self._run = run
        if self.switches:
            self._switch_services = SwitchServices(self._node, run, self.switches)
        if self.tool_commands:
            self._tools = ToolTopics(self._node, run, self.tool_commands)
        if self._commands is not None:
            self._commands.serve(run)

    def _publish_scene(self) -> None:
        """Publish the scene; called in the stepping thread."""
        if self._scene is not None and self._run is not None:
            self._scene.publish(is_halted=self._run.is_halted)

    def _planning_robot(self) -> PlanningRobot:
        """Return this body as the robot of a planner, whose URDF has the frames of TF."""
        links = {k: self._frame_name(f) for k, f in self._frames(self.base).links.items()}

        def pose() -> Pose:
            X_WP = planning_pose(self.simulated, is_fixed=self._is_fixed)
            return X_WP @ self._X_LB if self._is_fixed and self._is_footprint else X_WP

        frame = self._root if self._is_fixed else self._options.world_frame
        return PlanningRobot(self.simulated.name, frame, pose, links)

    def close(self) -> None:
        """Close all topics and services."""
        for part in (self._switch_services, self._tools, self._commands, self._scene):
            if part is not None:
                part.close()
        if (scene := self._scene) is not None and (run := self._run) is not None:

            def release() -> None:
                if run.simulation is self._simulation:  # else it is closed
                    scene.release()

            run.call_soon(release)
        super().close()


class ToolTopics:
    """Lets holders hold and conveyors run as messages ask for, also while the run is halted.

    Subscribes: one topic for each holder (std_msgs/Bool) and conveyor (std_msgs/Float64).
    A command that cannot be obeyed is a throttled warning.

    Args:
        node: The node that subscribes.
        run: The run.
        topics: Names of the topics, by the names of the devices in the simulation.
    """

    def __init__(self, node: Node, run: Run, topics: Mapping[str, str]) -> None:
        self._node = node
        self._run = run
        self._subscriptions: list[Subscription] = []
        tools = run.simulation.handling.tools
        for key, topic in topics.items():
            with creating(f"topic '{topic}'"):
                subscription = node.create_subscription(
                    _TOOL_MESSAGES[tools[key].kind],
                    topic,
                    partial(self._receive, key),
                    **qos.changeable(qos.COMMAND_IN_STEP),
                )
            self._subscriptions.append(subscription)

    def close(self) -> None:
        """End the subscriptions."""
        for subscription in self._subscriptions:
            topic = str(subscription.topic_name)
            self._node.destroy_subscription(subscription)
            qos.undeclare_qos_overrides(self._node, topic, "subscription")

    def _receive(self, key: str, message: Bool | Float64) -> None:
        def act() -> None:
            simulation = self._run.simulation
            try:
                if isinstance(message, Bool):
                    simulation.set_enabled(key, message.data)
                else:
                    simulation.handling.set_speed(key, message.data)
            except (PhysicsError, ValueError) as error:
                self._warn(str(error))
            except KeyError as error:  # its body was just deleted
                self._warn(str(error.args[0]))

        self._run.call_soon(act)

    def _warn(self, problem: str) -> None:
        self._node.get_logger().warning(problem, throttle_duration_sec=1.0)


_JOINT_KINDS = (
    names.JOINT_COMMANDS,
    names.JOINT_TRAJECTORY,
    names.POSITION_COMMANDS,
    names.VELOCITY_COMMANDS,
    names.EFFORT_COMMANDS,
    names.FOLLOW_JOINT_TRAJECTORY,
)
_ALL_KINDS = (*KINDS, names.FOLLOW_JOINT_TRAJECTORY)


class CommandInterfaces:
    """ROS interface of the commands to all bodies of a node, and their common parameters.

    Args:
        node: A node with the parameters ``hrp_sim.ros.command_parameters.COMMANDS``.
        settings: Values of its parameters by name.

    Attributes:
        node: As given.
        joints: Parameters of the joints.
        executor: Executes the callbacks of the subscriptions.
        controllers: Controllers of the parameter ``moveit_controllers``.
        hardware_interfaces: Command interfaces by joint of the parameter of this name.

    Raises:
        WrongUseError: A parameter has an invalid value, or its file cannot be used.
    """

    def __init__(self, node: Node, settings: Mapping[str, Value]) -> None:
        self.node = node
        self.joints = JointParams(node)
        self._settings = dict(settings)
        self._bodies: list[BodyCommandInterface] = []
        chosen = str(settings["command_topics"]).split()
        for kind in chosen:
            if kind not in _ALL_KINDS:
                hint = did_you_mean_or_all(kind, _ALL_KINDS)
                raise WrongUseError(f"command_topics: there is no '{kind}'.{hint}")
        self._chosen = set(chosen) or set(_ALL_KINDS)
        self._has_action = is_available(TRAJECTORY)
        self.hardware_interfaces: dict[str, set[str]] = {}
        for pair in str(settings["hardware_interfaces"]).split():
            joint, slash, interface = pair.rpartition("/")
            if not slash or interface not in INTERFACES:
                raise WrongUseError(
                    f"hardware_interfaces: '{pair}' is not JOINT/position, JOINT/velocity or "
                    "JOINT/effort"
                )
            self.hardware_interfaces.setdefault(joint, set()).add(interface)
        if self.hardware_interfaces and not self.hardware:  # else it would filter plain commands
            raise WrongUseError("hardware_interfaces is only for hardware_topics:=true")
        file = str(settings["moveit_controllers"])
        self.controllers = read_moveit_controllers(file) if file else []
        dynamic = [param for param in COMMANDS if not param.read_only]
        self._dynamic = DynamicParams(node, dynamic, self._change)
        self.executor = CommandExecutor(node)

    @property
    def hardware(self) -> bool:
        """Whether ros2_control reads and commands the joints."""
        return bool(self._settings["hardware_topics"])

    def open(
        self, simulation: Simulation, body: str, naming: BodyNaming, frames: Mapping[str, str]
    ) -> BodyCommandInterface:
        """Create the interface of a body.

        Args:
            simulation: The simulation with the body.
            body: Its name; it is not static.
            naming: Naming of its topics.
            frames: Its links by the names of their frames.

        Raises:
            WrongUseError: A parameter of a joint or a topic is invalid.
        """
        interface = BodyCommandInterface(self, simulation, body, naming, frames)
        self._apply(interface, self._settings)
        self._bodies.append(interface)
        return interface

    def remove(self, interface: BodyCommandInterface) -> None:
        """Stop applying changes of parameters to an interface."""
        self._bodies.remove(interface)

    def update_joint_params(self) -> None:
        """Set the parameters of all joints to their present gains and modes."""
        for interface in self._bodies:
            interface.update_joint_params()

    def close(self) -> None:
        """End the executor; to be called after all interfaces are closed."""
        self.executor.close()

    def kinds(self, commands: BodyCommands, joints: int) -> list[str]:
        """Return the topics and actions of a body with this number of joints."""
        kinds = [names.EXTERNAL_WRENCH, *([names.SET_JOINT_POSITIONS] if joints else [])]
        if joints and self.hardware:
            kinds += [names.HARDWARE_COMMANDS]
        elif joints:
            kinds += [*_JOINT_KINDS, *([names.CMD_VEL] if commands.is_vehicle else [])]
        kinds = [kind for kind in kinds if kind in self._chosen]
        if not self._has_action and names.FOLLOW_JOINT_TRAJECTORY in kinds:
            at = kinds.index(names.FOLLOW_JOINT_TRAJECTORY)
            lacking = f"{not_installed('control_msgs')}: there is no {kinds.pop(at)}"
            if self._settings["command_topics"]:  # asks for it
                self.node.get_logger().warning(lacking, once=True)
            else:
                self.node.get_logger().info(lacking, once=True)
        return kinds

    def unused_velocities(
        self, topic: str, commands: BodyCommands, joints: int
    ) -> UnusedVelocities | None:
        """Return what warns of velocities to a body that cannot drive; None if it is a vehicle.

        Raises:
            WrongUseError: The name of the topic is invalid.
        """
        reason = commands.objection_to_drive
        if not reason or not joints or self.hardware or names.CMD_VEL not in self._chosen:
            return None
        return UnusedVelocities(self.node, topic, reason)

    def topics(
        self, topic: Callable[[str], str], commands: BodyCommands, kinds: Iterable[str]
    ) -> CommandTopics:
        """Return the subscriptions of a body.

        Args:
            topic: Returns its topic for a name such as ``names.JOINT_COMMANDS``.
            commands: Receives its commands.
            kinds: From ``kinds``.

        Raises:
            WrongUseError: A name or a quality of service is invalid.
        """
        return CommandTopics(
            self.node,
            topic,
            commands,
            [kind for kind in kinds if kind in KINDS],
            self.executor,
            # A run in lock-step waits for commands, so none may be lost.
            profile=qos.COMMAND_IN_STEP if self._settings["lock_step"] else qos.COMMAND,
            velocity_type=str(self._settings["cmd_vel_type"]),
        )

    def unknown_joints(self, given: Iterable[str]) -> Iterator[str]:
        """Yield a warning for each given parameter of a joint that does not exist."""
        for name in given:
            joint = joint_of(name)
            if joint is not None and not self.joints.has(joint):
                hint = did_you_mean_or_all(joint, self.joints.joints)
                yield f"parameter '{name}': there is no joint '{joint}' to command.{hint}"

    def unmatched_controllers(self, simulation: Simulation) -> Iterator[str]:
        """Yield a warning for each controller of MoveIt whose joints no body has."""
        bodies = {
            name: [link.joint.name for link in simulated.body.moving_links]
            for name, simulated in simulation.bodies.items()
        }
        yield from unmatched(self.controllers, bodies)

    def _change(self, values: Mapping[str, Value]) -> None:
        self._settings |= values
        for interface in self._bodies:
            self._apply(interface, values)

    def _apply(self, interface: BodyCommandInterface, changed: Mapping[str, Value]) -> None:
        settings, commands = self._settings, interface.commands
        commands.options = CommandOptions(
            max_age=float(settings["command_max_age"]),
            wrench_duration=float(settings["wrench_duration"]),
        )
        commands.constraints = replace(
            commands.constraints,
            goal_time=float(settings["constraints.goal_time"]),
            stopped_velocity_tolerance=float(settings["constraints.stopped_velocity_tolerance"]),
        )
        timeout = float(settings["command_timeout"]), str(settings["command_fallback"])
        if timeout != (0.0, "") or "command_timeout" in changed or "command_fallback" in changed:
            commands.set_timeout(*timeout)
        rate_limit = str(settings["command_rate_limit"])
        if rate_limit or "command_rate_limit" in changed:
            commands.set_rate_limit(rate_limit)


class BodyCommandInterface:
    """The topics, the actions and the parameters for the commands to one body.

    Args:
        interfaces: The interfaces of the node.
        simulation, body, naming, frames: As for ``CommandInterfaces.open``.

    Attributes:
        commands: Receives the commands.
        actions: To be polled in the stepping thread.
    """

    def __init__(
        self,
        interfaces: CommandInterfaces,
        simulation: Simulation,
        body: str,
        naming: BodyNaming,
        frames: Mapping[str, str],
    ) -> None:
        self._interfaces = interfaces
        self.commands = BodyCommands(simulation, body, frames)
        if interfaces.hardware_interfaces:
            self.commands.hardware = HardwareCommands(interfaces.hardware_interfaces)
        model = simulation.bodies[body].body
        self._controller = simulation.controller(body)
        self._joints: dict[str, str] = {}  # joint names by their names in parameters
        try:
            self._declare_joints(simulation, body)
        except (KeyError, WrongUseError):
            self._undeclare_joints()
            raise
        kinds = interfaces.kinds(self.commands, len(model.jointed_links))
        self._topics = interfaces.topics(naming.topic, self.commands, kinds)
        self._unused = interfaces.unused_velocities(
            naming.topic(names.CMD_VEL), self.commands, len(model.jointed_links)
        )
        self.actions: list[JointAction[TrajectoryRun]] = []
        if names.FOLLOW_JOINT_TRAJECTORY in kinds and model.moving_links:
            self._open_actions(model, naming)

    def _open_actions(self, model: Body, naming: BodyNaming) -> None:
        """Open the action for all joints, and those of the controllers of MoveIt."""
        node, joints = self._interfaces.node, [link.joint for link in model.moving_links]
        followers = [joint.name for joint in joints if joint.mimic is not None]
        own = controllers_of(self._interfaces.controllers, [joint.name for joint in joints])
        opened = {naming.qualified(x.action): x for x in own}
        usual = naming.topic(names.FOLLOW_JOINT_TRAJECTORY)
        if usual not in opened:
            self.actions.append(TrajectoryAction(node, usual, self.commands))
        for name, controller in opened.items():
            action = controller.create(node, name, self.commands, followers)
            if action is not None:
                self.actions.append(action)

    def serve(self, run: Run) -> None:
        """Begin to serve a run, which determines when commands take effect."""

        def run_soon(action: Callable[[], None]) -> None:
            """Execute an action soon and report to clients, also in a pause."""

            def act() -> None:
                action()
                for one in self.actions:
                    one.poll()

            run.call_soon(act)

        self.commands.deliver = run.submit
        self.commands.run_soon = run_soon
        self.commands.change = run.change

    def update_joint_params(self) -> None:
        """Set the parameters of joints to their gains and modes, which a snapshot may change."""
        for key, joint in self._joints.items():
            (kp, kd), mode = self._controller.gains(joint), self._controller.mode(joint)
            self._interfaces.joints.show(key, kp=kp, kd=kd, mode=mode.value)

    def close(self) -> None:
        """End subscriptions and actions, and undeclare the parameters."""
        self._interfaces.remove(self)
        self._topics.close()
        if self._unused is not None:
            self._unused.close()
        for action in self.actions:
            action.close()
        self._undeclare_joints()

    def _declare_joints(self, simulation: Simulation, body: str) -> None:
        """Declare parameters; prefixed by the body's name if its joint names are not unique."""
        others = {
            link.joint.name
            for name, simulated in simulation.bodies.items()
            for link in simulated.body.moving_links
            if name != body
        }
        controller, params = self._controller, self._interfaces.joints
        limited = simulation.engine.settings.joint_limits
        for link in simulation.bodies[body].body.moving_links:
            name = link.joint.name
            key = f"{body}/{name}" if name in others or params.has(name) else name
            mode = controller.mode(name).value
            values = JointValues(
                *controller.gains(name),
                mode,
                partial(self._set_joint, name),
                initial_position=self.commands.initial_position(name),
                objection=partial(self.commands.objection_to_initial, name),
                limits=link.joint.position_limits if limited else UNLIMITED,
                goal=self.commands.constraints.goal[name],
            )
            if link.joint.mimic is not None:  # its mode cannot change
                values = replace(values, modes=[mode])
            self._joints[key] = name
            params.add(key, values)

    def _set_joint(
        self,
        joint: str,
        *,
        kp: float | None = None,
        kd: float | None = None,
        mode: str | None = None,
        initial_position: float | None = None,
        trajectory: float | None = None,
        goal: float | None = None,
    ) -> None:
        """Set the parameters of a joint that are not None."""
        self.commands.set_joint(joint, kp=kp, kd=kd, mode=mode)
        self.commands.set_constraints(joint, trajectory=trajectory, goal=goal)
        if initial_position is None:
            return
        try:
            self.commands.set_initial_position(joint, initial_position)
        except ValueError as error:  # together with others that were set at the same time
            self._interfaces.node.get_logger().warning(f"{joint}.initial_position: {error}")
        for key, other in self._joints.items():  # which may follow
            initial = self.commands.initial_position(other)
            self._interfaces.joints.show(key, initial_position=initial)

    def _undeclare_joints(self) -> None:
        for joint in self._joints:
            self._interfaces.joints.remove(joint)
