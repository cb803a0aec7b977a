"""Pages in a real browser: Debian's Chromium, cut off from everything but the page's own port.

Tests take the fixture ``pages`` (test/conftest.py has it for all) and open what they test:

    def test_it_shows_the_robot(pages):
        with Viewer(0) as viewer:
            page = pages.open(viewer.address)
            page.wait_for_text("Connected")
            ...

At the end of the test every page must have made no foreign request and no error. While a test
waits, the browser's events must be served: wait with ``wait_until``, never with ``time.sleep``.
"""

from __future__ import annotations

import io
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from PIL import Image

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-gpu-sandbox", "--disable-background-networking",
    "--no-first-run", "--disable-component-update", "--disable-sync",
    # Mesa needs a third of the time of Chromium's own SwiftShader for the first picture of a scene.
    "--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist", "--enable-unsafe-swiftshader",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)  # fmt: skip
SIZE = (1000, 450)  # of a page, in pixels; small, as there is no GPU
# Without a GPU, drawing takes all processors: so there are at most ten frames a second.
_FEW_FRAMES = """
const draw = window.requestAnimationFrame.bind(window), waiting = new Set();
let count = 0;
window.requestAnimationFrame = (drawing) => {
    const id = ++count;
    waiting.add(id);
    setTimeout(() => draw((time) => waiting.delete(id) && drawing(time)), 100);
    return id;
};
window.cancelAnimationFrame = (id) => waiting.delete(id);
"""
TIMEOUT = 300.0  # [s]; a loaded machine without a GPU draws slowly
_LOCAL = ("localhost", "127.0.0.1", "[::1]")

Pixels = NDArray[np.uint8]


class Camera(Protocol):
    """The camera of a page, as viser reports it: z ahead, x to the right, y down."""

    position: NDArray[np.float64]
    wxyz: NDArray[np.float64]
    fov: float
    image_width: int
    image_height: int


class Pages:
    """Opens pages in tabs of one browser, and checks in the end that they behaved."""

    def __init__(self, browser) -> None:
        self._browser = browser
        self._opened: list[Page] = []

    def open(self, address: str, size: tuple[int, int] = SIZE, *, dark: bool = False) -> Page:
        """Open an address, http:// or file://, in a browser profile of its own."""
        page = Page(self._browser, address, size, dark=dark)
        self._opened.append(page)
        return page

    def close(self) -> None:
        """Close all pages; a foreign request or an error of any of them fails the test."""
        for page in self._opened:
            page.close()
        assert [x for page in self._opened for x in page.foreign] == []
        errors = [x for page in self._opened for x in page.errors]
        assert not errors, "\n".join(errors)


