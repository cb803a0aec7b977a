"""Read motors of joints from <ros2_control> and <transmission> blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from ...diagnostics import Diagnostics, did_you_mean
from ..sdf_values import SdfReader
from ..xml_tree import Element


@dataclass
class Motors:
    """Motors of a robot's joints.

    Attributes:
        driven: The joints that have a motor, as keys in the order of the file.
        initial: Initial positions by joint, in [rad] or [m].
        gear_ratios: Gear ratios by joint.
        are_specified: Whether there is any block with joints.
    """

    driven: dict[str, None] = field(default_factory=dict)
    initial: dict[str, float] = field(default_factory=dict)
    gear_ratios: dict[str, float] = field(default_factory=dict)
    are_specified: bool = False

    def drive(self, joint: str) -> None:
        """Add a joint that has a motor."""
        self.driven[joint] = None


def read_motors(robot: Element, joints: Collection[str], diagnostics: Diagnostics) -> Motors:
    """Return the motors in the blocks of a robot.

    Args:
        robot: The root element.
        joints: Names of the joints that move.
        diagnostics: Receives warnings.
    """
    found = Motors()
    for block in robot.all("ros2_control"):
        for joint in block.all("joint"):
            found.are_specified = True
            name = joint.attributes.get("name", "")
            if name not in joints:
                _report(joint, name, joints, diagnostics)
                continue
            if joint.first("command_interface") is not None:
                found.drive(name)
            for state in joint.all("state_interface"):
                if state.attributes.get("name") == "position":
                    _read_initial(found, name, state, diagnostics)
    for transmission, is_control in _transmissions(robot):
        _read_transmission(found, transmission, joints, diagnostics, is_control=is_control)
    return found


def _transmissions(robot: Element) -> Iterator[tuple[Element, bool]]:
    """Yield transmissions, and whether they are those of ros2_control."""
    for block in robot.all("ros2_control"):
        yield from ((x, True) for x in block.all("transmission"))
    yield from ((x, False) for x in robot.all("transmission"))


def _read_transmission(
    found: Motors,
    transmission: Element,
    joints: Collection[str],
    diagnostics: Diagnostics,
    *,
    is_control: bool,
) -> None:
    for joint in transmission.all("joint"):
        name = joint.attributes.get("name", "")
        if name not in joints:
            _report(joint, name, joints, diagnostics)
            continue
        if not is_control:  # in ros2_control only a command interface implies a motor
            found.are_specified = True
            found.drive(name)
        # ros2_control, Gazebo and the PR2 write it in different places.
        for parent in (joint, *transmission.all("actuator"), transmission):
            ratio = parent.first("mechanical_reduction", "mechanicalReduction")
            if ratio is not None:
                _read_ratio(found, name, ratio, diagnostics)
                break


def _read_initial(found: Motors, joint: str, state: Element, diagnostics: Diagnostics) -> None:
    for param in state.all("param"):
        if param.attributes.get("name") == "initial_value":
            known = found.initial.get(joint, 0.0)
            found.initial[joint] = SdfReader(param, diagnostics, lenient=True).number(default=known)


def _read_ratio(found: Motors, joint: str, ratio: Element, diagnostics: Diagnostics) -> None:
    known = found.gear_ratios.get(joint, 1.0)
    value = SdfReader(ratio, diagnostics, lenient=True).number(default=known)
    if value == 0.0:
        message = f"the gear ratio of joint '{joint}' is 0, which is not possible; it is ignored"
        diagnostics.warn("not-used", message, ratio.span)
        value = known
    found.gear_ratios[joint] = value


def _report(element: Element, name: str, joints: Collection[str], diagnostics: Diagnostics) -> None:
    message = f"there is no moving joint '{name}'.{did_you_mean(name, joints)}"
    diagnostics.warn("unknown-joint", message, element.at("name"))
