"""Pictures of a world, taken from any thread."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hrp_model import Body, Diagnostics, Pose

from .context import thread_context
from .lights import NOTHING_SWITCHED, Switches
from .scene import Scene, build_scene
from .view import ALL_PARTS, DAYLIGHT, BodyPoses, Parts, Picture, Pinhole, Surroundings

if TYPE_CHECKING:
    from .gpu import GpuScene


class Renderer:
    """Draws what the bodies of a world look like. Costs nothing before it is prepared.

    Each thread that draws has its own OpenGL context and its own copy of the scene there.

    Args:
        bodies: Models by the names of the bodies in the world.

    Attributes:
        switches: The lights that were switched; replaced by each change, never changed, so that
            an exposure may keep it.
    """

    def __init__(self, bodies: Mapping[str, Body]) -> None:
        self._bodies = dict(bodies)
        self.switches: Switches = {}
        self._scene: Scene | None = None  # of the bodies; None until somebody draws them
        self._diagnostics = Diagnostics()
        self._building = threading.Lock()
        self._is_prepared = False
        self._local = threading.local()

    def show(self, bodies: Mapping[str, Body], diagnostics: Diagnostics) -> None:
        """Draw these bodies from now on; a texture that cannot be read is a warning.

        What is needed for that is read when the next picture is drawn, by the thread that draws.
        The lights of those that were not there before are as their models say.
        """
        stay = {name for name, body in bodies.items() if self._bodies.get(name) is body}
        self.switches = {light: on for light, on in self.switches.items() if light[0] in stay}
        with self._building:
            self._bodies, self._diagnostics, self._scene = dict(bodies), diagnostics, None

    def switch_light(self, body: str, light: str, on: bool) -> None:
        """Switch the light of this name on a body, in pictures that are exposed from now on."""
        self.switches = {**self.switches, (body, light): on}

    def prepare(self, diagnostics: Diagnostics) -> None:
        """Read what is needed to draw; a texture that cannot be read is a warning.

        Once: what is shown later is read by the thread that draws.

        Raises:
            RendererUnavailable: This machine cannot draw.
        """
        thread_context()
        if not self._is_prepared:
            self._is_prepared, self._diagnostics = True, diagnostics
            self._present_scene()

    def render(
        self,
        lens: Pinhole,
        X_WC: Pose,
        poses: BodyPoses,
        *,
        parts: Parts = ALL_PARTS,
        surroundings: Surroundings = DAYLIGHT,
        switches: Switches = NOTHING_SWITCHED,
    ) -> Picture:
        """Return the picture that a camera C at this pose takes, in the calling thread.

        Args:
            lens: How it projects; C looks along -Z with +Y up.
            X_WC: Where it is.
            poses: Of every body; one without is not drawn.
            parts: What is asked for; only that is drawn and read.
            surroundings: What it sees by, and where nothing is.
            switches: The lights that were switched when it was taken.

        Raises:
            RendererUnavailable: This machine cannot draw.
            RuntimeError: It cannot draw this, for want of memory or with so many links.
        """
        context = thread_context()
        scene = self._present_scene()
        uploaded: GpuScene | None = getattr(self._local, "scene", None)
        if uploaded is None or uploaded.scene is not scene:
            from .gpu import GpuScene  # needs moderngl, which thread_context has found

            uploaded = self._local.scene = GpuScene(context, scene)
        return uploaded.draw(lens, X_WC, poses, parts, surroundings, switches)

    def _present_scene(self) -> Scene:
        """Return the scene of the bodies that are shown now, which another thread may change."""
        while True:
            with self._building:
                bodies, scene, diagnostics = self._bodies, self._scene, self._diagnostics
            if scene is not None:
                return scene
            scene = build_scene(bodies, diagnostics)
            with self._building:
                if self._bodies is bodies:
                    self._scene = scene
                    return scene
