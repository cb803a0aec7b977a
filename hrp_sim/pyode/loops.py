"""Extra joints: ``ode/_core_loops.c`` for those that PyODE has."""

from __future__ import annotations

from typing import Any

from ..articulation.articulation import LoopKind, Loops
from .joint_makers import make_ball, make_fixed, make_hinge
from .vectors import IDENTITY, Vector, dot, from_group, rotate

MAKERS = {
    LoopKind.BALL: make_ball,
    LoopKind.HINGE: make_hinge,
    LoopKind.FIXED: make_fixed,
}


def make_loop(world: Any, loops: Loops, i: int, a: Any, b: Any) -> Any:
    """Make an extra joint in the starting posture.

    The two joint frames need not coincide there: one group is moved so that they do while
    the joint is made, and back, so that the error is the joint's to correct.

    Args:
        world: Of PyODE.
        loops: Of the body.
        i: Which of them.
        a: Group that it ties, None for the environment.
        b: The other.
    """
    in_a = loops.R_a[i].ravel().tolist(), loops.p_a[i].tolist()
    in_b = loops.R_b[i].ravel().tolist(), loops.p_b[i].tolist()
    moved, other, in_moved, in_other = (a, None, in_a, in_b) if b is None else (b, a, in_b, in_a)
    R, p = _into_world(other, *in_other)
    axis = rotate(R, loops.axis[i].tolist())
    back = moved.getPosition(), moved.getRotation()
    _place_frame(moved, R, p, *in_moved)
    joint = MAKERS[LoopKind(int(loops.kind[i]))](world, (moved, other), p, axis)
    moved.setRotation(back[1])
    moved.setPosition(back[0])
    return joint


def _into_world(group: Any, R: Vector, p: Vector) -> tuple[Vector, Vector]:
    """Return in W a frame that is given in a group."""
    R_WG = IDENTITY if group is None else group.getRotation()
    columns = [rotate(R_WG, R[k::3]) for k in range(3)]
    return [columns[k][i] for i in range(3) for k in range(3)], from_group(group, p)


def _place_frame(group: Any, R_WJ: Vector, p_WJ: Vector, R_GJ: Vector, p_GJ: Vector) -> None:
    """Put a group where a frame of it lies at a pose in W."""
    R = [dot(R_WJ[3 * i : 3 * i + 3], R_GJ[3 * k : 3 * k + 3]) for i in range(3) for k in range(3)]
    arm = rotate(R, p_GJ)
    group.setRotation(R)
    group.setPosition([a - b for a, b in zip(p_WJ, arm, strict=True)])
