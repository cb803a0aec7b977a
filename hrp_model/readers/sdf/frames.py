"""Poses of links, joints and frames in their model, from poses in each other's frames."""

from __future__ import annotations

from dataclasses import dataclass

from ...diagnostics import Diagnostics, did_you_mean_or_all
from ...frames import add_unique
from ...rigid import Pose
from ..sdf_values import SdfReader
from ..xml_tree import Element

MODEL = "__model__"
WORLD = "world"


@dataclass(frozen=True, eq=False)
class _Frame:
    element: Element
    pose: Pose
    parent: str


class Frames:
    """The frames of a model.

    Args:
        model: The ``<model>``.
        diagnostics: Receives errors.
    """

    def __init__(self, model: Element, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._frames: dict[str, _Frame] = {}
        self._poses: dict[str, Pose] = {MODEL: Pose()}
        self._attached = {MODEL: canonical_link(model)}  # frames to others, joints to their child
        for element in model.all("link", "joint", "frame"):
            self._add(element)
        self._taken = {MODEL, WORLD, *self._frames}

    def new_name(self, wanted: str) -> str:
        """Return a name that nothing in the model has, and which no later call returns."""
        return add_unique(wanted, self._taken)

    def pose(self, name: str) -> Pose | None:
        """Return the pose of a frame in the model; None after reporting an error."""
        return self._resolved(name, ())

    def in_frame(self, pose: Pose, frame: str, link: str, element: Element) -> Pose:
        """Return a pose in a link from one in a frame; "" is the link itself."""
        if frame in ("", link):
            return pose
        self._check(frame, element)
        X_ML, X_MF = self.pose(link), self.pose(frame)
        if X_ML is None or X_MF is None:
            return pose
        return X_ML.inverse() @ X_MF @ pose

    def link(self, name: str) -> str:
        """Return the link that a frame is attached to; other names are returned unchanged."""
        seen: set[str] = set()
        while name in self._attached and name not in seen:
            seen.add(name)
            name = self._attached[name]
        self._attached.update(dict.fromkeys(seen - {name}, name))  # so that chains are short
        return name

    def _add(self, element: Element) -> None:
        name = element.attributes.get("name", "")
        if not name:
            message = f"this {element.tag} has no name"
            self._diagnostics.error("missing-attribute", message, element.span)
            return
        if name in self._frames or name in (MODEL, WORLD):
            message = f"the name '{name}' of this {element.tag} is already used in the model"
            self._diagnostics.error("duplicate-frame-name", message, element.at("name"))
            return
        reader = SdfReader(element, self._diagnostics)
        pose, parent = reader.framed_pose("pose")
        default = MODEL
        if element.tag == "joint":
            default = self._attached[name] = reader.text("child")
        elif element.tag == "frame":
            default = element.attributes.get("attached_to", "") or MODEL
            self._attached[name] = default
        self._frames[name] = _Frame(element, pose, parent or default)

    def _resolved(self, name: str, inside: tuple[str, ...]) -> Pose | None:
        if name in self._poses:
            return self._poses[name]
        frame = self._frames.get(name)
        if frame is None:
            return None
        if name in inside:
            chain = " -> ".join((*inside[inside.index(name) :], name))
            message = f"poses are relative to each other: {chain}"
            self._diagnostics.error("frame-cycle", message, frame.element.span)
            return None
        if not self._check(frame.parent, frame.element):
            return None
        X_MP = self._resolved(frame.parent, (*inside, name))
        if X_MP is None:
            return None
        self._poses[name] = X_MP @ frame.pose
        return self._poses[name]

    def _check(self, name: str, element: Element) -> bool:
        """Return whether a frame exists; False after reporting that it does not."""
        if name in self._frames or name == MODEL:
            return True
        message = f"there is no frame '{name}'.{did_you_mean_or_all(name, self._frames)}"
        self._diagnostics.error("unknown-frame", message, element.span)
        return False


def canonical_link(model: Element) -> str:
    """Return the name of the link that carries the frame of a model, by default the first one."""
    first = model.first("link")
    default = "" if first is None else first.attributes.get("name", "")
    return model.attributes.get("canonical_link", "") or default
