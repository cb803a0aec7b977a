"""Make the pictures of the documentation in docs/pictures.

Each picture has a function below; by default all are made. Pages are opened in Chromium, which
needs no display: the packages chromium and, from PyPI, playwright.
"""

from __future__ import annotations

import argparse
import io
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from math import isclose, radians
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from browser_tools import TIMEOUT, Page, Pages, client_of, few_colors, running_chromium
from page_walk import Walk, missing, steps_of
from PIL import Image
from run_page_tools import RunPage, gui, node

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics
from hrp_model.view.model_viewer import ModelViewer
from hrp_model.view.viewer import Viewer, set_value
from hrp_sim import Simulation, sweep
from hrp_sim.cli.main import main as simulate
from hrp_sim.lab.studies import StudyRun, load_study
from hrp_sim.lab.studies.report import picture_of
from hrp_sim.recording.video import (
    Extents,
    FixedView,
    Format,
    SimulationSource,
    StudioRenderer,
    Viewpoint,
    film_frames,
    writing_film,
)
from scripts.program import ROOT

FOLDER = ROOT / "docs" / "pictures"
SIZE = 1280, 800  # of a page, in pixels
TUTORIAL = "tutorial/1-model.md", "tutorial/2-drive.md", "tutorial/3-room.md"
COLORS = 200  # of a picture of a page, so that its file is small
FILM_TIMES = 1.0, 15.0  # from and to, of the film of the humanoid, in [s]
FILM_VIEW = Viewpoint(46.0, 14.0, 3.4)
FILM_OFFSET = 0.9, 0.1, -0.05  # of what it shows, from where the humanoid starts, in [m]


@contextmanager
def opened(address: str) -> Iterator[Page]:
    """Open a page in a browser."""
    with running_chromium() as chromium:
        pages = Pages(chromium)
        yield pages.open(address, SIZE)
        pages.close()


def viewer(path: Path) -> None:
    """The page of hrp-model view: a robot with a selected link."""
    found = Diagnostics.silent()
    with Viewer(0) as served:
        model = ModelViewer(served, "humanoid.body")
        model.show(load_body(ROOT / "models" / "humanoid" / "humanoid.body", found), found.found)
        model.select("RARM_ELBOW")
        with opened(served.address) as page:
            client_of(served, page)
            for joint, position in (("RARM_SHOULDER_P", -50.0), ("RARM_ELBOW", -65.0)):
                page.field(joint).fill(str(position))
                page.wait_until(
                    lambda j=joint, q=position: isclose(
                        model.positions[j], radians(q), abs_tol=0.01
                    )
                )
            page.tab.get_by_role("button", name="Front").hover()
            page.tab.mouse.wheel(0.0, -1000.0)  # filling in has scrolled the panel
            page.wait_until_still()
            page.screenshot(path, COLORS)


def run_page(path: Path) -> None:
    """The page of hrp-sim run --view: a robot, its scan, camera pictures and contacts."""
    with RunPage("humanoid_in_room") as running:
        set_value(gui(running.viewer, "contact points"), True)
        set_value(gui(running.viewer, "contact forces"), True)
        with opened(running.viewer.address) as page:
            page.tab.get_by_role("tab", name="Sensors").click()
            for name in ("scanner", "head_camera/lens", "/contacts/forces"):
                page.wait_until(lambda name=name: node(running.viewer, name))
            running.runner.pause()
            page.wait_until_still()
            page.screenshot(path, 256)


def page_file(path: Path) -> None:
    """The page of hrp-sim page: a robot in the middle of its run."""
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
    with (
        walked(*TUTORIAL) as folder,
        RunPage(str(folder / "room.yaml")) as running,
        opened(running.viewer.address) as page,
    ):
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
    with walked("studies.md") as folder:
        with opened((folder / "slid" / "report.html").as_uri()) as page:
            page.tab.set_viewport_size({"width": 1000, "height": 980})
            page.wait_until_still()
            page.screenshot(folder / "report.png", COLORS)
        small(folder / "report.png", path)


def humanoid(path: Path) -> None:
    """The humanoid walks through the room, looks around and waves, and walks on."""
    film = Format(path, (640, 400), 15.0)
    with Simulation("walking_humanoid", defer_images=True) as sim:
        source, poses = SimulationSource(sim), sim.state.poses()
        points = Extents(source.bodies).points(poses) + np.array(FILM_OFFSET)
        renderer = StudioRenderer(source.bodies, FixedView(film.size, FILM_VIEW, points), poses)
        with writing_film(film) as writer:
            frames = islice(source.frames(film.fps), *(round(t * film.fps) for t in FILM_TIMES))
            film_frames(frames, renderer, writer)


def pushed_humanoid(path: Path) -> None:
    """The first plot of a study, of whether the humanoid fell; it takes a minute."""
    study = load_study(ROOT / "examples" / "studies" / "pushed_humanoid.yaml")
    result = sweep(study.world_of, study.cases(), StudyRun(study))
    picture = Image.open(io.BytesIO(picture_of(study, result, "humanoid.fell")))
    small = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


@contextmanager
def walked(*names: str) -> Iterator[Path]:
    """Walk pages of the documentation, in a folder that they fill."""
    with TemporaryDirectory() as folder, Walk(Path(folder)) as walk:
        for name in names:
            for step in steps_of((ROOT / "docs" / name).read_text(encoding="utf-8")):
                if not missing(step):
                    walk.do(step)
        yield Path(folder)


def small(source: Path, path: Path) -> None:
    """Write a picture with few colours and at most 960 pixels wide."""
    with Image.open(source) as picture:
        picture.thumbnail((960, 960))
        few_colors(picture.convert("RGB"), COLORS).save(path, optimize=True)


PICTURES: dict[str, Callable[[Path], None]] = {
    "humanoid.webp": humanoid,
    "viewer.png": viewer,
    "run.png": run_page,
    "page.png": page_file,
    "buggy.png": buggy,
    "wheels.png": wheels,
    "buggy_in_room.png": buggy_in_room,
    "buggy_page.png": buggy_page,
    "slid_block.png": slid_block,
    "rover_camera.png": rover_camera,
    "pushed_humanoid.png": pushed_humanoid,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PICTURES)}")


def run(options: argparse.Namespace) -> int:
    """Make the named pictures, or all."""
    if unknown := set(options.names) - PICTURES.keys():
        print(f"there is no picture '{', '.join(sorted(unknown))}'")
        return 2
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in options.names or PICTURES:
        PICTURES[name](FOLDER / name)
        print(f"{FOLDER / name}: {(FOLDER / name).stat().st_size / 1000:.0f} kB")
    return 0
