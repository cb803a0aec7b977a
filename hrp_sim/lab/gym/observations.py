"""Observations: quantities of a robot and readings of its sensors by name, with their space.

Rewards, ends and observations see them in the state of an episode.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from hrp_model import Body
from hrp_model.body import Range
from hrp_model.diagnostics import names_with_hint
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, matrix_quaternion

from ...engine.articulation.numeric_limits import MAX_COORDINATE, MAX_SPEED
from ...engine.schedule import NS_PER_S
from ...engine.state import MAX_DRIVE_VALUE, BodyMotion
from ...sensors import Reading, Sensor, instruments
from ...sensors.kinds import kind_of
from ...simulation import Simulation


@dataclass(slots=True)
class EpisodeState:
    """The state after a step of an environment. It is live: the next step changes it.

    Attributes:
        simulation: The simulation.
        robot: Name of the robot in it.
        motion: Positions, velocities and so on of its links and joints.
        joints: Element of q of each joint, by name.
        links: Element of p and R of each link, by name.
        action: The last action, of the joints in their units and within their limits, shape
            (joints with actions,); zeros before the first step.
        start_ns: Simulation time at the start of the episode, in [ns].
    """

    simulation: Simulation
    robot: str
    motion: BodyMotion
    joints: Mapping[str, int]
    links: Mapping[str, int]
    action: Array
    start_ns: int = 0

    @property
    def time(self) -> float:
        """Time since the start of the episode, in [s]."""
        return (self.simulation.engine.time_ns - self.start_ns) / NS_PER_S

    @property
    def height(self) -> float:
        """Height of the robot's root above z = 0, in [m]."""
        return float(self.motion.p[0, 2])

    @property
    def upright(self) -> float:
        """Cosine of the angle between the root's z axis and the vertical."""
        return float(self.motion.R[0, 2, 2])

    def q(self, joint: str) -> float:
        """Return the position of a joint, in [rad] or [m].

        Raises:
            KeyError: There is no such joint; the message lists them.
        """
        return float(self.motion.q[self.joints[joint]])

    def dq(self, joint: str) -> float:
        """Return the velocity of a joint, in [rad/s] or [m/s].

        Raises:
            KeyError: There is no such joint; the message lists them.
        """
        return float(self.motion.dq[self.joints[joint]])

    def point(self, link: str, offset: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        """Return where a point of a link is in the world, in [m], shape (3,).

        Args:
            link: Name of the link.
            offset: The point in the link's frame, in [m], shape (3,).

        Raises:
            KeyError: There is no such link; the message lists them.
        """
        i = self.links[link]
        place: Array = self.motion.p[i] + self.motion.R[i] @ np.asarray(offset, dtype=np.float64)
        return place

    def begin(self) -> None:
        """Begin an episode."""
        self.start_ns = self.simulation.engine.time_ns
        self.action = np.zeros_like(self.action)


AnyArray = NDArray[Any]
Observation = dict[str, AnyArray]


@dataclass(frozen=True, eq=False)
class Channel:
    """A field of the readings of a sensor.

    Attributes:
        field: Name in the reading.
        space: Of its values.
    """

    field: str
    space: spaces.Box[Any]

    def values(self, reading: Reading) -> AnyArray:
        """Return the values of a reading, clipped to the bounds; NaN is the upper bound."""
        space = self.space
        found = np.array(getattr(reading, self.field), space.dtype).reshape(space.shape)
        if found.dtype != np.uint8:
            np.fmin(found, space.high, out=found)  # which ignores NaN
            np.maximum(found, space.low, out=found)
        return found

    @property
    def nothing(self) -> AnyArray:
        """The values in place of a reading that is not there yet: the upper bounds."""
        return self.space.high.copy()


def channels(sensor: Sensor) -> list[Channel]:
    """Return the fields of a sensor that have bounds; none if it cannot be observed."""
    found = []
    for field in kind_of(sensor).fields:
        bounds = field.bounds(sensor) if field.bounds and field.offered(sensor) else None
        if bounds is not None:
            lower, upper, shape = bounds
            found.append(Channel(field.name, spaces.Box(lower, upper, shape, field.dtype)))
    return found


@dataclass(frozen=True, eq=False)
class Quantity:
    """A quantity of a task, to be observed.

    Attributes:
        lower, upper: Its finite bounds, shape (n,) both; values beyond them are clipped.
        value: Returns it, shape (n,).

    Raises:
        ValueError: The bounds are not finite and ascending, or of different shapes.
    """

    lower: ArrayLike
    upper: ArrayLike
    value: Callable[[EpisodeState], ArrayLike]

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The lower and the upper bounds, shape (n,) each."""
        return np.array(self.lower, np.float64), np.array(self.upper, np.float64)

    def __post_init__(self) -> None:
        lower, upper = self.bounds
        is_vector = lower.ndim == 1 and lower.shape == upper.shape and lower.size > 0
        if not (is_vector and np.isfinite([lower, upper]).all() and (lower < upper).all()):
            raise ValueError(
                "the bounds of a quantity must be two vectors of finite numbers, each lower bound "
                "below its upper one"
            )


class Observations:
    """Observes a robot.

    Each quantity of a sensor is a key, SENSOR/FIELD, with the field of its reading.

    Args:
        simulation: Where the robot is. Sensors that neither this nor a controller needs are
            switched off.
        robot: Name of the robot.
        quantities: Keys of ``QUANTITIES``.
        further: Quantities of the task, by key.
        sensors: Names of sensors in the model.

    Attributes:
        boxes: Space of each element of the observations.
        space: Of the observations.

    Raises:
        ValueError: There is no such quantity or sensor, a sensor cannot be observed, or two have
            the same key.
    """

    def __init__(
        self,
        simulation: Simulation,
        robot: str,
        quantities: Collection[str],
        further: Mapping[str, Quantity],
        sensors: Collection[str],
    ) -> None:
        simulated = simulation.bodies[robot]
        self._simulation = simulation
        self._quantities: list[tuple[str, Callable[[EpisodeState], ArrayLike], Array, Array]] = []
        boxes: dict[str, spaces.Space[AnyArray]] = {}
        self.boxes: Mapping[str, spaces.Space[AnyArray]] = boxes
        own = {
            sensor.name: key for key, sensor in simulation.sensors.items() if sensor.body == robot
        }

        def add(
            name: str, value: Callable[[EpisodeState], ArrayLike], box: tuple[Array, Array]
        ) -> None:
            self._quantities.append((name, value, *box))
            boxes[name] = spaces.Box(*box, dtype=np.float64)

        for name in quantities:
            if name not in QUANTITIES:
                if name in own:
                    raise ValueError(f"'{name}' is a sensor: give it in 'sensors'")
                known = names_with_hint(name, QUANTITIES)
                raise ValueError(f"there is no observation '{name}', but {known}")
            bounds, value = QUANTITIES[name]
            lower, upper = bounds(simulated.body)
            if len(lower):
                add(name, value, (lower, upper))
        for name, quantity in further.items():
            if name in QUANTITIES or "/" in name:
                raise ValueError(
                    f"a quantity of a task cannot be named '{name}': it has another use"
                )
            add(name, quantity.value, quantity.bounds)
        self._channels: dict[str, dict[str, Channel]] = {}  # by name in the world, then by key
        for name in sensors:
            if name not in own:
                if name in instruments(simulated.body):
                    raise ValueError(
                        f"sensor '{name}' of robot '{robot}' cannot be simulated here; see the "
                        "warnings"
                    )
                raise ValueError(
                    f"robot '{robot}' has no sensor '{name}'; it has {names_with_hint(name, own)}"
                )
            found = {f"{name}/{c.field}": c for c in channels(simulation.sensors[own[name]])}
            if not found:
                raise ValueError(f"sensor '{name}' of robot '{robot}' cannot be observed")
            self._channels[own[name]] = found
            boxes |= {key: channel.space for key, channel in found.items()}
        if not boxes:
            raise ValueError("there must be something to observe")
        # A list keeps the order. Gymnasium declares elements as dictionaries of spaces.
        self.space = cast("spaces.Space[Observation]", spaces.Dict(list(boxes.items())))
        self._readings: dict[str, AnyArray] = {}
        needed = self._channels.keys() | simulation.controllers.sensors
        for name in simulation.sensors:
            if name not in needed or name in self._channels:
                simulation.set_enabled(name, name in self._channels)

    def begin(self) -> None:
        """Read all sensors in the present state, at the start of an episode."""
        simulation = self._simulation
        for name, by_key in self._channels.items():
            reading = simulation.sensors[name].read(simulation.state)
            for key, channel in by_key.items():
                self._readings[key] = (
                    channel.nothing if reading is None else channel.values(reading)
                )

    def observe(self, state: EpisodeState, readings: Mapping[str, Reading]) -> Observation:
        """Return the present observation, in new arrays.

        Args:
            state: The present state.
            readings: The newest ones since the last observation, by name in the world.

        Raises:
            ValueError: A quantity of the task has another shape than its bounds.
        """
        found: Observation = {}
        for name, value, lower, upper in self._quantities:
            values = np.asarray(value(state), np.float64)
            if values.shape != lower.shape:
                raise ValueError(
                    f"quantity '{name}' must have the shape {lower.shape} of its bounds, not "
                    f"{values.shape}"
                )
            found[name] = np.minimum(np.maximum(values, lower), upper)
        for name, by_key in self._channels.items():
            if (reading := readings.get(name)) is not None:
                for key, channel in by_key.items():
                    self._readings[key] = channel.values(reading)
        for key, values in self._readings.items():
            found[key] = values.copy()
        return found


def _joint_bounds(attribute: str, largest: float) -> Callable[[Body], tuple[Array, Array]]:
    """Return a function to the bounds of a quantity of all joints: their limits, if any."""

    def bounds(body: Body) -> tuple[Array, Array]:
        ranges: list[Range] = [getattr(x.joint, attribute) for x in body.moving_links]
        lower, upper = np.array(ranges, dtype=np.float64).reshape(-1, 2).T.copy()
        return np.maximum(lower, -largest), np.minimum(upper, largest)

    return bounds


def _same_bounds(*largest: float) -> Callable[[Body], tuple[Array, Array]]:
    def bounds(_body: Body) -> tuple[Array, Array]:
        return -np.array(largest), np.array(largest)

    return bounds


def _base_pose(state: EpisodeState) -> Array:
    motion = state.motion
    return np.array([*motion.p[0].tolist(), *matrix_quaternion(motion.R[0])])


def _base_velocity(state: EpisodeState) -> Array:
    motion = state.motion
    R_WL = motion.R[0]
    return np.concatenate([motion.v[0] @ R_WL, motion.w[0] @ R_WL])


# Bounds and value of each quantity, by name. Values beyond their bounds are clipped.
QUANTITIES: Mapping[
    str, tuple[Callable[[Body], tuple[Array, Array]], Callable[[EpisodeState], Array]]
] = {
    "q": (_joint_bounds("position_limits", MAX_COORDINATE), lambda state: state.motion.q),
    "dq": (_joint_bounds("velocity_limits", MAX_SPEED), lambda state: state.motion.dq),
    "effort": (_joint_bounds("effort_limits", MAX_DRIVE_VALUE), lambda state: state.motion.effort),
    "base_pose": (_same_bounds(*[MAX_COORDINATE] * 3, *[1.0] * 4), _base_pose),
    "base_velocity": (_same_bounds(*[MAX_SPEED] * 6), _base_velocity),
}
