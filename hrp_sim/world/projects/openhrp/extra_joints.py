"""Extra joints between the bodies of an OpenHRP project."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from hrp_model import Body, Pose
from hrp_model.body import ExtraJointType
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.frames import add_unique
from hrp_model.rigid import unit_vector

from ....control.handling import JointEntry
from .items import Item

_TYPES = {"xyz": ExtraJointType.BALL, "xy": ExtraJointType.XY, "z": ExtraJointType.Z}
_AXIS_Z = np.array([0.0, 0.0, 1.0])  # of new items in GrxUI


class ExtraJoints:
    """Reads the items of extra joints.

    Args:
        bodies: By name.
        names: Of all models, including those that could not be read.
    """

    def __init__(self, bodies: Mapping[str, Body], names: Collection[str]) -> None:
        self._bodies = bodies
        self._names = names
        self._read: set[str] = set()

    def read(self, item: Item) -> JointEntry | None:
        """Return a joint, or None after reporting why there is none."""
        ends = [self._end(item, number) for number in (1, 2)]
        kind = item.choice("jointType", _TYPES) or "xyz"
        axis = item.numbers("jointAxis", _AXIS_Z)
        points = [item.numbers(f"link{number}LocalPos", np.zeros(3)) for number in (1, 2)]
        a, b = ends
        if a is None or b is None:
            return None
        if a[0] == b[0]:
            message = f"the extra joint '{item.name}' has no effect: it must connect two bodies"
            item.diagnostics.warn("same-body", message, item.at("object2Name"))
            return None
        if unit_vector(axis) is None:
            if kind != "xyz":
                message = f"the axis of the extra joint '{item.name}' must not be zero"
                item.diagnostics.error("zero-axis", message, item.at("jointAxis"))
            axis = _AXIS_Z
        return JointEntry(
            name=add_unique(item.name or "ExtraJoint", self._read),
            type=_TYPES[kind],
            bodies=(a[0], b[0]),
            links=(a[1], b[1]),
            X_AJ=Pose(p=points[0]),
            X_BJ=Pose(p=points[1]),
            axis=axis,
        )

    def _end(self, item: Item, number: int) -> tuple[str, str] | None:
        """Return the body and the link of one end, or None after reporting what is unknown."""
        key = f"object{number}Name"
        name = item.text(key)
        if name not in self._names:
            hint = did_you_mean_or_all(name, self._names)
            message = f"the extra joint '{item.name}' has no effect: no body '{name}'.{hint}"
            item.diagnostics.warn("unknown-body", message, item.at(key))
            return None
        if name not in self._bodies:  # which was reported
            return None
        key = f"link{number}Name"
        links = {link.name: None for link in self._bodies[name].links}
        link = item.text(key)
        if link not in links:
            hint = did_you_mean_or_all(link, links)
            message = (
                f"the extra joint '{item.name}' has no effect: the body '{name}' has no link "
                f"'{link}'.{hint}"
            )
            item.diagnostics.warn("unknown-link", message, item.at(key))
            return None
        return name, link
