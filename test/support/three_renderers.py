"""One scene by all renderers: studio pictures, cameras of robots, and pages in a browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from browser_tools import TIMEOUT, Page, Pages
from numpy.typing import NDArray

from hrp_model import Body, Pose
from hrp_model.geometry import Material
from hrp_model.view.page_html import SceneRecording
from hrp_sim.engine.state import LinkPoses
from hrp_sim.recording.video import StudioRenderer
from hrp_sim.render import Pinhole, Renderer

Pixels = NDArray[np.uint8]
BAR = 80  # height of the controls below the scene of a page, in pixels


class Pictures(NamedTuple):
    """The same view of bodies, each picture of shape (height, width, 3).

    Attributes:
        film: With shadows and ground.
        camera: As a camera of a robot sees the bodies that can move.
        page: The page in a browser.
        look: Returns what it shows now, which may not be all yet.
        rows: Number of the link that a pixel of ``camera`` shows, from 1; 0 for none and at edges.
    """

    film: Pixels
    camera: Pixels
    page: Page
    look: Callable[[], Pixels]
    rows: NDArray[np.int_]


class _Still(NamedTuple):
    lens: Pinhole
    X_WC: Pose

    def look(self, poses: object) -> tuple[Pinhole, Pose]:
        return self.lens, self.X_WC


def pictures(
    pages: Pages,
    folder: Path,
    bodies: Mapping[str, Body],
    poses: Mapping[str, LinkPoses],
    size: tuple[int, int],
) -> Pictures:
    """Return pictures of bodies from where a page in one file begins; the file is in the folder."""
    file = folder / "scene.html"
    with SceneRecording(bodies, poses, np.empty((0, 3))) as recording:
        camera = recording._viewer.server.initial_camera
        position, target = np.array(camera.position), np.array(camera.look_at)
        file.write_text(recording.html(), encoding="utf-8")
    page = pages.open(file.as_uri(), (size[0], size[1] + BAR))
    page.tab.locator("canvas").first.wait_for(timeout=1e3 * TIMEOUT)
    canvas = page.tab.locator("canvas").first.bounding_box()
    width, height = int(canvas["width"]), int(canvas["height"])
    ahead = (target - position) / np.linalg.norm(target - position)
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    X_WC = Pose(np.column_stack([right, np.cross(right, ahead), -ahead]), position)
    view = _Still(Pinhole(width, height, camera.fov, camera.near, camera.far), X_WC)
    robots = {name: body for name, body in bodies.items() if not body.is_static} or dict(bodies)
    return Pictures(
        StudioRenderer(bodies, view, poses).picture(poses),
        Renderer(robots).render(*view, poses).color,
        page,
        lambda: page.pixels()[:height, :width],
        _rows(robots, view, poses),
    )


def _rows(
    robots: Mapping[str, Body], view: _Still, poses: Mapping[str, LinkPoses]
) -> NDArray[np.int_]:
    marked, count = {}, 0
    for name, body in robots.items():
        links = []
        for link in body.links:
            count += 1
            glow = Material(diffuse=(0, 0, 0), emissive=(count / 255, 0, 0))
            shapes = tuple(replace(shape, material=glow) for shape in link.visual)
            links.append(replace(link, visual=shapes))
        marked[name] = replace(body, links=tuple(links))
    seen = Renderer(marked).render(*view, poses).color.astype(int)
    rows = np.where(seen[..., 1:].any(axis=2), 0, seen[..., 0])  # the background has all colours
    for axis in (0, 1):
        for step in (-2, 2):
            rows = np.where(np.roll(rows, step, axis) == rows, rows, 0)
    return rows
