"""The options of sensors, such as rate and noise, as one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, field, fields, replace
from math import inf, pi
from typing import Any

from hrp_model.late_dataclass import dataclass

# What the topmost frame of a robot follows: values of the option ``odometry``.
TRUTH, WHEELS, NONE = "truth", "wheels", "none"
# Type of a value. A colour is "#rrggbb", so that every value is a single word.
OptionValue = bool | float | str


def _option(default: OptionValue, doc: str, *kinds: str, **more: float | tuple[str, ...]) -> Any:
    return field(default=default, metadata={"doc": doc, "kinds": frozenset(kinds), **more})


@dataclass(frozen=True, kw_only=True)
class SensorSettings:
    """The options of one sensor. By default sensors are ideal, except for noise in their models.

    World files, node parameters and documentation are generated from this table: the metadata of
    each field has ``doc``, the ``kinds`` of sensors it applies to (see ``Instrument``; none means
    all), ``minimum`` and ``maximum`` of a number, ``choices`` of a word.

    Raises:
        ValueError: A value is invalid; the message names the option and its valid values.
    """

    rate: float = _option(
        0.0,
        "Samples per second of simulation time [Hz], of one sensor; 0 = as in the model, else 500 "
        "(odometry, wheel_odometry and light_beam 100).",
        minimum=0.0,
        maximum=1e6,
    )
    angular_velocity_stdev: float = _option(
        -1.0,
        "White noise of the gyro, per axis and sample [rad/s]; negative = as in the model.",
        "imu",
        minimum=-1.0,
        maximum=1e6,
    )
    linear_acceleration_stdev: float = _option(
        -1.0,
        "White noise of the accelerometer, per axis and sample [m/s^2]; negative = as in the "
        "model.",
        "imu",
        minimum=-1.0,
        maximum=1e6,
    )
    orientation_stdev: float = _option(
        0.0,
        "White noise of the orientation, about each axis [rad].",
        "imu",
        minimum=0.0,
        maximum=pi,
    )
    angular_velocity_random_walk: float = _option(
        -1.0,
        "Random walk of the gyro's bias [rad/s/sqrt(s)]; negative = as in the model.",
        "imu",
        minimum=-1.0,
        maximum=1e6,
    )
    linear_acceleration_random_walk: float = _option(
        -1.0,
        "Random walk of the accelerometer's bias [m/s^2/sqrt(s)]; negative = as in the model.",
        "imu",
        minimum=-1.0,
        maximum=1e6,
    )
    orientation: bool = _option(
        False, "Whether IMUs measure their orientation in the world frame.", "imu"
    )
    force_stdev: float = _option(
        -1.0,
        "White noise of the force, per axis [N]; negative = as in the model.",
        "force",
        minimum=-1.0,
        maximum=1e12,
    )
    torque_stdev: float = _option(
        -1.0,
        "White noise of the torque, per axis [N m]; negative = as in the model.",
        "force",
        minimum=-1.0,
        maximum=1e12,
    )
    wrench_on: str = _option(
        "model",
        "Which side the measured wrench acts on: the parent, by the link and all it carries, or "
        "the link, by the parent; by default as in the model, else the parent.",
        "force",
        choices=("model", "link", "parent"),
    )
    wrench_cutoff: float = _option(
        0.0,
        "Cut-off frequency of the first-order low-pass filter for wrenches [Hz]; 0 = none.",
        "force",
        minimum=0.0,
        maximum=1e12,
    )
    encoders: bool = _option(
        False,
        "Whether joint positions are quantized by the encoder resolutions of the model, and "
        "velocities are differences of counts.",
        "joints",
        "wheel_odometry",
    )
    odometry: str = _option(
        TRUTH,
        "What the topmost frame of a robot follows: its true motion, that of its wheels or tracks, "
        "which drifts where they slip, or none, for another program, such as a filter of wheels "
        "and IMU; other bodies are true.",
        "odometry",
        choices=(TRUTH, WHEELS, NONE),
    )
    wheel_separation_multiplier: float = _option(
        0.0,
        "Distance between left and right wheels that wheel odometry assumes, as a multiple of the "
        "true one; 0 = as friction of equal wheels lets it slip in turns.",
        "wheel_odometry",
        minimum=0.0,
        maximum=100.0,
    )
    wheel_noise: float = _option(
        0.0,
        "White noise of the distance that a wheel or track rolls, per root of a metre [m/sqrt(m)].",
        "wheel_odometry",
        minimum=0.0,
        maximum=1e3,
    )
    wheel_slip: float = _option(
        0.01,
        "Slip that the covariances of wheel odometry assume, likewise [m/sqrt(m)].",
        "wheel_odometry",
        minimum=0.0,
        maximum=1e3,
    )
    error_deviation: float = _option(
        -1.0,
        "Standard deviation of distances [m]; negative = as in the model.",
        "range",
        "camera",
        minimum=-1.0,
        maximum=1e6,
    )
    detection_rate: float = _option(
        -1.0,
        "Share of the rays that return; negative = as in the model.",
        "range",
        "camera",
        minimum=-1.0,
        maximum=1.0,
    )
    own_body: str = _option(
        "unseen",
        "Whether a range sensor detects links of its own body, except the one that it is on.",
        "range",
        choices=("unseen", "seen"),
    )
    no_return: str = _option(
        "inf",
        "Reading of a range sensor for rays without a return: infinity, or its maximum range.",
        "range",
        choices=("inf", "max"),
    )
    spread_scan: bool = _option(
        False, "Whether a scan is spread over its period, one column of rays at a time.", "range"
    )
    color_stdev: float = _option(
        -1.0,
        "White noise of colours and grey values, per pixel, from 0 to 1; negative = as in the "
        "model.",
        "camera",
        minimum=-1.0,
        maximum=1.0,
    )
    headlight: bool = _option(True, "Whether cameras have a headlight.", "camera")
    background: str = _option(
        "#8cb3d9", "Background colour of camera images, as '#rrggbb'.", "camera"
    )

    def __post_init__(self) -> None:
        for option in fields(self):
            if error := option_error(option, getattr(self, option.name)):
                raise ValueError(error)

    @property
    def background_color(self) -> tuple[float, float, float]:
        """RGB of the background, in 0..1."""
        r, g, b = (int(self.background[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
        return r, g, b

    def with_values(self, values: Mapping[str, OptionValue]) -> SensorSettings:
        """Return settings with other values of these options.

        Raises:
            ValueError: There is no such option, or its value is invalid.
        """
        known = {option.name for option in fields(self)}
        for name in values:
            if name not in known:
                raise ValueError(f"sensors have no option '{name}'")
        return replace(self, **dict(values))  # type: ignore[arg-type]


def applies_to(option: Field[OptionValue], kind: str) -> bool:
    """Return whether an option applies to a kind of sensor."""
    kinds = option.metadata["kinds"]
    return not kinds or kind in kinds


def option_error(option: Field[OptionValue], value: object) -> str:
    """Return what is wrong with the value of an option, and the valid values, or ""."""
    name, rules = option.name, option.metadata
    if isinstance(option.default, bool):
        return "" if isinstance(value, bool) else f"{name} must be true or false, not {value!r}"
    if isinstance(option.default, float):
        minimum, maximum = rules.get("minimum", -inf), rules.get("maximum", inf)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and minimum <= value < inf and value <= maximum:  # type: ignore[operator]
            return ""
        return f"{name} must be a number from {minimum:g} to {maximum:g}, not {value!r}"
    if choices := rules.get("choices"):
        listed = " or ".join(f"'{choice}'" for choice in choices)
        return "" if value in choices else f"{name} must be {listed}, not {value!r}"
    return "" if _is_color(value) else f"{name} must be a colour '#rrggbb', not {value!r}"


def _is_color(value: object) -> bool:
    if not (isinstance(value, str) and len(value) == 7 and value[0] == "#"):
        return False
    return all(digit in "0123456789abcdefABCDEF" for digit in value[1:])


IDEAL = SensorSettings()
