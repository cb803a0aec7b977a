"""hrp::JointPath: the joints between two links of a BodyState, as a serial chain.

Inverse kinematics is damped least squares within joint limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from ..body import Body, Joint, JointType, Link
from ..late_dataclass import dataclass
from ..rigid import Array, Pose
from .arrays import cross, finite, rotations
from .dynamics import joint_columns, poses
from .kinematic_state import KinematicState
from .link_state import LinkState
from .tree import Tree

# An attempt ends after this many steps in a row that hardly reduce the error: it is in a local
# minimum, or the goal is out of reach.
_MAX_SLOW_STEPS = 5


@dataclass(frozen=True)
class Goal:
    """Pose or position that the target is to reach.

    Attributes:
        p: Position in the world in [m], shape (3,).
        R: Rotation in the world, shape (3, 3); None for any.
        tolerance: Maximum error of the position in [m] and of the rotation in [rad].
    """

    p: Array
    R: Array | None
    tolerance: float

    def error(self, T: Array) -> Array:
        """Return translation and rotation to the goal, in world axes, shape (6,) or (3,)."""
        move = self.p - T[:3, 3]
        if self.R is None:
            return np.asarray(move)
        return np.concatenate([move, rotation_vector(self.R @ T[:3, :3].T)])

    def is_reached(self, error: Array) -> bool:
        """Whether an error is within the tolerance."""
        lengths = np.linalg.norm(error.reshape(-1, 3), axis=1)
        return bool((lengths <= self.tolerance).all())


@dataclass(frozen=True, eq=False)
class IkResult:
    """Result of inverse kinematics; true if it converged.

    Attributes:
        converged: Whether the goal was reached.
        position_error: Remaining distance in [m].
        rotation_error: Remaining angle in [rad]; 0 if the goal has no rotation.
        iterations: Number of steps over all attempts.
        q: Joint positions in the order of the path, shape (n,): the best ones found if the
            goal was not reached.
    """

    converged: bool
    position_error: float
    rotation_error: float
    iterations: int
    q: Array

    def __bool__(self) -> bool:
        return self.converged


@dataclass(frozen=True, eq=False)
class Problem:
    """An inverse kinematics problem.

    Attributes:
        forward: Returns the target's pose (4, 4) and Jacobian (6, n) at joint positions.
        goal: Pose to reach.
        lower, upper: Position limits of the joints, shape (n,).
        max_iterations: Maximum number of steps of one attempt.
    """

    forward: Callable[[Array], tuple[Array, Array]]
    goal: Goal
    lower: Array
    upper: Array
    max_iterations: int


def solve(problem: Problem, q: Array, restarts: int) -> IkResult:
    """Return joint positions that reach the goal, near ``q`` where possible.

    An attempt that gets stuck, at a limit, stretched out or in a local minimum, is followed
    by others from random positions within the joint limits, or up to half a turn away for
    joints without limits. The random numbers are seeded, so results are repeatable.
    """
    rng = np.random.default_rng(0)
    start = np.clip(q, problem.lower, problem.upper)
    spans = np.minimum(problem.upper - problem.lower, 2.0 * np.pi)
    lowest = np.clip(start - spans / 2.0, problem.lower, problem.upper - spans)
    best = _attempt(problem, start)
    steps = best.iterations
    for _ in range(restarts):
        if best.converged or not len(q):
            break
        random_q = lowest + spans * rng.random(len(q))
        result = _attempt(problem, np.clip(random_q, problem.lower, problem.upper))
        steps += result.iterations
        if result.converged or _squared_error(result) < _squared_error(best):
            best = result
    return IkResult(best.converged, best.position_error, best.rotation_error, steps, best.q)


def _attempt(problem: Problem, q: Array) -> IkResult:
    """Minimise the error by Levenberg-Marquardt steps, projected onto the joint limits.

    The damping is proportional to the squared error (T. Sugihara, "Solvability-unconcerned
    inverse kinematics by the Levenberg-Marquardt method", IEEE T-RO 27, 2011): it vanishes at a
    solution, where convergence is quadratic. It grows while steps increase the error.
    """
    goal, damping, smallest = problem.goal, 1.0, 1e-12
    T, J = problem.forward(q)
    error = goal.error(T)
    taken = slow = 0
    while taken < problem.max_iterations and slow < _MAX_SLOW_STEPS and not goal.is_reached(error):
        taken += 1
        step = _step(J[: len(error)], error, q, problem, damping * float(error @ error) + smallest)
        trial = np.clip(q + step, problem.lower, problem.upper)
        T, trial_J = problem.forward(trial)
        trial_error = goal.error(T)
        before, after = error @ error, trial_error @ trial_error
        slow = slow + 1 if after > 0.95 * before else 0
        if after < before:
            q, J, error, damping = trial, trial_J, trial_error, max(damping / 4.0, 1e-3)
        else:
            damping *= 8.0
    lengths = np.linalg.norm(error.reshape(-1, 3), axis=1)
    angle = float(lengths[1]) if len(lengths) > 1 else 0.0
    return IkResult(goal.is_reached(error), float(lengths[0]), angle, taken, q)


def _step(J: Array, error: Array, q: Array, problem: Problem, damping: float) -> Array:
    """Return the damped step that stays within the joint limits, shape (n,).

    A joint that would exceed a limit goes to the limit, and the others compensate.
    """
    lowest, highest = problem.lower - q, problem.upper - q
    slope = J.T @ error
    free = ~(((lowest >= 0.0) & (slope < 0.0)) | ((highest <= 0.0) & (slope > 0.0)))
    step = np.zeros(len(q))
    while free.any():
        part = J[:, free]
        A = part.T @ part + damping * np.eye(part.shape[1])
        step[free] = np.linalg.solve(A, part.T @ (error - J[:, ~free] @ step[~free]))
        beyond = free & ((step < lowest) | (step > highest))
        if not beyond.any():
            break
        step = np.clip(step, lowest, highest)
        free &= ~beyond
    return step


def _squared_error(result: IkResult) -> float:
    return result.position_error**2 + result.rotation_error**2


def rotation_vector(R: Array) -> Array:
    """Return axis times angle of a rotation in [rad], shape (3,); the angle is at most pi."""
    twice_sine = (R - R.T)[[2, 0, 1], [1, 2, 0]]
    sine, cosine = np.linalg.norm(twice_sine) / 2.0, (np.trace(R) - 1.0) / 2.0
    angle = np.arctan2(sine, cosine)
    if cosine > 0.0 or sine > 1e-6:
        return np.asarray(twice_sine * (angle / (2.0 * sine) if sine > 0.0 else 0.5))
    # Half a turn: R + E is twice the square a a^T of the axis.
    square = R + R.T + 2.0 * np.eye(3)
    axis = square[:, np.argmax(np.diag(square))]
    axis = axis / np.linalg.norm(axis)
    return np.asarray(angle * (axis if axis @ twice_sine >= 0.0 else -axis))


def links_between(parents: Sequence[int], base: int, target: int) -> tuple[list[int], list[int]]:
    """Return the links whose joints lie between two links, from base to target.

    Returns:
        Links above the base, crossed upwards, and links above the target, crossed downwards.
    """
    up, down = _to_root(parents, base), _to_root(parents, target)
    while up and down and up[-1] == down[-1]:
        up.pop()
        down.pop()
    return up, down[::-1]


def _to_root(parents: Sequence[int], link: int) -> list[int]:
    path = []
    while parents[link] >= 0:
        path.append(link)
        link = parents[link]
    return path


class Chain:
    """Constants of a serial chain of n joints from a base to a target.

    A joint that is crossed upwards, from its link to the parent, has its axis reversed.

    Args:
        body: The model.
        up: Links whose joints are crossed upwards.
        down: Links whose joints are crossed downwards, following ``up``.
    """

    def __init__(self, body: Body, up: list[int], down: list[int]) -> None:
        links = [Link(name="base", parent=None, joint=Joint(type=JointType.FIXED, name="base"))]
        pose = Pose()
        for index in [*up, *down]:
            link, upward = body.links[index], index in up
            pose = pose if upward else pose @ link.X_PL
            if link.joint.moves:
                joint = Joint(
                    type=link.joint.type,
                    name=link.name,
                    id=len(links),
                    axis=-link.joint.axis if upward else link.joint.axis,
                )
                parent = links[-1].name
                links.append(Link(name=f"{index}", parent=parent, joint=joint, X_PL=pose))
                pose = Pose()
            pose = pose @ link.X_PL.inverse() if upward else pose
        fixed = Joint(type=JointType.FIXED, name="target")
        links.append(Link(name="target", parent=links[-1].name, joint=fixed, X_PL=pose))
        self._tree = Tree.of(Body(name="chain", links=tuple(links)))

    def poses(self, q: Array, base_p: Array, base_R: Array) -> Array:
        """Return the frames of base, joints and target in the world, shape (n + 2, 4, 4)."""
        return poses(self._tree, q, base_p, base_R)

    def jacobian(self, T: Array) -> Array:
        """Return the target's linear and angular velocity per joint velocity, shape (6, n)."""
        n = len(self._tree.joint_links)
        p, R = T[:, :3, 3], T[:, :3, :3]
        return joint_columns(self._tree, p, R, np.arange(n), np.ones(n), p[-1])


class JointPath:
    """The revolute and prismatic joints between two links, from base to target.

    The path may go from the base towards the root before it goes down to the target. Unlike
    that of hrp::Body it also contains joints without an id.

    Attributes:
        body: The state that it reads and writes.
        base_link, end_link: Base and target.
        joints: Indices of its joints in ``q``, shape (n,).
        signs: 1.0 for a joint crossed downwards, from the parent to the link that it moves, -1.0
            for one crossed upwards, shape (n,).
    """

    def __init__(self, body: KinematicState, base: LinkState, target: LinkState) -> None:
        self.body = body
        self.base_link = base
        self.end_link = target
        self._up, self._down = links_between(body.body.parent_indices, base.index, target.index)
        crossed = [(body.link(i), -1.0) for i in self._up]
        crossed += [(body.link(i), 1.0) for i in self._down]
        moving = [(link, sign) for link, sign in crossed if link.joint is not None]
        self._links = [link.index for link, _ in moving]
        self.joints = np.array([link.joint for link, _ in moving], dtype=np.intp)
        self.signs = np.array([sign for _, sign in moving])
        self._tree = Tree.of(body.body)

    @property
    def num_joints(self) -> int:
        """Number of joints, n."""
        return len(self._links)

    def joint(self, i: int) -> LinkState:
        """Return the link that the i-th joint moves.

        Raises:
            IndexError: ``i`` is out of range.
        """
        if not 0 <= i < self.num_joints:
            raise IndexError(f"no joint {i} in a path with {self.num_joints} joints")
        return self.body.link(self._links[i])

    def is_joint_downward(self, i: int) -> bool:
        """Return whether the i-th joint is crossed downwards; raises IndexError as ``joint``."""
        return self.joint(i).joint is not None and bool(self.signs[i] > 0.0)

    def calc_jacobian(self, local_p: ArrayLike | None = None) -> Array:
        """Return the Jacobian of the target relative to the base, at ``p`` and ``R``.

        Args:
            local_p: Point of the target, in its frame, in [m], shape (3,); None for the origin.

        Returns:
            Shape (6, n), of a batch (m, 6, n): linear velocity, then angular velocity, in world
            axes; columns are the joints of the path.

        Raises:
            ValueError: ``local_p`` does not have three finite elements.
        """
        state = self.body
        point = self.end_link.p
        if local_p is not None:
            point = point + self.end_link.R @ finite("local_p", local_p, (3,))
        return joint_columns(self._tree, state.p, state.R, self.joints, self.signs, point)

    def calc_forward_kinematics(self, velocity: bool = False, acceleration: bool = False) -> None:
        """Compute the poses of all links of the body while the base keeps its pose.

        If the path crosses joints upwards, the root moves relative to the base.

        Args:
            velocity: Also compute velocities; the base keeps its ``v`` and ``w``.
            acceleration: Also compute velocities and accelerations; the base keeps its ``dv``
                and ``dw`` too.

        Raises:
            ValueError: The root would have to move, but is fixed to the world.
        """
        if not (self.signs < 0.0).any():
            self.body.calc_forward_kinematics(velocity, acceleration)
            return
        self._check_root()
        state, base, root = self.body, self.base_link, self.body.root_link
        p, R, v, w, dv, dw = (x.copy() for x in (base.p, base.R, base.v, base.w, base.dv, base.dw))
        root.p[...], root.R[...] = 0.0, np.eye(3)  # rounding errors must not accumulate
        state.calc_forward_kinematics()
        root.R[...] = R @ base.R.swapaxes(-1, -2)
        root.p[...] = p - (root.R @ base.p[..., None])[..., 0]
        state.calc_forward_kinematics(velocity, acceleration)
        if velocity or acceleration:
            delta = w - base.w
            root.v[...] += v - base.v + cross(delta, root.p - p)
            root.w[...] += delta
            state.calc_forward_kinematics(velocity, acceleration)
        if acceleration:
            delta = dw - base.dw
            root.dv[...] += dv - base.dv + cross(delta, root.p - p)
            root.dw[...] += delta
            state.calc_forward_kinematics(velocity, acceleration)

    def calc_inverse_kinematics(
        self,
        p: ArrayLike,
        R: ArrayLike | None = None,
        *,
        limits: bool = True,
        tolerance: float = 1e-8,
        max_iterations: int = 60,
        restarts: int = 20,
    ) -> IkResult:
        """Find joint positions that bring the target to a pose, numerically.

        The base keeps its pose, as in ``calc_forward_kinematics``, which is called at the
        end. If no solution is found, the state does not change; one may exist all the same.

        Args:
            p: Position of the target's origin in the world, in [m], shape (3,).
            R: Its rotation in the world, shape (3, 3); None for any.
            limits: Whether to stay within the joint limits.
            tolerance: Maximum error of the position in [m] and of the rotation in [rad].
            max_iterations: Maximum number of steps of one attempt.
            restarts: Further attempts from random positions within the limits if the first
                one gets stuck; 0 to stay on the current branch. Without a solution all of
                them are made, which takes time.

        Returns:
            The result with the remaining errors; true if the pose was reached.

        Raises:
            ValueError: The goal is not a pose, the state is a batch, or the root would have to
                move, but is fixed to the world.
        """
        state = self.body
        if state.batch is not None:
            raise ValueError("inverse kinematics needs a state of one posture, not a batch")
        if (self.signs < 0.0).any():
            self._check_root()
        goal = _goal(p, R, tolerance)
        lower, upper = self._limits() if limits else np.tile([[-inf], [inf]], self.num_joints)
        base_p, base_R = self.base_link.p.copy(), self.base_link.R.copy()

        def forward(q: Array) -> tuple[Array, Array]:
            T = self._chain.poses(q, base_p, base_R)
            return T[-1], self._chain.jacobian(T)

        problem = Problem(forward, goal, lower, upper, max_iterations)
        result = solve(problem, state.q[self.joints], restarts)
        if result:
            state.q[self.joints] = result.q
            self.calc_forward_kinematics()
        return result

    def __repr__(self) -> str:
        base, target = self.base_link.name, self.end_link.name
        return f"<JointPath from '{base}' to '{target}': {self.num_joints} joints>"

    @cached_property
    def _chain(self) -> Chain:
        return Chain(self.body.body, self._up, self._down)

    def _limits(self) -> tuple[Array, Array]:
        """Return the position limits of the joints, shape (n,) each."""
        links = [self.joint(i) for i in range(self.num_joints)]
        return np.array([x.llimit for x in links]), np.array([x.ulimit for x in links])

    def _check_root(self) -> None:
        if self.body.fix_root:
            raise ValueError(
                f"the root is fixed to the world: base link '{self.base_link.name}' cannot keep "
                "its pose while the joints between the two move"
            )


def _goal(p: ArrayLike, R: ArrayLike | None, tolerance: float) -> Goal:
    rotation = None if R is None else rotations("R", R, (3, 3))
    return Goal(finite("p", p, (3,)), rotation, tolerance)
