"""Render models and their URDFs from the same viewpoint with different renderers, and compare.

The model is rendered by this project's renderer with OpenGL; its URDF, as read by yourdfpy and
trimesh, by ray tracing with Embree. A studio picture shows the model. The images are written to a
folder beside the page. The exit status is 1 if an image differs too much.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from urdf_picture import LIMIT, TOLERANCE, Comparison, compare

from hrp_model import BodyState, Diagnostics, load_body
from hrp_sim.engine.state import LinkPoses
from hrp_sim.recording.video import Extents, StudioRenderer, make_view

PORTRAIT, SMALL = (960, 720), (240, 180)

HEADER = """\
# Gallery

With this page you see models as `hrp-sim video` shows them, and their URDFs in other tools.

A comparison shows the model in OpenGL, its URDF as read by yourdfpy and trimesh in the colours
of RViz, and their difference: at most {limit:.0%} of the pixels differ by
more than {tolerance} of 255.

Made by `scripts/pages gallery`.

| model | picture | model, URDF, difference | pixels that differ | of those that show the robot |
| --- | --- | --- | ---: | ---: |
"""


def portrait(path: Path, size: tuple[int, int] = PORTRAIT) -> Image.Image:
    """Return a studio picture of a model in its initial posture."""
    body = load_body(path, Diagnostics.silent())
    state = BodyState(body)
    bodies, extents = {"robot": body}, Extents({"robot": body})
    poses = {"robot": LinkPoses(state.p, state.R)}
    on_ground = state.p - [0.0, 0.0, extents.points(poses)[:, 2].min()]
    poses = {"robot": LinkPoses(on_ground, state.R)}
    view = make_view(bodies, [poses], size)
    return Image.fromarray(StudioRenderer(bodies, view, poses).picture(poses))


def page(compared: Sequence[Comparison], folder: str) -> str:
    """Return the page."""
    rows = []
    for one in compared:
        place = f"{folder}/{file_name(one)}"
        rows.append(
            f"| {one.name} "
            f"| [![{one.name}]({place}_small.webp)]({place}.webp) "
            f"| [![comparison]({place}.png)]({place}.png) "
            f"| {one.differing:.2%} | {one.differing_of_robot:.2%} |\n"
        )
    return HEADER.format(tolerance=TOLERANCE, limit=LIMIT) + "".join(rows)


def file_name(one: Comparison) -> str:
    """Return the name of the files of a model, without suffix."""
    return "".join(c if c.isalnum() else "_" for c in one.name)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE.md", required=True)


def run(options: argparse.Namespace) -> int:
    """Write the page and its images."""
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
