"""Models of other files: ``<include>``."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ...diagnostics import Diagnostics, Source
from ...files.resources import ResourceError
from ...reading import Reading, read_source
from ..xml_tree import Element, parse
from .versions import as_newest, parse_version

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


class Includes:
    """Finds and reads included models."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._diagnostics = reading.diagnostics
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
        return self._reading.resolve(file, at, needed=True)

    def other_file(self, include: Element) -> Path | None:
        """Return the included file if it is not SDF, such as a URDF; else None."""
        file = self._file(include)
        if not file.lower().endswith((".urdf", ".xacro")):
            return None
        written = include.first("uri")
        at = include.span if written is None else written.span
        return self._reading.resolve(file, at, needed=True)

    def standard(self, include: Element) -> Element | None:
        """Return a model that every Gazebo has, if it is included and there is no file of it."""
        written = include.first("uri")
        uri = "" if written is None else written.text
        match = _STANDARD.fullmatch(uri)
        if match is None or self._reading.exists(f"{uri.rstrip('/')}/model.sdf", include.span):
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
        count = self._reading.count
        root = parse(source, self._diagnostics, lambda at: count("nodes", at=at))
        if root is None:
            return None
        found = list(root.all("model", "light", "actor"))
        if root.tag != "sdf" or len(found) != 1:
            message = f"'{path.name}' cannot be included: it is not an SDF file with one model"
            self._diagnostics.error("not-a-model", message, root.span)
            return None
        return found[0] if as_newest(root, self._reading) else None

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
            path = self._reading.find(f"{uri}/{_CONFIG}", folder)
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
