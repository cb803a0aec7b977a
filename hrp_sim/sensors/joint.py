"""Positions, velocities and efforts of the joints of a body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan

import numpy as np
from numpy.typing import NDArray

from hrp_model import JointType
from hrp_model.rigid import Array
from hrp_msgs.readings import JointReading

from ..engine.state import SimulatedBody, WorldState
from .base import AnyArray
from .context import BodySource, SensorContext
from .encoders import Encoders

Indices = NDArray[np.intp]
JOINT_STATES = "joint_states"  # the name of the sensor
RATE = 500.0  # [Hz], the default


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JointSensor:
    """Ideal torque sensors, and ideal or quantized encoders, in all joints of a body.

    Attributes:
        name: Name of the sensor, unique in the body.
        body: Name of the body.
        rate_hz: Samples per second.
        joints: Names of the joints, in the order of the body's jointed links.
        tracks: Link indices of the tracks among them, by index in ``joints``.
        encoders: Quantize positions and velocities; None for ideal ones.
    """

    name: str
    body: str
    rate_hz: float
    joints: tuple[str, ...]
    tracks: Mapping[int, int] = field(default_factory=dict)
    encoders: Encoders | None = None
    _links: Indices = field(init=False, repr=False)  # of the tracks
    _traction: Array = field(init=False, repr=False)  # of the tracks
    _order: Indices = field(init=False, repr=False)  # see ``_with_tracks``

    def __post_init__(self) -> None:
        object.__setattr__(self, "_links", np.array(list(self.tracks.values()), dtype=np.intp))
        object.__setattr__(self, "_traction", np.full(len(self.tracks), nan))
        count = len(self.joints)
        others = [i for i in range(count) if i not in self.tracks]
        columns = np.argsort([*others, *self.tracks])  # of all others, and behind them the tracks
        object.__setattr__(self, "_order", columns + count * np.arange(3)[:, None])

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The memory of the encoders; empty for ideal ones."""
        return {} if self.encoders is None else self.encoders.memory

    def reset(self) -> None:
        """Start again as at time zero."""
        if self.encoders is not None:
            self.encoders.reset()

    def read(self, world: WorldState) -> JointReading:
        """Return a reading of all joints."""
        simulated = world.bodies[self.body]
        if self.tracks:
            position, velocity, effort = self._with_tracks(simulated)
        else:
            motion = simulated.motion
            position, velocity, effort = motion.q.copy(), motion.dq.copy(), motion.effort.copy()
        if self.encoders is not None:
            self.encoders.measure(world.time_ns, position, velocity)
        return JointReading(world.time_ns, self.body, self.joints, position, velocity, effort)

    def _with_tracks(self, simulated: SimulatedBody) -> Array:
        """Return position, velocity and effort of all joints and tracks, shape (3, joints)."""
        motion, links = simulated.motion, self._links
        run, speed = motion.track_position.take(links), simulated.drive.track_speed.take(links)
        columns = motion.q, run, motion.dq, speed, motion.effort, self._traction
        rows: Array = np.concatenate(columns).take(self._order)
        return rows


def make_joint_sensor(source: BodySource, context: SensorContext) -> JointSensor:
    """Return the sensor of all joints and tracks of a body."""
    links = context.body.jointed_links
    tracks = {i: x for i, x in enumerate(links) if x.joint.type is JointType.TRACK}
    resolutions = [link.joint.encoder_resolution for link in links]
    encoders = None
    if context.settings(source.name).encoders:
        if any(resolutions):
            encoders = Encoders(resolutions)
        else:
            context.warn("no-encoder", source, "stays exact: its model has no encoder resolution")
    return JointSensor(
        name=source.name,
        body=context.simulated.name,
        rate_hz=context.rate(source.name, RATE),
        joints=tuple(link.joint.name for link in links),
        tracks={i: context.body.link_index(link.name) for i, link in tracks.items()},
        encoders=encoders,
    )
