"""Parameters about commands: of the node, and of each joint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from hrp_msgs.node.parameters import Param, declare
from hrp_msgs.topics.cmd_vel import AS_PUBLISHED, TYPES

COMMANDS = (
    Param(
        "hardware_topics",
        False,
        "For ros2_control: robot_joint_states in place of joint_states, and robot_joint_command "
        "in place of all other commands to joints.",
    ),
    Param(
        "command_topics",
        "",
        "Which commands are taken, by their topics and actions, separated by blanks; empty = all.",
    ),
    Param(
        "cmd_vel_type",
        AS_PUBLISHED,
        "Message of cmd_vel; 'as_published' follows those who publish.",
        choices=TYPES,
    ),
    Param(
        "command_max_age",
        0.0,
        "How old a command with a stamp may be, in simulated time [s]; 0 = any age.",
        0.0,
        1e9,
        read_only=False,
    ),
    Param(
        "command_timeout",
        0.0,
        "Simulated time without a command after which command_fallback comes [s]; 0 = what the "
        "world file says, -1 = never.",
        -1.0,
        1e9,
        read_only=False,
    ),
    Param(
        "command_fallback",
        "",
        "What joints do when commands stop coming: stay, go limp, or go on with the last one; "
        "empty = what the world file says, or hold.",
        read_only=False,
        choices=("", "hold", "limp", "last"),
    ),
    Param(
        "command_rate_limit",
        "",
        "How fast position commands become the targets of servos: model = at the speed limit that "
        "the model states for the joint, at once where it states none; none = always at once; "
        "empty = what the world file says, or model.",
        read_only=False,
        choices=("", "model", "none"),
    ),
    Param(
        "wrench_duration",
        0.1,
        "How long an external_wrench acts, unless the next one comes, in simulated time [s].",
        1e-9,
        1e6,
        read_only=False,
    ),
)
LARGEST_GAIN = 1e9
_MODES = ("position", "velocity", "effort")
_JOINT = re.compile(r"gains\.(?P<alias>.+)\.[pd]|(?P<own>.+)\.(?:kp|kd|mode)", re.DOTALL)


def joint_params(
    joint: str,
    kp: float = 0.0,
    kd: float = 0.0,
    mode: str = "position",
    modes: Sequence[str] = _MODES,
) -> list[Param]:
    """Return the parameters of a joint: kp, kd, mode, and two more names of the first two.

    The other names are those of Choreonoid's ROS 2 plugin and of the controllers of
    ros2_controllers.
    """
    gains = (
        ("kp", "p", kp, "Stiffness when driven by position [N m/rad or N/m]."),
        ("kd", "d", kd, "Damping when driven by position or velocity [N m s/rad or N s/m]."),
    )
    params = [
        Param(name, value, doc, 0.0, LARGEST_GAIN, read_only=False)
        for own, alias, value, doc in gains
        for name, doc in (
            (f"{joint}.{own}", doc),
            (f"gains.{joint}.{alias}", f"Another name of {joint}.{own}."),
        )
    ]
    doc = "What it is driven by until a command says otherwise."
    return [*params, Param(f"{joint}.mode", mode, doc, read_only=False, choices=tuple(modes))]


def joint_of(name: str) -> str | None:
    """Return the joint that the name of a parameter is about, or None."""
    match = _JOINT.fullmatch(name)
    return None if match is None else match["alias"] or match["own"]


@dataclass(frozen=True)
class JointValues:
    """How a joint is driven now, and what sets it otherwise.

    Attributes:
        kp, kd: Gains.
        mode: "position", "velocity" or "effort".
        modes: Those that it can have.
        change: Called with one of ``kp``, ``kd`` and ``mode`` by name.
    """

    kp: float
    kd: float
    mode: str
    change: Callable[..., None]
    modes: Sequence[str] = _MODES


class LiveParams:
    """Parameters of a node that may change at any time; rclpy enforces their ranges, this choices.

    Args:
        node: Has declared them.
        params: The table of them.
        changed: Called with those that have changed, by name.
    """

    def __init__(
        self, node: Node, params: Iterable[Param], changed: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self._params = {p.name: p for p in params}
        self._changed = changed
        node.add_on_set_parameters_callback(self._judge)
        node.add_post_set_parameters_callback(self._tell)

    def _judge(self, given: Sequence[Parameter]) -> SetParametersResult:
        for parameter in given:
            param = self._params.get(parameter.name)
            if param is not None and (objection := param.objection(parameter.value)):
                return SetParametersResult(successful=False, reason=objection)
        return SetParametersResult(successful=True)

    def _tell(self, given: Sequence[Parameter]) -> None:
        own = {p.name: p.value for p in given if p.name in self._params}
        if own:
            self._changed(own)


class JointParams:
    """Gains and modes of joints as parameters: ``<joint>.kp``, ``.kd`` and ``.mode``.

    The gains are also ``gains.<joint>.p`` and ``gains.<joint>.d``; both names have one value.

    Args:
        node: Whose parameters they are.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._twins: dict[str, str] = {}
        self._modes: dict[str, Param] = {}
        self._changes: dict[str, tuple[Callable[..., None], str]] = {}
        self._is_showing = False
        node.add_pre_set_parameters_callback(self._with_twins)
        node.add_on_set_parameters_callback(self._judge)
        node.add_post_set_parameters_callback(self._tell)

    def add(self, joint: str, values: JointValues) -> None:
        """Declare the parameters of a joint; what the node was started with counts from now on.

        Raises:
            WrongUseError: The node was started with what is not accepted.
        """
        usual = joint_params(joint, values.kp, values.kd, values.mode, values.modes)
        kp, p, kd, d, mode = usual
        for own, alias in ((kp, p), (kd, d)):
            # Whatever is given by one name is what the other one begins with.
            given = declare(self._node, [alias])[alias.name]
            value = declare(self._node, [_with_default(own, given)])[own.name]
            if value != given:
                self._node.set_parameters([Parameter(alias.name, value=value)])
            self._twins |= {own.name: alias.name, alias.name: own.name}
            self._begin(own, value, values.change)
        self._modes[mode.name] = mode
        self._begin(mode, declare(self._node, [mode])[mode.name], values.change)

    def has(self, joint: str) -> bool:
        """Tell whether a joint has parameters here."""
        return f"{joint}.mode" in self._modes

    @property
    def joints(self) -> list[str]:
        """The joints that have parameters here."""
        return [name.removesuffix(".mode") for name in self._modes]

    def show(self, joint: str, kp: float, kd: float, mode: str) -> None:
        """Let the parameters of a joint say how it is driven, and set nothing by that."""
        told = {f"{joint}.kp": kp, f"{joint}.kd": kd, f"{joint}.mode": mode}
        node = self._node
        new = [Parameter(k, value=v) for k, v in told.items() if node.get_parameter(k).value != v]
        self._is_showing = True
        try:
            node.set_parameters(new)
        finally:
            self._is_showing = False

    def remove(self, joint: str) -> None:
        """Undeclare the parameters of a joint, as far as they were declared."""
        for param in joint_params(joint):
            self._twins.pop(param.name, None)
            self._modes.pop(param.name, None)
            self._changes.pop(param.name, None)
            if self._node.has_parameter(param.name):
                self._node.undeclare_parameter(param.name)

    def _begin(self, param: Param, value: Any, change: Callable[..., None]) -> None:
        field = param.name.rpartition(".")[2]
        if value != param.default:
            change(**{field: value})
        self._changes[param.name] = change, field

    def _with_twins(self, given: Sequence[Parameter]) -> list[Parameter]:
        """Return what is to be set, and the same for the other names of it."""
        named = {p.name for p in given}
        twins = [
            Parameter(twin, value=p.value)
            for p in given
            if (twin := self._twins.get(p.name)) is not None and twin not in named
        ]
        return [*given, *twins]

    def _judge(self, given: Sequence[Parameter]) -> SetParametersResult:
        values = {p.name: p.value for p in given}
        for name, value in values.items():
            twin = self._twins.get(name)
            if twin in values and values[twin] != value:
                reason = (
                    f"{name} and {twin} are one parameter, and cannot be {value} and {values[twin]}"
                )
                return SetParametersResult(successful=False, reason=reason)
            if name in self._modes and (objection := self._modes[name].objection(value)):
                return SetParametersResult(successful=False, reason=objection)
        return SetParametersResult(successful=True)

    def _tell(self, given: Sequence[Parameter]) -> None:
        for parameter in given:
            if parameter.name in self._changes and not self._is_showing:
                change, field = self._changes[parameter.name]
                change(**{field: parameter.value})


def _with_default(param: Param, default: float) -> Param:
    return Param(
        param.name, default, param.doc, param.minimum, param.maximum, read_only=param.read_only
    )
