"""Compile a ``<mujoco>`` element by MuJoCo, from the files that the context permits.

MuJoCo gets one text without references to files, and the contents of the mesh files. Elements
that a robot does not need, and that could expand to any size, are left out.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import cached_property
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any
from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np

from ...diagnostics import Span
from ...files.resources import MAX_FILE_SIZE, read_file
from ...frames import add_unique
from ...late_dataclass import dataclass
from ...read_context import ReadContext, read_source
from ...rigid import Array
from ..xml_tree import Element, parse

_STDERR = 2
_lock = Lock()  # else the streams of two threads could remain exchanged
# Sections that say nothing about a robot: of the simulation, of the viewer, of the program.
_IGNORED_SECTIONS = ("option", "visual", "statistic", "size", "custom", "keyframe")
_SECTIONS = (
    *("compiler", "default", "asset", "worldbody", "contact", "equality"),
    *("tendon", "actuator", "sensor"),
)
# Elements inside of sections, and why they are left out.
_LEFT_OUT = {
    "composite": "composite bodies",
    "flexcomp": "flexible bodies",
    "plugin": "plugins",
    "skin": "skins",
    "hfield": "height fields",
}
_IGNORED = ("texture", "layer", "model")
# Attributes of geoms that change how they touch others.
_OF_CONTACTS = ("adhesion", "surfacevel")
# Of actuators and sensors: sizes of what a simulation of MuJoCo would store.
_SIZES = ("actdim", "nsample", "interp", "delay")
_PATHS = ("meshdir", "texturedir", "assetdir", "strippath")
_MAX_COPIES = 1000  # of <replicate>, nested ones multiplied
_LINE = re.compile(r"line (\d+)")


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Discard what is written to the standard error stream within a ``with`` block.

    Qhull in MuJoCo writes pages about a mesh that it refuses, beside the error that it reports.
    The block should be short, as output of other threads is lost, too.
    """
    with _lock:
        try:
            saved = os.dup(_STDERR)
        except OSError:  # it is closed
            yield
            return
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, _STDERR)
            yield
        finally:
            os.dup2(saved, _STDERR)
            os.close(saved)
            os.close(null)


@dataclass(eq=False)
class Compiled:
    """A model of MuJoCo, and the places of its parts.

    Attributes:
        root: The ``<mujoco>`` element.
        model: The ``mujoco.MjModel``.
    """

    root: Element
    model: Any
    _spec: Any
    _text: _Text
    _elements: dict[str, dict[int, Element]] = field(default_factory=dict)

    @cached_property
    def body_names(self) -> list[str]:
        """Names of the bodies; one that has none has its number."""
        own = [str(self.model.body(b).name) for b in range(self.model.nbody)]
        taken = set(own)
        return [name or add_unique(f"body{b}", taken) for b, name in enumerate(own)]

    @cached_property
    def joint_names(self) -> list[str]:
        """Names of the joints; one that has none is named after its body."""
        model = self.model
        own = [str(model.joint(j).name) for j in range(model.njnt)]
        taken = set(own)
        bodies = [self.body_names[b] for b in model.jnt_bodyid]
        return [name or add_unique(body, taken) for name, body in zip(own, bodies, strict=True)]

    def at_body(self, b: int) -> Span:
        """Return the place of a body."""
        return self.at("bodies", b)

    def at_joint(self, j: int) -> Span:
        """Return the place of a joint."""
        return self.at("joints", j)

    def at(self, kind: str, index: int) -> Span:
        """Return the place of a part; of the model if it is not known.

        Args:
            kind: Name of the list of such parts in ``mujoco.MjSpec``, such as "sensors".
            index: Index of the part in the model.
        """
        if kind not in self._elements:
            parts = ((part.id, self._text.element(part.info)) for part in getattr(self._spec, kind))
            self._elements[kind] = {i: element for i, element in parts if element is not None}
        element = self._elements[kind].get(index)
        return self.root.span if element is None else element.at("name")


