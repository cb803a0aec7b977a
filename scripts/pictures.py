#!/usr/bin/env python3
"""Make the pictures of the documentation in docs/pictures.

python scripts/pictures.py [NAME...]

Each picture has a function below; by default all are made. Pages are opened in Chromium, which
needs no display: the packages chromium and, from PyPI, playwright.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test" / "support")]

from browser_tools import Page, Pages, running_chromium  # noqa: E402
from humanoid_film import humanoid  # noqa: E402

from hrp_model import load_body  # noqa: E402
from hrp_model.diagnostics import Diagnostics  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
SIZE = 1280, 800  # of a page, in pixels
TUTORIAL = "tutorial/1-model.md", "tutorial/2-drive.md", "tutorial/3-room.md"
COLORS = 200  # of a picture of a page, so that its file is small


@contextmanager
def opened(address: str) -> Iterator[Page]:
    """Open a page in a browser."""
    with running_chromium() as chromium:
        pages = Pages(chromium)
        yield pages.open(address, SIZE)
        pages.close()


def viewer(path: Path) -> None:
    """The page of hrp-model view: a robot with a selected link."""
    from browser_tools import client_of

    from hrp_model.view.model_viewer import ModelViewer
    from hrp_model.view.viewer import Viewer

    found = Diagnostics.silent()
    with Viewer(0) as served:
        model = ModelViewer(served, "humanoid.body")
        model.show(load_body(ROOT / "models" / "humanoid" / "humanoid.body", found), found.found)
        model.select("RARM_ELBOW")
        with opened(served.address) as page:
            client_of(served, page)
            for joint, position in (("RARM_SHOULDER_P", -0.9), ("RARM_ELBOW", -1.1)):
                page.field(joint).fill(str(position))
                page.wait_until(lambda j=joint, q=position: model.positions[j] == q)
            page.tab.get_by_text("Show", exact=True).scroll_into_view_if_needed()
            page.wait_until_still()
            page.screenshot(path, COLORS)


def run(path: Path) -> None:
    """The page of hrp-sim run --view: a robot, its scan, camera pictures and contacts."""
    from run_page_tools import RunPage, gui, node

    from hrp_model.view.viewer import set_value

    with RunPage("humanoid_in_room") as running:
        set_value(gui(running.viewer, "contact points"), True)
        set_value(gui(running.viewer, "contact forces"), True)
        camera = running.viewer.server.initial_camera
        camera.position, camera.look_at = (-2.1, 1.4, 1.9), (0.5, -0.1, 0.6)
        with opened(running.viewer.address) as page:
            page.tab.get_by_role("tab", name="Sensors").click()
            for name in ("scanner", "head_camera/lens", "/contacts/forces"):
                page.wait_until(lambda name=name: node(running.viewer, name))
            running.runner.pause()
            page.wait_until_still()
            page.screenshot(path, 256)


def page_file(path: Path) -> None:
    """The page of hrp-sim page: a robot in the middle of its run."""
    from browser_tools import TIMEOUT

    from hrp_sim.cli.main import main as simulate

    with TemporaryDirectory() as folder:
        file = Path(folder, "humanoid_in_room.html")
        simulate(["page", "humanoid_in_room", str(file), "--duration", "2"])
        with opened(file.as_uri()) as page:
            scene = page.tab.frame_locator("iframe")
            slider = scene.locator(".mantine-Slider-root").first
            slider.wait_for(timeout=1e3 * TIMEOUT)
            box = slider.bounding_box()
            page.tab.mouse.click(box["x"] + box["width"] / 2.0, box["y"] + box["height"] / 2.0)
            # It warns of this machine, which has no GPU.
            scene.locator(".mantine-Notification-closeButton").first.click()
            page.wait_until_still()
            page.screenshot(path, COLORS)


def buggy(path: Path) -> None:
    """The robot of the tutorial."""
    command = "hrp-sim video buggy.body buggy.png --duration 0.1 --view=130,25,1.0 --size 800x450"
    with walked(*TUTORIAL[:1]) as folder:
        subprocess.run(command.split(), cwd=folder, check=True)
        small(folder / "buggy.png", path)


def wheels(path: Path) -> None:
    """The curves of the tutorial."""
    with walked(*TUTORIAL[:2]) as folder:
        small(folder / "wheels.png", path)


def buggy_in_room(path: Path) -> None:
    """The picture that a command of the tutorial draws."""
    with walked(*TUTORIAL) as folder:
        small(folder / "room.png", path)


def buggy_page(path: Path) -> None:
    """The page of a run in the tutorial."""
    from run_page_tools import RunPage, node

    files = walked(*TUTORIAL)
    with files as folder, chdir(folder), RunPage("room.yaml") as running:
        camera = running.viewer.server.initial_camera
        camera.position, camera.look_at = (-2.2, 0.8, 1.1), (-0.7, 0.0, 0.0)
        with opened(running.viewer.address) as page:
            page.wait_until(lambda: node(running.viewer, "scanner"))
            running.runner.pause()
            page.wait_until_still()
            page.screenshot(path, COLORS)


def rover_camera(path: Path) -> None:
    """What the camera sees in the guide about sensors."""
    with walked("howto/sensors.md") as folder:
        small(folder / "color.png", path)


def slid_block(path: Path) -> None:
    """The report of the study in the guide."""
    with walked("howto/sweep.md") as folder:
        with opened((folder / "slid" / "report.html").as_uri()) as page:
            page.tab.set_viewport_size({"width": 1000, "height": 980})
            page.wait_until_still()
            page.screenshot(folder / "report.png", COLORS)
        small(folder / "report.png", path)


@contextmanager
def walked(*names: str) -> Iterator[Path]:
    """Walk pages of the documentation, in a folder that they fill."""
    from walk_page import Walk, missing, steps_of

    with TemporaryDirectory() as folder, Walk(Path(folder)) as walk:
        for name in names:
            for step in steps_of((ROOT / "docs" / name).read_text(encoding="utf-8")):
                if not missing(step):
                    walk.do(step)
        yield Path(folder)


@contextmanager
def chdir(folder: Path) -> Iterator[None]:
    """Change the working directory for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def small(source: Path, path: Path) -> None:
    """Write a picture with few colours and at most 960 pixels wide."""
    from PIL import Image

    with Image.open(source) as picture:
        picture.thumbnail((960, 960))
        picture.convert("RGB").quantize(COLORS).save(path, optimize=True)


PICTURES: dict[str, Callable[[Path], None]] = {
    "humanoid.webp": humanoid,
    "viewer.png": viewer,
    "run.png": run,
    "page.png": page_file,
    "buggy.png": buggy,
    "wheels.png": wheels,
    "buggy_in_room.png": buggy_in_room,
    "buggy_page.png": buggy_page,
    "slid_block.png": slid_block,
    "rover_camera.png": rover_camera,
}


def main() -> None:
    """Make the named pictures, or all."""
    parser = argparse.ArgumentParser(description="Make the pictures of the documentation.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PICTURES)}")
    names = parser.parse_args().names or list(PICTURES)
    for name in names:
        if name not in PICTURES:
            parser.error(f"there is no picture '{name}'")
        FOLDER.mkdir(parents=True, exist_ok=True)
        PICTURES[name](FOLDER / name)
        print(f"{FOLDER / name}: {(FOLDER / name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
