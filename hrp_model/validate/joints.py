"""Rules for joints: their numbers, limits and units."""

from __future__ import annotations

from math import isfinite, isnan, pi

from ..body import Body, JointType, Link, Range
from ..diagnostics import Diagnostics
from .common import first_few, missing_numbers

# A limit in degrees that was read as radians lies beyond a turn, and seldom beyond this.
_MOST_DEGREES = 360.0
# Joint ids are rows of tables, up to the largest: a number beyond this is a slip of the pen.
_LAST_ID = 99_999
# A pulse of an encoder that moves its joint by more tells nothing a controller could use.
_COARSE_PULSE = {JointType.REVOLUTE: 0.1, JointType.PRISMATIC: 0.01}  # [rad], [m]
# What people write for "far enough" when they think of no angle.
_PLACEHOLDERS = ({10.0}, {20.0}, {50.0}, {100.0}, {200.0})


def joint_ids_are_consecutive(body: Body, diagnostics: Diagnostics) -> None:
    """Joint ids number the joints 0, 1, 2, ... without repetition; a gap is worth a note."""
    owner: dict[int, Link] = {}
    for link in body.links:
        if link.joint.id is None:
            continue
        if link.joint.id > _LAST_ID:
            message = f"joint id {link.joint.id} of '{link.name}' is above {_LAST_ID}"
            diagnostics.error("joint-id-too-large", message, link.at)
        first = owner.setdefault(link.joint.id, link)
        if first is not link:
            message = f"joint id {link.joint.id} of '{link.name}' is that of '{first.name}' already"
            diagnostics.warn("duplicate-joint-id", message, link.at)
    missing = missing_numbers(owner)
    if missing:
        message = f"no joint of body '{body.name}' has id {missing}"
        diagnostics.note("joint-id-gap", message, body.root.at)


def limits_leave_room(body: Body, diagnostics: Diagnostics) -> None:
    """A lower limit is below the upper one; those of velocity and effort are around zero."""
    for link in body.moving_links:
        joint, units = link.joint, link.joint.type.units
        for kind, stated, used, unit in (
            ("position", joint.position, joint.position_limits, units.position),
            ("velocity", joint.velocity, joint.velocity_limits, units.velocity),
            ("effort", joint.effort, joint.effort_limits, units.effort),
        ):
            lower, upper = stated
            if isnan(lower) or isnan(upper):
                message = f"a {kind} limit of joint '{joint.name}' is not a number"
                diagnostics.error("not-finite", message, link.at)
                continue
            if lower > upper:
                code, problem = "inverted-range", "is inverted"
            elif lower == upper:
                code, problem = "empty-range", "leaves no room"
            elif kind != "position" and not lower < 0.0 < upper:
                code, problem = "one-sided-range", "allows one direction only"
            else:
                continue
            meaning = "applies as stated" if used == stated else "means no limit"
            message = (
                f"the {kind} range of joint '{joint.name}' {problem}: {lower:g} to {upper:g} "
                f"{unit}; it {meaning}"
            )
            diagnostics.warn(code, message, link.at)


def initial_positions_are_in_range(body: Body, diagnostics: Diagnostics) -> None:
    """A joint starts within its limits: a note, for many leave their start at zero."""
    for link in body.moving_links:
        lower, upper = link.joint.position_limits
        initial = link.joint.initial
        if initial < lower - 1e-9 or initial > upper + 1e-9:
            message = (
                f"joint '{link.joint.name}' starts at {initial:g}, "
                f"outside its range {lower:g} to {upper:g}"
            )
            diagnostics.note("initial-out-of-range", message, link.at)


def angles_are_in_radians(body: Body, diagnostics: Diagnostics) -> None:
    """The limits of revolute joints are not degrees that were taken for radians.

    One joint may well turn several times, and wheels have limits of 1000 or 1e6. But
    degrees show in most of a robot's joints at once: numbers between one turn and 360
    that are whole fives, or that differ from joint to joint as those of limbs do.
    """
    hinges = [link for link in body.moving_links if link.joint.type is JointType.REVOLUTE]
    limited = [(link, extent) for link in hinges if (extent := _extent(link)) > 0.0]
    beyond = [(link, x) for link, x in limited if 2.0 * pi + 1e-3 < x <= _MOST_DEGREES]
    if not beyond or 2 * len(beyond) <= len(limited):
        return
    doubtful = [link for link, _ in beyond]
    extents = {round(extent, 6) for _, extent in beyond}
    whole_fives = all(_in_whole_fives(link) for link in doubtful)
    if (whole_fives and extents not in _PLACEHOLDERS) or len(extents) >= 3:
        ranges = [f"'{x.joint.name}' {_range_text(x.joint.position)}" for x in doubtful]
        message = f"angles look like degrees where radians are meant: {first_few(ranges, 4)}"
        diagnostics.warn("degrees-as-radians", message, doubtful[0].at)


def encoders_tell_positions(body: Body, diagnostics: Diagnostics) -> None:
    """A pulse of an encoder moves its joint a little; else a gear ratio or pulses are missing."""
    for link in body.moving_links:
        joint = link.joint
        if joint.encoder_pulse is None or not isfinite(joint.encoder_pulse):
            continue
        resolution = joint.encoder_resolution
        if resolution is not None and resolution <= _COARSE_PULSE[joint.type]:
            continue
        told = (
            "no position"
            if resolution is None
            else f"steps of {resolution:.3g} {joint.type.units.position}"
        )
        message = (
            f"the encoder of joint '{joint.name}', with {joint.encoder_pulse:g} pulses per turn "
            f"and a gear ratio of {joint.gear_ratio:g}, tells {told}"
        )
        diagnostics.warn("coarse-encoder", message, link.at)


def root_is_free_or_fixed(body: Body, diagnostics: Diagnostics) -> None:
    """The root hangs on nothing, so a joint with a coordinate has no meaning for it."""
    if body.root.joint.moves:
        kind = body.root.joint.type.value
        message = f"root '{body.root.name}' has a {kind} joint; a root is free or fixed"
        diagnostics.warn("moving-root", message, body.root.at)


RULES = (
    joint_ids_are_consecutive,
    limits_leave_room,
    initial_positions_are_in_range,
    angles_are_in_radians,
    encoders_tell_positions,
    root_is_free_or_fixed,
)


def _angles(link: Link) -> list[float]:
    return [x for x in (*link.joint.position, link.joint.initial) if isfinite(x)]


def _extent(link: Link) -> float:
    return max(map(abs, _angles(link)), default=0.0)


def _in_whole_fives(link: Link) -> bool:
    return all(x % 5.0 == 0.0 for x in _angles(link))


def _range_text(limits: Range) -> str:
    return f"{limits.lower:g} to {limits.upper:g}"
