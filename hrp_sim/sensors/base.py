"""What a sensor is, what it is created from, helpers that several use, and the fields of readings.

The meaning, unit and shape of each field are in the docstring of its class in
``hrp_msgs.readings``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Generic, Protocol, TypedDict, TypeVar

import numpy as np

from hrp_model import Body, Diagnostics, Pose, devices
from hrp_model.diagnostics import Span
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import ZERO_3, Array
from hrp_msgs.readings import Depths, Pixels, Reading

from ..engine.articulation.numeric_limits import MAX_COORDINATE, is_valid_mounting
from ..engine.engine import AnyArray
from ..engine.state import MAX_DRIVE_VALUE, BodyMotion, SimulatedBody, WorldState
from ..render import Renderer
from ._probe import Probe, measure
from .noise import DistanceNoise, Noise, NoiseSeed
from .settings import SensorSettings

# (name of a body, name of one of its sensors) -> settings.
SettingsOf = Callable[[str, str], SensorSettings]


class Sensor(ABC):
    """Computes readings from the state of the world, and from its own memory if it has one.

    Attributes:
        name: Name of the device in the model.
        body: Name of the body in the world that carries it.
        rate_hz: Samples per second of simulation time.
    """

    __slots__ = ()

    name: str
    body: str
    rate_hz: float

    @abstractmethod
    def read(self, world: WorldState) -> Reading | None:
        """Return a reading of the current state; None if there is none yet."""

    @property
    def observes(self) -> bool:
        """Whether it processes every step; queried when its body is added or it is switched on."""
        return False

    def observe(self, world: WorldState) -> None:  # noqa: B027 - most need not
        """Process a step; called after every step, and before ``read`` if that is due, too."""

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """Its internal state, as live arrays: copied to snapshots and written from them.

        Of types float64, int64 or int32 and of constant shape. Values must be finite, else they
        cannot be restored. Names that end in "_ns" are simulation times: -1 means never, and
        less than that is before zero of a clock that was set back. Readings of a sensor without
        memory depend on the present state only.
        """
        return {}

    def reset(self) -> None:  # noqa: B027 - most need not
        """Start again as at time zero; called by a reset, and when it is switched on."""


R_co = TypeVar("R_co", bound=Reading, covariant=True)


class ProbingSensor(Sensor, Generic[R_co]):
    """A sensor with a probe, which is measured together with those of other sensors.

    Attributes:
        probe: The probe, on the body that carries the sensor.
    """

    __slots__ = ()

    probe: Probe

    def read(self, world: WorldState) -> R_co:
        """Return a reading of the current state, by measuring the probe alone."""
        return self.reading(world, measure_one(self.probe, world.bodies[self.body].motion))

    @abstractmethod
    def reading(self, world: WorldState, measured: bytes) -> R_co:
        """Return a reading of the current state, given what the probe measures of it."""


def read_aside(sensor: Sensor, world: WorldState) -> Reading | None:
    """Return a reading of the current state, without effect on the later ones of the sensor."""
    memory = sensor.memory
    before = {name: array.copy() for name, array in memory.items()}
    try:
        return sensor.read(world)
    finally:
        for name, array in memory.items():
            array[...] = before[name]


def check_mounting(X_LS: Pose) -> None:
    """Check the pose of a sensor on its link.

    Raises:
        ValueError: It is not a rigid transform, not finite, or too far away.
    """
    if not is_valid_mounting(X_LS):
        raise ValueError(
            f"its pose on the link must be a rigid transform within {MAX_COORDINATE:g} m"
        )


def check_limits(*limits: Array | None) -> None:
    """Check the saturation limits of a sensor per axis; None means not measured.

    Raises:
        ValueError: A limit is negative or NaN.
    """
    for limit in limits:
        if limit is not None and not np.all(limit >= 0.0):
            raise ValueError(f"its measurement limits must not be negative, not {limit.tolist()}")


def saturate(vector: Array, limit: Array) -> Array:
    """Return a vector clipped to +-limit per axis, shape (3,); NaN stays NaN."""
    clipped: Array = np.minimum(np.maximum(vector, -limit), limit)
    return clipped


def make_probe(
    kind: int, link: int, X_LS: Pose, limits: Sequence[Array | None], g_W: Array = ZERO_3
) -> Probe:
    """Return a probe; the limits of its first two vectors are None for no limits."""
    bounds = np.array([np.full(3, inf) if limit is None else limit for limit in limits])
    return Probe(kind, link, X_LS.R, X_LS.p, g_W, bounds)


def measure_one(probe: Probe, motion: BodyMotion) -> bytes:
    """Return the vectors of one probe, see ``measure``."""
    return measure((probe,), (motion,))[0]


def vectors_of(measured: bytes) -> Array:
    """Return the vectors that a probe measured, read-only, shape (n, 3)."""
    return np.frombuffer(measured).reshape(-1, 3)


class CastRays(Protocol):
    """``Engine.cast_rays``."""

    def __call__(
        self,
        origins: Array,
        directions: Array,
        max_distance: float,
        ignored: str | None = None,
        ignored_link: int | None = None,
        /,
    ) -> Array:
        """Return distances, shape (n,)."""


class Source(Protocol):
    """The source of a sensor: a device, several that form one sensor, or the whole body."""

    @property
    def name(self) -> str:
        """Name of the sensor, unique in the body."""

    @property
    def on(self) -> bool:
        """Whether it is switched on initially."""

    @property
    def at(self) -> Span | None:
        """Place of its definition in the model file, for messages."""


@dataclass(frozen=True, slots=True)
class BodySource:
    """The whole body as the source of a sensor that needs no device."""

    name: str
    on: bool = True
    at: Span | None = None


class Mounted(TypedDict):
    """Arguments common to all sensors of devices."""

    name: str
    body: str
    rate_hz: float
    link: int
    X_LS: Pose


@dataclass
class Budget:
    """A limit on the total of a quantity of all sensors."""

    quantity: str
    limit: int
    used: int = 0

    def take(self, count: int) -> None:
        """Use some of it; raises ValueError if the total would exceed the limit."""
        if self.used + count > self.limit:
            raise ValueError(
                f"its {count} {self.quantity} bring the total of all sensors above {self.limit}"
            )
        self.used += count


@dataclass(frozen=True)
class SensorContext:
    """Everything needed to create the sensors of one body, besides their devices.

    Attributes:
        simulated: The body.
        is_fixed: Whether its root is fixed to the world.
        settings_of: Returns the settings of a sensor from the names of the body and the sensor.
        seed: Of all noise.
        g_W: Gravity, in [m/s^2], shape (3,).
        cast_rays: Of the engine.
        step_ns: Time step of the physics, in [ns].
        renderer: Renders for cameras.
        diagnostics: Receives warnings.
        rays: Budget of range sensors.
        pixels: Budget of cameras.
    """

    simulated: SimulatedBody
    is_fixed: bool
    settings_of: SettingsOf
    seed: NoiseSeed | int
    g_W: Array
    cast_rays: CastRays
    step_ns: int
    renderer: Renderer
    diagnostics: Diagnostics
    rays: Budget
    pixels: Budget

    @property
    def body(self) -> Body:
        """The model."""
        return self.simulated.body

    def settings(self, sensor: str) -> SensorSettings:
        """Return the options of a sensor."""
        return self.settings_of(self.simulated.name, sensor)

    def rate(self, sensor: str, default: float) -> float:
        """Return the rate in the options, or else the default, in [Hz].

        Raises:
            ValueError: It is not positive and finite.
        """
        rate = self.settings(sensor).rate or default
        if not 0.0 < rate < inf:
            raise ValueError(f"its rate must be positive and finite, not {rate} Hz")
        return rate

    def mounted(self, device: devices.Device, rate: float) -> Mounted:
        """Return the common arguments of a sensor from its device.

        Args:
            device: The device.
            rate: Default rate, in [Hz].

        Raises:
            ValueError: The rate is not positive and finite.
        """
        return Mounted(
            name=device.name,
            body=self.simulated.name,
            rate_hz=self.rate(device.name, rate),
            link=self.body.link_index(device.link),
            X_LS=device.X_LS,
        )

    def noise(self, sensor: str) -> Noise:
        """Return the random number source of a sensor."""
        return Noise(self.seed, self.simulated.name, sensor)

    def distance_noise(self, device: devices.Camera | devices.RangeSensor) -> DistanceNoise:
        """Return the noise of distances; options take precedence over the model."""
        settings = self.settings(device.name)
        rate, deviation = settings.detection_rate, settings.error_deviation
        rate = device.detection_rate if rate < 0.0 else rate
        mean = spread = 0.0
        if deviation < 0.0:  # the option replaces all errors of the model
            deviation, mean = device.error_deviation, device.error_mean
            if isinstance(device, devices.RangeSensor):
                spread = device.error_mean_deviation
        is_ideal = rate == 1.0 and deviation == 0.0 and spread == 0.0
        return DistanceNoise(
            detection_rate=rate,
            error_deviation=deviation,
            error_mean=mean,
            error_mean_deviation=spread,
            noise=None if is_ideal else self.noise(device.name),
        )

    def warn(self, code: str, source: Source, text: str) -> None:
        """Report a warning about a sensor; ``text`` follows its name and that of its body."""
        self.diagnostics.warn(code, self._about(source, text), source.at)

    def note(self, code: str, source: Source, text: str) -> None:
        """Report a note about a sensor, like ``warn``."""
        self.diagnostics.note(code, self._about(source, text), source.at)

    def _about(self, source: Source, text: str) -> str:
        return f"'{source.name}' of body '{self.simulated.name}' {text}"


S = TypeVar("S", bound=Sensor)

# Least and greatest value, and the shape.
Bounds = tuple[float | Array, float | Array, tuple[int, ...]]

_WHITE = 255.0


@dataclass(frozen=True, eq=False)
class Field(Generic[S]):
    """One value, or array of values, in the readings of a kind of sensor.

    Attributes:
        name: Attribute of the reading; None in readings without it.
        unit: As "m/s^2"; empty for a ratio.
        number: Name of the number that summarizes it, in the report of a run and for ``--expect``;
            empty for none. It has the same unit, and is shown by its name.
        summarize: Returns this number; its docstring is part of the documentation.
        offered: Returns whether a sensor of the kind has the field.
        bounds: Returns the bounds and the shape for environments of Gymnasium, or None for a sensor
            of which they do not observe it; None if they observe it of no sensor.
        dtype: Type of the values.
        components: Letters of the components that can be plotted, in their order.
    """

    name: str
    unit: str = ""
    number: str = ""
    summarize: Callable[[Any], float] = float
    offered: Callable[[S], bool] = lambda _: True
    bounds: Callable[[S], Bounds | None] | None = None
    dtype: type[np.generic] = np.float64
    components: str = ""

    def value(self, reading: object) -> float | None:
        """Return the number that summarizes the field of a reading; None if that lacks it."""
        found = getattr(reading, self.name)
        return None if found is None else self.summarize(found)


def vector(
    name: str,
    unit: str,
    number: str = "",
    *,
    limit: Callable[[S], Array | None] | None = None,
    offered: Callable[[S], bool] = lambda _: True,
) -> Field[S]:
    """Return a field of three components, which is summarized by its length.

    ``limit`` returns the greatest absolute value of each component, shape (3,), from which the
    bounds follow.
    """

    def bounds(sensor: S) -> Bounds | None:
        if limit is None or (found := limit(sensor)) is None:
            return None
        largest = np.minimum(found, MAX_DRIVE_VALUE)
        return -largest, largest, (3,)

    bounded = None if limit is None else bounds
    return Field(name, unit, number, _length, offered, bounded, components="xyz")


def _length(found: Array) -> float:
    """Return its length."""
    return float(np.linalg.norm(found))


def nearest(distances: Array | Depths) -> float:
    """Return the nearest distance; inf if nothing is in range."""
    return float(np.min(distances, initial=np.inf, where=np.isfinite(distances)))


def brightness(pixels: Pixels) -> float:
    """Return the mean of the image, from 0 (black) to 1 (white)."""
    return float(pixels.mean()) / _WHITE


def flag(value: bool) -> float:
    """Return 1 if it is true, else 0."""
    return float(value)
