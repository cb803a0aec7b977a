"""Six-axis force/torque sensor in the joint between a link and its parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import expm1, pi

import numpy as np

from hrp_model import JointType, Pose, devices
from hrp_model.rigid import Array

from ..physics.state import WorldState
from ._probe import WRENCH_ON_LINK, WRENCH_ON_PARENT, Probe
from .base import AnyArray, check_limits, check_mounting, make_probe, measure_one, saturate
from .context import SensorContext
from .noise import Noise

RATE = 500.0  # [Hz], the default
_NEVER = -1


@dataclass(slots=True, eq=False)
class WrenchReading:
    """The wrench of the link, with all it carries, on its parent, or the opposite wrench.

    In the sensor frame S, about its origin. With the default, the wrench on the parent, a mass
    that hangs on the sensor reads as a force downwards.

    Attributes:
        time_ns: Simulation time of the sample, in [ns].
        body: Name of the body that carries the sensor.
        force: In [N], shape (3,).
        torque: In [N m], shape (3,).
    """

    time_ns: int
    body: str
    force: Array
    torque: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ForceSensor:
    """A force/torque sensor whose frame S is fixed to a link L.

    It measures the wrench transmitted by the joint between L and its parent: constraint, drive,
    friction and stops; for a fixed root, the wrench of the world. Wrenches that act on L
    directly, such as contacts, external wrenches and extra joints, are not included, except for
    what L transmits to its joint.

    A reading is the mean of that wrench over the last step, low-pass filtered, with noise, and
    clipped, in this order. The filter processes every step, and is initialized with the first
    wrench. Noise is added after it, so that readings have the specified standard deviation.

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it.
        rate_hz: Samples per second.
        link: Index of L in the body's links.
        X_LS: Pose of S in L.
        max_force: Saturation limit per axis, in [N], shape (3,).
        max_torque: Saturation limit per axis, in [N m], shape (3,).
        on_link: Whether readings are the wrench on L instead of that of L on its parent.
        cutoff_hz: Cut-off frequency (-3 dB) of the first-order low-pass, in [Hz]; 0 = none.
        force_stdev: Standard deviation of white noise per axis, in [N].
        torque_stdev: Standard deviation of white noise per axis, in [N m].
        noise: Random number source; None for no noise.

    Raises:
        ValueError: The pose is not a rigid transform, or a limit is negative or NaN.
    """

    name: str
    body: str
    rate_hz: float
    link: int
    X_LS: Pose
    max_force: Array
    max_torque: Array
    on_link: bool = False
    cutoff_hz: float = 0.0
    force_stdev: float = 0.0
    torque_stdev: float = 0.0
    noise: Noise | None = None
    probe: Probe = field(init=False, repr=False)
    _filtered: Array = field(init=False, repr=False)
    _filtered_ns: AnyArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_mounting(self.X_LS)
        check_limits(self.max_force, self.max_torque)
        kind = WRENCH_ON_LINK if self.on_link else WRENCH_ON_PARENT
        is_plain = self.noise is None and not self.observes  # else clipped when the rest is done
        limits = (self.max_force, self.max_torque) if is_plain else (None, None)
        object.__setattr__(self, "probe", make_probe(kind, self.link, self.X_LS, limits))
        object.__setattr__(self, "_filtered", np.zeros((2, 3)))
        object.__setattr__(self, "_filtered_ns", np.array([_NEVER], dtype=np.int64))

    @property
    def observes(self) -> bool:
        """Whether it has a filter."""
        return self.cutoff_hz > 0.0

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The last output of the filter and its time."""
        if not self.observes:
            return {}
        return {"filtered": self._filtered, "filtered_ns": self._filtered_ns}

    def reset(self) -> None:
        """Initialize the filter with the next wrench."""
        self._filtered_ns[0] = _NEVER

    def observe(self, world: WorldState) -> None:
        """Filter the wrench of the last step; repeated calls at one time have no effect.

        The wrench is constant over a step, so this is the exact solution of the continuous filter
        dy/dt = 2 pi cutoff (wrench - y).
        """
        last_ns, now_ns = int(self._filtered_ns[0]), world.time_ns
        if now_ns == last_ns:
            return
        wrench = measure_one(self.probe, world.bodies[self.body].motion)
        if last_ns == _NEVER or now_ns < last_ns:
            self._filtered[:] = wrench
        else:
            share = -expm1(-2e-9 * pi * self.cutoff_hz * (now_ns - last_ns))
            self._filtered[:] += share * (wrench - self._filtered)
        self._filtered_ns[0] = now_ns

    def read(self, world: WorldState) -> WrenchReading:
        """Return the measured wrench of the last step."""
        return self.reading(world, measure_one(self.probe, world.bodies[self.body].motion), 0)

    def reading(self, world: WorldState, vectors: Array, first: int) -> WrenchReading:
        """Return the measured wrench of the last step, given the true one."""
        force, torque = vectors[first], vectors[first + 1]
        if self.observes:
            self.observe(world)
            force, torque = self._filtered.copy()
        if self.noise is not None:
            n = self.noise.normals(world.time_ns, 6)
            force = force + self.force_stdev * n[:3]
            torque = torque + self.torque_stdev * n[3:]
        if self.observes or self.noise is not None:
            force, torque = saturate(force, self.max_force), saturate(torque, self.max_torque)
        return WrenchReading(world.time_ns, self.body, force, torque)


def make_force_sensor(device: devices.ForceSensor, context: SensorContext) -> ForceSensor:
    """Return the sensor of a force/torque sensor; warn if its link has no joint to a parent."""
    settings = context.settings(device.name)
    is_noisy = settings.force_stdev > 0.0 or settings.torque_stdev > 0.0
    sensor = ForceSensor(
        **context.mounted(device, RATE),
        max_force=device.max_force,
        max_torque=device.max_torque,
        on_link=settings.wrench_on == "link",
        cutoff_hz=settings.wrench_cutoff,
        force_stdev=settings.force_stdev,
        torque_stdev=settings.torque_stdev,
        noise=context.noise(device.name) if is_noisy else None,
    )
    is_free = context.body.links[sensor.link].joint.type is JointType.FREE
    if not context.is_fixed if sensor.link == 0 else is_free:
        message = "always reads 0: its link has no joint to a parent"
        context.warn("idle-force-sensor", device, message)
    return sensor
