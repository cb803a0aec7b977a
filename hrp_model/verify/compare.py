"""Compare a URDF as a library reads it with the Body: a row for each quantity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf

import numpy as np

from ..body import MAX_LIMIT, Link
from ..rigid import Array
from .expected import Expected, Posture, joint_type
from .library import DYNAMICS, DynamicRobot, Dynamics, LibraryJoint, LibraryRobot, Quantity
from .report import NOTHING, Differences, Row, not_applicable

EXACT = 1e-9


def compared(
    expected: Expected, robot: LibraryRobot, postures: Sequence[Posture], *, rotors: bool = False
) -> Iterator[Row]:
    """Yield a row for each quantity but the shapes.

    Args:
        expected: Values of the Body.
        robot: Values of the library.
        postures: Postures to compare in.
        rotors: Whether the library also knows the inertias of rotors.
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
            differences = Differences(robot.library, quantity.value, EXACT)
            compare(differences, expected, robot, postures)
            nothing = _NOTHING.get(quantity, NOTHING)
            yield differences.row(robot.notes.get(quantity, ""), nothing)


def _tree(
    differences: Differences, expected: Expected, robot: LibraryRobot, _postures: Sequence[Posture]
) -> None:
    seen = {joint.child: joint.parent for joint in robot.joints()}
    differences.names(seen, expected.parents, "link")
    for child in seen.keys() & expected.parents.keys():
        if seen[child] != expected.parents[child]:
            problem = f"the parent of link '{child}' is '{seen[child]}'"
            differences.add(inf, f"{problem}, not '{expected.parents[child]}'")


def _joints(
    differences: Differences, expected: Expected, robot: LibraryRobot, _postures: Sequence[Posture]
) -> None:
    seen = _by_child(robot)
    for link in expected.body.links[1:]:
        joint = seen.get(expected.frames.links[link.name])
        name, kind = expected.frames.joints[link.name], joint_type(link.joint)
        if joint is None:
            differences.add(inf, f"joint '{name}' is missing")
        elif joint.name is not None and joint.name != name:
            differences.add(inf, f"joint '{name}' is called '{joint.name}'")
        elif kind not in joint.types:
            differences.add(
                inf, f"joint '{name}' is {' or '.join(sorted(joint.types))}, not {kind}"
            )
        else:
            differences.add(0.0, name)
    for frame in (*expected.frames.base, *expected.frames.fixed):
        child = seen.get(frame.name)
        if child is None or "fixed" not in child.types:
            differences.add(inf, f"frame '{frame.name}' is not fixed to '{frame.parent}'")


def _positions(
    differences: Differences, expected: Expected, robot: LibraryRobot, _postures: Sequence[Posture]
) -> None:
    for link, joint in _moving(expected, robot):
        if link.joint.is_continuous:
            continue
        lower, upper = link.joint.position_limits
        for end, seen, limit in (("lower", joint.lower, lower), ("upper", joint.upper, upper)):
            _compare_limit(differences, seen, limit, f"{end} limit of joint '{joint.name}'")


def _symmetric_limits(name: str) -> Comparison:
    """Return the comparison of a limit that URDF has one number for in both directions."""

    def compare(
        differences: Differences,
        expected: Expected,
        robot: LibraryRobot,
        _postures: Sequence[Posture],
    ) -> None:
        for link, joint in _moving(expected, robot):
            limit: float = getattr(link.joint, f"max_{name}")
            seen: float | None = getattr(joint, name)
            _compare_limit(differences, seen, limit, f"{name} of joint '{joint.name}'")

    return compare


def _damping(
    differences: Differences, expected: Expected, robot: LibraryRobot, _postures: Sequence[Posture]
) -> None:
    for link, joint in _moving(expected, robot):
        for name in ("damping", "friction"):
            seen: float | None = getattr(joint, name)
            number = float("nan") if seen is None else seen
            wanted: float = getattr(link.joint, name)
            where = f"{name} of joint '{joint.name}'"
            differences.add((number - wanted) / (wanted or 1.0), where)


