"""Gearboxes: joints that couple two hinges."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...body import JointType
from ...diagnostics import Diagnostics
from ..mimics import Follower
from ..sdf_values import SdfReader
from ..xml_tree import Element
from .frames import Frames
from .joints import AXES, JointParts, JointReader


class GearReader:
    """Reads gearboxes of a model whose other joints have been read.

    Args:
        above: The joint above each link that has one.
        frames: The frames of the model.
        joints: Reads axes.
        diagnostics: Receives problems.
    """

    def __init__(
        self,
        above: Mapping[str, JointParts],
        frames: Frames,
        joints: JointReader,
        diagnostics: Diagnostics,
    ) -> None:
        self._above = above
        self._frames = frames
        self._joints = joints
        self._diagnostics = diagnostics
        self._followers: dict[str, Follower] = {}
        for parts in above.values():
            self._followers |= parts.followers

    def followers(self, gearboxes: list[Element]) -> dict[str, Follower]:
        """Return how joints follow others, also those of mimics and screws, by name."""
        for element in gearboxes:
            self._add(element)
        return self._followers

    def _add(self, element: Element) -> None:
        """Add the hinge between reference body and child, which follows that to the parent.

        With the angles theta_1 of the parent and theta_2 of the child about ``axis`` and
        ``axis2``, both relative to the reference body, theta_2 = -ratio theta_1.
        """
        reader = SdfReader(element, self._diagnostics)
        name = element.attributes.get("name", "")
        reference = self._frames.link(reader.text("gearbox_reference_body"))
        ratio = -reader.number("gearbox_ratio", default=1.0)
        if ratio == 0.0:
            message = f"the ratio of the gearbox '{name}' must not be zero"
            self._diagnostics.error("wrong-value", message, element.span)
            return
        hinges: list[str] = []
        for side, tag in zip(("parent", "child"), AXES, strict=True):
            link = self._frames.link(reader.text(side))
            found = self._hinge(reference, link, element, tag)
            if found is None:
                if not self._diagnostics.has_errors:
                    reason = f"no hinge connects its {side} '{link}' to '{reference}'"
                    self._leave_out(name, reason, element)
                return
            hinges.append(found[0])
            ratio *= found[1]
        leader, follower = hinges
        if follower in self._followers:  # then the other one may follow
            leader, follower, ratio = follower, leader, 1.0 / ratio
        if follower in self._followers or follower == leader:
            self._leave_out(name, f"'{follower}' follows in more than one way", element)
            return
        self._followers[follower] = Follower(leader, ratio, 0.0, element.span)

    def _hinge(
        self, reference: str, link: str, element: Element, tag: str
    ) -> tuple[str, float] | None:
        """Return the hinge of a link on the reference body, and the sign of its angle."""
        for child, parent in ((link, reference), (reference, link)):
            parts = self._above.get(child)
            if parts is None or parts.parent != parent or len(parts.chain) > 1:
                continue
            joint, X_MC = parts.chain[child], self._frames.pose(child)
            X_MJ = self._frames.pose(element.attributes.get("name", ""))
            if joint.type is not JointType.REVOLUTE or X_MC is None or X_MJ is None:
                continue
            axis = self._joints.direction(element, tag, X_MJ)
            if axis is None:
                return None
            sign = float(np.copysign(1.0, axis @ (X_MC.R @ joint.axis)))
            return joint.name, sign if child == link else -sign
        return None

    def _leave_out(self, name: str, reason: str, element: Element) -> None:
        message = f"the gearbox '{name}' is left out: {reason}"
        self._diagnostics.warn("no-counterpart", message, element.span)
