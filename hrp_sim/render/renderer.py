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
        self._scene: Scene | None = None
        self._local = threading.local()

    def show(self, bodies: Mapping[str, Body], diagnostics: Diagnostics) -> None:
        """Draw these bodies from now on; a texture that cannot be read is a warning.

        The lights of those that were not there before are as their models say.
        """
        stay = {name for name, body in bodies.items() if self._bodies.get(name) is body}
        self.switches = {light: on for light, on in self.switches.items() if light[0] in stay}
        self._bodies = dict(bodies)
        if self._scene is not None:
            self._scene = build_scene(self._bodies, diagnostics)

    def switch_light(self, body: str, light: str, on: bool) -> None:
        """Switch the light of this name on a body, in pictures that are exposed from now on."""
        self.switches = {**self.switches, (body, light): on}

    def prepare(self, diagnostics: Diagnostics) -> None:
        """Read what is needed to draw; a texture that cannot be read is a warning.

        Raises:
            RendererUnavailable: This machine cannot draw.
        """
        thread_context()
        if self._scene is None:
            self._scene = build_scene(self._bodies, diagnostics)

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
        if self._scene is None:
            self.prepare(Diagnostics())
            assert self._scene is not None
        scene = self._scene  # once: another thread may show other bodies meanwhile
        context = thread_context()
        uploaded: GpuScene | None = getattr(self._local, "scene", None)
        if uploaded is None or uploaded.scene is not scene:
            from .gpu import GpuScene  # needs moderngl, which thread_context has found

            uploaded = self._local.scene = GpuScene(context, scene)
        return uploaded.draw(lens, X_WC, poses, parts, surroundings, switches)
