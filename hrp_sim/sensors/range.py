"""Sensors that cast rays against collision shapes: laser scanners and photo interrupters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from math import inf

import numpy as np

from hrp_model import Pose, devices
from hrp_model.devices import MAX_RAYS, pitch_angles, yaw_angles, yaw_increment
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_msgs.readings import LightBeamReading, RangeImageReading, ScanReading

from ..engine.articulation.numeric_limits import MAX_RANGE
from ..engine.engine import AnyArray
from ..engine.schedule import NS_PER_S, rate_fraction
from ..engine.state import WorldState
from .base import CastRays, Sensor, SensorContext, check_mounting
from .noise import NO_DISTANCE_NOISE, DistanceNoise

LIGHT_BEAM_RATE = 100.0  # [Hz], the default
# Minimum rate, in [Hz], so that the period fits well into the float32 of messages.
_MIN_RATE = 1e-30
_NEVER = -1


class Sweep:
    """A scan whose columns are cast one after the other over its period.

    Column i of n is due at the first step at or after start + i/n of the period, or in the last
    step of the scan.

    Args:
        rows, columns: Of the scan.
        rate_hz: Scans per second.
        step_ns: Time step of the physics, in [ns].

    Attributes:
        distances: In [m], shape (rows, columns).
    """

    def __init__(self, rows: int, columns: int, rate_hz: float, step_ns: int) -> None:
        self.distances: Array = np.zeros((rows, columns))
        self._columns, self._step_ns = columns, step_ns
        rate = rate_fraction(rate_hz)
        # A column is due every _span_ns / _per_span.
        self._per_span, self._span_ns = rate.numerator * columns, rate.denominator * NS_PER_S
        self._start_ns = np.full((), _NEVER, np.int64)
        self._seen_ns = np.full((), _NEVER, np.int64)  # time of the last call of due
        self._done = np.zeros((), np.int64)

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The whole state, as live arrays."""
        return {
            # As integers, because snapshots must be finite, and distances may be infinite.
            "distances": self.distances.view(np.int64),
            "start_ns": self._start_ns,
            "seen_ns": self._seen_ns,
            "done": self._done,
        }

    @property
    def start_ns(self) -> int:
        """Start time of the scan, in [ns]."""
        return int(self._start_ns)

    @property
    def is_running(self) -> bool:
        """Whether a scan is in progress; one that started before time zero is discarded."""
        return self.start_ns >= 0

    @property
    def rest(self) -> slice:
        """The columns that have not been cast yet."""
        return slice(int(self._done), self._columns)

    def start(self, time_ns: int) -> None:
        """Start a scan."""
        self._start_ns[...] = self._seen_ns[...] = time_ns
        self._done[...] = 0

    def stop(self) -> None:
        """Discard the scan."""
        self._start_ns[...] = self._seen_ns[...] = _NEVER
        self._done[...] = 0

    def due(self, time_ns: int) -> slice:
        """Return the columns that are due now; none if a step was missed."""
        if not self.is_running:
            return slice(0, 0)
        if not 0 <= time_ns - int(self._seen_ns) <= self._step_ns:
            self.stop()
            return slice(0, 0)
        self._seen_ns[...] = time_ns
        return slice(int(self._done), self._due_at(time_ns))

    def is_over(self, time_ns: int) -> bool:
        """Return whether the period ends before the next step."""
        elapsed = time_ns + self._step_ns - self.start_ns
        return elapsed * self._per_span >= self._span_ns * self._columns

    def add(self, columns: slice, distances: Array) -> None:
        """Store the distances of columns that have been cast, shape (rows, columns)."""
        self.distances[:, columns] = distances
        self._done[...] = columns.stop

    def _due_at(self, time_ns: int) -> int:
        elapsed = time_ns - self.start_ns
        return min(self._columns, elapsed * self._per_span // self._span_ns + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Scanner(Sensor):
    """A range sensor whose frame S is fixed to a link L.

    S looks along -Z with +Y up, and scans about +Y. The scan frame C has x forward, y left
    and z up: R_SC = rpy(-pi/2, pi/2, 0). Rays stop at collision shapes, except those of L,
    inside of which they may start.

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it.
        rate_hz: Scans per second.
        link: Index of L in the body's links.
        X_LS: Pose of S in L.
        yaw_range: Total angle of the scan, in [rad].
        yaw_step: Between neighbouring rays, in [rad]; not used if the range is 0.
        yaw_min: Of the first ray, in [rad]; None means that a ray points ahead.
        min_distance, max_distance: Range of measurable distances, in [m].
        cast_rays: Of the engine.
        sees_own_body: Whether links of ``body`` other than L stop rays.
        no_return: Reading of rays without a return, in [m]: infinity or the maximum distance.
        distance_noise: Errors of distances, and missed rays.
        spread: Whether a scan is spread over its period, one column of rays after the other.
            ``observe`` must then be called after every step.
        step_ns: Time step of the physics, in [ns]; used by spread scans only.

    Raises:
        ValueError: An attribute is out of range.
    """

    name: str
    body: str
    rate_hz: float
    link: int
    X_LS: Pose
    yaw_range: float
    yaw_step: float
    min_distance: float
    max_distance: float
    cast_rays: CastRays
    yaw_min: float | None = None
    sees_own_body: bool = False
    no_return: float = inf
    distance_noise: DistanceNoise = NO_DISTANCE_NOISE
    spread: bool = False
    step_ns: int = 1_000_000
    _angle_min: float = field(init=False, repr=False)
    _directions_C: Array = field(init=False, repr=False)
    _directions_L: Array = field(init=False, repr=False)
    _ignored: tuple[str] | tuple[str, int] = field(init=False, repr=False)
    _sweep: Sweep | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_distance < self.max_distance <= MAX_RANGE:
            raise ValueError(
                f"its range from {self.min_distance} to {self.max_distance} m is invalid"
            )
        if not self.rate_hz >= _MIN_RATE:
            raise ValueError(f"its rate must be at least {_MIN_RATE:g} Hz, not {self.rate_hz} Hz")
        check_mounting(self.X_LS)
        yaw = yaw_angles(self.yaw_range, self.yaw_step, self.yaw_min)
        directions_C = _directions(self._pitch(), yaw)
        rows, columns = directions_C.shape[:2]
        directions_S = directions_C[..., [1, 2, 0]] * (-1.0, 1.0, -1.0)
        ignored = (self.body, self.link) if self.sees_own_body else (self.body,)
        sweep = Sweep(rows, columns, self.rate_hz, self.step_ns) if self.spread else None
        object.__setattr__(self, "_angle_min", float(yaw[0]))
        object.__setattr__(self, "_directions_C", directions_C)
        object.__setattr__(self, "_directions_L", directions_S @ self.X_LS.R.T)
        object.__setattr__(self, "_ignored", ignored)
        object.__setattr__(self, "_sweep", sweep)

    @property
    def ray_count(self) -> int:
        """Number of rays of a scan."""
        return self._directions_C.size // 3

    @property
    def time_increment(self) -> float:
        """Time between neighbouring columns of rays, in [s]."""
        return 1.0 / self.rate_hz / self._directions_C.shape[1] if self.spread else 0.0

    @property
    def observes(self) -> bool:
        """Whether its scans are spread over time."""
        return self.spread

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The current spread scan; empty if scans are not spread."""
        return {} if self._sweep is None else self._sweep.memory

    def reset(self) -> None:
        """Discard the current scan."""
        if self._sweep is not None:
            self._sweep.stop()

    def observe(self, world: WorldState) -> None:
        """Cast the rays of a spread scan that are due."""
        if self._sweep is not None:
            self._advance(self._sweep, world, self._sweep.due(world.time_ns))

    def _scan(self, world: WorldState) -> tuple[int, Array] | None:
        """Return the start time of a scan, in [ns], and its ranges, shape (layers, columns).

        A spread scan is finished now, and the next one started. None means that it is not
        finished yet, or that a step of it was missed.
        """
        if self._sweep is None:
            ranges = self._measured(self._cast(world, slice(None)), world.time_ns)
            return world.time_ns, ranges
        return self._next_scan(self._sweep, world)

    def _next_scan(self, sweep: Sweep, world: WorldState) -> tuple[int, Array] | None:
        now = world.time_ns
        self._advance(sweep, world, sweep.due(now))
        done = None
        if sweep.is_running:
            if not sweep.is_over(now):
                return None
            self._advance(sweep, world, sweep.rest)
            done = sweep.start_ns, self._measured(sweep.distances.copy(), sweep.start_ns)
        sweep.start(now)
        self._advance(sweep, world, sweep.due(now))
        return done

    def _advance(self, sweep: Sweep, world: WorldState, columns: slice) -> None:
        if columns.stop > columns.start:
            sweep.add(columns, self._cast(world, columns))

    def _pitch(self) -> Array:
        """Return the elevations of the layers in ascending order, in [rad], shape (layers,)."""
        return np.zeros(1)

    def _cast(self, world: WorldState, columns: slice) -> Array:
        """Return the true distances along some columns of rays, shape (layers, columns)."""
        motion, i = world.bodies[self.body].motion, self.link
        directions_L = self._directions_L[:, columns]
        directions = directions_L.reshape(-1, 3) @ motion.R[i].T
        origin = motion.p[i] + motion.R[i] @ self.X_LS.p
        origins = np.repeat(origin[np.newaxis], len(directions), axis=0)
        reach = self.max_distance + self.distance_noise.reach
        distances = self.cast_rays(origins, directions, reach, *self._ignored)
        return np.array(distances).reshape(directions_L.shape[:2])

    def _measured(self, distances: Array, time_ns: int) -> Array:
        """Add measurement errors and limits to true distances, in place."""
        ranges = distances
        if (errors := self.distance_noise.errors(time_ns, ranges.shape)) is not None:
            ranges += errors
        ranges[ranges > self.max_distance] = self.no_return
        ranges[ranges < self.min_distance] = -inf
        if (missed := self.distance_noise.missed(time_ns, ranges.shape)) is not None:
            ranges[missed] = self.no_return
        return ranges


def _directions(pitch: Array, yaw: Array) -> Array:
    """Return unit vectors in C for all pairs of angles, shape (layers, columns, 3).

    As in Choreonoid, a ray is first rotated up by the pitch, then about the vertical by the yaw:
    they are elevation and azimuth.
    """
    if len(pitch) * len(yaw) > MAX_RAYS:
        count = len(pitch) * len(yaw)
        raise ValueError(f"its scan must have at most {MAX_RAYS} rays, not {count}")
    level, up = np.cos(pitch)[:, np.newaxis], np.sin(pitch)[:, np.newaxis]
    forward, left = level * np.cos(yaw), level * np.sin(yaw)
    return np.stack([forward, left, np.broadcast_to(up, forward.shape)], axis=2)


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeSensor(Scanner):
    """A planar laser scanner; there may be only one ray."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the ranges: (rays,)."""
        return (self.ray_count,)

    def read(self, world: WorldState) -> ScanReading | None:
        """Cast all rays from S at once, or finish a spread scan and start the next.

        Returns:
            None only for spread scans: the scan is not finished, or a step of it was missed.
        """
        scan = self._scan(world)
        if scan is None:
            return None
        time_ns, ranges = scan
        return ScanReading(
            time_ns,
            self.body,
            angle_min=self._angle_min,
            angle_increment=yaw_increment(self.yaw_step),
            scan_time=1.0 / self.rate_hz,
            range_min=self.min_distance,
            range_max=self.max_distance,
            ranges=ranges[0],
            time_increment=self.time_increment,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeSensor3D(Scanner):
    """A multi-layer laser scanner.

    Attributes:
        pitch_range: Total vertical angle of the layers, in [rad].
        pitch_step: Between neighbouring layers, in [rad].
        pitch_min: Of the lowest layer, in [rad]; None means half the range below the middle.
    """

    pitch_range: float
    pitch_step: float
    pitch_min: float | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the ranges: (layers, columns)."""
        return self._directions_C.shape[:2]

    def read(self, world: WorldState) -> RangeImageReading | None:
        """Cast all rays from S at once, or finish a spread scan and start the next.

        Returns:
            None only for spread scans: the scan is not finished, or a step of it was missed.
        """
        scan = self._scan(world)
        if scan is None:
            return None
        time_ns, ranges = scan
        return RangeImageReading(
            time_ns,
            self.body,
            scan_time=1.0 / self.rate_hz,
            range_min=self.min_distance,
            range_max=self.max_distance,
            ranges=ranges,
            directions=self._directions_C,
            time_increment=self.time_increment,
        )

    def _pitch(self) -> Array:
        return pitch_angles(self.pitch_range, self.pitch_step, self.pitch_min)


def make_range_sensor(
    device: devices.RangeSensor, context: SensorContext
) -> RangeSensor | RangeSensor3D:
    """Return the sensor of a laser scanner, planar or multi-layer.

    Raises:
        ValueError: Its properties are invalid, or all range sensors have too many rays.
    """
    settings = context.settings(device.name)
    make: Callable[..., RangeSensor | RangeSensor3D] = RangeSensor
    if not device.is_planar:
        make = partial(
            RangeSensor3D,
            pitch_range=device.pitch_range,
            pitch_step=device.pitch_step,
            pitch_min=device.pitch_min,
        )
    sensor = make(
        **context.mounted(device, device.scan_rate),
        yaw_range=device.yaw_range,
        yaw_step=device.yaw_step,
        yaw_min=device.yaw_min,
        min_distance=device.min_distance,
        max_distance=device.max_distance,
        cast_rays=context.cast_rays,
        sees_own_body=settings.own_body == "seen",
        no_return=device.max_distance if settings.no_return == "max" else inf,
        distance_noise=context.distance_noise(device),
        spread=settings.spread_scan,
        step_ns=context.step_ns,
    )
    context.rays.take(sensor.ray_count)
    return sensor


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LightBeamSensor(Sensor):
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
    mounted = context.mounted(device, LIGHT_BEAM_RATE)
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
