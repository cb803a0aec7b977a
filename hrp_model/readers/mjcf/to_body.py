"""Build a Body from a compiled model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np

from ...body import Body, ExtraJoint, ExtraJointType, Joint, JointType, Link, Mimic, link_pair
from ...diagnostics import listed
from ...frames import add_unique
from ...inertia import MassProperties
from ...read_context import ReadContext
from ...rigid import Array, Pose, quaternion_matrix
from ..joints import intermediate_link
from .compiler import Compiled, titled
from .joints import JointReader
from .parts import DeviceReader, ShapeReader

_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
_MAX_LISTED = 5


class ModelReader:
    """Reads the robot in a model; other bodies are its surroundings."""

    def __init__(self, compiled: Compiled, context: ReadContext) -> None:
        self._compiled = compiled
        self._model = compiled.model
        self._context = context
        self._diagnostics = context.diagnostics
        self._joints = JointReader(compiled, context.diagnostics)
        self._shapes = ShapeReader(compiled, context)
        self._offsets: dict[int, Pose] = {}  # of bodies in their links
        self._taken = set(compiled.body_names)

    def body(self) -> Body | None:
        """Return the body, or None after reporting errors."""
        root = self._root()
        if root is None:
            return None
        bodies = [root, *self._below(root)]
        links: list[Link] = []
        numbers = self._motor_numbers(bodies)
        for b in bodies:
            links += self._links(b, is_root=b == root, numbers=numbers)
        devices = DeviceReader(self._compiled, self._offsets, self._diagnostics).devices()
        source = self._compiled.root.source
        return Body(
            name=self._compiled.root.attributes.get("model") or source.stem,
            links=_with_mimics(links, self._mimics()),
            devices=devices,
            extra_joints=tuple(self._extra_joints()),
            self_collision_disabled=frozenset(
                link_pair(self._compiled.body_names[a], self._compiled.body_names[b])
                for a, b in self._pairs_without_contact(bodies)
            ),
            path=source.path,
        )

    def _root(self) -> int | None:
        """Return the top body of the robot, or None after reporting an error.

        Of the bodies at the top level it is the only one with joints; if several have, the only
        one that is not just a free object; if none has, the only one.
        """
        model, names = self._model, self._compiled.body_names
        tops = [b for b in range(1, model.nbody) if model.body_parentid[b] == 0]
        moving = [b for b in tops if self._joint_types(b)] or tops
        if len(moving) > 1:
            moving = [b for b in moving if self._joint_types(b) != [_FREE]] or moving
        if len(moving) != 1:
            shown = listed([f"'{names[b]}'" for b in moving], _MAX_LISTED)
            message = f"the file contains {len(moving)} robots: {shown}; write each into a file"
            if not moving:
                message = "the file contains no robot: its <worldbody> has no bodies"
            self._diagnostics.error("second-root", message, self._compiled.root.span)
            return None
        for b in (0, *tops):
            if b != moving[0] and (b or model.body_geomnum[0]):
                what = f"the body '{names[b]}' and its shapes" if b else "the shapes of the world"
                message = f"{what} are left out: not a part of the robot"
                self._diagnostics.warn("no-counterpart", message, self._compiled.at_body(b))
        return moving[0]

    def _joint_types(self, top: int) -> list[int]:
        """Return the types of all joints of a body and of those below it."""
        joints = (j for b in (top, *self._below(top)) for j in self._joint_indices(b))
        return [int(self._model.jnt_type[j]) for j in joints]

    def _below(self, top: int) -> list[int]:
        """Return the bodies below one at the top level, parents first."""
        inside: list[int] = np.flatnonzero(self._model.body_rootid == top).tolist()
        return inside[1:]

    def _joint_indices(self, b: int) -> range:
        start = int(self._model.body_jntadr[b])
        return range(start, start + int(self._model.body_jntnum[b]))

    def _motor_numbers(self, bodies: list[int]) -> dict[int, int]:
        """Return the ids of joints with motors."""
        mimics = self._joints.mimics
        joints = [j for b in bodies for j in self._joint_indices(b)]
        driven = [
            j
            for j in joints
            if self._model.jnt_type[j] not in (_FREE, _BALL)
            and j not in mimics
            and self._joints.has_motor(j)
        ]
        return {j: number for number, j in enumerate(driven)}

    def _links(self, b: int, *, is_root: bool, numbers: dict[int, int]) -> Iterator[Link]:
        """Yield the link of a body, after links without mass between its joints.

        The frame of a link is on the axis of its joint.
        """
        model, name = self._model, self._compiled.body_names[b]
        at = self._compiled.at_body(b)
        X = _pose(model.body_pos[b], model.body_quat[b])
        joints = list(self._joint_indices(b))
        if is_root and joints and model.jnt_type[joints[0]] == _FREE:
            fixed = Joint(type=JointType.FREE, name=self._joints.name(joints[0]))
            yield self._link(b, None, fixed, X, Pose())
            return
        parent = None if is_root else self._compiled.body_names[model.body_parentid[b]]
        if not joints:
            joint = Joint(type=JointType.FIXED, name=name)
            yield self._link(b, parent, joint, self._in_parent(b) @ X, Pose())
            return
        if is_root:  # a link that stands in the world carries the first joint
            parent = add_unique(f"{name}_base", self._taken)
            yield Link(
                name=parent, parent=None, joint=Joint(type=JointType.FIXED, name=parent), at=at
            )
        X = self._in_parent(b) @ X
        X_BL = Pose()
        chain = [(j, joint) for j in joints for joint in self._joints.joints(j, numbers.get(j))]
        for number, (j, joint) in enumerate(chain):
            # From the frame of the link before to the anchor, and back by the reference.
            X_BJ = Pose(p=self._joints.anchor(j))
            X_PL = X @ X_BL.inverse() @ X_BJ @ self._joints.at_zero(j)
            X, X_BL = Pose(), X_BJ
            info = self._joints.info(j)
            if number < len(chain) - 1:
                between = add_unique(f"{name}_{joint.name}", self._taken)
                link = intermediate_link(between, parent, joint, X_PL, at)
                yield replace(link, info=info)
                parent = between
            else:
                yield self._link(b, parent, joint, X_PL, X_BL.inverse(), info)

    def _in_parent(self, b: int) -> Pose:
        """Return the pose of the parent body in its link."""
        return self._offsets.get(int(self._model.body_parentid[b]), Pose())

    def _link(
        self,
        b: int,
        parent: str | None,
        joint: Joint,
        X_PL: Pose,
        X_LB: Pose,
        info: dict[str, object] | None = None,
    ) -> Link:
        model = self._model
        self._offsets[b] = X_LB
        about_center = MassProperties(
            float(model.body_mass[b]), np.zeros(3), np.diag(model.body_inertia[b])
        )
        mass = about_center.expressed_in(X_LB @ _pose(model.body_ipos[b], model.body_iquat[b]))
        visual, collision = self._shapes.shapes(b, X_LB)
        at = self._compiled.at_body(b)
        return Link(
            name=self._compiled.body_names[b],
            parent=parent,
            joint=joint,
            X_PL=X_PL,
            mass=mass.mass,
            center_of_mass=mass.center_of_mass,
            inertia=mass.inertia,
            visual=visual,
            collision=collision,
            weight_share=1.0 - float(model.body_gravcomp[b]),
            info=info or {},
            at=at,
        )

    def _mimics(self) -> dict[str, tuple[str, float, float]]:
        """Return leaders, multipliers and offsets by name of the joint."""
        name = self._joints.name
        return {
            name(j): (name(line.leader), line.slope, line.offset)
            for j, line in self._joints.mimics.items()
        }

    def _extra_joints(self) -> Iterator[ExtraJoint]:
        """Yield the constraints that connect two bodies at a point."""
        model = self._model
        for i in range(model.neq):
            kind = model.eq_type[i]
            if kind == mujoco.mjtEq.mjEQ_JOINT or not model.eq_active0[i]:
                continue
            a, b = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
            of_bodies = model.eq_objtype[i] == mujoco.mjtObj.mjOBJ_BODY
            name = model.equality(i).name
            if kind == mujoco.mjtEq.mjEQ_CONNECT and of_bodies and {a, b} <= self._offsets.keys():
                points = np.array(model.eq_data[i, :6]).reshape(2, 3)
                yield ExtraJoint(
                    type=ExtraJointType.BALL,
                    links=(self._compiled.body_names[a], self._compiled.body_names[b]),
                    X_AJ=self._offsets[a] @ Pose(p=points[0]),
                    X_BJ=self._offsets[b] @ Pose(p=points[1]),
                    name=name,
                )
                continue
            tag = mujoco.mjtEq(kind).name.removeprefix("mjEQ_").lower()
            message = f"{titled('equality', name)} of type {tag} is left out"
            at = self._compiled.at("equalities", i)
            self._diagnostics.warn("no-counterpart", message, at)

    def _pairs_without_contact(self, bodies: list[int]) -> Iterator[tuple[int, int]]:
        model, known = self._model, set(bodies)
        yield from self._shapes.pairs_without_contact(bodies)
        for b in bodies[1:]:  # also without shapes, which it may be given later
            parent = int(model.body_parentid[b])
            if model.body_weldid[parent] or not model.body_weldid[b]:
                yield b, parent
        for signature in model.exclude_signature.tolist():
            a, b = signature >> 16, signature & 0xFFFF
            if a in known and b in known:
                yield a, b
        if model.npair:
            message = f"{model.npair} contact pairs are left out: the masks of geoms are used"
            self._diagnostics.warn("no-counterpart", message, self._compiled.root.span)


def _with_mimics(
    links: list[Link], mimics: dict[str, tuple[str, float, float]]
) -> tuple[Link, ...]:
    """Return links whose joints follow others."""
    by_joint = {link.joint.name: link for link in links}
    made = []
    for link in links:
        if link.joint.name in mimics:
            leader, multiplier, offset = mimics[link.joint.name]
            mimic = Mimic(by_joint[leader].name, multiplier, offset)
            initial = mimic.position(by_joint[leader].joint.initial)
            link = replace(link, joint=replace(link.joint, mimic=mimic, initial=initial))
        made.append(link)
    return tuple(made)


def _pose(position: Any, wxyz: Any) -> Pose:
    q: Array = np.array(wxyz)
    return Pose(quaternion_matrix(np.roll(q, -1)), np.array(position))
