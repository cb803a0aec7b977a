"""What a sensor is made of besides its device: the body, options, noise, budgets, diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Protocol, TypedDict

from hrp_model import Body, Diagnostics, Pose, devices
from hrp_model.diagnostics import Span
from hrp_model.rigid import Array

from ..physics.state import SimulatedBody
from ..render import Renderer
from .distance_noise import DistanceNoise
from .noise import Noise
from .scanner import CastRays
from .settings import SensorSettings

# (name of a body, name of one of its sensors) -> settings.
SettingsOf = Callable[[str, str], SensorSettings]


class Source(Protocol):
    """What a sensor is made from: a device, several that measure as one, or the whole body."""

    @property
    def name(self) -> str:
        """Name of the sensor among those of the body."""

    @property
    def on(self) -> bool:
        """Whether it is switched on at the start."""

    @property
    def at(self) -> Span | None:
        """Where the model file defines it, for messages."""


@dataclass(frozen=True, slots=True)
class BodySource:
    """The whole body as the source of a sensor that needs no device."""

    name: str
    on: bool = True
    at: Span | None = None


class Mounted(TypedDict):
    """What all sensors of devices have in common."""

    name: str
    body: str
    rate_hz: float
    link: int
    X_LS: Pose


@dataclass
class Budget:
    """How much of something is left for the sensors that are still to be made."""

    what: str
    most: int
    taken: int = 0

    def take(self, count: int) -> None:
        """Take some of it; raises ValueError if there is not as much."""
        if self.taken + count > self.most:
            all_together = f"with it there are more than {self.most} {self.what} of all together"
            raise ValueError(all_together)
        self.taken += count


@dataclass(frozen=True)
class SensorContext:
    """What the sensors of one body are made of, besides their devices.

    Attributes:
        simulated: The body.
        is_fixed: Whether the world holds its root.
        settings_of: Asked with the names of the body and of a sensor.
        seed: Of all noise.
        g_W: Gravity, in [m/s^2], shape (3,).
        cast_rays: Of the engine.
        step_ns: Of the physics, in [ns].
        renderer: Draws for cameras.
        diagnostics: Where warnings go.
        rays: Left for range sensors.
        pixels: Left for cameras.
    """

    simulated: SimulatedBody
    is_fixed: bool
    settings_of: SettingsOf
    seed: int
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
        """Return the rate that is asked for, or else the default, in [Hz].

        Raises:
            ValueError: It is not positive and finite.
        """
        rate = self.settings(sensor).rate or default
        if not 0.0 < rate < inf:
            raise ValueError(f"a rate of {rate} Hz is impossible")
        return rate

    def mounted(self, device: devices.Device, rate: float) -> Mounted:
        """Return what the sensor of a device has in common with all others.

        Args:
            device: The device.
            rate: Unless another one is asked for, in [Hz].

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
        """Return the random numbers of a sensor."""
        return Noise(self.seed, self.simulated.name, sensor)

    def distance_noise(self, device: devices.Camera | devices.RangeSensor) -> DistanceNoise:
        """Return the errors of distances; options take precedence over the model."""
        settings = self.settings(device.name)
        rate, deviation = settings.detection_rate, settings.error_deviation
        rate = device.detection_rate if rate < 0.0 else rate
        deviation = device.error_deviation if deviation < 0.0 else deviation
        is_ideal = rate == 1.0 and deviation == 0.0
        noise = None if is_ideal else self.noise(device.name)
        return DistanceNoise(detection_rate=rate, error_deviation=deviation, noise=noise)

    def warn(self, code: str, source: Source, text: str) -> None:
        """Warn of a sensor; the text goes on after its name and that of its body."""
        self.diagnostics.warn(code, self._about(source, text), source.at)

    def note(self, code: str, source: Source, text: str) -> None:
        """Note something about a sensor, as ``warn`` does."""
        self.diagnostics.note(code, self._about(source, text), source.at)

    def _about(self, source: Source, text: str) -> str:
        return f"'{source.name}' of body '{self.simulated.name}' {text}"
