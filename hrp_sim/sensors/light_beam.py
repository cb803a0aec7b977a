"""Photo interrupter: a beam of light that objects interrupt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hrp_model import devices
from hrp_model.rigid import Array
from hrp_msgs.readings import LightBeamReading

from ..engine.articulation.numeric_limits import MAX_RANGE
from ..engine.state import WorldState
from .context import SensorContext
from .scanner import CastRays

RATE = 100.0  # [Hz], the default


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LightBeamSensor:
    """A beam between two points of a link L, which collision shapes of other links block.

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it.
        rate_hz: Samples per second.
        link: Index of L in the body's links.
        transmitter: Start of the beam in L, in [m], shape (3,).
        direction: Unit vector towards the receiver, in L, shape (3,).
        length: Of the beam, in [m].
        cast_rays: Of the engine.
    """

    name: str
    body: str
    rate_hz: float
    link: int
    transmitter: Array
    direction: Array
    length: float
    cast_rays: CastRays

    def read(self, world: WorldState) -> LightBeamReading:
        """Cast a ray from the transmitter to the receiver."""
        motion, i = world.bodies[self.body].motion, self.link
        start = motion.p[i] + motion.R[i] @ self.transmitter
        direction = motion.R[i] @ self.direction
        (distance,) = self.cast_rays(
            start[np.newaxis], direction[np.newaxis], self.length, self.body, i
        )
        is_blocked = bool(np.isfinite(distance))
        return LightBeamReading(world.time_ns, self.body, is_blocked, self.length)


def make_light_beam(device: devices.PhotoInterrupter, context: SensorContext) -> LightBeamSensor:
    """Return the sensor of a photo interrupter.

    Raises:
        ValueError: The beam has no length, or is too long.
    """
    mounted = context.mounted(device, RATE)
    along = device.receiver - device.transmitter
    length = float(np.linalg.norm(along))
    if not 0.0 < length <= MAX_RANGE:
        raise ValueError(f"its beam of {length:g} m must be above 0 and at most {MAX_RANGE:g} m")
    X_LS = mounted["X_LS"]
    return LightBeamSensor(
        name=device.name,
        body=mounted["body"],
        rate_hz=mounted["rate_hz"],
        link=mounted["link"],
        transmitter=X_LS.R @ device.transmitter + X_LS.p,
        direction=X_LS.R @ along / length,
        length=length,
        cast_rays=context.cast_rays,
    )
