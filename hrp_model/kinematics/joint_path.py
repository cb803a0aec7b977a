"""hrp::JointPath: the joints between two links of a BodyState."""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..rigid import Array
from .chain import Chain, columns, links_between
from .checks import finite, rotations
from .inverse_kinematics import Goal, IkResult, Problem, solve
from .spatial import cross

if TYPE_CHECKING:
    from .link_state import LinkState
    from .state import BodyState


class JointPath:
    """The revolute and prismatic joints between two links, from base to target.

    It may climb from the base towards the root before it descends to the target. Unlike
    that of hrp::Body it also contains joints without an id.

    Attributes:
        body: The BodyState whose numbers it reads and writes.
        base_link, end_link: Its ends.
        joints: Places of its joints in ``q``, shape (n,).
        signs: 1.0 for a joint crossed downwards, from the parent to the link that it moves, -1.0
            for one crossed upwards, shape (n,).
    """

    def __init__(self, body: BodyState, base: LinkState, target: LinkState) -> None:
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
        axes = [sign * np.array([link.a, link.d]).T for link, sign in moving]
        self._axes = np.array(axes).reshape(-1, 3, 2)

    @property
    def num_joints(self) -> int:
        """Number of joints, n."""
        return len(self._links)

    def joint(self, i: int) -> LinkState:
        """Return the link that the i-th joint moves.

        Raises:
            IndexError: There is no such joint.
        """
        if not 0 <= i < self.num_joints:
            raise IndexError(f"no joint {i} in a path with {self.num_joints} joints")
        return self.body.link(self._links[i])

    def is_joint_downward(self, i: int) -> bool:
        """Return whether the i-th joint is crossed downwards; raises IndexError as ``joint``."""
        return self.joint(i).joint is not None and bool(self.signs[i] > 0.0)

    def calc_jacobian(self, local_p: ArrayLike | None = None) -> Array:
        """Return the Jacobian of the target's motion, seen from the base, at ``p`` and ``R``.

        Args:
            local_p: The point whose velocity is meant, in the target's frame, in [m], shape (3,);
                None for the frame's origin.

        Returns:
            Shape (6, n), of a batch (m, 6, n): linear velocity, then angular velocity, in world
            axes; columns are the joints of the path.

        Raises:
            ValueError: ``local_p`` is not three finite numbers.
        """
        state = self.body
        point = self.end_link.p
        if local_p is not None:
            point = point + self.end_link.R @ finite("local_p", local_p, (3,))
        axes = state.R[..., self._links, :, :] @ self._axes
        arms = point[..., None, :] - state.p[..., self._links, :]
        return columns(axes[..., 0], axes[..., 1], arms)

    def calc_forward_kinematics(self, velocity: bool = False, acceleration: bool = False) -> None:
        """Compute where the links are if the base stays where it is, or moves as it does.

        All links of the body follow. If the path climbs, the root moves against the base.

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
        root.p[...], root.R[...] = 0.0, np.eye(3)  # so that no rounding of the root's pose adds up
        state.calc_forward_kinematics()
        root.R[...] = R @ base.R.swapaxes(-1, -2)
        root.p[...] = p - (root.R @ base.p[..., None])[..., 0]
        state.calc_forward_kinematics(velocity, acceleration)
        if velocity or acceleration:
            turn = w - base.w
            root.v[...] += v - base.v + cross(turn, root.p - p)
            root.w[...] += turn
            state.calc_forward_kinematics(velocity, acceleration)
        if acceleration:
            turn = dw - base.dw
            root.dv[...] += dv - base.dv + cross(turn, root.p - p)
            root.dw[...] += turn
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
        """Find positions of the path's joints that bring the target to a pose, numerically.

        The base stays where it is, as in ``calc_forward_kinematics``, which is called at the
        end. If no solution is found, nothing changes: that does not prove that there is none.

        Args:
            p: Where the target's origin is to be in the world, in [m], shape (3,).
            R: Its rotation there, shape (3, 3); None if any will do.
            limits: Whether to stay within the joints' ranges.
            tolerance: Largest distance in [m] and largest angle in [rad] that count as reached.
            max_iterations: Steps of one attempt.
            restarts: Further attempts, from random positions within the ranges, if the first
                one gets stuck; 0 to stay on the present branch. Where no solution is found
                all of them are made, which takes their time.

        Returns:
            True in conditions if the pose was reached; with the errors left.

        Raises:
            ValueError: The goal is no pose, the state is a batch, or the root would have to
                move, but is fixed to the world.
        """
        state = self.body
        if state.batch is not None:
            raise ValueError("inverse kinematics needs a state of one posture, this is a batch")
        if (self.signs < 0.0).any():
            self._check_root()
        goal = _goal(p, R, tolerance)
        lower, upper = self._ranges() if limits else np.tile([[-inf], [inf]], self.num_joints)
        base_p, base_R = self.base_link.p.copy(), self.base_link.R.copy()

        def place(q: Array) -> tuple[Array, Array]:
            T = self._chain.poses(q, base_p, base_R)
            return T[-1], self._chain.jacobian(T)

        problem = Problem(place, goal, lower, upper, max_iterations)
        found = solve(problem, state.q[self.joints], restarts)
        if found:
            state.q[self.joints] = found.q
            self.calc_forward_kinematics()
        return found

    def __repr__(self) -> str:
        base, target = self.base_link.name, self.end_link.name
        return f"<JointPath from '{base}' to '{target}': {self.num_joints} joints>"

    @cached_property
    def _chain(self) -> Chain:
        return Chain(self.body.body, self._up, self._down)

    def _ranges(self) -> tuple[Array, Array]:
        """Return the ranges of the joints, shape (n,) each."""
        links = [self.joint(i) for i in range(self.num_joints)]
        return np.array([x.llimit for x in links]), np.array([x.ulimit for x in links])

    def _check_root(self) -> None:
        if self.body.fix_root:
            raise ValueError(
                f"the root is fixed to the world, so '{self.base_link.name}' cannot stand still "
                "while the joints between the two move"
            )


def _goal(p: ArrayLike, R: ArrayLike | None, tolerance: float) -> Goal:
    rotation = None if R is None else rotations("R", R, (3, 3))
    return Goal(finite("p", p, (3,)), rotation, tolerance)
