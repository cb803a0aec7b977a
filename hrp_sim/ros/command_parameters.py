"""Parameters of commands: of the node, and of each joint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Protocol

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from hrp_model.late_dataclass import dataclass
from hrp_msgs.node.parameters import Param, Value, declare
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.topics.commands import AS_PUBLISHED, VELOCITY_TYPES

from ..control.trajectory import Constraints

COMMANDS = (
    Param(
        "hardware_topics",
        False,
        "For ros2_control: robot_joint_states in place of joint_states, and robot_joint_command "
        "in place of all other commands to joints.",
    ),
    Param(
        "hardware_interfaces",
        "",
        "For ros2_control: the command interfaces of another description than the published one, "
        "as JOINT/INTERFACE separated by spaces; a joint may have several.",
    ),
    Param(
        "command_topics",
        "",
        "Command topics and actions to offer, separated by spaces; empty = all.",
    ),
    Param(
        "moveit_controllers",
        "",
        "YAML file of controllers, such as MoveIt's moveit_controllers.yaml: each is an action "
        "CONTROLLER/ACTION_NS of the robot that has its joints; empty = none.",
    ),
    Param(
        "cmd_vel_type",
        AS_PUBLISHED,
        "Message type of cmd_vel; 'as_published' = that of its publishers.",
        choices=VELOCITY_TYPES,
    ),
    Param(
        "command_max_age",
        0.0,
        "Maximum age of a stamped command, in simulated time [s]; 0 = any age.",
        0.0,
        1e9,
        read_only=False,
    ),
    Param(
        "command_timeout",
        0.0,
        "Simulated time without a command until command_fallback [s]; 0 = as in the world file, "
        "-1 = never.",
        -1.0,
        1e9,
        read_only=False,
    ),
    Param(
        "command_fallback",
        "",
        "What joints do after command_timeout: hold their position, go limp, or continue with the "
        "last command; empty = as in the world file, or hold.",
        read_only=False,
        choices=("", "hold", "limp", "last"),
    ),
    Param(
        "command_rate_limit",
        "",
        "Speed limit of the servo targets that follow position commands: model = the model's speed "
        "limit of the joint, if any; none = no limit; empty = as in the world file, or model.",
        read_only=False,
        choices=("", "model", "none"),
    ),
    Param(
        "constraints.goal_time",
        Constraints.goal_time,
        "How long after its end a trajectory may reach its goal, in simulated time [s]; 0 = for "
        "ever.",
        0.0,
        1e9,
        read_only=False,
    ),
    Param(
        "constraints.stopped_velocity_tolerance",
        Constraints.stopped_velocity_tolerance,
        "Speed of a joint that counts as stopped at the goal [rad/s or m/s]; 0 = any.",
        0.0,
        1e9,
        read_only=False,
    ),
    Param(
        "wrench_duration",
        0.1,
        "How long an external_wrench acts unless the next one replaces it, in simulated time [s].",
        1e-9,
        1e6,
        read_only=False,
    ),
)
MAX_GAIN = 1e9
_MODES = ("position", "velocity", "effort")
_JOINT = re.compile(
    r"gains\.(?P<alias>.+)\.[pd]|constraints\.(?P<limited>.+)\.(?:trajectory|goal)"
    r"|(?P<own>.+)\.(?:kp|kd|mode|initial_position)",
    re.DOTALL,
)


class SetJoint(Protocol):
    """Sets gains, the mode, the initial position or the tolerances of a joint."""

    def __call__(
        self,
        *,
        kp: float | None = None,
        kd: float | None = None,
        mode: str | None = None,
        initial_position: float | None = None,
        trajectory: float | None = None,
        goal: float | None = None,
    ) -> None:
        """Set the values that are not None."""


def _ignore(**_: float | str | None) -> None:
    pass


@dataclass(frozen=True)
class JointValues:
    """Present values of the parameters of a joint, and the function that sets them.

    Attributes:
        kp, kd: Gains.
        mode: "position", "velocity" or "effort".
        change: Called with the changed values.
        modes: Modes that the joint can have.
        initial_position: Where it starts, in [rad] or [m].
        limits: Limits of that position.
        objection: Returns why the joint cannot start at a position, or "".
        goal: Tolerance at the end of a trajectory, in [rad] or [m].
    """

    kp: float = 0.0
    kd: float = 0.0
    mode: str = "position"
    change: SetJoint = _ignore
    modes: Sequence[str] = _MODES
    initial_position: float = 0.0
    limits: tuple[float, float] = (-inf, inf)
    objection: Callable[[float], str] = lambda _: ""
    goal: float = 0.1


def joint_params(joint: str, values: JointValues) -> list[Param]:
    """Return the parameters of a joint.

    These are kp and kd, an alias of each, mode, initial_position, and the tolerances of
    trajectories. The aliases are the names in Choreonoid's ROS 2 plugin and in ros2_controllers.
    """
    gains = (
        ("kp", "p", values.kp, "Stiffness in position mode [N m/rad or N/m]."),
        ("kd", "d", values.kd, "Damping in position and velocity mode [N m s/rad or N s/m]."),
    )
    params = [
        Param(name, value, doc, 0.0, MAX_GAIN, read_only=False)
        for own, alias, value, doc in gains
        for name, doc in (
            (f"{joint}.{own}", doc),
            (f"gains.{joint}.{alias}", f"Alias of {joint}.{own}."),
        )
    ]
    doc = "Control mode until the first command."
    choices = tuple(values.modes)
    params.append(Param(f"{joint}.mode", values.mode, doc, read_only=False, choices=choices))
    doc = "Where the joint starts from the next reset on [rad or m]; as in the world file."
    initial, (lower, upper) = values.initial_position, values.limits
    limits = min(lower, initial), max(upper, initial)  # a world may start beyond them
    params.append(Param(f"{joint}.initial_position", initial, doc, *limits, read_only=False))
    tolerances = (
        ("trajectory", 0.0, "Largest deviation from a trajectory before its end"),
        ("goal", values.goal, "Largest deviation at its end, 0.1 rad or 0.01 m by default"),
    )
    params += [
        Param(f"constraints.{joint}.{name}", value, f"{doc} [rad or m]; 0 = any.", 0.0, 1e9, False)
        for name, value, doc in tolerances
    ]
    return params


def joint_of(name: str) -> str | None:
    """Return the joint that a parameter, given by name, belongs to, or None."""
    match = _JOINT.fullmatch(name)
    return None if match is None else match["alias"] or match["limited"] or match["own"]


class DynamicParams:
    """Parameters of a node that may change at any time.

    rclpy enforces their ranges, this class their choices.

    Args:
        node: A node that has declared them.
        params: Their table.
        changed: Called with the new values of the changed ones, by name.
    """

    def __init__(
        self, node: Node, params: Iterable[Param], changed: Callable[[Mapping[str, Value]], None]
    ) -> None:
        self._params = {p.name: p for p in params}
        self._changed = changed
        node.add_on_set_parameters_callback(self._validate)
        node.add_post_set_parameters_callback(self._apply)

    def _validate(self, given: Sequence[Parameter]) -> SetParametersResult:
        for parameter in given:
            param = self._params.get(parameter.name)
            if param is not None and (objection := param.objection(parameter.value)):
                return SetParametersResult(successful=False, reason=objection)
        return SetParametersResult(successful=True)

    def _apply(self, given: Sequence[Parameter]) -> None:
        own = {p.name: p.value for p in given if p.name in self._params}
        if own:
            self._changed(own)


class JointParams:
    """Parameters of joints, see ``joint_params``.

    Args:
        node: The node of the parameters.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._aliases: dict[str, str] = {}
        self._modes: dict[str, Param] = {}
        self._objections: dict[str, Callable[[float], str]] = {}  # to initial positions
        self._setters: dict[str, Callable[[Value], None]] = {}
        self._is_showing = False
        node.add_pre_set_parameters_callback(self._with_aliases)
        node.add_on_set_parameters_callback(self._validate)
        node.add_post_set_parameters_callback(self._apply)

    def add(self, joint: str, values: JointValues) -> None:
        """Declare the parameters of a joint, and apply the values that the node was started with.

        Raises:
            WrongUseError: The node was started with an invalid value.
        """
        change = values.change
        kp, p, kd, d, mode, initial, path, goal = joint_params(joint, values)
        self._add_gain(kp, p, lambda value: change(kp=float(value)))
        self._add_gain(kd, d, lambda value: change(kd=float(value)))
        self._modes[mode.name] = mode
        value = declare(self._node, [mode])[mode.name]
        self._start(mode, value, lambda value: change(mode=str(value)))
        value = declare(self._node, [initial])[initial.name]
        if value != initial.default and (objection := values.objection(float(value))):
            raise WrongUseError(f"{initial.name}: {objection}")
        self._objections[initial.name] = values.objection
        self._start(initial, value, lambda value: change(initial_position=float(value)))
        given = declare(self._node, [path, goal])
        self._start(path, given[path.name], lambda value: change(trajectory=float(value)))
        self._start(goal, given[goal.name], lambda value: change(goal=float(value)))

    def has(self, joint: str) -> bool:
        """Return whether a joint has parameters here."""
        return f"{joint}.mode" in self._modes

    @property
    def joints(self) -> list[str]:
        """The joints that have parameters here."""
        return [name.removesuffix(".mode") for name in self._modes]

    def show(self, joint: str, **present: Value) -> None:
        """Set parameters of a joint to its present values; the joint stays the same.

        Args:
            joint: The joint.
            present: By the name of the parameter, such as ``kp``.
        """
        node, values = self._node, {f"{joint}.{name}": value for name, value in present.items()}
        new = [Parameter(k, value=v) for k, v in values.items() if node.get_parameter(k).value != v]
        self._is_showing = True
        try:
            node.set_parameters(new)
        finally:
            self._is_showing = False

    def remove(self, joint: str) -> None:
        """Undeclare those parameters of a joint that are declared."""
        for param in joint_params(joint, JointValues()):
            self._aliases.pop(param.name, None)
            self._modes.pop(param.name, None)
            self._objections.pop(param.name, None)
            self._setters.pop(param.name, None)
            if self._node.has_parameter(param.name):
                self._node.undeclare_parameter(param.name)

    def _add_gain(self, gain: Param, alias: Param, setter: Callable[[Value], None]) -> None:
        # A value that is given by the alias is the default of the parameter.
        given = declare(self._node, [alias])[alias.name]
        value = declare(self._node, [replace(gain, default=given)])[gain.name]
        if value != given:
            self._node.set_parameters([Parameter(alias.name, value=value)])
        self._aliases |= {gain.name: alias.name, alias.name: gain.name}
        self._start(gain, value, setter)

    def _start(self, param: Param, value: Value, setter: Callable[[Value], None]) -> None:
        if value != param.default:
            setter(value)
        self._setters[param.name] = setter

    def _with_aliases(self, given: Sequence[Parameter]) -> list[Parameter]:
        """Return the parameters to be set, with their aliases."""
        names = {p.name for p in given}
        aliases = [
            Parameter(alias, value=p.value)
            for p in given
            if (alias := self._aliases.get(p.name)) is not None and alias not in names
        ]
        return [*given, *aliases]

    def _validate(self, given: Sequence[Parameter]) -> SetParametersResult:
        values = {p.name: p.value for p in given}
        for name, value in values.items():
            alias = self._aliases.get(name)
            if alias in values and values[alias] != value:
                reason = (
                    f"{name} and {alias} are one parameter: they cannot be {value} and "
                    f"{values[alias]}"
                )
                return SetParametersResult(successful=False, reason=reason)
            if name in self._modes and (objection := self._modes[name].objection(value)):
                return SetParametersResult(successful=False, reason=objection)
            if name in self._objections and not self._is_showing:
                objection = self._objections[name](value)
                if objection:
                    reason = f"{name}: {objection}"
                    return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def _apply(self, given: Sequence[Parameter]) -> None:
        for parameter in given:
            if parameter.name in self._setters and not self._is_showing:
                self._setters[parameter.name](parameter.value)
