"""Light and ground of studio pictures, which are made for people. Does not call OpenGL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hrp_model import Pose
from hrp_model.rigid import Array

# Texels along each side of the shadow map.
MAP_SIZE = 768
# How far the map reaches beyond the center, away from the light, relative to the radius.
_BEHIND = 1.5

# The block ``Studio`` of the shaders, in the layout std140; matrices are column-major.
BLOCK = np.dtype(
    [
        ("shadow", "f4", (4, 4)),
        ("X_WC", "f4", (4, 4)),
        ("light", "f4", 3),
        ("offset", "f4"),
        ("ground", "f4"),
        ("reach", "f4"),
        ("slopes", "f4", 2),
    ]
)


@dataclass(frozen=True)
class Studio:
    """A directional light with soft shadows, and a ground with a grid.

    Attributes:
        toward_light: Unit vector in W.
        center: Middle in W of the region in which shapes cast shadows, in [m].
        radius: Of that region across the light, in [m].
        height: Of that region above its middle, towards the light, in [m]. Walls and ceilings that
            lie higher cast no shadows.
        ground: Height of the ground, in [m]. Its grid is also drawn on floors of this height.
        reach: Distance from the camera at which the ground has faded to about a third, in [m].
    """

    toward_light: Sequence[float]
    center: Array
    radius: float
    height: float
    ground: float = 0.0
    reach: float = 20.0

    def light_frame(self) -> tuple[Pose, Array]:
        """Return the pose X_WS of the frame S of the shadow map, and its projection.

        S looks along -Z at the region. Its origin is a corner of a texel whatever the center, so
        that the edges of shadows do not flicker. The projection has shape (4, 4).
        """
        z = np.asarray(self.toward_light, float)
        x = np.cross((0.0, 1.0, 0.0) if abs(z[1]) < 0.9 else (1.0, 0.0, 0.0), z)
        x /= np.linalg.norm(x)
        R_WS = np.column_stack([x, np.cross(z, x), z])
        texel = 2.0 * self.radius / MAP_SIZE
        center_S = np.round(R_WS.T @ self.center / texel) * texel
        X_WS = Pose(R_WS, R_WS @ (center_S + np.array([0.0, 0.0, self.height])))
        length = self.height + _BEHIND * self.radius
        projection = np.diag([1.0 / self.radius, 1.0 / self.radius, -2.0 / length, 1.0])
        projection[2, 3] = -1.0
        return X_WS, projection

    def block(self, X_WC: Pose, slopes: tuple[float, float]) -> bytes:
        """Return the data of the shaders for a camera C.

        Args:
            X_WC: Pose of the camera.
            slopes: x/z and y/z at the edge of the image.
        """
        X_WS, projection = self.light_frame()
        to_texture = np.array([[0.5, 0, 0, 0.5], [0, 0.5, 0, 0.5], [0, 0, 0.5, 0.5], [0, 0, 0, 1]])
        data = np.zeros((), BLOCK)
        data["shadow"] = (to_texture @ projection @ (X_WS.inverse() @ X_WC).matrix()).T
        data["X_WC"] = X_WC.matrix().T
        data["light"] = X_WC.R.T @ np.asarray(self.toward_light, float)
        # Receivers are moved by some texels towards their outside, so as not to shade themselves.
        data["offset"] = 3.0 * 2.0 * self.radius / MAP_SIZE
        data["ground"], data["reach"], data["slopes"] = self.ground, self.reach, slopes
        return data.tobytes()
