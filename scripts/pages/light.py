"""Draw models by all renderers side by side: films, cameras of robots, and pages in a browser.

Below each model stands by how much the mean colours of its links differ from those of the film: the
largest difference of a channel, of 255.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from browser_tools import Pages, running_chromium
from PIL import Image, ImageDraw
from three_renderers import Pictures, pictures

from hrp_model import BodyState, Diagnostics, load_body
from hrp_model.shapes.extents import Extents
from hrp_sim.engine.state import LinkPoses

SIZE = 320, 240  # at which a model is drawn
COLUMNS, SHOWN = 2, 720  # of the sheet, and the width of each in pixels
LINE = 16  # height of a line of text, in pixels
MIN_PIXELS = 30  # of a link, so that it has a mean colour


def view_of(pages: Pages, path: Path) -> tuple[str, Pictures]:
    """Return the name of a model, and its pictures in the initial posture on the ground."""
    body = load_body(path, Diagnostics.silent())
    state = BodyState(body)
    points = Extents({"robot": body}).points({"robot": (state.p, state.R)})
    on_ground = state.p - [0.0, 0.0, points[:, 2].min()]
    with TemporaryDirectory() as folder:
        poses = {"robot": LinkPoses(on_ground, state.R)}
        return body.name, pictures(pages, Path(folder), {"robot": body}, poses, SIZE)


def differences(shown: Pictures) -> tuple[float, float]:
    """Return how much links differ from the film to a camera, and in a page."""
    found = []
    for row in np.unique(shown.rows[shown.rows > 0]):
        mask = shown.rows == row
        if mask.sum() >= MIN_PIXELS:
            film, camera, page = (picture[mask].mean(axis=0) for picture in shown[:3])
            found.append([np.abs(camera - film).max(), np.abs(page - film).max()])
    camera, page = np.max(found, axis=0, initial=0.0)
    return float(camera), float(page)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("-o", "--output", type=Path, metavar="PICTURE", required=True)


def run(options: argparse.Namespace) -> int:
    """Draw the sheet."""
    rows = []
    with running_chromium() as chromium:
        for path in options.models:
            pages = Pages(chromium)
            name, shown = view_of(pages, path)
            pages.close()
            camera, page = differences(shown)
            text = f"{name}: film; camera, up to {camera:.0f}; page, up to {page:.0f}"
            print(text)
            strip = Image.fromarray(np.hstack(shown[:3]))
            strip.thumbnail((SHOWN, SHOWN))
            row = Image.new("RGB", (strip.width, strip.height + LINE), "white")
            row.paste(strip)
            ImageDraw.Draw(row).text((4, strip.height + 2), text, fill="black")
            rows.append(row)
    width, height = rows[0].size
    sheet = Image.new("RGB", (COLUMNS * width, -(-len(rows) // COLUMNS) * height), "white")
    for i, row in enumerate(rows):
        sheet.paste(row, (i % COLUMNS * width, i // COLUMNS * height))
    sheet.save(options.output, quality=85, method=6)
    return 0