def _mimic(
    differences: Differences, expected: Expected, robot: LibraryRobot, _postures: Sequence[Posture]
) -> None:
    names = expected.frames.joints
    wanted = {names[name]: mimic for name, mimic in expected.mimics.items()}
    seen = robot.mimics()
    differences.names(seen, wanted, "mimic joint")
    for name in seen.keys() & wanted.keys():
        if seen[name].leader != names[wanted[name].link]:
            differences.add(inf, f"joint '{name}' follows '{seen[name].leader}'")
        differences.compare(
            seen[name].multiplier, wanted[name].multiplier, f"multiplier of '{name}'"
        )
        differences.compare(seen[name].offset, wanted[name].offset, f"offset of '{name}'")


def _poses(of: Callable[[Expected, Posture], Mapping[str, Array]]) -> Comparison:
    def compare(
        differences: Differences,
        expected: Expected,
        robot: LibraryRobot,
        postures: Sequence[Posture],
    ) -> None:
        for posture in postures:
            seen = robot.poses(posture.q, posture.X_WU)
            for frame, X in of(expected, posture).items():
                where = f"'{frame}' at posture {posture.name}"
                if frame not in seen:
                    differences.add(inf, f"{where} is missing")
                    continue
                differences.arrays(seen[frame][:3, :3], X[:3, :3], 1.0, where)
                differences.arrays(seen[frame][:3, 3], X[:3, 3], expected.size, where)

    return compare


def _inertials(
    differences: Differences, expected: Expected, robot: LibraryRobot, _postures: Sequence[Posture]
) -> None:
    seen = robot.inertials()
    negligible = float(np.finfo(np.float64).eps) * expected.body.total_mass
    differences.names({x for links in robot.parts.values() for x in links}, expected.names, "link")
    for frame, links in robot.parts.items():
        if not expected.names.issuperset(links):
            continue  # reported above
        wanted = expected.inertial(list(links))
        if frame not in seen:
            if wanted.mass > 0.0 or wanted.inertia.any():
                differences.add(inf, f"link '{frame}' has no mass and no inertia")
            continue
        part = seen[frame]
        distance = max(1.0, float(np.abs(wanted.center_of_mass).max()))
        inertia = float(np.abs(wanted.inertia).max()) or 1.0
        differences.add((part.mass - wanted.mass) / (wanted.mass or 1.0), f"mass of link '{frame}'")
        if wanted.mass > negligible:  # else nothing depends on where its centre is
            where = f"centre of mass of link '{frame}'"
            differences.arrays(part.center_of_mass, wanted.center_of_mass, distance, where)
        differences.arrays(part.inertia, wanted.inertia, inertia, f"inertia of link '{frame}'")


def _total_mass(
    differences: Differences, expected: Expected, robot: LibraryRobot, postures: Sequence[Posture]
) -> None:
    mass, _ = robot.center_of_mass(postures[0].q, postures[0].X_WU)
    differences.add((mass - expected.body.total_mass) / expected.body.total_mass, "the whole robot")


def _center(
    differences: Differences, expected: Expected, robot: LibraryRobot, postures: Sequence[Posture]
) -> None:
    for posture in postures:
        _, center = robot.center_of_mass(posture.q, posture.X_WU)
        wanted = expected.center_of_mass(posture)
        differences.arrays(center, wanted, expected.size, f"posture {posture.name}")


def _mass_matrix(*, rotors: bool) -> Comparison:
    def compare(
        differences: Differences,
        expected: Expected,
        robot: LibraryRobot,
        postures: Sequence[Posture],
    ) -> None:
        for posture in postures:
            wanted = expected.dynamics(posture, rotors=rotors)
            assert isinstance(robot, DynamicRobot)
            dynamics = robot.dynamics_with_rotors if rotors else robot.dynamics
            seen = dynamics(posture.q, posture.X_WU)
            M = _in_order(seen, wanted.joints)
            if M is None:
                differences.add(inf, f"joints {', '.join(seen.joints)}")
            elif M.size:
                error = abs(M - wanted.mass_matrix) / (abs(wanted.mass_matrix).max() or 1.0)
                row = int(np.unravel_index(error.argmax(), error.shape)[0])
                where = f"row of {_row_name(row, len(M), wanted.joints)}"
                differences.add(float(error.max()), f"{where} at posture {posture.name}")

    return compare


