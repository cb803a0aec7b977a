"""Context for creating sensors: body, options, noise, budgets, diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Protocol, TypedDict

from hrp_model import Body, Diagnostics, Pose, devices
from hrp_model.diagnostics import Span
from hrp_model.rigid import Array

from ..engine.state import SimulatedBody
from ..render import Renderer
from .distance_noise import DistanceNoise
from .noise import Noise, NoiseSeed
from .scanner import CastRays
from .settings import SensorSettings

# (name of a body, name of one of its sensors) -> settings.
SettingsOf = Callable[[str, str], SensorSettings]


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
