"""What a library reads in a URDF against what the Body says: a row for each quantity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf

import numpy as np

from ..body import Link
from ..rigid import Array
from .expected import Expected, Posture, joint_type
from .reading import DYNAMICS, DynamicRobot, Dynamics, Quantity, Robot, SeenJoint
from .report import NOTHING, Differences, Row, not_applicable

EXACT = 1e-9
# What a limit that is none stands for in a URDF, which wants a finite number.
_UNLIMITED = 1e6


def compared(
    expected: Expected, robot: Robot, postures: Sequence[Posture], *, rotors: bool = False
) -> Iterator[Row]:
    """Yield a row for each quantity but the shapes.

    Args:
        expected: The Body's side.
        robot: The library's side.
        postures: Where to compare what depends on the posture.
        rotors: Whether the library was given the inertias of rotors too.
    """
    has_mass = expected.body.total_mass > 0.0
    for quantity, compare in _COMPARISONS.items():
        if quantity is Quantity.MASS_MATRIX_WITH_ROTORS and not rotors:
            continue
        if quantity in robot.unknown:
            yield not_applicable(robot.library, quantity.value, robot.unknown[quantity])
        elif quantity in _NEED_MASS and not has_mass:
            yield not_applicable(robot.library, quantity.value, "the model has no mass")
        else:
            found = Differences(robot.library, quantity.value, EXACT)
            compare(found, expected, robot, postures)
            nothing = _NOTHING.get(quantity, NOTHING)
            yield found.row(robot.notes.get(quantity, ""), nothing)


def _tree(
    found: Differences, expected: Expected, robot: Robot, _postures: Sequence[Posture]
) -> None:
    seen = {joint.child: joint.parent for joint in robot.joints()}
    found.names(seen, expected.parents, "link")
    for child in seen.keys() & expected.parents.keys():
        if seen[child] != expected.parents[child]:
            problem = f"link '{child}' hangs below '{seen[child]}'"
            found.add(inf, f"{problem}, not '{expected.parents[child]}'")


def _joints(
    found: Differences, expected: Expected, robot: Robot, _postures: Sequence[Posture]
) -> None:
    seen = _by_child(robot)
    for link in expected.body.links[1:]:
        joint = seen.get(expected.frames.links[link.name])
        name, kind = expected.frames.joints[link.name], joint_type(link.joint)
        if joint is None:
            found.add(inf, f"joint '{name}' is missing")
        elif joint.name is not None and joint.name != name:
            found.add(inf, f"joint '{name}' is called '{joint.name}'")
        elif kind not in joint.types:
            found.add(inf, f"joint '{name}' is {' or '.join(sorted(joint.types))}, not {kind}")
        else:
            found.add(0.0, name)
    for frame in (*expected.frames.base, *expected.frames.fixed):
        child = seen.get(frame.name)
        if child is None or "fixed" not in child.types:
            found.add(inf, f"frame '{frame.name}' is not fixed to '{frame.parent}'")


def _positions(
    found: Differences, expected: Expected, robot: Robot, _postures: Sequence[Posture]
) -> None:
    for link, joint in _moving(expected, robot):
        if link.joint.is_continuous:
            continue
        lower, upper = link.joint.position_limits
        for end, seen, limit in (("lower", joint.lower, lower), ("upper", joint.upper, upper)):
            _compare_limit(found, seen, limit, f"{end} limit of joint '{joint.name}'")


def _magnitudes(what: str) -> Comparison:
    """Return the comparison of limits of which URDF has one number for both directions."""

    def compare(
        found: Differences, expected: Expected, robot: Robot, _postures: Sequence[Posture]
    ) -> None:
        for link, joint in _moving(expected, robot):
            limit: float = getattr(link.joint, f"max_{what}")
            _compare_limit(found, getattr(joint, what), limit, f"{what} of joint '{joint.name}'")

    return compare


def _damping(
    found: Differences, expected: Expected, robot: Robot, _postures: Sequence[Posture]
) -> None:
    for link, joint in _moving(expected, robot):
        for what in ("damping", "friction"):
            seen = getattr(joint, what)
            number = float("nan") if seen is None else seen
            found.compare(number, getattr(link.joint, what), f"{what} of joint '{joint.name}'")


def _mimic(
    found: Differences, expected: Expected, robot: Robot, _postures: Sequence[Posture]
) -> None:
    names = expected.frames.joints
    wanted = {names[name]: mimic for name, mimic in expected.mimics.items()}
    seen = robot.mimics()
    found.names(seen, wanted, "mimic joint")
    for name in seen.keys() & wanted.keys():
        if seen[name].leader != names[wanted[name].link]:
            found.add(inf, f"joint '{name}' follows '{seen[name].leader}'")
        found.compare(seen[name].multiplier, wanted[name].multiplier, f"multiplier of '{name}'")
        found.compare(seen[name].offset, wanted[name].offset, f"offset of '{name}'")


def _poses(of: Callable[[Expected, Posture], Mapping[str, Array]]) -> Comparison:
    def compare(
        found: Differences, expected: Expected, robot: Robot, postures: Sequence[Posture]
    ) -> None:
        for posture in postures:
            seen = robot.poses(posture.q, posture.X_WU)
            for frame, X in of(expected, posture).items():
                where = f"'{frame}' at posture {posture.name}"
                if frame not in seen:
                    found.add(inf, f"{where} is missing")
                    continue
                found.arrays(seen[frame][:3, :3], X[:3, :3], 1.0, where)
                found.arrays(seen[frame][:3, 3], X[:3, 3], expected.size, where)

    return compare


def _inertials(
    found: Differences, expected: Expected, robot: Robot, _postures: Sequence[Posture]
) -> None:
    seen = robot.inertials()
    negligible = float(np.finfo(np.float64).eps) * expected.body.total_mass
    found.names({x for links in robot.parts.values() for x in links}, expected.names, "link")
    for frame, links in robot.parts.items():
        if not expected.names.issuperset(links):
            continue  # told above
        wanted = expected.inertial(list(links))
        if frame not in seen:
            if wanted.mass > 0.0 or wanted.inertia.any():
                found.add(inf, f"link '{frame}' has no mass and no inertia")
            continue
        part = seen[frame]
        reach = max(1.0, float(np.abs(wanted.center_of_mass).max()))
        inertia = float(np.abs(wanted.inertia).max()) or 1.0
        found.add((part.mass - wanted.mass) / (wanted.mass or 1.0), f"mass of link '{frame}'")
        if wanted.mass > negligible:  # else nothing depends on where its centre is
            where = f"centre of mass of link '{frame}'"
            found.arrays(part.center_of_mass, wanted.center_of_mass, reach, where)
        found.arrays(part.inertia, wanted.inertia, inertia, f"inertia of link '{frame}'")


def _total_mass(
    found: Differences, expected: Expected, robot: Robot, postures: Sequence[Posture]
) -> None:
    mass, _ = robot.center_of_mass(postures[0].q, postures[0].X_WU)
    found.add((mass - expected.body.total_mass) / expected.body.total_mass, "the whole robot")


def _center(
    found: Differences, expected: Expected, robot: Robot, postures: Sequence[Posture]
) -> None:
    for posture in postures:
        _, center = robot.center_of_mass(posture.q, posture.X_WU)
        wanted = expected.center_of_mass(posture)
        found.arrays(center, wanted, expected.size, f"posture {posture.name}")


def _mass_matrix(*, rotors: bool) -> Comparison:
    def compare(
        found: Differences, expected: Expected, robot: Robot, postures: Sequence[Posture]
    ) -> None:
        for posture in postures:
            wanted = expected.dynamics(posture, rotors=rotors)
            assert isinstance(robot, DynamicRobot)
            dynamics = robot.dynamics_with_rotors if rotors else robot.dynamics
            seen = dynamics(posture.q, posture.X_WU)
            M = _in_order(seen, wanted.joints)
            if M is None:
                found.add(inf, f"joints {', '.join(seen.joints)}")
            elif M.size:
                error = abs(M - wanted.mass_matrix) / (abs(wanted.mass_matrix).max() or 1.0)
                row = int(np.unravel_index(error.argmax(), error.shape)[0])
                where = f"row of {_row_name(row, len(M), wanted.joints)}"
                found.add(float(error.max()), f"{where} at posture {posture.name}")

    return compare


def _gravity(
    found: Differences, expected: Expected, robot: Robot, postures: Sequence[Posture]
) -> None:
    for posture in postures:
        wanted = expected.dynamics(posture)
        assert isinstance(robot, DynamicRobot)
        seen = robot.dynamics(posture.q, posture.X_WU)
        torques = dict(zip(seen.joints, seen.gravity.tolist(), strict=True))
        scale = max(1.0, float(abs(wanted.gravity).max(initial=0.0)))
        for name, torque in zip(wanted.joints, wanted.gravity.tolist(), strict=True):
            where = f"joint '{name}' at posture {posture.name}"
            found.add((torques.get(name, inf) - torque) / scale, where)


def _by_child(robot: Robot) -> dict[str, SeenJoint]:
    return {joint.child: joint for joint in robot.joints()}


def _moving(expected: Expected, robot: Robot) -> Iterator[tuple[Link, SeenJoint]]:
    """Yield the links with a coordinate, each with its joint; one that is missing is told of."""
    seen = _by_child(robot)
    for link in expected.moving:
        frame = expected.frames.links[link.name]
        name = expected.frames.joints[link.name]
        yield link, seen.get(frame, SeenJoint(name, frozenset(), "", frame))


def _compare_limit(found: Differences, seen: float | None, limit: float, of: str) -> None:
    """Compare a limit, where the URDF says so many for none."""
    if seen is None:
        found.add(inf, f"{of} is missing")
        return
    found.compare(float(np.clip(seen, -_UNLIMITED, _UNLIMITED)), _finite(limit), of)


def _finite(limit: float) -> float:
    return float(np.clip(limit, -_UNLIMITED, _UNLIMITED))


def _in_order(seen: Dynamics, joints: tuple[str, ...]) -> Array | None:
    """Return a library's mass matrix with its joints in another order; None if one lacks."""
    first = len(seen.mass_matrix) - len(seen.joints)
    if not set(joints) <= set(seen.joints):
        return None
    order = [*range(first), *(first + seen.joints.index(name) for name in joints)]
    matrix: Array = seen.mass_matrix[np.ix_(order, order)]
    return matrix


