#!/usr/bin/env python3
"""Render models and their URDFs from the same viewpoint with different renderers, and compare.

python scripts/gallery.py MODEL... -o docs/gallery.md

The model is rendered by this project's renderer with OpenGL; its URDF, as read by yourdfpy and
trimesh, by ray tracing with Embree. A studio picture shows the model. The images are written to a
folder beside the page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import radians, tan
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from urdf_picture import Pixels, Rule, picture, surfaces  # noqa: E402

from hrp_model import Body, BodyState, Diagnostics, Pose, load_body  # noqa: E402
from hrp_model.geometry import Shape  # noqa: E402
from hrp_model.shapes.tessellate import shape_mesh  # noqa: E402
from hrp_model.urdf import convert  # noqa: E402
from hrp_sim.render import LinkPoses, Parts, Pinhole, Renderer, Surroundings  # noqa: E402
from hrp_sim.video import Extents, FixedView, StudioRenderer, Viewpoint  # noqa: E402

SIZE = 400, 400
PORTRAIT, SMALL = (960, 720), (240, 180)
FIELD_OF_VIEW = radians(30.0)
AZIMUTH, ELEVATION = radians(35.0), radians(20.0)
SKY = 0.93, 0.94, 0.96
TOLERANCE = 12  # of 255 in any channel: what a pixel may differ and count as equal
LIMIT = 0.01  # share of pixels that may differ

HEADER = """\
# Gallery

Each model as `hrp-sim video` shows it, and its URDF. A picture leads to the large one.

A comparison shows the model, its URDF as other tools read it, and their difference. The model is
rendered with OpenGL; the URDF and its GLB files, as read by yourdfpy and trimesh, are ray-traced
(Embree) in the colours that RViz gives the visuals of a link. Both have the same camera and light.
A pixel differs if one of its colours differs by more than {tolerance} of 255: at most {limit:.0%}
of the pixels may. Specular light is left out, since glTF cannot describe it.

Made by `scripts/gallery.py`.

| model | picture | model, URDF, difference | pixels that differ | of those that show the robot |
| --- | --- | --- | ---: | ---: |
"""


@dataclass(frozen=True)
class Comparison:
    """A model and its URDF, rendered from the same viewpoint.

    Attributes:
        name: Of the model.
        model, urdf: Images, shape (height, width, 3).
        differing: Share of all pixels that differ.
        differing_of_robot: The same pixels, as a share of those that show the robot.
    """

    name: str
    model: Pixels
    urdf: Pixels
    differing: float
    differing_of_robot: float

    @property
    def sheet(self) -> Image.Image:
        """The model, the URDF, and the difference of the two in black on white."""
        off = np.abs(self.model.astype(int) - self.urdf).max(axis=2)
        marks = np.repeat((255 - np.minimum(off * 4, 255)).astype(np.uint8)[..., None], 3, axis=2)
        return Image.fromarray(np.concatenate([self.model, self.urdf, marks], axis=1))


def compare(
    path: Path, size: tuple[int, int] = SIZE, rule: Rule = Rule.MESHES_KEEP_THEIRS
) -> Comparison:
    """Render a model and its URDF in the model's initial posture."""
    silent = Diagnostics.silent()
    body = load_body(path, silent)
    state = BodyState(body)
    lens, X_WC = _camera(body, state, (2 * size[0], 2 * size[1]))
    renderer = Renderer({"robot": _with_urdf_looks(body)})
    poses = {"robot": LinkPoses(state.p, state.R)}
    own = renderer.render(
        lens,
        X_WC,
        poses,
        parts=Parts(color=True, depth=False),
        surroundings=Surroundings(background=SKY),
    ).color
    with tempfile.TemporaryDirectory() as scratch:
        conversion = convert(body, Path(scratch) / "meshes", diagnostics=silent)
        urdf = Path(scratch) / "robot.urdf"
        urdf.write_text(conversion.urdf, encoding="utf-8")
        joints = conversion.frames.joints
        positions = {
            joints[link.name]: float(q)
            for link, q in zip(body.moving_links, state.q, strict=True)
            if link.name in joints
        }
        # The URDF is placed by its root; the model has a pose of its own.
        X_RC = Pose(state.R[0], state.p[0]).inverse() @ X_WC
        shown = surfaces(urdf, positions, rule)
        sky = np.array(SKY)
        other = picture(shown, X_RC.matrix(), (lens.width, lens.height), lens.focal_length, sky)
    own, other = _halved(own), _halved(other)
    off = np.abs(own.astype(int) - other).max(axis=2) > TOLERANCE
    sky = np.round(sky * 255.0)
    robot = (own != sky).any(axis=2) | (other != sky).any(axis=2)
    share = float(off.sum() / max(robot.sum(), 1))
    return Comparison(body.name or path.stem, own, other, float(off.mean()), share)