class Page:
    """A page in the browser.

    Attributes:
        tab: Playwright's page.
        foreign: Addresses outside the page's own server or file that it asked for; all blocked.
        errors: Errors that it wrote to the console or did not catch.
    """

    def __init__(self, browser, address: str, size: tuple[int, int], *, dark: bool = False) -> None:
        self.foreign: list[str] = []
        self.errors: list[str] = []
        self._own = urlsplit(address)
        width, height = size
        self._context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        self._context.set_default_timeout(1e3 * TIMEOUT)
        self._context.route("**/*", self._on_request)
        self._context.add_init_script(_FEW_FRAMES)
        self.tab = self._context.new_page()
        self.tab.on("websocket", lambda socket: self._is_own(socket.url))
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("console", self._on_console)
        self.tab.goto(address)
        # A browser without a GPU is told so; that notice must not cover the scene.
        self.tab.add_style_tag(content=".mantine-Notifications-root { display: none }")

    def close(self) -> None:
        """Close the page, as a person who closes the tab."""
        self._context.close()

    def pixels(self) -> Pixels:
        """Return what the page looks like now, shape (height, width, 3)."""
        with Image.open(io.BytesIO(self.tab.screenshot())) as image:
            return np.asarray(image.convert("RGB"))

    def screenshot(self, path: Path, colors: int = 0) -> None:
        """Write a PNG of what the page looks like now.

        Args:
            path: The file.
            colors: Size of its palette, for a small file; 0 for all colours.
        """
        image = Image.fromarray(self.pixels())
        if colors:
            image = few_colors(image, colors)
        image.save(path, optimize=True)

    def wait_until(self, condition: Callable[[], object], what: str = "") -> None:
        """Wait until a condition holds; fail with a description of it after ``TIMEOUT``."""
        end = time.monotonic() + TIMEOUT
        while not condition():
            if time.monotonic() > end:
                pytest.fail(f"after {TIMEOUT:g} s: not {what or condition}; {self.errors}")
            self.tab.wait_for_timeout(100)  # serves the browser's events

    def wait_until_still(self) -> None:
        """Wait until two pictures in a row are equal, for pictures that somebody looks at.

        Not for tests: nothing may have been drawn between the two.
        """
        last = self.pixels()

        def is_still() -> bool:
            nonlocal last
            before, last = last, self.pixels()
            return np.array_equal(before, last)

        self.wait_until(is_still, "still")

    def wait_for_text(self, text: str) -> None:
        """Wait until the page shows a text."""
        shown = self.tab.get_by_text(text).filter(visible=True)
        shown.first.wait_for(timeout=1e3 * TIMEOUT)

    def open_part(self, tab: str) -> None:
        """Open a tab of the control panel."""
        self.tab.get_by_role("tab", name=tab).first.click()

    def field(self, label: str):
        """Return the input of the control panel whose label begins with a text."""
        text = self.tab.locator("label").filter(has_text=re.compile(f"^{re.escape(label)}"))
        return text.first.locator("xpath=ancestor::*[3]//input[not(@type='hidden')]").first

    def click(self, at: tuple[float, float]) -> None:
        """Click at a pixel."""
        self.tab.mouse.click(*at)

    def wait_for_point(
        self, color: tuple[int, int, int], point: ArrayLike, camera: Camera, radius: int = 3
    ) -> None:
        """Wait until a point of the scene is drawn in a colour; arguments as of its parts."""

        def is_drawn() -> bool:  # the camera may still be moving to its first place
            return self.shows(color, self.project(point, camera), radius)

        self.wait_until(is_drawn, f"{color} at {point}")

    def shows(self, color: tuple[int, int, int], at: tuple[float, float], radius: int = 3) -> bool:
        """Return whether some pixel around a place has a colour, brighter or darker."""
        x, y = (round(value) for value in at)
        pixels = self.pixels()
        part = pixels[max(0, y - radius) : y + radius + 1, max(0, x - radius) : x + radius + 1]
        return bool(part.size and has_color(part, color).any())

    def color_at(self, at: tuple[float, float]) -> NDArray[np.float64]:
        """Return the mean colour of the pixels around a place, shape (3,)."""
        x, y = (round(value) for value in at)
        return self.pixels()[y - 1 : y + 2, x - 1 : x + 2].mean(axis=(0, 1))

    def project(self, point: ArrayLike, camera: Camera) -> tuple[float, float]:
        """Return the pixel (x, y) where a point of the scene is drawn.

        The formula of a pinhole camera, with what the page itself reports as its camera.

        Args:
            point: In the world, in [m], shape (3,).
            camera: ``client.camera`` of the server's client for this page.
        """
        w, x, y, z = camera.wxyz
        R = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )
        right, down, ahead = R.T @ (np.asarray(point) - camera.position)
        canvas = self.tab.locator("canvas").first.bounding_box()
        focal = canvas["height"] / 2.0 / np.tan(camera.fov / 2.0)
        return (
            canvas["x"] + canvas["width"] / 2.0 + focal * right / ahead,
            canvas["y"] + canvas["height"] / 2.0 + focal * down / ahead,
        )

    def _on_request(self, route) -> None:
        if self._is_own(route.request.url):
            route.continue_()
        else:
            route.abort()

    def _on_console(self, message) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _is_own(self, url: str) -> bool:
        """Return whether an address belongs to the page; record it if it does not."""
        asked = urlsplit(url)
        own = self._own
        if asked.scheme in ("data", "blob"):
            return True
        if own.scheme == "file":
            is_own = asked.scheme == "file" and asked.path == own.path
        else:
            is_own = asked.hostname in _LOCAL and asked.port == own.port
        if not is_own:
            self.foreign.append(url)
        return is_own


def few_colors(image: Image.Image, colors: int) -> Image.Image:
    """Return an image with a palette, in which rare colours are as true as others."""
    return image.quantize(colors, Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE)


def has_color(pixels: Pixels, color: tuple[int, int, int]) -> NDArray[np.bool_]:
    """Return which pixels have a bright colour in any light: its mixture, not too dark.

    Args:
        pixels: Shape (..., 3).
        color: A saturated colour, such as (255, 0, 0).
    """
    values = pixels.astype(np.float64)
    brightest = values.max(axis=-1, keepdims=True)
    mixture = values / np.maximum(brightest, 1.0)
    wanted = np.array(color) / max(color)
    return (brightest[..., 0] > 60.0) & (np.abs(mixture - wanted).max(axis=-1) < 0.35)


def client_of(viewer, page: Page):
    """Return the client with which the server of a viewer represents its only page."""
    page.wait_until(lambda: len(viewer.server.get_clients()) == 1, "connected")
    (client,) = viewer.server.get_clients().values()
    return client


@contextmanager
def running_chromium() -> Iterator[object]:
    """Run the browser, without a display."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(ARGUMENTS), timeout=1e3 * TIMEOUT
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """The browser that all tests of a session share."""
    pytest.importorskip("playwright.sync_api")
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip(f"tests of pages need {CHROMIUM}")
    with running_chromium() as browser:
        yield browser


@contextmanager
def checked_pages(chromium) -> Iterator[Pages]:
    """Open pages; at the end none may have made a foreign request or an error."""
    opened = Pages(chromium)
    yield opened
    opened.close()


@pytest.fixture
def pages(chromium) -> Iterator[Pages]:
    """Pages of one test."""
    with checked_pages(chromium) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_pages(chromium) -> Iterator[Pages]:
    """Pages that the tests of a module share, as opening one takes seconds."""
    with checked_pages(chromium) as opened:
        yield opened
