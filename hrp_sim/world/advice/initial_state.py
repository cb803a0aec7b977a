"""Initial state of a body, with the derived quantities that the rules need."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from math import floor, log10
from typing import NamedTuple, TypeAlias

import numpy as np

from hrp_model import Body, BodyState, Diagnostic, JointType, Link, Severity
from hrp_model.devices import ForceSensor
from hrp_model.inertia import MassProperties, merge, symmetric
from hrp_model.rigid import Array, Pose

from ...control import ControlMode, JointControl
from ...engine.articulation.numeric_limits import MassRepair, mass_repairs
from ...engine.engine import PhysicsSettings
from ..config import BodyEntry


class Group(NamedTuple):
    """Links that an engine merges into one rigid body.

    Attributes:
        link: The first link.
        parent: Index of the parent group; None if the parent is the world or there is none.
        floats: Whether the group has no parent joint.
        anchor: Position of the parent joint in W, in [m], shape (3,).
        whole: Mass, centre of mass and inertia, in W.
    """

    link: Link
    parent: int | None
    floats: bool
    anchor: Array
    whole: MassProperties


class InitialState:
    """Initial state of a body of the world.

    Attributes:
        entry: Its entry in the world configuration.
        name: Name of the body in the world.
        body: The model.
        physics: Settings of the world.
        state: Posture and motion of all links.
        joined_links: Pairs of links that joints between bodies connect: the name of a link of
            this body, of the other body, and of its link.
    """

    def __init__(
        self,
        entry: BodyEntry,
        physics: PhysicsSettings,
        joined_links: Collection[tuple[str, str, str]] = (),
    ) -> None:
        placement = entry.placement
        self.entry = entry
        self.physics = physics
        self.joined_links = frozenset(joined_links)
        self.name: str = placement.name
        self.body: Body = placement.body
        self.state = BodyState(self.body)
        self.state.q[:] = placement.initial_q
        if placement.dq is not None:
            self.state.dq[:] = placement.dq
        self.state.p[0], self.state.R[0] = placement.X_WL.p, placement.X_WL.R
        if not placement.fixed:
            self.state.v[0], self.state.w[0] = placement.v, placement.w
        self.state.calc_forward_kinematics(velocity=True)

    @property
    def is_free(self) -> bool:
        """Whether the root can move."""
        return not self.entry.placement.fixed

    @cached_property
    def mobile(self) -> list[bool]:
        """Whether each link can move."""
        found: list[bool] = []
        for link, parent in zip(self.body.links, self.body.parent_indices, strict=True):
            above = self.is_free if parent < 0 else found[parent]
            found.append(above or (parent >= 0 and not link.joint.is_fixed))
        return found

    @cached_property
    def mass_repairs(self) -> Mapping[str, MassRepair]:
        """Replaced masses and inertias, by the first link of each rigid group."""
        return mass_repairs(self.entry.placement, self.physics)

    @property
    def groups(self) -> list[Group]:
        """The rigid groups that can move, parents before children."""
        return self._partition[0]

    def is_rigid(self, link: int, other: int) -> bool:
        """Return whether two links, given by index, belong to the same group or cannot move."""
        group_of = self._partition[1]
        return group_of[link] == group_of[other]

    @cached_property
    def _partition(self) -> tuple[list[Group], list[int | None]]:
        """The groups, and the index of the group of each link; None for one that cannot move."""
        with_sensor = {d.link for d in self.body.devices if isinstance(d, ForceSensor)}
        group_of: list[int | None] = []
        members: list[list[int]] = []
        above: list[int | None] = []
        for i, (link, parent) in enumerate(
            zip(self.body.links, self.body.parent_indices, strict=True)
        ):
            group = None if parent < 0 else group_of[parent]
            joined = parent >= 0 and link.joint.is_fixed and link.name not in with_sensor
            if not self.mobile[i] or (joined and group is not None):
                group_of.append(group)
                if group is not None:
                    members[group].append(i)
                continue
            group_of.append(len(members))
            above.append(None if link.joint.type is JointType.FREE else group)
            members.append([i])
        groups = [self._group(parent, own) for parent, own in zip(above, members, strict=True)]
        return groups, group_of

    def _group(self, parent: int | None, members: list[int]) -> Group:
        first = members[0]
        link = self.body.links[first]
        floats = link.joint.type is JointType.FREE or (first == 0 and self.is_free)
        return Group(link, parent, floats, self.state.p[first], self._merged(members))

    def _merged(self, members: list[int]) -> MassProperties:
        change = self.mass_repairs.get(self.body.links[members[0]].name)
        if change is not None:
            first = Pose(self.state.R[members[0]], self.state.p[members[0]])
            return change.after.expressed_in(first)
        parts = []
        for i in members:
            link = self.body.links[i]
            part = MassProperties(link.mass, link.center_of_mass, symmetric(link.inertia))
            parts.append(part.expressed_in(Pose(self.state.R[i], self.state.p[i])))
        return merge(parts)

    def joints(self) -> Iterator[tuple[int, Link]]:
        """Yield the index of each joint in the joint vectors, and its child link."""
        yield from enumerate(self.body.moving_links)

    def mode(self, link: Link) -> ControlMode:
        """Return the control mode of the joint of a link."""
        control = self.entry.control
        own = control.joints.get(link.joint.name, JointControl()).mode
        return control.mode if own is None else own

    def warning(self, code: str, message: str, link: Link | None = None) -> Diagnostic:
        """Return a warning about this body, located at the link's definition in the model."""
        return self._diagnostic(Severity.WARNING, code, message, link)

    def note(self, code: str, message: str, link: Link | None = None) -> Diagnostic:
        """Return a note about this body, located at the link's definition in the model."""
        return self._diagnostic(Severity.NOTE, code, message, link)

    def _diagnostic(
        self, severity: Severity, code: str, message: str, link: Link | None
    ) -> Diagnostic:
        at = (self.body.root if link is None else link).at
        return Diagnostic(severity, code, f"body '{self.name}': {message}", at)


# The bodies of a world, in its order.
Starts: TypeAlias = Sequence[InitialState]


def norm(vector: Array) -> float:
    """Return the length of a vector."""
    return float(np.linalg.norm(vector))


def rounded_down(value: float) -> float:
    """Return a positive number rounded down to one significant digit."""
    size = 10.0 ** floor(log10(value))
    return float(f"{floor(value / size) * size:.1g}")
