"""Colour camera: a cheap snapshot of the world, and the picture made of it later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hrp_model import Pose

from ..render import LinkPoses, Pinhole, Renderer
from ..state import WorldState


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """What a camera caught: where everything was. Later steps do not change it.

    Attributes:
        time_ns: Simulation time, in [ns].
        poses: Of the links of every body, by the body's name.
    """

    time_ns: int
    poses: Mapping[str, LinkPoses]


@dataclass(frozen=True, slots=True, eq=False)
class ImageReading:
    """One colour picture, in the optical frame: x right, y down, z forward.

    Attributes:
        time_ns: Simulation time of the exposure, in [ns].
        body: Name of the body that carries the camera.
        pixels: RGB, shape (height, width, 3), row 0 on top.
        field_of_view: Full angle across the shorter side, in [rad].
    """

    time_ns: int
    body: str
    pixels: NDArray[np.uint8]
    field_of_view: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CameraSensor:
    """An ideal camera whose frame S is fixed to a link L.

    S looks along -Z with +Y up. ``expose`` belongs to the thread of the physics, ``develop``
    to any thread, so that the physics need not wait for the drawing.

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it.
        rate_hz: Pictures per second.
        link: Index of L in the body's links.
        X_LS: Pose of S in L.
        lens: How it projects.
        renderer: What draws.
    """

    name: str
    body: str
    rate_hz: float
    link: int
    X_LS: Pose
    lens: Pinhole
    renderer: Renderer

    def expose(self, world: WorldState) -> Exposure:
        """Note where everything is."""
        poses = {
            name: LinkPoses(simulated.motion.p.copy(), simulated.motion.R.copy())
            for name, simulated in world.bodies.items()
        }
        return Exposure(world.time_ns, poses)

    def develop(self, exposure: Exposure) -> ImageReading:
        """Draw the picture; raises RendererUnavailable."""
        own = exposure.poses[self.body]
        X_WS = Pose(own.R[self.link], own.p[self.link]) @ self.X_LS
        pixels = self.renderer.render(self.lens, X_WS, exposure.poses)
        return ImageReading(exposure.time_ns, self.body, pixels, self.lens.field_of_view)

    def read(self, world: WorldState) -> ImageReading:
        """Expose and develop at once."""
        return self.develop(self.expose(world))
