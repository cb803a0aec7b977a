"""Models in a model, also from other files, merged into one.

Links, joints and frames of a nested model ``n`` get the names by which SDF refers to them from
outside, such as ``n::link``; the frame of the nested model is a frame ``n``. What versions of SDF
imply, or have replaced, is here too.
"""

from __future__ import annotations

import re
from dataclasses import replace
from operator import is_
from pathlib import Path

from ...body import Body
from ...diagnostics import Diagnostics, Source
from ...files.resources import ResourceError
from ...read_context import ReadContext, read_source
from ...rigid import Pose, matrix_quaternion
from ..sdf_values import SdfReader
from ..xml_tree import Element, parse
from .joints import AXES, MODEL, WORLD, Frames, canonical_link

_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})", re.ASCII)
_FILE = re.compile(r"\.(?:sdf|world|xml|urdf|xacro)$", re.IGNORECASE)
_CONFIG = "model.config"
_MAX_CONFIG = 1 << 16  # [B]
# Models that every Gazebo has, and worlds therefore include without their files.
_STANDARD = re.compile(
    r"(?:model://|https?://.*/)(sun|ground[_ ]plane)(?:/[0-9]+)?/?", re.IGNORECASE
)
_GROUND_PLANE = """<model name="ground_plane"><static>true</static><link name="link">
<collision name="collision"><geometry><plane><size>100 100</size></plane></geometry></collision>
<visual name="visual"><geometry><plane><size>100 100</size></plane></geometry></visual>
</link></model>"""
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


def as_newest(root: Element, context: ReadContext) -> bool:
    """Change an ``<sdf>`` of any version to what it means in the newest one.

    Returns:
        False after reporting an unreadable version.
    """
    version = parse_version(root.attributes.get("version", "1.7"))
    if version is None:
        message = f"the version is no number such as 1.9: '{root.attributes['version'][:20]}'"
        context.diagnostics.error("unknown-version", message, root.at("version"))
        return False
    if version >= (1, 7):
        _leave_out_older(root, context)
    elif version < (1, 5):
        _state_older(root)
    return True


def parse_version(text: str) -> tuple[int, int] | None:
    """Return a version, or None if it is none."""
    found = _VERSION.match(text.strip())
    return None if found is None else (int(found[1]), int(found[2]))


def _leave_out_older(root: Element, context: ReadContext) -> None:
    """Leave out what SDF 1.7 has replaced; its programs ignore it, too."""
    for element in root.descendants():
        if element.tag == "pose" and "frame" in element.attributes:
            del element.attributes["frame"]
            message = "frame is ignored, since SDF 1.7 has replaced it: write relative_to"
            context.diagnostics.warn("not-used", message, element.at("frame"))
        elif element.tag == "use_parent_model_frame" and element.text:
            element.text = ""
            message = f"<{element.tag}> is ignored, since SDF 1.7 has replaced it: write "
            message += '<xyz expressed_in="__model__">'
            context.diagnostics.warn("not-used", message, element.span)


def _state_older(root: Element) -> None:
    """State what SDF before 1.5 implies: axes of joints are those of the model."""
    tag = "use_parent_model_frame"
    for axis in root.descendants():
        if axis.tag in AXES:
            axis.children.insert(0, Element(tag, {}, axis.source, axis.start, text="true"))


