"""hrp::JointPath: the joints between two links of a BodyState."""

from __future__ import annotations

from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from ..rigid import Array
from .chain import Chain, links_between
from .checks import finite, rotations
from .fast_dynamics import joint_columns
from .inverse_kinematics import Goal, IkResult, Problem, solve
from .kinematic_state import KinematicState
from .link_state import LinkState
from .spatial import cross
from .tree import Tree


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
