"""Rules for joints: ids, limits and units."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from math import isfinite, isnan, pi

from ..body import Body, JointType, Link, Range
from ..diagnostics import Diagnostics, listed

# A limit in degrees that was read as radians is above 2 pi, and seldom above this.
_MAX_DEGREES = 360.0
# Joint ids index tables of joints, so a larger id is certainly a mistake.
_MAX_ID = 99_999
_MAX_LISTED = 8
# Encoder steps above this are useless for control.
_MAX_ENCODER_STEP = {JointType.REVOLUTE: 0.1, JointType.PRISMATIC: 0.01}  # [rad], [m]
# Limits that people write as "practically unlimited", without an angle in mind.
_PLACEHOLDERS = ({10.0}, {20.0}, {50.0}, {100.0}, {200.0})


def joint_ids_are_consecutive(body: Body, diagnostics: Diagnostics) -> None:
    """Joint ids are 0, 1, 2, ... without duplicates; a gap is a note."""
    owner: dict[int, Link] = {}
    for link in body.links:
        if link.joint.id is None:
            continue
        if link.joint.id > _MAX_ID:
            message = f"joint id {link.joint.id} of '{link.name}' is above {_MAX_ID}"
            diagnostics.error("joint-id-too-large", message, link.at)
        first = owner.setdefault(link.joint.id, link)
        if first is not link:
            message = f"joint id {link.joint.id} of '{link.name}' is also that of '{first.name}'"
            diagnostics.warn("duplicate-joint-id", message, link.at)
    missing = missing_numbers(owner)
    if missing:
        message = f"no joint of body '{body.name}' has id {missing}"
        diagnostics.note("joint-id-gap", message, body.root.at)


def missing_numbers(numbers: Collection[int]) -> str:
    """Return which of 0, 1, ... up to the largest are missing, as a list for a message."""
    present = set(numbers)
    end = max(present, default=0)
    # Only as many as are listed, as the largest number may be huge.
    first = list(islice((i for i in range(end) if i not in present), _MAX_LISTED))
    others = end - sum(0 <= i < end for i in present) - len(first)
    return ", ".join(map(str, first)) + (f" and {others} more" if others else "")


def limits_are_valid(body: Body, diagnostics: Diagnostics) -> None:
    """A lower limit is below the upper one; ranges of velocity and effort include zero."""
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
                code, problem = "empty-range", "is empty"
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
    """The initial position is within the limits; else a note, as many models leave it at zero."""
    for link in body.moving_links:
        lower, upper = link.joint.position_limits
        initial = link.joint.initial
        if initial < lower - 1e-9 or initial > upper + 1e-9:
            unit = link.joint.type.units.position
            message = (
                f"the initial position of joint '{link.joint.name}', {initial:g} {unit}, is "
                f"outside its limits {lower:g} to {upper:g} {unit}"
            )
            diagnostics.note("initial-out-of-range", message, link.at)


def angles_are_in_radians(body: Body, diagnostics: Diagnostics) -> None:
    """The limits of revolute joints are radians, not degrees.

    A single joint may turn several times, and wheels have limits of 1000 or 1e6. But limits in
    degrees show in most joints of a robot: numbers between 2 pi and 360 that are multiples of
    five, or that differ between joints as those of limbs do.
    """
    hinges = [link for link in body.moving_links if link.joint.type is JointType.REVOLUTE]
    limited = [(link, extent) for link in hinges if (extent := _extent(link)) > 0.0]
    large = [(link, x) for link, x in limited if 2.0 * pi + 1e-3 < x <= _MAX_DEGREES]
    if not large or 2 * len(large) <= len(limited):
        return
    suspects = [link for link, _ in large]
    extents = {round(extent, 6) for _, extent in large}
    multiples = all(_in_multiples_of_five(link) for link in suspects)
    if (multiples and extents not in _PLACEHOLDERS) or len(extents) >= 3:
        ranges = [f"'{x.joint.name}' {_range_text(x.joint.position)}" for x in suspects]
        message = f"limits in rad look like degrees: {listed(ranges, 4)}"
        diagnostics.warn("degrees-as-radians", message, suspects[0].at)


def encoders_are_fine(body: Body, diagnostics: Diagnostics) -> None:
    """An encoder step is small; else the gear ratio or the number of pulses is missing."""
    for link in body.moving_links:
        joint = link.joint
        if joint.encoder_pulse is None or not isfinite(joint.encoder_pulse):
            continue
        resolution = joint.encoder_resolution
        if resolution is not None and resolution <= _MAX_ENCODER_STEP[joint.type]:
            continue
        steps = (
            "cannot measure a position"
            if resolution is None
            else f"has steps of {resolution:.3g} {joint.type.units.position}"
        )
        message = (
            f"the encoder of joint '{joint.name}', with {joint.encoder_pulse:g} pulses per turn "
            f"and a gear ratio of {joint.gear_ratio:g}, {steps}"
        )
        diagnostics.warn("coarse-encoder", message, link.at)


def root_is_free_or_fixed(body: Body, diagnostics: Diagnostics) -> None:
    """The joint of the root is free or fixed."""
    if body.root.joint.moves:
        kind = body.root.joint.type.value
        message = f"root '{body.root.name}' has a {kind} joint; it must be free or fixed"
        diagnostics.warn("moving-root", message, body.root.at)


RULES = (
    joint_ids_are_consecutive,
    limits_are_valid,
    initial_positions_are_in_range,
    angles_are_in_radians,
    encoders_are_fine,
    root_is_free_or_fixed,
)


def _angles(link: Link) -> list[float]:
    return [x for x in (*link.joint.position, link.joint.initial) if isfinite(x)]


def _extent(link: Link) -> float:
    return max(map(abs, _angles(link)), default=0.0)


def _in_multiples_of_five(link: Link) -> bool:
    return all(x % 5.0 == 0.0 for x in _angles(link))


def _range_text(limits: Range) -> str:
    return f"{limits.lower:g} to {limits.upper:g}"
