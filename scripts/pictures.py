#!/usr/bin/env python3
"""Make the pictures of the documentation in docs/pictures.

python scripts/pictures.py [NAME...]

Each picture has a function below; by default all are made. Pages are opened in Chromium, which
needs no display: the packages chromium and, from PyPI, playwright.
"""

from __future__ import annotations

import argparse
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

    found = Diagnostics(listener=lambda _: None)
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


PICTURES: dict[str, Callable[[Path], None]] = {
    "humanoid.webp": humanoid,
    "viewer.png": viewer,
    "run.png": run,
    "page.png": page_file,
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