def _gravity(
    differences: Differences, expected: Expected, robot: LibraryRobot, postures: Sequence[Posture]
) -> None:
    for posture in postures:
        wanted = expected.dynamics(posture)
        assert isinstance(robot, DynamicRobot)
        seen = robot.dynamics(posture.q, posture.X_WU)
        torques = dict(zip(seen.joints, seen.gravity.tolist(), strict=True))
        scale = max(1.0, float(abs(wanted.gravity).max(initial=0.0)))
        for name, torque in zip(wanted.joints, wanted.gravity.tolist(), strict=True):
            where = f"joint '{name}' at posture {posture.name}"
            differences.add((torques.get(name, inf) - torque) / scale, where)


def _by_child(robot: LibraryRobot) -> dict[str, LibraryJoint]:
    return {joint.child: joint for joint in robot.joints()}


def _moving(expected: Expected, robot: LibraryRobot) -> Iterator[tuple[Link, LibraryJoint]]:
    """Yield the links with a moving joint and the library's joint, without values if missing."""
    seen = _by_child(robot)
    for link in expected.moving:
        frame = expected.frames.links[link.name]
        name = expected.frames.joints[link.name]
        yield link, seen.get(frame, LibraryJoint(name, frozenset(), "", frame))


def _compare_limit(differences: Differences, seen: float | None, limit: float, where: str) -> None:
    """Compare a limit, with URDF's finite number for no limit."""
    if seen is None:
        differences.add(inf, f"{where} is missing")
        return
    differences.compare(_finite(seen), _finite(limit), where)


def _finite(limit: float) -> float:
    return float(np.clip(limit, -MAX_LIMIT, MAX_LIMIT))


def _in_order(seen: Dynamics, joints: tuple[str, ...]) -> Array | None:
    """Return a library's mass matrix in another order of joints; None if one is missing."""
    first = len(seen.mass_matrix) - len(seen.joints)
    if not set(joints) <= set(seen.joints):
        return None
    order = [*range(first), *(first + seen.joints.index(name) for name in joints)]
    matrix: Array = seen.mass_matrix[np.ix_(order, order)]
    return matrix


def _row_name(row: int, rows: int, joints: tuple[str, ...]) -> str:
    first = rows - len(joints)
    return "the root" if row < first else f"joint '{joints[row - first]}'"


Comparison = Callable[[Differences, Expected, LibraryRobot, Sequence[Posture]], None]
_COMPARISONS: dict[Quantity, Comparison] = {
    Quantity.TREE: _tree,
    Quantity.JOINTS: _joints,
    Quantity.POSITION_LIMITS: _positions,
    Quantity.VELOCITY_LIMITS: _symmetric_limits("velocity"),
    Quantity.EFFORT_LIMITS: _symmetric_limits("effort"),
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
_NO_JOINTS = "the model has no moving joint"
_NOTHING = {
    Quantity.TREE: "the model has one link",
    Quantity.JOINTS: "the model has one link",
    Quantity.POSITION_LIMITS: "no joint has position limits",
    Quantity.VELOCITY_LIMITS: _NO_JOINTS,
    Quantity.EFFORT_LIMITS: _NO_JOINTS,
    Quantity.DAMPING: _NO_JOINTS,
    Quantity.MIMIC: "no joint follows another",
    Quantity.DEVICE_POSES: "the model has no device",
    Quantity.BASE_POSES: "no link was added above the model's root",
    Quantity.MASS_MATRIX: _NO_JOINTS,
    Quantity.MASS_MATRIX_WITH_ROTORS: _NO_JOINTS,
    Quantity.GRAVITY: _NO_JOINTS,
}