def compiled(root: Element, context: ReadContext) -> Compiled | None:
    """Return the model of a file, or None after reporting errors."""
    text = _Text(root, context)
    text.write()
    if text.is_broken:
        return None
    try:
        with _warnings() as found:
            spec = mujoco.MjSpec.from_string("\n".join(text.lines), assets=text.assets)
            # Keep every body and every shape.
            spec.compiler.fusestatic = spec.compiler.discardvisual = False
            with quiet_libraries():
                model = spec.compile()
    except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as error:
        message = f"MuJoCo refuses the model: {_sentence(str(error))}"
        context.diagnostics.error("refused-model", message, text.place(str(error)))
        return None
    for warning in found:
        message = f"MuJoCo warns: {_sentence(warning)}"
        context.diagnostics.warn("mujoco-warning", message, text.place(warning))
    return Compiled(root, model, spec, text)


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect the warnings of MuJoCo, which it otherwise writes to a file in the working folder."""
    found: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(found.append)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield found
    finally:
        mujoco.set_mju_user_warning(before)
    found += [str(warning.message) for warning in warned]


@dataclass(eq=False)
class _Text:
    """Text for MuJoCo, with one element in each line.

    Attributes:
        lines: The lines.
        assets: Contents of the mesh files, by their names in the text.
        is_broken: Whether errors were reported.
    """

    root: Element
    context: ReadContext
    lines: list[str] = field(default_factory=list)
    assets: dict[str, bytes] = field(default_factory=dict)
    is_broken: bool = False
    _line_elements: list[Element | None] = field(default_factory=list)
    _by_path: dict[Path, str] = field(default_factory=dict)
    _mesh_folder: str = ""
    _strips_paths: bool = False

    def write(self) -> None:
        """Write all elements."""
        sections = list(self._included(self.root, ()))
        if self.is_broken:
            return
        compilers = [x.attributes for x in sections if x.tag == "compiler"]
        settings = {name: value for x in compilers for name, value in x.items()}
        self._mesh_folder = settings.get("meshdir", settings.get("assetdir", ""))
        self._strips_paths = settings.get("strippath") == "true"
        self._line(f"<mujoco{_attributes(self.root.attributes)}>", self.root)
        for section in sections:
            if section.tag == "sensor":
                section.children = [x for x in section.children if self._has_fixed_size(x)]
            if section.tag in _SECTIONS:
                self._element(section, copies=1)
                for tendon in section.children if section.tag == "tendon" else ():
                    self._leave_out(tendon, "tendons")
            elif section.tag not in _IGNORED_SECTIONS:
                self._leave_out(section, _LEFT_OUT.get(section.tag, f"<{section.tag}>"))
        self._line("</mujoco>", None)

    def place(self, message: str) -> Span:
        """Return the place that a message of MuJoCo refers to."""
        element = self.element(message)
        return self.root.span if element is None else element.span

    def element(self, message: str) -> Element | None:
        """Return the element of the line that a message of MuJoCo names."""
        found = _LINE.search(message)
        number = 0 if found is None else int(found[1]) - 1
        return self._line_elements[number] if number < len(self._line_elements) else None

    def _included(self, parent: Element, files: tuple[Path, ...]) -> list[Element]:
        """Return the children of an element, with those of included files."""
        found: list[Element] = []
        for child in parent.children:
            if child.tag != "include":
                child.children = self._included(child, files)
                found.append(child)
            elif (included := self._file(child, files)) is not None:
                root, path = included
                found += self._included(root, (*files, path))
        return found

    def _file(self, include: Element, files: tuple[Path, ...]) -> tuple[Element, Path] | None:
        """Return the root element of an included file, or None after reporting an error."""
        name, at = include.attributes.get("file", ""), include.at("file")
        path = self._path(name, name, at)
        if path in files:
            message = f"'{name}' includes itself"
            self.context.diagnostics.error("resource-cycle", message, at)
            path = None
        root = None
        if path is not None:
            try:
                source = read_source(path)
            except OSError as error:
                message = f"cannot read '{name}': {error.strerror or error}"
                self.context.diagnostics.error("unreadable-file", message, at)
            else:
                tally = self.context.count
                root = parse(source, self.context.diagnostics, lambda x: tally("nodes", at=x))
        if root is None or path is None:
            self.is_broken = True
            return None
        return root, path

    def _element(self, element: Element, copies: int) -> None:
        tag = element.tag
        if tag in _IGNORED:
            return
        if tag in _LEFT_OUT:
            self._leave_out(element, _LEFT_OUT[tag])
            return
        if tag == "attach":
            message = "attached models are not read: include their bodies"
            self.context.diagnostics.error("nested-model", message, element.span)
            self.is_broken = True
            return
        if tag == "replicate":
            copies *= _count(element.attributes.get("count", "1"))
            if copies > _MAX_COPIES:
                message = f"<replicate> makes more than {_MAX_COPIES} copies"
                self.context.diagnostics.error("too-large", message, element.span)
                self.is_broken = True
                return
        attributes = {k: v for k, v in element.attributes.items() if k not in _SIZES}
        if tag == "compiler":
            attributes = {k: v for k, v in attributes.items() if k not in _PATHS}
        elif tag == "material":
            attributes.pop("texture", None)
        elif tag == "geom":
            if attributes.get("type") in ("hfield", "sdf"):
                self._leave_out(element, f"geoms of type {attributes['type']}")
                return
            for name in (x for x in _OF_CONTACTS if x in attributes):
                message = f"{name} of a geom is left out: contacts are those of the simulation"
                self.context.diagnostics.warn("no-counterpart", message, element.at(name))
        elif tag == "mesh" and "file" in attributes and not self._mesh(element, attributes):
            return
        elif tag == "mesh" and "builtin" in attributes:
            self.context.count("nodes", _most_points(attributes.get("params", "")), element.span)
        if tag == "body":
            self.context.count("links", copies, element.span)
        opening = f"<{tag}{_attributes(attributes)}"
        if not element.children:
            self._line(f"{opening}/>", element)
            return
        self._line(f"{opening}>", element)
        for child in element.children:
            self._element(child, copies)
        self._line(f"</{tag}>", None)

    def _mesh(self, element: Element, attributes: dict[str, str]) -> bool:
        """Read a mesh file; False after reporting an error, as geoms need their mesh."""
        written = attributes["file"].replace("\\", "/")
        if self._strips_paths:
            written = PurePosixPath(written).name
        attributes.setdefault("name", PurePosixPath(written).stem)
        is_whole = PurePosixPath(written).is_absolute() or "://" in written
        name = written if is_whole else str(PurePosixPath(self._mesh_folder, written))
        at = element.at("file")
        path = self._path(name, written, at)
        try:
            if path is not None and path not in self._by_path:
                self._by_path[path] = f"{len(self._by_path)}{path.suffix.lower()}"
                self.assets[self._by_path[path]] = read_file(path, MAX_FILE_SIZE)
        except OSError as error:
            message = f"cannot read '{written}': {error.strerror or error}"
            self.context.diagnostics.error("unreadable-resource", message, at)
            path = None
        if path is None:
            self.is_broken = True
            return False
        attributes["file"] = self._by_path[path]
        return True

    def _path(self, name: str, written: str, at: Span) -> Path | None:
        """Return the path of a file, or None after reporting an error.

        As in MuJoCo, names are relative to the main file, or else to the file that has them.

        Args:
            name: Its name in the main file's folder, with ``meshdir``.
            written: Its name as written.
            at: Place of the name.
        """
        folder = self.context.folder
        if not self.context.exists(name, folder=folder) and self.context.exists(written, at):
            return self.context.resolve(written, at, needed=True)
        return self.context.resolve(name, at, needed=True, folder=folder)

    def _has_fixed_size(self, sensor: Element) -> bool:
        """Return whether the size of a sensor's readings is given by its type.

        Warns of a sensor that has as many readings as its file asks for.
        """
        if sensor.tag in ("user", "contact") or "camera" in sensor.attributes:
            name = titled("sensor", sensor.attributes.get("name", ""))
            message = f"{name} is left out: {sensor.tag}"
            self.context.diagnostics.warn("no-counterpart", message, sensor.span)
            return False
        return True

    def _leave_out(self, element: Element, kind: str) -> None:
        verb = "is" if kind.startswith("<") else "are"
        message = f"{kind} {verb} left out: a robot here has only rigid links"
        self.context.diagnostics.warn("no-counterpart", message, element.span)

    def _line(self, text: str, element: Element | None) -> None:
        self.lines.append(text)
        self._line_elements.append(element)


def optional_row(model: Any, name: str, i: int) -> Array:
    """Return a row of an array of a model; empty if this version of MuJoCo has no such array."""
    values = getattr(model, name, None)
    row: Array = np.zeros(0) if values is None else np.atleast_1d(values[i])
    return row


def titled(kind: str, name: str) -> str:
    """Return the name of a part for messages."""
    return f"the {kind} '{name}'" if name else f"this {kind}"


def _attributes(attributes: dict[str, str]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())


def _count(text: str) -> int:
    try:
        return max(1, int(text))
    except ValueError:
        return 1  # MuJoCo reports it


def _most_points(params: str) -> int:
    """Return an upper bound of the points of a built-in mesh: of a grid of its largest number."""
    most = 1.0
    for word in params.split():
        with suppress(ValueError):  # MuJoCo reports it
            most = max(most, float(word))
    return int(min(most, 1e6)) ** 2


def _sentence(message: str) -> str:
    lines = (line.strip() for line in message.splitlines())
    text = "; ".join(line for line in lines if line)
    return _LINE.sub("", text).removeprefix("Error: ").removeprefix("XML Error: ").strip(" ,;")
