"""Pictures of a world, taken from any thread."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hrp_model import Body, Diagnostics, Pose

from .context import thread_context
from .scene import Scene, build_scene
from .view import ALL_PARTS, BodyPoses, Parts, Picture, Pinhole

if TYPE_CHECKING:
    from .gpu import GpuScene

SKY = (0.55, 0.7, 0.85)


class Renderer:
    """Draws what the bodies of a world look like. Costs nothing before it is prepared.

    Each thread that draws has its own OpenGL context and its own copy of the scene there.

    Args:
        bodies: Models by the names of the bodies in the world.
        background: RGB in 0..1.
    """

    def __init__(
        self, bodies: Mapping[str, Body], background: tuple[float, float, float] = SKY
    ) -> None:
        self._bodies = dict(bodies)
        self._background = background
        self._scene: Scene | None = None
        self._local = threading.local()

    def show(self, bodies: Mapping[str, Body], diagnostics: Diagnostics) -> None:
        """Draw these bodies from now on; a texture that cannot be read is a warning."""
        self._bodies = dict(bodies)
        if self._scene is not None:
            self._scene = build_scene(self._bodies, diagnostics)

    def prepare(self, diagnostics: Diagnostics) -> None:
        """Read what is needed to draw; a texture that cannot be read is a warning.

        Raises:
            RendererUnavailable: This machine cannot draw.
        """
        thread_context()
        if self._scene is None:
            self._scene = build_scene(self._bodies, diagnostics)

    def render(
        self, lens: Pinhole, X_WC: Pose, poses: BodyPoses, *, parts: Parts = ALL_PARTS
    ) -> Picture:
        """Return the picture that a camera C at this pose takes, in the calling thread.

        Args:
            lens: How it projects; C looks along -Z with +Y up.
            X_WC: Where it is.
            poses: Of every body; one without is not drawn.
            parts: What is asked for; only that is drawn and read.

        Raises:
            RendererUnavailable: This machine cannot draw.
        """
        if self._scene is None:
            self.prepare(Diagnostics())
            assert self._scene is not None
        scene = self._scene  # once: another thread may show other bodies meanwhile
        uploaded: GpuScene | None = getattr(self._local, "scene", None)
        if uploaded is None or uploaded.scene is not scene:
            context = thread_context()
            from .gpu import GpuScene  # needs moderngl, which thread_context has found

            uploaded = self._local.scene = GpuScene(context, scene, self._background)
        return uploaded.draw(lens, X_WC, poses, parts)
