"""Contenders that render images, and that step while images are rendered."""

from __future__ import annotations

import threading
import time
from functools import partial

import numpy as np

from hrp_model import Diagnostics, Pose
from hrp_sim.render.gl import cores
from hrp_sim.render.scene import build_scene
from hrp_sim.render.view import Picture, Pinhole
from hrp_sim.run.samplers import RenderThread
from hrp_sim.sensors import CameraSensor, ImageReading, RenderRequest
from hrp_sim.simulation import Simulation

from .contenders import BenchError
from .plain_moderngl import PlainModernGL
from .scenes import Scene

RATE = 30.0  # images per second of wall time, in [Hz]
TIMEOUT = 60.0  # of an image, in [s]
MIN_EQUAL = 0.99  # share of the pixels that must be equal


class RenderingUnavailableError(RuntimeError):
    """This machine cannot render, or not beside the physics; the message states the reason."""


class _CameraScene:
    """A simulation of a scene with one camera, which is read by hand.

    Raises:
        RenderingUnavailableError: There is no OpenGL.
    """

    def __init__(self, scene: Scene) -> None:
        found = Diagnostics.silent()
        self.simulation = Simulation(scene.world, defer_images=True, diagnostics=found)
        sensors = self.simulation.sensors.values()
        cameras = [x for x in sensors if isinstance(x, CameraSensor)]
        if not cameras:
            self.simulation.close()
            raise RenderingUnavailableError("; ".join(d.message for d in found.found))
        (self.camera,) = cameras
        self.simulation.wanted = lambda name: name != self.camera.name

    def capture(self) -> RenderRequest:
        """Return the input of an image of the present state."""
        return self.camera.capture(self.simulation.state)


class CameraRun:
    """Images by the camera sensor of a simulation that is not stepped."""

    def __init__(self, scene: Scene) -> None:
        self._filmed = _CameraScene(scene)

    def advance(self, steps: int) -> float:
        """Render images; return the CPU time of all threads, in [s]."""
        camera, state = self._filmed.camera, self._filmed.simulation.state
        start = time.process_time()
        for _ in range(steps):
            camera.read(state)
        return time.process_time() - start

    def picture(self) -> Picture:
        """Return one image."""
        image = self._filmed.camera.read(self._filmed.simulation.state)
        return Picture(image.color, image.depth)

    def close(self) -> None:
        """Free the engine."""
        self._filmed.simulation.close()


class PlainModernGLRun:
    """The same images by a plain moderngl program."""

    def __init__(self, scene: Scene) -> None:
        filmed = _CameraScene(scene)
        camera, request = filmed.camera, filmed.capture()
        bodies = {k: s.body for k, s in filmed.simulation.bodies.items()}
        drawn = build_scene(bodies, Diagnostics())
        own = request.poses[camera.body]
        X_WC = Pose(own.R[camera.link], own.p[camera.link]) @ camera.X_LS
        poses_C = [request.poses[name].relative_to(X_WC) for name in drawn.first_links]
        filmed.simulation.close()
        background, lens = camera.surroundings.background, camera.lens
        assert isinstance(lens, Pinhole)
        self.picture = PlainModernGL(
            drawn, np.concatenate(poses_C).astype(np.float32), lens, background
        )

    def advance(self, steps: int) -> float:
        """Render and read back; return the CPU time of all threads, in [s]."""
        start = time.process_time()
        for _ in range(steps):
            self.picture()
        return time.process_time() - start

    def close(self) -> None:
        """Do nothing: OpenGL's objects are freed with this one."""


class FilmingRun:
    """Steps of a simulation whose camera is rendered in a background thread, or not at all.

    Times are wall times; images are taken at a fixed rate of wall time.

    Args:
        scene: A scene with one camera.
        is_filmed: Whether images are taken.
    """

    def __init__(self, scene: Scene, *, is_filmed: bool) -> None:
        self._filmed = _CameraScene(scene)
        self._is_filmed = is_filmed
        self._last_is_done = threading.Event()
        self._last_ns = -1
        self._render_thread = RenderThread(self._take)

    def advance(self, steps: int) -> float:
        """Step; waiting for the last image is not timed."""
        step = self._filmed.simulation.step
        now = start = time.perf_counter()
        exposed = 0
        for _ in range(steps):
            if self._is_filmed and now - start >= exposed / RATE:
                self._expose()
                exposed += 1
            step()
            now = time.perf_counter()
        if exposed and not self._last_is_done.wait(TIMEOUT):
            raise BenchError(f"an image was not rendered within {TIMEOUT:g} s")
        return now - start

    def close(self) -> None:
        """End the render thread and free the engine."""
        self._render_thread.close()
        self._filmed.simulation.close()

    def _expose(self) -> None:
        request = self._filmed.capture()
        self._last_is_done.clear()
        self._last_ns = request.time_ns
        self._render_thread.submit("", partial(self._filmed.camera.render, request))

    def _take(self, _camera: str, image: ImageReading) -> None:
        if image.time_ns == self._last_ns:  # older ones are dropped
            self._last_is_done.set()


def check_filming(scene: Scene) -> None:
    """Check that this machine can render while it steps.

    Raises:
        RenderingUnavailableError: It cannot.
    """
    FilmingRun(scene, is_filmed=False).close()
    if cores() < 2:
        raise RenderingUnavailableError("rendering beside the physics needs a second core")


def check_pictures(scene: Scene) -> None:
    """Check that camera and plain moderngl render the same image, but for pixels on edges.

    Raises:
        BenchError: They do not.
        RenderingUnavailableError: This machine has no OpenGL.
    """
    camera, plain = CameraRun(scene), PlainModernGLRun(scene)
    ours, theirs = camera.picture(), plain.picture()
    camera.close()
    assert ours.color is not None
    assert ours.depth is not None
    assert theirs.color is not None
    assert theirs.depth is not None
    levels = np.abs(ours.color.astype(int) - theirs.color).max(axis=2)
    is_seen = np.isfinite(ours.depth)
    # The camera measures the curved surfaces, not the facets that are rendered.
    ratios = theirs.depth[is_seen] / ours.depth[is_seen]
    if np.mean(levels <= 2) < MIN_EQUAL or np.mean(np.abs(ratios - 1.0) < 0.01) < MIN_EQUAL:
        raise BenchError(
            f"scene '{scene.name}': the camera and plain moderngl render different images, "
            "so their times cannot be compared"
        )