def _row_name(row: int, rows: int, joints: tuple[str, ...]) -> str:
    first = rows - len(joints)
    return "the root" if row < first else f"joint '{joints[row - first]}'"


Comparison = Callable[[Differences, Expected, Robot, Sequence[Posture]], None]
_COMPARISONS: dict[Quantity, Comparison] = {
    Quantity.TREE: _tree,
    Quantity.JOINTS: _joints,
    Quantity.POSITION_LIMITS: _positions,
    Quantity.VELOCITY_LIMITS: _magnitudes("velocity"),
    Quantity.EFFORT_LIMITS: _magnitudes("effort"),
    Quantity.DAMPING: _damping,
    Quantity.MIMIC: _mimic,
    Quantity.LINK_POSES: _poses(Expected.link_poses),
    Quantity.DEVICE_POSES: _poses(Expected.device_poses),
    Quantity.BASE_POSES: _poses(Expected.base_poses),
    Quantity.INERTIALS: _inertials,
    Quantity.TOTAL_MASS: _total_mass,
    Quantity.CENTER_OF_MASS: _center,
    Quantity.MASS_MATRIX: _mass_matrix(rotors=False),
    Quantity.MASS_MATRIX_WITH_ROTORS: _mass_matrix(rotors=True),
    Quantity.GRAVITY: _gravity,
}
_NEED_MASS = {Quantity.INERTIALS, Quantity.TOTAL_MASS, Quantity.CENTER_OF_MASS, *DYNAMICS}
_NO_JOINTS = "the model has no joint that moves"
_NOTHING = {
    Quantity.TREE: "the model has one link",
    Quantity.JOINTS: "the model has one link",
    Quantity.POSITION_LIMITS: "no joint has limits of position",
    Quantity.VELOCITY_LIMITS: _NO_JOINTS,
    Quantity.EFFORT_LIMITS: _NO_JOINTS,
    Quantity.DAMPING: _NO_JOINTS,
    Quantity.MIMIC: "no joint follows another",
    Quantity.DEVICE_POSES: "the model has no device",
    Quantity.BASE_POSES: "nothing stands above the model's root",
    Quantity.MASS_MATRIX: _NO_JOINTS,
    Quantity.MASS_MATRIX_WITH_ROTORS: _NO_JOINTS,
    Quantity.GRAVITY: _NO_JOINTS,
}