class Includes:
    """Finds and reads included models."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context
        self._diagnostics = context.diagnostics
        self._standard: dict[str, Element] = {}
        self._chosen: dict[tuple[str, Path], str] = {}  # files in folders

    def find(self, include: Element) -> Path | None:
        """Return the file that is included, or None after reporting why there is none."""
        written = include.first("uri")
        if written is None or not written.text:
            message = "an <include> needs the <uri> of a model"
            self._diagnostics.error("missing-element", message, include.span)
            return None
        uri, at = written.text, written.span
        if re.match(r"https?:", uri, re.IGNORECASE):
            message = (
                f"cannot use '{uri}': nothing is downloaded; download the model into a folder "
            )
            message += "and include that"
            self._diagnostics.error("missing-model", message, at)
            return None
        file = self._file(include)
        return self._context.resolve(file, at, needed=True)

    def other_file(self, include: Element) -> Path | None:
        """Return the included file if it is not SDF, such as a URDF; else None."""
        file = self._file(include)
        if not file.lower().endswith((".urdf", ".xacro")):
            return None
        written = include.first("uri")
        at = include.span if written is None else written.span
        return self._context.resolve(file, at, needed=True)

    def standard(self, include: Element) -> Element | None:
        """Return a model that every Gazebo has, if it is included and there is no file of it."""
        written = include.first("uri")
        uri = "" if written is None else written.text
        match = _STANDARD.fullmatch(uri)
        if match is None or self._context.exists(f"{uri.rstrip('/')}/model.sdf", include.span):
            return None
        if uri not in self._standard:
            text = "<light/>" if match[1].lower() == "sun" else _GROUND_PLANE
            found = parse(Source(uri, text), self._diagnostics)
            assert found is not None
            self._standard[uri] = found
        return self._standard[uri]

    def read(self, path: Path, include: Element) -> Element | None:
        """Return the only model, light or actor of a file, or None after reporting errors."""
        try:
            source = read_source(path)
        except OSError as error:
            message = f"cannot read '{path}': {error.strerror or error}"
            self._diagnostics.error("unreadable-file", message, include.span)
            return None
        count = self._context.count
        root = parse(source, self._diagnostics, lambda at: count("nodes", at=at))
        if root is None:
            return None
        found = list(root.all("model", "light", "actor"))
        if root.tag != "sdf" or len(found) != 1:
            message = f"'{path.name}' cannot be included: it is not an SDF file with one model"
            self._diagnostics.error("not-a-model", message, root.span)
            return None
        return found[0] if as_newest(root, self._context) else None

    def _file(self, include: Element) -> str:
        """Return the reference to the included file.

        In a folder it is that of the newest version, as its model.config states.
        """
        written = include.first("uri")
        uri = "" if written is None else written.text.rstrip("/")
        if _FILE.search(uri):
            return uri
        source = include.source.path
        key = uri, source.parent if source else Path()
        if key not in self._chosen:
            self._chosen[key] = self._file_in(*key)
        return f"{uri}/{self._chosen[key]}"

    def _file_in(self, uri: str, folder: Path) -> str:
        """Return the name of the file to be included from a folder."""
        chosen, newest = "model.sdf", (0, 0)
        try:
            path = self._context.find(f"{uri}/{_CONFIG}", folder)
            config = parse(read_source(path, limit=_MAX_CONFIG), Diagnostics(listener=_ignore))
        except (OSError, ResourceError):
            config = None
        for file in () if config is None else config.all("sdf"):
            version = parse_version(file.attributes.get("version", "")) or (1, 0)
            if file.text and version > newest:
                chosen, newest = file.text, version
        return chosen


def overridden(model: Element, include: Element) -> Element:
    """Return an included model with what the ``<include>`` states instead of its file."""
    attributes = dict(model.attributes)
    for tag in ("name", "placement_frame"):
        stated = include.first(tag)
        if stated is not None and stated.text:
            attributes[tag] = stated.text
    replaced = list(include.all("pose", "static"))
    tags = [x.tag for x in replaced]
    children = [x for x in model.children if x.tag not in tags]
    return replace(
        model, attributes=attributes, children=[*children, *replaced, *include.all("plugin")]
    )


def _ignore(diagnostic: object) -> None:
    del diagnostic


class Nesting:
    """Merges nested and included models.

    Args:
        context: Counts elements, and receives problems.
    """

    def __init__(self, context: ReadContext) -> None:
        self._includes = Includes(context)
        self._context = context
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
        with self._context.entering(path, include.span) as entered:
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
        body = None if path is None else self._context.read_body(path, include.span)
        if body is None:
            return None
        model = Element("model", {"name": body.name}, include.source, include.start)
        return overridden(model, include), body

    def _embedded(self, model: Element, at: Element, *, is_merged: bool) -> list[Element]:
        """Return the parts of a nested model as those of the outer one."""
        name = model.attributes.get("name", "")
        if not name:
            message = "a nested model needs a name"
            self._context.diagnostics.error("missing-attribute", message, at.span)
            return []
        frame = f"_merged__{name}__model__" if is_merged else name
        scope = _Scope("" if is_merged else f"{name}{_SCOPE}", frame)
        parts = [scope.part(x, self._context) for x in model.children if x.tag not in _OWN]
        X, parent = model_pose(model, self._context)
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

    def part(self, element: Element, context: ReadContext) -> Element:
        """Return a copy of a part of the model with the names of the outer one."""
        context.count("nodes", 1 + sum(1 for _ in element.descendants()), element.span)
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


def model_pose(model: Element, context: ReadContext) -> tuple[Pose, str]:
    """Return the pose of the frame of a model, and the frame that it is relative to.

    The ``<pose>`` is that of its ``placement_frame``, if it has one.
    """
    X, parent = SdfReader(model, context.diagnostics).framed_pose("pose")
    placed = model.attributes.get("placement_frame", "")
    if placed:
        frames = Frames(model, context.diagnostics)
        X = X @ frames.in_frame(Pose(), placed, MODEL, model).inverse()
    return X, parent


def pose_element(X: Pose, parent: str, at: Element) -> Element:
    """Return a pose in a frame as ``<pose>``."""
    numbers = (*X.p.tolist(), *matrix_quaternion(X.R))
    attributes = {"relative_to": parent, "rotation_format": "quat_xyzw"}
    text = " ".join(map(repr, numbers))
    return Element("pose", attributes, at.source, at.start, text=text)
