"""All models of a world, or of a file with several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...body import Body, JointType
from ...read_context import ReadContext, TooLargeError
from ...rigid import Pose
from ..sdf_values import SdfReader
from ..xml_tree import Element
from .frames import MODEL, WORLD, Frames
from .nesting import Nesting, model_pose, overridden, pose_element
from .to_body import ModelReader

_MAX_MODELS = 1000  # a larger world cannot be stepped in reasonable time


@dataclass(frozen=True, eq=False)
class _Model:
    """A model of the world.

    Attributes:
        at: Its name and place in the file.
        X_FM: Pose of its frame in frame F.
        frame: Name of F; "" for the world.
        is_static: Whether it does not move.
        bodies: Its bodies when its frame is that of the world.
    """

    at: Element
    X_FM: Pose
    frame: str
    is_static: bool
    bodies: list[Body]


class WorldReader:
    """Reads the models of a world.

    Args:
        world: The ``<world>``, or an ``<sdf>`` with models.
        context: Receives problems.
    """

    def __init__(self, world: Element, context: ReadContext) -> None:
        self._world = world
        self._context = context
        self._nesting = Nesting(context)
        # By included model, and what else its inclusion states.
        self._read: dict[tuple[int, str | None, int], list[Body]] = {}

    def bodies(self) -> Iterator[tuple[Body, Body]]:
        """Yield each body in the world, and the same body at the origin.

        Models that are included several times are read once. Links of a model that no joint
        connects are bodies of their own.
        """
        models = list(self._models())
        frames = self._frames(models)
        for model in models:
            X_WM = model.X_FM
            if model.frame:
                X_WM = frames.in_frame(X_WM, model.frame, MODEL, model.at)
            name = model.at.attributes.get("name", "")
            for body in model.bodies:
                root = replace(body.root, X_PL=X_WM @ body.root.X_PL)
                if model.is_static:
                    root = replace(root, joint=replace(root.joint, type=JointType.FIXED))
                _, scope, part = body.name.partition("::")
                named = f"{name or body.name}{scope}{part}"
                yield replace(body, name=named, links=(root, *body.links[1:])), body

    def _models(self) -> Iterator[_Model]:
        for number, element in enumerate(self._world.all("model", "include")):
            if number == _MAX_MODELS:
                message = f"the world has more than {_MAX_MODELS} models"
                raise TooLargeError(message, element.span)
            if element.tag == "model":
                model = self._nesting.merged(element)
                yield self._model(model, self._bodies(model))
            else:
                yield from self._included(element)

    def _included(self, include: Element) -> Iterator[_Model]:
        """Yield an included model; a light has no body."""
        other = self._nesting.included_body(include)
        if other is not None:
            model, body = other
            yield self._model(model, [body])
            return
        base = self._nesting.file(include)
        if base is None or base.tag == "light":
            return
        if base.tag != "model":
            message = f"<{base.tag}> is left out: it has no counterpart"
            self._context.diagnostics.warn("no-counterpart", message, include.span)
            return
        model = overridden(base, include)
        static = include.first("static")
        plugins = sum(1 for _ in include.all("plugin"))
        key = id(base), None if static is None else static.text, plugins
        if key not in self._read:
            self._read[key] = self._bodies(model)
        yield self._model(model, self._read[key])

    def _model(self, model: Element, bodies: list[Body]) -> _Model:
        X_FM, frame = model_pose(model, self._context)
        is_static = SdfReader(model, self._context.diagnostics).flag("static")
        attributes = {"name": model.attributes.get("name", "")}
        at = Element("model", attributes, model.source, model.start)
        return _Model(at, X_FM, "" if frame == WORLD else frame, is_static, bodies)

    def _bodies(self, model: Element) -> list[Body]:
        """Return the bodies of a model at the origin."""
        attributes = {k: x for k, x in model.attributes.items() if k != "placement_frame"}
        parts = [x for x in model.children if x.tag != "pose"]
        placed = replace(model, attributes=attributes, children=parts)
        return ModelReader(placed, self._context).bodies(may_be_several=True)

    def _frames(self, models: list[_Model]) -> Frames:
        """Return the frames of the world and of its models, as those of one model."""
        children = list(self._world.all("frame"))
        names = {frame.attributes.get("name") for frame in children} | {""}
        for model in models:
            at = model.at
            name = at.attributes["name"]
            if name not in names:  # of equal ones the first counts
                names.add(name)
                pose = pose_element(model.X_FM, model.frame or MODEL, at)
                children.append(Element("frame", {"name": name}, at.source, at.start, [pose]))
        whole = Element("model", {}, self._world.source, self._world.start, children)
        return Frames(whole, self._context.diagnostics)
