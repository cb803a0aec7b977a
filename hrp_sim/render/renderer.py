"""Renders images of a world, in any thread."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hrp_model import Body, Diagnostics, Pose

from ..engine.state import BodyPoses
from .gl import check_libraries, thread_context
from .lenses import Lens, View
from .lights import NOTHING_SWITCHED, Switches
from .view import ALL_PARTS, DAYLIGHT, Parts, Picture, Pinhole, Pixels, Surroundings

if TYPE_CHECKING:
    from .gpu import GpuScene, GpuStudio
    from .scene import Scene
    from .studio import Studio


class Renderer:
    """Renders the bodies of a world. It uses no resources until it is prepared.

    Each rendering thread has its own OpenGL context, with its own copy of the scene.

    Args:
        bodies: Models by the names of the bodies in the world.

    Attributes:
        switches: States of lights that were switched; replaced by each change, never modified,
            so that a render request may keep it.
    """

    def __init__(self, bodies: Mapping[str, Body]) -> None:
        self._bodies = dict(bodies)
        self.switches: Switches = {}
        self._scene: Scene | None = None  # of the bodies; None until needed
        self._diagnostics = Diagnostics()
        self._building = threading.Lock()
        self._is_prepared = False
        self._local = threading.local()

    def set_bodies(self, bodies: Mapping[str, Body], diagnostics: Diagnostics) -> None:
        """Render these bodies from now on; a texture that cannot be read is a warning.

        The rendering thread builds the scene for the next image. Lights of new bodies are on or
        off as in their models.
        """
        kept = {name for name, body in bodies.items() if self._bodies.get(name) is body}
        self.switches = {light: on for light, on in self.switches.items() if light[0] in kept}
        with self._building:
            self._bodies, self._diagnostics, self._scene = dict(bodies), diagnostics, None

    def switch_light(self, body: str, light: str, on: bool) -> None:
        """Switch the light of this name on a body, in images captured from now on."""
        self.switches = {**self.switches, (body, light): on}

    def prepare(self, diagnostics: Diagnostics, *, draws_now: bool = False) -> None:
        """Build the scene; a texture that cannot be read is a warning.

        Only the first call has an effect: rendering threads build later scenes.

        Args:
            diagnostics: Receives warnings.
            draws_now: Create the OpenGL context of this thread, too, to be sure that this machine
                renders. Otherwise it is created for the first picture: it takes up to 85 MB.

        Raises:
            RendererUnavailable: This machine cannot render, or lacks the libraries.
        """
        if draws_now:
            thread_context()
        else:
            check_libraries()
        if not self._is_prepared:
            self._is_prepared, self._diagnostics = True, diagnostics
            self._current_scene()

    def render(
        self,
        lens: Lens,
        X_WC: Pose,
        poses: BodyPoses,
        *,
        parts: Parts = ALL_PARTS,
        surroundings: Surroundings = DAYLIGHT,
        switches: Switches = NOTHING_SWITCHED,
    ) -> Picture:
        """Return the image of a camera C, rendered in the calling thread.

        Args:
            lens: Projection; C looks along -Z with +Y up.
            X_WC: Pose of the camera.
            poses: Of every body; bodies without are not drawn.
            parts: Requested parts; only these are drawn and read.
            surroundings: Headlight and background.
            switches: States of lights that were switched at the time of the capture.

        Raises:
            RendererUnavailable: This machine cannot render.
            RuntimeError: OpenGL failed, for lack of memory or because of too many links.
        """
        gpu = self._uploaded()
        if isinstance(lens, Pinhole):
            return gpu.draw(lens, X_WC, poses, parts, surroundings, switches)

        def draw(view: View) -> Picture:
            X_CV = view.X_CV
            axis = X_CV.R[2].tolist()  # of the camera, in the view
            return gpu.draw(view.lens, X_WC @ X_CV, poses, parts, surroundings, switches, axis)

        return lens.assembled(parts, draw)

    def render_studio(self, lens: Lens, X_WC: Pose, poses: BodyPoses, studio: Studio) -> Pixels:
        """Return a picture for people: with shadows, a ground, and smooth edges.

        The lights of the models are not used.

        Args:
            lens: Projection; C looks along -Z with +Y up.
            X_WC: Pose of the camera.
            poses: Of every body; bodies without are not drawn.
            studio: Light and ground.

        Returns:
            RGB with row 0 at the top, shape (height, width, 3).

        Raises:
            RendererUnavailable: This machine cannot render.
            RuntimeError: OpenGL failed, for lack of memory or because of too many links.
        """
        gpu = self._uploaded()
        stage: GpuStudio | None = getattr(self._local, "studio", None)
        if stage is None or stage.gpu is not gpu:
            from .gpu import GpuStudio

            stage = self._local.studio = GpuStudio(thread_context(), gpu)
        if isinstance(lens, Pinhole):
            return stage.draw(lens, X_WC, poses, studio)

        def draw(view: View) -> Picture:
            return Picture(stage.draw(view.lens, X_WC @ view.X_CV, poses, studio), None)

        color = lens.assembled(Parts(color=True, depth=False), draw).color
        assert color is not None
        return color

    def _uploaded(self) -> GpuScene:
        """Return this thread's copy of the current scene."""
        context = thread_context()
        scene = self._current_scene()
        uploaded: GpuScene | None = getattr(self._local, "scene", None)
        if uploaded is None or uploaded.scene is not scene:
            from .gpu import GpuScene  # needs moderngl, which thread_context has checked

            uploaded = self._local.scene = GpuScene(context, scene)
        return uploaded

    def _current_scene(self) -> Scene:
        """Return the scene of the current bodies, which another thread may change meanwhile."""
        from .scene import build_scene  # with libraries of images and shapes

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