def _halved(pixels: Pixels) -> Pixels:
    """Return an image of half the size with antialiased edges."""
    height, width, _ = pixels.shape
    squares = pixels.reshape(height // 2, 2, width // 2, 2, 3)
    return np.round(squares.mean(axis=(1, 3))).astype(np.uint8)


def _camera(body: Body, state: BodyState, size: tuple[int, int]) -> tuple[Pinhole, Pose]:
    """Return a camera that has the whole body in view."""
    points = np.concatenate(
        [
            shape_mesh(shape).vertices @ R.T + p
            for link, p, R in zip(body.links, state.p, state.R, strict=True)
            for shape in link.visual
            if len(shape_mesh(shape).vertices)
        ]
    )
    center = (points.min(axis=0) + points.max(axis=0)) / 2.0
    radius = float(np.linalg.norm(points - center, axis=1).max())
    back = np.array(
        [
            np.cos(ELEVATION) * np.cos(AZIMUTH),
            np.cos(ELEVATION) * np.sin(AZIMUTH),
            np.sin(ELEVATION),
        ]
    )
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    distance = 1.05 * radius / tan(FIELD_OF_VIEW / 2.0)
    R = np.column_stack([right, np.cross(back, right), back])
    lens = Pinhole(*size, FIELD_OF_VIEW, 0.01 * radius, distance + 2.0 * radius)
    return lens, Pose(R, center + distance * back)


def _with_urdf_looks(body: Body) -> Body:
    """Return a body without the specular reflection that glTF cannot represent."""

    def plain(shape: Shape) -> Shape:
        material = replace(shape.material, specular=(0.0, 0.0, 0.0))
        return replace(shape, material=material)

    links = tuple(replace(link, visual=tuple(map(plain, link.visual))) for link in body.links)
    return replace(body, links=links)


def portrait(path: Path, size: tuple[int, int] = PORTRAIT) -> Image.Image:
    """Return a studio picture of a model in its initial posture."""
    body = load_body(path, Diagnostics.silent())
    state = BodyState(body)
    bodies, extents = {"robot": body}, Extents({"robot": body})
    poses = {"robot": LinkPoses(state.p, state.R)}
    on_ground = state.p - [0.0, 0.0, extents.points(poses)[:, 2].min()]
    poses = {"robot": LinkPoses(on_ground, state.R)}
    view = FixedView(size, Viewpoint(), extents.points(poses))
    return Image.fromarray(StudioRenderer(bodies, view, poses).picture(poses))


def page(compared: Sequence[Comparison], folder: str) -> str:
    """Return the page."""
    rows = []
    for one in compared:
        place = f"{folder}/{file_name(one)}"
        rows.append(
            f"| {one.name} "
            f"| [![{one.name}]({place}_small.webp)]({place}.webp) "
            f'| [<img src="{place}.png" width="360" alt="comparison">]({place}.png) '
            f"| {one.differing:.2%} | {one.differing_of_robot:.2%} |\n"
        )
    return HEADER.format(tolerance=TOLERANCE, limit=LIMIT) + "".join(rows)


def file_name(one: Comparison) -> str:
    """Return the name of the files of a model, without suffix."""
    return "".join(c if c.isalnum() else "_" for c in one.name)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the script and return its exit status: 1 if an image differs too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE.md", required=True)
    options = parser.parse_args(argv)
    folder = options.output.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    compared = []
    for path in options.models:
        one = compare(path)
        print(f"{one.name}: {one.differing:.3%} of the pixels differ", file=sys.stderr)
        sheet = one.sheet.quantize(64, dither=Image.Dither.NONE)
        sheet.save(folder / f"{file_name(one)}.png", optimize=True)
        large = portrait(path)
        large.save(folder / f"{file_name(one)}.webp", quality=85, method=6)
        large.thumbnail(SMALL)
        large.save(folder / f"{file_name(one)}_small.webp", quality=85, method=6)
        compared.append(one)
    options.output.write_text(page(compared, folder.name), encoding="utf-8")
    return int(any(one.differing > LIMIT for one in compared))


if __name__ == "__main__":
    sys.exit(main())
