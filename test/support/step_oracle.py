"""One step of a world, solved a second time: plain numpy, bounded rows by an active set of scipy.

The changes of velocity dv of all groups and the impulses p of all rows satisfy, with the block
diagonal mass matrix M, the impulses f of forces, and rows J (docs/physics.md; these are the KKT
conditions of a convex problem)::

    M dv = f + J^T p
    p = clip((target - J dv) / softness, lower, upper)

Without dv that is the least distance of p in the metric of ``D = J M^-1 J^T + softness``, within
bounds. Friction of a contact point is a row along each tangent whose impulse lies in a disc; its
radius is mu times the impulse along the normal, found by repetition.

The oracle takes a saved state and the geometry of its contacts (points, normals and depths), and
nothing else of the engine: rows, drives and free motion are written again from their definitions.
It knows worlds of rigid contacts without restitution, tracks, springs in joints, and surfaces of
their own, right after a state was restored: nothing is remembered of contacts.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import brentq, lsq_linear
from scipy.spatial.transform import Rotation

from hrp_model.rigid import skew
from hrp_sim.engine.articulation.articulation import STATIC, JointKind, LoopKind

_AXES = np.eye(3)
_STIFFEST = 1e-12  # softness of a row along an axis or of a gear, relative to its groups' mobility
_STIFFEST_CONTACT = 1e-10
_RIGID = 1e-11  # joints of a tree hold exactly, but this divides by their softness
_SETTLED, _SETTLING = 1e-6, 5e-8  # a contact of less depth may approach at such a speed
_CLOSING = 1.0  # of a gear or stop that is open, at most [m/s] or [rad/s]
_ROUNDS = 60
_TOLERANCE = 1e-10  # of the KKT conditions, relative to the largest impulse


@dataclass
class Group:
    """A rigid group in the middle of the step; ``at`` is its first column, of six."""

    at: int
    mass: float
    inertia: np.ndarray
    p: np.ndarray
    R: np.ndarray
    v: np.ndarray
    w: np.ndarray
    force: np.ndarray
    torque: np.ndarray
    start: tuple  # p, R and w at the start of the step


@dataclass
class Solution:
    """What a step leads to.

    Attributes:
        momentum: Linear and angular momentum of each group by body, shape (groups, 6).
        contacts: Force on the first body of each contact, shape (n, 3).
        efforts: Of the drives, by body, shape (joints,).
    """

    momentum: dict
    contacts: np.ndarray
    efforts: dict


class StepOracle:
    """The problem of one step."""

    def __init__(self, settings, articulations, saved):
        self.settings, self.h = settings, settings.time_step
        self.groups, self.rows, self.discs, self.drives = {}, [], [], {}
        self._size = 0
        for name, articulation in articulations.items():
            state = {k.rpartition("/")[2]: v for k, v in saved.items() if k.startswith(f"{name}/")}
            self.groups[name] = self._groups_of(articulation, state)
        self.v = np.concatenate([[*g.v, *g.w] for g in self._all()] or [np.zeros(0)])
        for name, articulation in articulations.items():
            state = {k.rpartition("/")[2]: v for k, v in saved.items() if k.startswith(f"{name}/")}
            self._add_joints(name, articulation, state)

    def _all(self):
        return [group for groups in self.groups.values() for group in groups]

    def _groups_of(self, articulation, state):
        """Move the groups of a body freely to the middle of the step, and apply their forces."""
        made, of = [], articulation.groups
        for g in range(len(of.mass)):
            R, v, w = (state[f"group_{k}"][g] for k in ("R", "v", "w"))
            inertia = R @ of.inertia[g] @ R.T
            turned = self._turned(R, of.inertia[g], inertia @ w)
            now = turned @ of.inertia[g] @ turned.T
            w_now = np.linalg.solve(now, inertia @ w)
            start = state["group_p"][g], R, w
            p = start[0] + v * self.h / 2.0
            lift = of.lift[g]
            gravity = np.array(self.settings.gravity)
            force = (of.mass[g] - lift[0]) * gravity
            torque = np.cross(gravity, turned @ lift[1:])
            made.append(
                Group(self._size, of.mass[g], now, p, turned, v, w_now, force, torque, start)
            )
            self._size += 6
        for link, g in enumerate(articulation.links.group):
            if g != STATIC:
                f, arm = state["wrench_force"][link], made[g].R @ articulation.links.p[link]
                made[g].force += f
                made[g].torque += state["wrench_torque"][link] + np.cross(arm, f)
        return made

    def _turned(self, R, inertia, L):
        """Turn freely for half a step: three rotations about principal axes, then about L."""
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
        first, last = 1.0 / moments[[0, 2]] - 1.0 / moments[1]
        P, own, time = (R @ axes).T @ L, Rotation.identity(), self.h / 2.0
        for axis, rate in ((0, first / 2.0), (2, last), (0, first / 2.0)):
            turn = Rotation.from_rotvec(_AXES[axis] * rate * P[axis] * time)
            P, own = turn.inv().apply(P), own * turn
        about_L = Rotation.from_rotvec(L / moments[1] * time).as_matrix()
        return about_L @ R @ axes @ own.as_matrix() @ axes.T

    # Rows: of unknowns dv, of group a relative to group b; None is the world.

    def _row(self, parts):
        J = np.zeros(self._size)
        for group, linear, angular in parts:
            if group is not None:
                J[group.at : group.at + 6] += [*linear, *angular]
        return J

    def _along(self, a, b, direction, point_a, point_b):
        ends = ((a, direction, point_a), (b, -direction, point_b))
        return self._row((g, d, np.cross(point - g.p, d)) for g, d, point in ends if g is not None)

    def _about(self, a, b, direction):
        zero = np.zeros(3)
        return self._row(((a, zero, direction), (b, zero, -direction)))

    def _add(self, J, velocity, softness, lower=-np.inf, upper=np.inf):
        """Add a row whose rate is to be ``velocity``; return its number."""
        self.rows.append((J, velocity - J @ self.v, softness, lower, upper))
        return len(self.rows) - 1

    def _mobility(self, a, b, *, turns=False):
        ends = [group for group in (a, b) if group is not None]
        return sum(3.0 / np.trace(g.inertia) if turns else 1.0 / g.mass for g in ends)

    def _hold(self, J, error):
        self._add(J, -self.settings.erp / self.h * error, self._softness)

    def _hold_point(self, a, b, point_a, point_b, directions):
        for direction in directions:
            self._hold(
                self._along(a, b, direction, point_a, point_b), direction @ (point_a - point_b)
            )

    def _hold_centre(self, a, b, X_a, X_b):
        """Hold the centre of mass of b, or of a: rows with errors depend on where they act."""
        (R_a, p_a), (R_b, p_b) = X_a, X_b
        if b is None:
            self._hold_point(a, b, a.p, p_b + R_b @ R_a.T @ (a.p - p_a), _AXES)
        else:
            self._hold_point(a, b, p_a + R_a @ R_b.T @ (b.p - p_b), b.p, _AXES)

    def _hold_axis(self, a, b, axis_a, axis_b):
        for across in _across(axis_a):
            self._hold(self._about(a, b, across), -across @ np.cross(axis_a, axis_b))

    def _hold_orientation(self, a, b, R_a, R_b):
        error = Rotation.from_matrix(R_a @ R_b.T).as_quat()
        for direction in _AXES:
            self._hold(self._about(a, b, direction), 2.0 * error[:3] @ direction)

    def _add_joints(self, name, articulation, state):
        joints = articulation.joints
        groups = self.groups[name]
        self.drives[name] = []
        self._softness = _RIGID
        made = [self._add_joint(name, articulation, state, j) for j in range(len(joints.kind))]
        gears = articulation.gears
        for i in range(len(gears.follower)):
            (J, q, drift, mobility), (J2, q2, drift2, mobility2) = (
                made[gears.follower[i]],
                made[gears.leader[i]],
            )
            ratio = gears.ratio[i]
            error = (q - ratio * q2 - gears.offset[i]) / self.h
            share = _CLOSING / max(abs(error), _CLOSING)
            rate = -share * error - (drift - ratio * drift2)
            least = _STIFFEST * (mobility + ratio**2 * mobility2)
            self._add(J - ratio * J2, rate, max(share * self.settings.cfm / self.h, least))
        loops = articulation.loops
        self._softness = self.settings.cfm / self.h
        for i in range(len(loops.kind)):
            a, b = (_group(groups, n[i]) for n in (loops.a, loops.b))
            frames = ((a, loops.R_a[i], loops.p_a[i]), (b, loops.R_b[i], loops.p_b[i]))
            self._add_loop(a, b, LoopKind(loops.kind[i]), loops.axis[i], frames)

    def _add_loop(self, a, b, kind, axis, frames):
        """Hold an extra joint between groups; ``frames`` are both poses of its frame."""
        (R_a, p_a), (R_b, p_b) = (_placed(*frame) for frame in frames)
        axis_a, axis_b = R_a @ axis, R_b @ axis
        # Across or along an axis of a, the point of a moves with b's.
        planes = {LoopKind.PISTON: _across(axis_a), LoopKind.XY: _across(axis_a)}
        planes[LoopKind.Z] = (axis_a,)
        if kind in planes:
            for direction in planes[kind]:
                J = self._along(a, b, direction, p_b, p_b)
                self._hold(J, direction @ (p_a - p_b))
        elif kind is LoopKind.FIXED:
            self._hold_centre(b, a, (R_b, p_b), (R_a, p_a))
        else:
            self._hold_point(a, b, p_a, p_b, _AXES)
        if kind in (LoopKind.HINGE, LoopKind.PISTON):
            self._hold_axis(a, b, axis_a, axis_b)
        elif kind is LoopKind.FIXED:
            self._hold_orientation(a, b, R_a, R_b)

    def _add_joint(self, name, articulation, state, j):
        """Hold and drive a joint. Return the row of its rate, its q, drift and mobility."""
        joints, of, groups = articulation.joints, articulation.groups, self.groups[name]
        child, parent = _group(groups, joints.child[j]), _group(groups, joints.parent[j])
        kind, anchor, axis = JointKind(joints.kind[j]), joints.anchor[j], joints.axis[j]
        if kind is JointKind.SLIDER:  # any point will do; orientations have small errors
            anchor = of.zero_p[joints.child[j]]
        poses = []
        for group, g in ((child, joints.child[j]), (parent, joints.parent[j])):
            zero = np.eye(3), np.zeros(3)
            if group is not None:  # in the group's frame
                zero = of.zero_R[g].T, of.zero_R[g].T @ (anchor - of.zero_p[g])
                poses.append((group.R @ zero[0], group.p + group.R @ zero[1]))
            else:
                poses.append((zero[0], anchor))
        (R_a, p_a), (R_b, p_b) = poses  # orientations equal at zero
        if kind is JointKind.FIXED:
            self._hold_centre(child, parent, (R_a, p_a), (R_b, p_b))
            self._hold_orientation(child, parent, R_a, R_b)
            return None
        axis_a, axis_b = R_a @ axis, R_b @ axis
        turns, q_start = kind is JointKind.HINGE, float(state["joint_q"][j])
        if turns:
            self._hold_point(child, parent, p_a, p_b, _AXES)
            self._hold_axis(child, parent, axis_a, axis_b)
            angle = Rotation.from_matrix(R_b.T @ R_a).as_rotvec() @ axis
            q = angle + 2.0 * np.pi * round((q_start - angle) / (2.0 * np.pi))
            J = self._about(child, parent, axis_a)
        else:
            self._hold_orientation(child, parent, R_a, R_b)
            middle = child.p if parent is None else (child.p + parent.p) / 2.0
            for across in _across(axis_a):
                J = self._along(child, parent, across, middle, middle)
                self._hold(J, across @ (p_a - p_b))
            q = axis_a @ (p_a - p_b)
            J = self._along(child, parent, axis_a, middle, middle)
        rate = _rate_at_start(child, parent, child.R.T @ axis_a, turns=turns)
        drift = J @ self.v - rate
        mobility = self._mobility(child, parent, turns=turns)
        self._drive(name, articulation, state, j, (J, q, drift, mobility))
        return J, q, drift, mobility

    def _drive(self, name, articulation, state, j, moved):
        """Add rotor, viscous friction, drive, Coulomb friction and stop; forces in steps of h."""
        J, q, drift, mobility = moved
        joints, h, i = articulation.joints, self.h, articulation.joints.coordinate[j]
        least = _STIFFEST * mobility
        kp, kd, reference, speed, effort = (
            float(state[f"drive_{k}"][i]) for k in ("kp", "kd", "q", "dq", "effort")
        )
        rotor, lower, upper = (
            joints.rotor_inertia[j],
            joints.effort_lower[j],
            joints.effort_upper[j],
        )
        passive, gain = rotor / h + joints.damping[j], kd + kp * h
        base = effort + kd * speed + kp * (reference - q)
        if passive > 0.0:
            rate = rotor / h * float(state["joint_dq"][j]) / passive
            self._add(J, rate - drift, max(1.0 / passive / h, least))
        if gain > 0.0:
            softness = max(1.0 / gain / h, least)
            row = self._add(J, base / gain - drift, softness, lower * h, upper * h)
            self.drives[name].append((i, row))
        elif (force := np.clip(base, lower, upper)) != 0.0:
            self.rows.append((J, 0.0, 1.0, force * h, force * h))
        if (rubs := joints.friction[j]) > 0.0:
            self._add(J, 0.0, least, -rubs * h, rubs * h)
        low, high = joints.lower[j], joints.upper[j]
        if self.settings.joint_limits and (q <= low or q >= high):
            is_low = q <= low
            bounds = (0.0, np.inf) if is_low else (-np.inf, 0.0)
            rate = self.settings.erp / h * ((low if is_low else high) - q)
            share = _CLOSING / max(abs(rate), _CLOSING)
            self._add(J, share * rate, max(share * self.settings.cfm / h, least), *bounds)

    def touch(self, points, links_of):
        """Add the contacts of a step; only their geometry is read."""
        s, h = self.settings, self.h
        self.contacts = []
        for k in range(len(points)):
            a, b = (
                _group(self.groups[body], links_of[body][link])
                for body, link in zip(points.bodies[k], points.links[k], strict=True)
            )
            p, normal, depth = points.position[k], points.normal[k], points.depth[k]
            softness = max(s.cfm / h, _STIFFEST_CONTACT * self._mobility(a, b))
            if depth < 0.0:
                speed = depth / h
            elif depth < min(_SETTLED, s.surface_layer):
                speed = -_SETTLING
            else:
                speed = s.erp / h * max(depth - s.surface_layer, 0.0)
                speed = min(speed, s.correcting_velocity)
            row = self._add(self._along(a, b, normal, p, p), speed, softness, 0.0)
            tangents = _across(normal)
            if s.friction > 0.0:
                J = np.array([self._along(a, b, t, p, p) for t in tangents])
                self.discs.append((J, softness, row))
            self.contacts.append((row, normal, tangents, len(self.discs) - 1))

    def solve(self):
        """Solve the step, and check that the result satisfies the KKT conditions."""
        M = np.zeros((self._size, self._size))
        f = np.zeros(self._size)
        for g in self._all():
            M[g.at : g.at + 3, g.at : g.at + 3] = g.mass * np.eye(3)
            M[g.at + 3 : g.at + 6, g.at + 3 : g.at + 6] = g.inertia
            f[g.at : g.at + 6] = self.h * np.array([*g.force, *g.torque])
        mass = cholesky(M, lower=True)
        radii = np.zeros(len(self.discs))
        self.tangents = np.array([J for J, *_ in self.discs]).reshape(-1, 2, self._size)
        for _ in range(_ROUNDS):
            p, friction, dv = self._solve_bounded(mass, f, radii)
            before, radii = radii, self.settings.friction * p[[disc[2] for disc in self.discs]]
            if np.allclose(before, radii, rtol=1e-7, atol=1e-12):
                break
        return self._solution(p, friction, dv)

    def _solve_bounded(self, mass, f, radii):
        """Solve with friction of at most ``radii``.

        The rest is a convex problem with bounded rows alone where friction is linear in the slip:
        solve it, go towards its solution while that lets the minimized function decrease, repeat.
        """
        dv, (friction, slips) = np.zeros(self._size), self._friction_of(np.zeros(self._size), radii)
        slips[:] = False
        for _ in range(_ROUNDS):
            p, found = _solve_rows(mass, *self._linear(f, dv, radii, slips))
            p, change = p[: len(self.rows)], found - dv
            part = self._search(mass, f, dv, change, radii) if self.discs else 1.0
            dv = dv + part * change if part < 1.0 else found
            before, slipped = friction, slips
            friction, slips = self._friction_of(dv, radii)
            error = np.abs(friction - before).max(initial=0.0)
            if (
                part == 1.0
                and error <= 1e-10 * np.abs(p).max(initial=0.0)
                and all(slips == slipped)
            ):
                break
        self._check(mass, f, p, friction, dv)
        return p, friction, dv

    def _linear(self, f, dv, radii, slips):
        """Return impulses and rows of a problem in which friction is linear near a solution."""
        rows, pushes = list(self.rows), f.copy()
        for k, (J, softness, _) in enumerate(self.discs):
            if not slips[k]:
                rows += [(J[i], -J[i] @ self.v, softness, -np.inf, np.inf) for i in (0, 1)]
                continue
            slip = J @ (self.v + dv)
            along = slip / np.linalg.norm(slip)
            across = np.array([-along[1], along[0]]) @ J
            pushes -= J.T @ along * radii[k]
            if radii[k] > 0.0:
                softness = np.linalg.norm(slip) / radii[k]
                rows.append((across, -across @ self.v, softness, -np.inf, np.inf))
        return pushes, rows

    def _search(self, mass, f, dv, change, radii):
        """Return the part of a change that minimizes the function along it, at most 1."""
        J, target, softness, lower, upper = (np.array(x) for x in zip(*self.rows, strict=True))
        rate, turned = J @ change, mass.T @ change

        def slope(x):
            now = dv + x * change
            p = np.clip((target - J @ now) / softness, lower, upper)
            friction, _ = self._friction_of(now, radii)
            rubs = np.einsum("nij,j,ni->", self.tangents, change, friction)
            return turned @ (mass.T @ now) - f @ change - rate @ p - rubs

        return brentq(slope, 0.0, 1.0) if slope(0.0) < 0.0 < slope(1.0) else 1.0

    def _friction_of(self, dv, radii):
        """Return the friction of each point at a solution, and whether the point slips."""
        softness = np.array([disc[1] for disc in self.discs])
        friction = -(self.tangents @ (self.v + dv)) / softness[:, None]
        size = np.linalg.norm(friction, axis=1)
        slips = size > radii
        friction[slips] *= (radii[slips] / size[slips])[:, None]
        return friction, slips

    def _check(self, mass, f, p, friction, dv):
        """Assert the KKT conditions of rows and friction."""
        push = f + sum((J.T @ x for (J, *_), x in zip(self.discs, friction, strict=True)), 0.0)
        scale = max(np.abs(p).max(initial=0.0), np.abs(f).max(initial=0.0))
        for (J, target, softness, lower, upper), x in zip(self.rows, p, strict=True):
            push = push + J * x
            rate = target - softness * x - J @ dv
            wrong = {x > lower: min(rate, 0.0), x < upper: max(rate, 0.0)}
            assert all(not inside or abs(r) <= 1e-7 for inside, r in wrong.items()), wrong
            assert lower - _TOLERANCE * scale <= x <= upper + _TOLERANCE * scale
        np.testing.assert_allclose(push, mass @ (mass.T @ dv), rtol=0.0, atol=1e-6 * scale)

    def _solution(self, p, friction, dv):
        momentum = {
            name: np.array(
                [
                    [*g.mass * v[:3], *g.inertia @ v[3:]]
                    for g in groups
                    for v in [(self.v + dv)[g.at : g.at + 6]]
                ]
            ).reshape(-1, 6)
            for name, groups in self.groups.items()
        }
        forces = np.array(
            [
                p[row] * normal + (friction[k] @ tangents if self.discs else 0.0)
                for row, normal, tangents, k in self.contacts
            ]
        ).reshape(-1, 3)
        efforts = {
            name: {i: p[row] / self.h for i, row in rows} for name, rows in self.drives.items()
        }
        return Solution(momentum, forces / self.h, efforts)


def _solve_rows(mass, f, rows):
    """Return the impulses of rows within their bounds, and the changes of velocity."""
    if not rows:
        return np.zeros(0), cho_solve((mass, True), f)
    J, target, softness, lower, upper = (np.array(x) for x in zip(*rows, strict=True))
    fixed = lower == upper
    p = np.where(fixed, lower, 0.0)
    f = f + J.T @ p
    free = ~fixed
    J, target, softness = J[free], target[free], softness[free]
    W = solve_triangular(mass, J.T, lower=True)
    D = W.T @ W + np.diag(softness)
    L = cholesky(D, lower=True)
    c = target - J @ cho_solve((mass, True), f)
    bounds = lower[free], upper[free]
    half = solve_triangular(L, c, lower=True)
    start = lsq_linear(L.T, half, bounds, method="bvls", tol=1e-15, max_iter=1000).x
    p[free] = _polished(D, c, start, *bounds)
    return p, cho_solve((mass, True), f + J.T @ p[free])


def _polished(D, c, x, lower, upper):
    """Return x within its bounds, with D x = c where it is at none.

    Where D is ill-conditioned, the search that led to x may have ended with a wrong bound. A
    primal-dual active set method begins with the bounds found.
    """
    for _ in range(_ROUNDS):
        wanted = x + (c - D @ x) / np.diag(D)
        inside, x = (lower < wanted) & (wanted < upper), np.clip(wanted, lower, upper)
        held = D[:, ~inside] @ x[~inside]
        x[inside] = np.linalg.solve(D[np.ix_(inside, inside)], (c - held)[inside])
        if np.all(inside == ((lower < x) & (x < upper))):
            rates = (c - D @ x)[~inside] * np.where(x == lower, 1.0, -1.0)[~inside]
            if np.all(rates <= 0.0):
                break
    return x


def _group(groups, number):
    return None if number == STATIC else groups[number]


def _rate_at_start(child, parent, axis, *, turns):
    """Return the rate of a joint, whose axis is in the child's frame, at the start of the step."""
    (p, R, w), zero = child.start, np.zeros(3)
    p_other, _, w_other = parent.start if parent else (p, None, zero)
    axis = R @ axis
    if turns:
        return axis @ (w - w_other)
    middle, v_other = (p + p_other) / 2.0, parent.v if parent else zero
    v = child.v + np.cross(w, middle - p) - v_other - np.cross(w_other, middle - p_other)
    return axis @ v


def _placed(group, R, p):
    return (R, p) if group is None else (group.R @ R, group.p + group.R @ p)


def _across(axis):
    """Return two directions across an axis, shape (2, 3)."""
    _, _, directions = np.linalg.svd(skew(axis))
    return directions[:2]


def solve_step(engine, saved):
    """Solve the step that ``engine`` has just taken from a saved state, with its contacts."""
    articulations = {name: entry.initial for name, entry in engine._entries.items()}
    oracle = StepOracle(engine.settings, articulations, saved)
    links_of = {name: a.links.group for name, a in articulations.items()}
    oracle.touch(engine.contact_points(), links_of)
    return oracle.solve()


def momentum_of(engine):
    """Return the momenta of all groups of an engine, as in ``Solution``."""
    saved, found = engine.save(), {}
    for name, entry in engine._entries.items():
        of = entry.initial.groups
        R, v, w = (saved[f"{name}/group_{k}"] for k in ("R", "v", "w"))
        L = np.einsum("gij,gjk,glk,gl->gi", R, of.inertia, R, w)
        found[name] = np.hstack([of.mass[:, None] * v, L])
    return found
