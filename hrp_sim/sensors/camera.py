"""Cameras: capture the poses of all links quickly, and render the image later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import inf, nan

import numpy as np
from numpy.typing import NDArray

from hrp_model import Pose, devices
from hrp_model.devices import ImageType
from hrp_model.late_dataclass import dataclass
from hrp_msgs.readings import ImageReading

from ..engine.articulation.numeric_limits import MAX_RANGE
from ..engine.state import LinkPoses, WorldState
from ..render import (
    ALL_PARTS,
    DAYLIGHT,
    Depths,
    Lens,
    Parts,
    Pixels,
    Renderer,
    Surroundings,
    Switches,
    make_lens,
)
from .base import Sensor, SensorContext, check_mounting
from .noise import NO_DISTANCE_NOISE, ColorNoise, DistanceNoise


@dataclass(frozen=True, slots=True, eq=False)
class RenderRequest:
    """Data to render an image later: the poses of all links at a time. Steps do not change it.

    Attributes:
        time_ns: Simulation time, in [ns].
        body: Name of the body that carries the camera.
        poses: Of the links of every body, by the body's name.
        switches: States of lights that were switched; other lights are as in their models.
    """

    time_ns: int
    body: str
    poses: Mapping[str, LinkPoses]
    switches: Switches = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CameraSensor(Sensor):
    """A camera whose frame S is fixed to a link L.

    S looks along -Z with +Y up. Call ``capture`` in the stepping thread, ``render`` in any thread,
    so that the physics does not wait for rendering.

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it.
        rate_hz: Images per second.
        link: Index of L in the body's links.
        X_LS: Pose of S in L.
        lens: Projection.
        renderer: Renders the scene.
        surroundings: Headlight and background.
        image_type: Parts that it provides; for point clouds the depth.
        min_distance, max_distance: Range of measurable depths, in [m].
        distance_noise: Errors of distances along the lines of sight, and missed pixels.
        color_noise: Errors of colours.

    Raises:
        ValueError: An attribute is out of range.
    """

    name: str
    body: str
    rate_hz: float
    link: int
    X_LS: Pose
    lens: Lens
    renderer: Renderer
    surroundings: Surroundings = DAYLIGHT
    image_type: ImageType = ImageType.COLOR
    min_distance: float = 0.0
    max_distance: float = inf
    distance_noise: DistanceNoise = NO_DISTANCE_NOISE
    color_noise: ColorNoise | None = None

    def __post_init__(self) -> None:
        farthest = self.max_distance
        if not 0.0 <= self.min_distance < farthest or MAX_RANGE < farthest < inf:
            raise ValueError(
                f"its depth range from {self.min_distance} to {self.max_distance} m is invalid"
            )
        check_mounting(self.X_LS)

    def capture(self, world: WorldState) -> RenderRequest:
        """Copy the poses of all links and the states of switched lights."""
        return RenderRequest(world.time_ns, self.body, world.poses(), self.renderer.switches)

    def render(self, request: RenderRequest, parts: Parts = ALL_PARTS) -> ImageReading:
        """Render the requested parts that the camera provides; raises what ``renderer`` does."""
        kind = self.image_type
        wanted = Parts(
            parts.color and (kind.has_color or kind.has_mono), parts.depth and kind.has_depth
        )
        if not any(wanted):
            return ImageReading(request.time_ns, self.body, self.lens)
        own = request.poses[self.body]
        X_WS = Pose(own.R[self.link], own.p[self.link]) @ self.X_LS
        color, depth = self.renderer.render(
            self.lens,
            X_WS,
            request.poses,
            parts=wanted,
            surroundings=self.surroundings,
            switches=request.switches,
        )
        if color is not None and self.color_noise is not None:
            color = self.color_noise.applied(request.time_ns, color)
        return ImageReading(
            request.time_ns,
            self.body,
            self.lens,
            color if kind.has_color else None,
            _luma(color) if color is not None and kind.has_mono else None,
            None if depth is None else self._measured(depth, request.time_ns),
        )

    def read(self, world: WorldState) -> ImageReading:
        """Capture and render at once."""
        return self.render(self.capture(world))

    def _measured(self, depth: Depths, time_ns: int) -> Depths:
        """Add measurement errors and limits to true depths, in place."""
        if (errors := self.distance_noise.errors(time_ns, depth.shape)) is not None:
            depth += errors * self.lens.cosines
        np.copyto(depth, np.float32(-inf), where=depth < self.min_distance)
        np.copyto(depth, np.float32(inf), where=depth > self.max_distance)
        if (missed := self.distance_noise.missed(time_ns, depth.shape)) is not None:
            depth[missed] = nan
        return depth


def _luma(color: Pixels) -> NDArray[np.uint8]:
    from PIL import Image

    return np.asarray(Image.fromarray(color).convert("L"))


def make_camera(device: devices.Camera, context: SensorContext) -> CameraSensor | None:
    """Return the sensor of a camera; None if it has no image.

    Raises:
        ValueError: Its properties are invalid, or all cameras have too many pixels.
    """
    if device.image_type is ImageType.NONE:
        context.note("no-image", device, "provides no image, according to its model")
        return None
    settings = context.settings(device.name)
    lens = make_lens(device)
    color_mean, color_stdev = device.color_mean, device.color_stdev
    if settings.color_stdev >= 0.0:
        color_mean, color_stdev = 0.0, settings.color_stdev
    has_noise = color_mean != 0.0 or color_stdev != 0.0
    source = context.noise(device.name)
    sensor = CameraSensor(
        **context.mounted(device, device.frame_rate),
        lens=lens,
        renderer=context.renderer,
        surroundings=Surroundings(settings.headlight, settings.background_color),
        image_type=device.image_type,
        min_distance=device.min_distance,
        max_distance=device.max_distance,
        distance_noise=context.distance_noise(device),
        color_noise=ColorNoise(color_mean, color_stdev, source) if has_noise else None,
    )
    context.pixels.take(lens.pixel_count)
    return sensor
