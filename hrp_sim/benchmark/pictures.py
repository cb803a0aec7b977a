"""Those who take pictures, and those who step while pictures are taken."""

from __future__ import annotations

import threading
import time
from functools import partial

import numpy as np

from hrp_model import Diagnostics, Pose

from ..render.context import cores
from ..render.scene import build_scene
from ..render.view import Picture
from ..running.render_thread import RenderThread
from ..sensors import CameraSensor, Exposure, ImageReading
from ..simulation import Simulation
from .bare_drawing import BareDrawing
from .plain_c import BenchError
from .scenes import Scene

RATE = 30.0  # [Hz] of wall time
PATIENCE = 60.0  # [s] that a picture may take
ALIKE = 0.99  # share of the pixels that are the same


class PicturesMissingError(RuntimeError):
    """This machine cannot draw, or not while it steps; the message says what it lacks."""


class _Filmed:
    """A scene with one camera.

    Raises:
        PicturesMissingError: There is none without OpenGL.
    """

    def __init__(self, scene: Scene) -> None:
        found = Diagnostics(listener=lambda _: None)
        self.simulation = Simulation(scene.world, defer_images=True, diagnostics=found)
        sensors = self.simulation.sensors.values()
        cameras = [x for x in sensors if isinstance(x, CameraSensor)]
        if not cameras:
            self.simulation.close()
            raise PicturesMissingError("; ".join(d.message for d in found.found))
        (self.camera,) = cameras
        self.simulation.wanted = lambda name: name != self.camera.name

    def expose(self) -> Exposure:
        """Return what the camera sees now."""
        return self.camera.expose(self.simulation.state)


class CameraRun:
    """Pictures by a sensor of a simulation that stands still."""

    def __init__(self, scene: Scene) -> None:
        self._filmed = _Filmed(scene)

    def advance(self, steps: int) -> float:
        """Take pictures; return the CPU time of all threads, in [s]."""
        camera, state = self._filmed.camera, self._filmed.simulation.state
        start = time.process_time()
        for _ in range(steps):
            camera.read(state)
        return time.process_time() - start

    def picture(self) -> Picture:
        """Return one."""
        image = self._filmed.camera.read(self._filmed.simulation.state)
        return Picture(image.color, image.depth)

    def close(self) -> None:
        """Free the engine."""
        self._filmed.simulation.close()


class BareDrawingRun:
    """The same pictures by moderngl alone."""

    def __init__(self, scene: Scene) -> None:
        filmed = _Filmed(scene)
        camera, exposure = filmed.camera, filmed.expose()
        bodies = {k: s.body for k, s in filmed.simulation.bodies.items()}
        drawn = build_scene(bodies, Diagnostics())
        own = exposure.poses[camera.body]
        X_WC = Pose(own.R[camera.link], own.p[camera.link]) @ camera.X_LS
        poses_C = [exposure.poses[name].seen_from(X_WC) for name in drawn.first_links]
        filmed.simulation.close()
        background = camera.surroundings.background
        self.picture = BareDrawing(
            drawn, np.concatenate(poses_C).astype(np.float32), camera.lens, background
        )

    def advance(self, steps: int) -> float:
        """Draw and read; return the CPU time of all threads, in [s]."""
        start = time.process_time()
        for _ in range(steps):
            self.picture()
        return time.process_time() - start

    def close(self) -> None:
        """Do nothing: what is in OpenGL goes with this object."""


class FilmingRun:
    """Steps, with camera images rendered in a background thread, or for comparison without.

    What is told is wall time. Pictures are as many as if the world kept up with it.

    Args:
        scene: With one camera.
        is_filmed: Whether pictures are taken.
    """

    def __init__(self, scene: Scene, *, is_filmed: bool) -> None:
        self._filmed = _Filmed(scene)
        self._is_filmed = is_filmed
        self._developed = threading.Event()
        self._last_ns = -1
        self._render_thread = RenderThread(self._take)

    def advance(self, steps: int) -> float:
        """Step; images still being rendered at the end are waited for, but not timed."""
        step = self._filmed.simulation.step
        now = start = time.perf_counter()
        exposed = 0
        for _ in range(steps):
            if self._is_filmed and now - start >= exposed / RATE:
                self._expose()
                exposed += 1
            step()
            now = time.perf_counter()
        if exposed and not self._developed.wait(PATIENCE):
            raise BenchError("a picture was not developed")
        return now - start

    def close(self) -> None:
        """End the render thread and free the engine."""
        self._render_thread.close()
        self._filmed.simulation.close()

    def _expose(self) -> None:
        exposure = self._filmed.expose()
        self._developed.clear()
        self._last_ns = exposure.time_ns
        self._render_thread.submit("", partial(self._filmed.camera.develop, exposure))

    def _take(self, _camera: str, image: ImageReading) -> None:
        if image.time_ns == self._last_ns:  # the others are older, and nobody waits for them
            self._developed.set()


def check_filming(scene: Scene) -> None:
    """Make sure that this machine can draw while it steps.

    Raises:
        PicturesMissingError: It cannot.
    """
    FilmingRun(scene, is_filmed=False).close()
    if cores() < 2:
        raise PicturesMissingError("who draws while another steps needs a core of its own")


def check_pictures(scene: Scene) -> None:
    """Make sure that both draw the same, but for some pixels on edges.

    Raises:
        BenchError: They do not.
        PicturesMissingError: This machine cannot draw.
    """
    camera, bare = CameraRun(scene), BareDrawingRun(scene)
    ours, theirs = camera.picture(), bare.picture()
    camera.close()
    assert ours.color is not None
    assert ours.depth is not None
    assert theirs.color is not None
    assert theirs.depth is not None
    levels = np.abs(ours.color.astype(int) - theirs.color).max(axis=2)
    is_seen = np.isfinite(ours.depth)
    # Ours are depths of the curved surfaces, not of the facets that are drawn.
    ratios = theirs.depth[is_seen] / ours.depth[is_seen]
    if np.mean(levels <= 2) < ALIKE or np.mean(np.abs(ratios - 1.0) < 0.01) < ALIKE:
        raise BenchError(
            f"scene '{scene.name}': the camera and moderngl alone draw different pictures; "
            "their times mean nothing"
        )
