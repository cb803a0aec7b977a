"""Models in a model, merged into one.

Links, joints and frames of a nested model ``n`` get the names by which SDF refers to them from
outside, such as ``n::link``; the frame of the nested model is a frame ``n``.
"""

from __future__ import annotations

from dataclasses import replace
from operator import is_
from pathlib import Path

from ...body import Body
from ...reading import Reading
from ...rigid import Pose, matrix_quaternion
from ..sdf_values import SdfReader
from ..xml_tree import Element
from .frames import MODEL, WORLD, Frames, canonical_link
from .includes import Includes, overridden
from .joints import AXES

_SCOPE = "::"
# Elements whose text is a name in the model, attributes that are, and those of single elements.
_TEXTS = ("parent", "child", "gearbox_reference_body")
_ATTRIBUTES = {"relative_to", "attached_to", "expressed_in"}
_FURTHER = {
    **{tag: {"name"} for tag in ("link", "joint", "frame", "sensor")},
    "pose": {"frame"},
    "mimic": {"joint"},
}
# Elements of a nested model that do not become those of the outer one.
_OWN = ("pose", "static", "self_collide", "allow_auto_disable", "enable_wind")


class Nesting:
    """Merges nested and included models.

    Args:
        reading: Counts elements, and receives problems.
    """

    def __init__(self, reading: Reading) -> None:
        self._includes = Includes(reading)
        self._reading = reading
        self._files: dict[Path, Element | None] = {}  # without nested models

    def merged(self, model: Element) -> Element:
        """Return a model without nested ones; those that cannot be read are reported."""
        nested: list[Element] = []
        for child in model.all("model", "include"):
            found = self.merged(child) if child.tag == "model" else self.file(child)
            if found is not None and found.tag == "model":
                if child.tag == "include":
                    found = overridden(found, child)
                is_merged = child.attributes.get("merge", "").lower() in ("true", "1")
                nested += self._embedded(found, child, is_merged=is_merged)
        own = [x for x in model.children if x.tag not in ("model", "include")]
        return replace(model, children=own + nested)

    def file(self, include: Element) -> Element | None:
        """Return an included model, light or actor as its file states it, without nested models.

        The same object for the same file; None after reporting errors.
        """
        found = self._includes.standard(include)
        if found is not None:
            return found
        path = self._includes.find(include)
        if path is None:
            return None
        with self._reading.entering(path, include.span) as entered:
            if not entered:
                return None
            if path not in self._files:
                inner = self._includes.read(path, include)
                self._files[path] = None if inner is None else self.merged(inner)
        return self._files[path]

    def included_body(self, include: Element) -> tuple[Element, Body] | None:
        """Return an included model of another format, and its name and place as a ``<model>``.

        None if it is SDF.
        """
        path = self._includes.other_file(include)
        body = None if path is None else self._reading.read_body(path, include.span)
        if body is None:
            return None
        model = Element("model", {"name": body.name}, include.source, include.start)
        return overridden(model, include), body

    def _embedded(self, model: Element, at: Element, *, is_merged: bool) -> list[Element]:
        """Return the parts of a nested model as those of the outer one."""
        name = model.attributes.get("name", "")
        if not name:
            message = "a nested model needs a name"
            self._reading.diagnostics.error("missing-attribute", message, at.span)
            return []
        frame = f"_merged__{name}__model__" if is_merged else name
        scope = _Scope("" if is_merged else f"{name}{_SCOPE}", frame)
        parts = [scope.part(x, self._reading) for x in model.children if x.tag not in _OWN]
        X, parent = model_pose(model, self._reading)
        pose = pose_element(X, parent or MODEL, model)
        attributes = {"name": frame, "attached_to": scope.name(canonical_link(model))}
        return [*parts, Element("frame", attributes, model.source, model.start, [pose])]


class _Scope:
    """Names of a nested model in the outer one.

    Args:
        prefix: Of names of links, joints and frames.
        frame: Name of the frame of the nested model.
    """

    def __init__(self, prefix: str, frame: str) -> None:
        self._prefix = prefix
        self._frame = frame

    def name(self, name: str) -> str:
        """Return the name of a part in the outer model."""
        if name in ("", WORLD):
            return name
        return self._frame if name == MODEL else f"{self._prefix}{name}"

    def part(self, element: Element, reading: Reading) -> Element:
        """Return a copy of a part of the model with the names of the outer one."""
        reading.count("nodes", 1 + sum(1 for _ in element.descendants()), element.span)
        copy = self._renamed(element)
        if element.tag == "frame" and not element.attributes.get("attached_to"):
            attributes = {**copy.attributes, "attached_to": self._frame}
            return replace(copy, attributes=attributes)
        if element.tag != "link":
            return copy
        pose = copy.first("pose")
        if pose is None:
            pose = Element("pose", {}, element.source, element.start)
        if pose.attributes.get("relative_to") or pose.attributes.get("frame"):
            return copy
        placed = replace(pose, attributes={**pose.attributes, "relative_to": self._frame})
        return replace(copy, children=[placed, *(x for x in copy.children if x is not pose)])

    def _renamed(self, element: Element) -> Element:
        """Return an element with other names; what has none is not copied."""
        children = list(map(self._renamed, element.children))
        if element.tag in AXES:
            children = self._turned(children)
        attributes = element.attributes
        names = _ATTRIBUTES if not attributes else _ATTRIBUTES | _FURTHER.get(element.tag, set())
        if not names.isdisjoint(attributes):
            attributes = {k: self.name(x) if k in names else x for k, x in attributes.items()}
        text = self.name(element.text) if element.tag in _TEXTS else element.text
        is_same = attributes is element.attributes and text == element.text
        if is_same and all(map(is_, children, element.children)):
            return element
        return Element(element.tag, attributes, element.source, element.start, children, text)

    def _turned(self, children: list[Element]) -> list[Element]:
        """Return parts of an axis, whose frame is stated if it is that of the nested model."""
        flag = next((x for x in children if x.tag == "use_parent_model_frame"), None)
        if flag is None or flag.text.lower() not in ("1", "true"):
            return children
        xyz = next((x for x in children if x.tag == "xyz"), flag)
        attributes = {**xyz.attributes, "expressed_in": self._frame}
        text = "" if xyz is flag else xyz.text
        stated = Element("xyz", attributes, xyz.source, xyz.start, text=text)
        return [stated, *(x for x in children if x not in (flag, xyz))]


def model_pose(model: Element, reading: Reading) -> tuple[Pose, str]:
    """Return the pose of the frame of a model, and the frame that it is relative to.

    The ``<pose>`` is that of its ``placement_frame``, if it has one.
    """
    X, parent = SdfReader(model, reading.diagnostics).framed_pose("pose")
    placed = model.attributes.get("placement_frame", "")
    if placed:
        frames = Frames(model, reading.diagnostics)
        X = X @ frames.in_frame(Pose(), placed, MODEL, model).inverse()
    return X, parent


def pose_element(X: Pose, parent: str, at: Element) -> Element:
    """Return a pose in a frame as ``<pose>``."""
    numbers = (*X.p.tolist(), *matrix_quaternion(X.R))
    attributes = {"relative_to": parent, "rotation_format": "quat_xyzw"}
    text = " ".join(map(repr, numbers))
    return Element("pose", attributes, at.source, at.start, text=text)
