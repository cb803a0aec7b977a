"""All models of a world, or of a file with several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...body import Body, JointType
from ...reading import Reading, TooLargeError
from ...rigid import Pose
from ..sdf_values import SdfReader
from ..xml_tree import Element
from .frames import MODEL, WORLD, Frames
from .nesting import Nesting, model_pose, pose_element
from .to_body import ModelReader

_MAX_MODELS = 1000  # a larger world cannot be stepped in reasonable time


class WorldReader:
    """Reads the models of a world.

    Args:
        world: The ``<world>``, or an ``<sdf>`` with models.
        reading: Receives problems.
    """

    def __init__(self, world: Element, reading: Reading) -> None:
        self._world = world
        self._reading = reading
        self._nesting = Nesting(reading)
        self._read: dict[tuple[object, ...], list[Body]] = {}

    def bodies(self) -> Iterator[tuple[Body, Body]]:
        """Yield each body in the world, and the same body at the origin.

        Models that are included several times are read once. Links of a model that no joint
        connects are bodies of their own.
        """
        models = list(self._models())
        placed = [model_pose(model, self._reading) for model, _ in models]
        frames = self._frames([model for model, _ in models], placed)
        for (model, other), (X_FM, parent) in zip(models, placed, strict=True):
            X_WM = X_FM
            if parent not in ("", WORLD):
                X_WM = frames.in_frame(X_FM, parent, MODEL, model)
            name = model.attributes.get("name", "")
            is_static = SdfReader(model, self._reading.diagnostics).flag("static")
            for body in self._at_origin(model) if other is None else [other]:
                root = replace(body.root, X_PL=X_WM @ body.root.X_PL)
                if is_static:
                    root = replace(root, joint=replace(root.joint, type=JointType.FIXED))
                _, scope, part = body.name.partition("::")
                named = f"{name or body.name}{scope}{part}"
                yield replace(body, name=named, links=(root, *body.links[1:])), body

    def _models(self) -> Iterator[tuple[Element, Body | None]]:
        """Yield the models without nested ones; those of other formats with their bodies."""
        elements = self._world.all("model", "include")
        for number, element in enumerate(elements):
            if number == _MAX_MODELS:
                message = f"the world has more than {_MAX_MODELS} models"
                raise TooLargeError(message, element.span)
            if element.tag == "model":
                yield self._nesting.merged(element), None
            elif (of_other_format := self._nesting.included_body(element)) is not None:
                yield of_other_format
            elif (found := self._nesting.included(element)) is not None:
                if found.tag == "model":
                    yield found, None
                elif found.tag != "light":
                    message = f"<{found.tag}> is left out: it has no counterpart"
                    self._reading.diagnostics.warn("no-counterpart", message, element.span)

    def _frames(self, models: list[Element], placed: list[tuple[Pose, str]]) -> Frames:
        """Return the frames of the world and of its models, as those of one model."""
        children = list(self._world.all("frame"))
        names = {frame.attributes.get("name") for frame in children} | {""}
        for model, (X_FM, parent) in zip(models, placed, strict=True):
            name = model.attributes.get("name", "")
            if name not in names:  # of equal ones the first counts
                names.add(name)
                pose = pose_element(X_FM, MODEL if parent in ("", WORLD) else parent, model)
                attributes = {"name": name}
                frame = Element("frame", attributes, model.source, model.start, [pose])
                children.append(frame)
        whole = Element("model", {}, self._world.source, self._world.start, children)
        return Frames(whole, self._reading.diagnostics)

    def _at_origin(self, model: Element) -> list[Body]:
        """Return the bodies of a model whose frame is that of the world."""
        parts = [x for x in model.children if x.tag != "pose"]
        key = tuple(
            (x.tag, x.text, *x.attributes.values()) if x.tag in ("static", "plugin") else id(x)
            for x in parts
        )
        if key not in self._read:
            attributes = {k: x for k, x in model.attributes.items() if k != "placement_frame"}
            placed = replace(model, attributes=attributes, children=parts)
            self._read[key] = ModelReader(placed, self._reading).bodies(may_be_several=True)
        return self._read[key]
