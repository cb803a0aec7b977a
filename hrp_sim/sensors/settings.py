"""How sensors depart from ideal ones, and what they are asked for: one table of options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from math import inf, pi
from typing import Any

# What a value may be. A colour is "#rrggbb", so that every value is one word.
OptionValue = bool | float | str


def _option(default: OptionValue, doc: str, *kinds: str, **more: float | tuple[str, ...]) -> Any:
    return field(default=default, metadata={"doc": doc, "kinds": frozenset(kinds), **more})


@dataclass(frozen=True, kw_only=True)
class SensorSettings:
    """The options of one sensor. All that make it worse than an ideal one are off by default.

    World files, node parameters and documentation are made from this table: each field's
    metadata has ``doc``, the ``kinds`` of sensors it is for (see ``Instrument``; none means all),
    ``minimum`` and ``maximum`` of a number, ``choices`` of a word.

    Raises:
        ValueError: A value is none that its option may have; the message names both.
    """

    rate: float = _option(
        0.0,
        "Samples per second of simulated time [Hz], of one sensor; 0 = as the model says, else 500 "
        "(odometry 100).",
        minimum=0.0,
        maximum=1e6,
    )
    angular_velocity_stdev: float = _option(
        0.0,
        "White noise of the gyro, per axis and sample [rad/s].",
        "imu",
        minimum=0.0,
        maximum=1e6,
    )
    linear_acceleration_stdev: float = _option(
        0.0,
        "White noise of the accelerometer, per axis and sample [m/s^2].",
        "imu",
        minimum=0.0,
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
        0.0, "Random walk of the gyro's bias [rad/s/sqrt(s)].", "imu", minimum=0.0, maximum=1e6
    )
    linear_acceleration_random_walk: float = _option(
        0.0,
        "Random walk of the accelerometer's bias [m/s^2/sqrt(s)].",
        "imu",
        minimum=0.0,
        maximum=1e6,
    )
    orientation: bool = _option(False, "Whether IMUs tell their orientation in the world.", "imu")
    force_stdev: float = _option(
        0.0, "White noise of the force, per axis [N].", "force", minimum=0.0, maximum=1e12
    )
    torque_stdev: float = _option(
        0.0, "White noise of the torque, per axis [N m].", "force", minimum=0.0, maximum=1e12
    )
    wrench_on: str = _option(
        "parent",
        "On whom the wrench acts that is told: on the parent side, from the link and all it "
        "carries, or the opposite.",
        "force",
        choices=("parent", "link"),
    )
    wrench_cutoff: float = _option(
        0.0,
        "Cut-off frequency of the first-order low-pass for wrenches [Hz]; 0 = none.",
        "force",
        minimum=0.0,
        maximum=1e12,
    )
    encoders: bool = _option(
        False,
        "Whether positions of joints are counts of the model's encoders, and velocities "
        "differences of counts.",
        "joints",
    )
    error_deviation: float = _option(
        -1.0,
        "Standard deviation of distances [m]; negative = as the model says.",
        *("range", "camera"),
        minimum=-1.0,
        maximum=1e6,
    )
    detection_rate: float = _option(
        -1.0,
        "Share of the rays that come back; negative = as the model says.",
        *("range", "camera"),
        minimum=-1.0,
        maximum=1.0,
    )
    own_body: str = _option(
        "unseen",
        "Whether a range sensor sees the links of its own body, but for the one that carries it.",
        "range",
        choices=("unseen", "seen"),
    )
    no_return: str = _option(
        "inf",
        "What a range sensor tells of rays that meet nothing: infinity, or the most it measures.",
        "range",
        choices=("inf", "max"),
    )
    spread_scan: bool = _option(
        False, "Whether a scan takes its whole period, one ray after the other.", "range"
    )
    headlight: bool = _option(True, "Whether cameras carry a light of their own.", "camera")
    background: str = _option(
        "#8cb3d9", "Colour of what cameras see where nothing is, as '#rrggbb'.", "camera"
    )

    def __post_init__(self) -> None:
        for option in fields(self):
            if why := option_error(option, getattr(self, option.name)):
                raise ValueError(why)

    @property
    def background_color(self) -> tuple[float, float, float]:
        """RGB of the background, in 0..1."""
        r, g, b = (int(self.background[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
        return r, g, b

    def with_values(self, values: Mapping[str, OptionValue]) -> SensorSettings:
        """Return settings in which these options differ.

        Raises:
            ValueError: There is no such option, or it may not have that value.
        """
        known = {option.name for option in fields(self)}
        for name in values:
            if name not in known:
                raise ValueError(f"no sensor has an option '{name}'")
        return replace(self, **dict(values))  # type: ignore[arg-type]


def applies_to(option: Field[OptionValue], kind: str) -> bool:
    """Return whether an option is for a kind of sensor."""
    kinds = option.metadata["kinds"]
    return not kinds or kind in kinds


def option_error(option: Field[OptionValue], value: object) -> str:
    """Return why an option may not have a value, and what it may have, or nothing."""
    name, rules = option.name, option.metadata
    if isinstance(option.default, bool):
        return "" if isinstance(value, bool) else f"{name} is true or false, not {value!r}"
    if isinstance(option.default, float):
        least, most = rules.get("minimum", -inf), rules.get("maximum", inf)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and least <= value < inf and value <= most:  # type: ignore[operator]
            return ""
        return f"{name} is a number in the range {least:g} .. {most:g}, not {value!r}"
    if choices := rules.get("choices"):
        words = " or ".join(f"'{word}'" for word in choices)
        return "" if value in choices else f"{name} is {words}, not {value!r}"
    return "" if _is_color(value) else f"{name} is a colour '#rrggbb', not {value!r}"


def _is_color(value: object) -> bool:
    if not (isinstance(value, str) and len(value) == 7 and value[0] == "#"):
        return False
    return all(digit in "0123456789abcdefABCDEF" for digit in value[1:])


IDEAL = SensorSettings()
