"""A page in one file, which loads nothing: a scene, its recorded motion, and text beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..body import Body
from ..diagnostics import Severity
from ..printable import printable, printable_lines
from ..rigid import Array
from ..shapes.extents import Extents, sphere
from .html import SCENE_END
from .robot import RobotView
from .surroundings import add_background
from .viewer import Viewer

# Poses of all links of a body: p_WL of shape (links, 3), R_WL of shape (links, 3, 3).
LinkPoses = tuple[Array, Array]
# Motions that nobody sees are left out, in [m] and as elements of rotation matrices.
_VISIBLE = 2e-5
# Radius of the part of the scene that is shown at first, relative to that of the robots.
_MAX_PATH = 6.0
# What the page may load: nothing but what it contains. 'unsafe-eval' is for the decoder of the
# scene, which is compiled in the browser.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' data: blob:; worker-src data: "
    "blob:; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src data: blob:"
)
# What viser writes for its own parts of the page, and what is put there instead.
_LIGHT = "{darkMode:false}"
_AS_SYSTEM = '{darkMode:matchMedia("(prefers-color-scheme: dark)").matches}'
_STYLE = Path(__file__).with_name("page_file.css").read_text(encoding="utf-8")


class SceneRecording:
    """Records robots and their motion.

    Attributes:
        notes: What is not drawn as in the models, as sentences.

    Args:
        bodies: The robots by name.
        poses: Poses of their links at first, by name of the robot.
        path: Points on the path of the robots in the world, which the page should show if they
            are not far away, in [m], shape (n, 3).
    """

    def __init__(
        self, bodies: Mapping[str, Body], poses: Mapping[str, LinkPoses], path: Array
    ) -> None:
        self._viewer = Viewer(port=0)
        try:
            add_background(self._viewer.server.scene, dark=False)
            self._extents = Extents(bodies)
            outer_walls = self._extents.outer_walls(poses)
            self._robots = {
                name: RobotView(self._viewer, name, body, outer_walls=outer_walls)
                for name, body in bodies.items()
            }
            self.notes = [note for robot in self._robots.values() for note in robot.meshes.notes]
            self._shown = {name: (np.array(p), np.array(R)) for name, (p, R) in poses.items()}
            self._move()
            self._look_at(poses, path)
            self._recorded = self._viewer.server.get_scene_serializer()
        except BaseException:
            self._viewer.close()
            raise

    def __enter__(self) -> SceneRecording:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._viewer.close()

    def wait(self, duration: float) -> None:
        """Let the robots rest for a duration in [s]."""
        self._recorded.insert_sleep(duration)

    def move(self, poses: Mapping[str, LinkPoses]) -> None:
        """Move the robots; links whose motion is not visible stay where they are."""
        for name, (p, R) in poses.items():
            shown_p, shown_R = self._shown[name]
            differs = np.abs(p - shown_p).max(axis=1) > _VISIBLE
            differs |= np.abs(R - shown_R).max(axis=(1, 2)) > _VISIBLE
            shown_p[differs], shown_R[differs] = p[differs], R[differs]
        self._move()

    def html(self) -> str:
        """Return the document; nothing may be recorded afterwards."""
        return str(self._recorded.as_html()).replace(_LIGHT, _AS_SYSTEM)

    def _look_at(self, poses: Mapping[str, LinkPoses], path: Array) -> None:
        """Turn the camera to the robots that can move, or to all if there are none."""
        start = self._extents.points(poses)
        whole = np.vstack([start, path[np.isfinite(path).all(axis=1)]])
        is_near = sphere(whole).radius < _MAX_PATH * sphere(start).radius
        self._viewer.begin(self._extents, poses, whole if is_near else start)

    def _move(self) -> None:
        for name, robot in self._robots.items():
            robot.move(*self._shown[name])


class Section(NamedTuple):
    """A part of the text that can be folded.

    Attributes:
        title: Its heading.
        paragraphs: Texts, each with the severity of the problem that it describes.
        is_tree: Whether the texts are drawings, whose lines are not folded; closed at first.
    """

    title: str
    paragraphs: Sequence[tuple[Severity | None, str]]
    is_tree: bool = False


def page_html(
    title: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section], scene: str
) -> str:
    """Return a page: a scene, and beside it facts and sections of text.

    All texts are shown as they are; they may come from untrusted files.

    Args:
        title: Title of the page.
        facts: Names and values.
        sections: Below the facts.
        scene: The HTML document of the scene.
    """
    rows = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f'<body><iframe title="scene" srcdoc="{escape(scene + SCENE_END)}"></iframe>\n'
        f"<aside><h1>{_text(title)}</h1>\n<dl>{rows}</dl>\n"
        f"{''.join(map(_section, sections))}</aside></body></html>\n"
    )


def _section(section: Section) -> str:
    kind = "tree" if section.is_tree else "text"
    paragraphs = "".join(
        f'<pre class="{kind} {"" if severity is None else severity.value}">'
        f"{escape(_encodable(printable_lines(text)))}</pre>\n"
        for severity, text in section.paragraphs
    )
    state = "" if section.is_tree else " open"
    return f"<details{state}><summary>{_text(section.title)}</summary>\n{paragraphs}</details>\n"


def _text(text: str) -> str:
    return escape(_encodable(printable(text)))


def _encodable(text: str) -> str:
    """Return text with undecodable bytes of file names as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
