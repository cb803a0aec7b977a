"""Sensors of what a joint transmits: all forces and torques, or the effort of its drive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import expm1, pi

import numpy as np

from hrp_model import JointType, Pose, devices
from hrp_model.frames import wrench_pose
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_msgs.readings import TorqueReading, WrenchReading

from ..engine.engine import AnyArray
from ..engine.state import BodyMotion, WorldState
from ._probe import WRENCH_ON_LINK, WRENCH_ON_PARENT, Probe
from .base import (
    ProbingSensor,
    Sensor,
    SensorContext,
    check_limits,
    check_mounting,
    make_probe,
    measure_one,
    saturate,
    vectors_of,
)
from .noise import VectorErrors, with_options

RATE = 500.0  # [Hz], the default
_NEVER = -1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ForceSensor(ProbingSensor[WrenchReading]):
    """A force/torque sensor in the joint above a link L, with a frame S fixed to L or its parent.

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
        link: Index of the link that carries S in the body's links.
        X_LS: Pose of S in that link.
        below: Index of L, if another link carries S, else None.
        max_force: Saturation limit per axis, in [N], shape (3,).
        max_torque: Saturation limit per axis, in [N m], shape (3,).
        on_link: Whether readings are the wrench on L instead of that of L on its parent.
        cutoff_hz: Cut-off frequency (-3 dB) of the first-order low-pass, in [Hz]; 0 = none.
        noise: Errors of the components of force and torque; None for no noise.

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
    below: int | None = None
    noise: VectorErrors | None = None
    probe: Probe = field(init=False, repr=False)
    _filtered: Array = field(init=False, repr=False)
    _filtered_ns: AnyArray = field(init=False, repr=False)
    # Whether readings are what the probe measures and clips.
    _is_plain: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_mounting(self.X_LS)
        check_limits(self.max_force, self.max_torque)
        kind = WRENCH_ON_LINK if self.on_link else WRENCH_ON_PARENT
        is_plain = self.noise is None and not self.observes and self.below is None
        object.__setattr__(self, "_is_plain", is_plain)
        limits = (self.max_force, self.max_torque) if is_plain else (None, None)
        link, X_LS = (self.link, self.X_LS) if self.below is None else (self.below, Pose())
        object.__setattr__(self, "probe", make_probe(kind, link, X_LS, limits))
        object.__setattr__(self, "_filtered", np.zeros((2, 3)))
        object.__setattr__(self, "_filtered_ns", np.array([_NEVER], dtype=np.int64))

    @property
    def observes(self) -> bool:
        """Whether it has a filter."""
        return self.cutoff_hz > 0.0

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The last output of the filter and its time, and what the noise remembers."""
        noise = {} if self.noise is None else self.noise.memory
        if not self.observes:
            return noise
        return {"filtered": self._filtered, "filtered_ns": self._filtered_ns, **noise}

    def reset(self) -> None:
        """Initialize the filter with the next wrench, and the noise."""
        self._filtered_ns[0] = _NEVER
        if self.noise is not None:
            self.noise.reset()

    def observe(self, world: WorldState) -> None:
        """Filter the wrench of the last step; repeated calls at one time have no effect.

        The wrench is constant over a step, so this is the exact solution of the continuous filter
        dy/dt = 2 pi cutoff (wrench - y).
        """
        last_ns, now_ns = int(self._filtered_ns[0]), world.time_ns
        if now_ns == last_ns:
            return
        wrench = vectors_of(measure_one(self.probe, world.bodies[self.body].motion))
        if last_ns == _NEVER or now_ns < last_ns:
            self._filtered[:] = wrench
        else:
            share = -expm1(-2e-9 * pi * self.cutoff_hz * (now_ns - last_ns))
            self._filtered[:] += share * (wrench - self._filtered)
        self._filtered_ns[0] = now_ns

    def reading(self, world: WorldState, measured: bytes) -> WrenchReading:
        """Return the measured wrench of the last step, given the true one."""
        if self._is_plain:
            return WrenchReading.late(world.time_ns, self.body, measured)
        force, torque = vectors_of(measured)
        if self.observes:
            self.observe(world)
            force, torque = self._filtered.copy()
        if self.below is not None:
            force, torque = self._in_frame(world.bodies[self.body].motion, force, torque)
        if self.noise is not None:
            true = np.concatenate([force, torque])
            force, torque = self.noise.applied(world.time_ns, true).reshape(2, 3)
        force, torque = saturate(force, self.max_force), saturate(torque, self.max_torque)
        return WrenchReading(world.time_ns, self.body, force, torque)

    def _in_frame(self, motion: BodyMotion, force: Array, torque: Array) -> tuple[Array, Array]:
        """Return a wrench of L, in its axes and about its origin, in S and about its origin."""
        X_WL = Pose(motion.R[self.below], motion.p[self.below])
        X_WS = Pose(motion.R[self.link], motion.p[self.link]) @ self.X_LS
        force_W = X_WL.R @ force
        torque_W = X_WL.R @ torque + np.cross(X_WL.p - X_WS.p, force_W)
        return X_WS.R.T @ force_W, X_WS.R.T @ torque_W


def make_force_sensor(device: devices.ForceSensor, context: SensorContext) -> ForceSensor:
    """Return the sensor of a force/torque sensor; warn if its link has no joint to a parent."""
    settings = context.settings(device.name)
    noise = VectorErrors(
        (
            *with_options(device.force_noise, settings.force_stdev),
            *with_options(device.torque_noise, settings.torque_stdev),
        ),
        context.noise(device.name),
    )
    mounted = context.mounted(device, device.sample_rate or RATE)
    measured = context.body.links[mounted["link"]]
    below = None
    carrier, X_CS = wrench_pose(device, measured)
    if carrier != measured.name:
        below, mounted["link"] = mounted["link"], context.body.link_index(carrier)
    mounted["X_LS"] = X_CS
    on_link = device.on_link if settings.wrench_on == "model" else settings.wrench_on == "link"
    sensor = ForceSensor(
        **mounted,
        max_force=device.max_force,
        max_torque=device.max_torque,
        on_link=on_link,
        cutoff_hz=settings.wrench_cutoff,
        below=below,
        noise=None if noise.is_ideal else noise,
    )
    is_root = measured is context.body.root
    is_free = measured.joint.type is JointType.FREE
    if not context.is_fixed if is_root else is_free:
        message = "always reads 0: its link has no joint to a parent"
        context.warn("idle-force-sensor", device, message)
    return sensor


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TorqueSensor(Sensor):
    """A sensor of the effort that the drive of a joint exerts, the mean over the last step.

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it.
        rate_hz: Samples per second.
        joint: Index of the joint among the body's moving links.
        axis: Unit vector of the joint's motion in S, shape (3,).
        slides: Whether the joint slides; else it turns.
    """

    name: str
    body: str
    rate_hz: float
    joint: int
    axis: Array
    slides: bool

    def read(self, world: WorldState) -> TorqueReading:
        """Return the effort of the last step."""
        along = world.bodies[self.body].motion.effort[self.joint] * self.axis
        force, torque = (along, np.zeros(3)) if self.slides else (np.zeros(3), along)
        return TorqueReading(world.time_ns, self.body, force, torque)


def make_torque_sensor(device: devices.TorqueSensor, context: SensorContext) -> TorqueSensor:
    """Return the sensor of a joint's effort.

    Raises:
        ValueError: The joint of its link does not move.
    """
    mounted = context.mounted(device, RATE)
    link = context.body.links[mounted["link"]]
    if not link.joint.moves:
        raise ValueError(f"its joint '{link.joint.name}' neither turns nor slides")
    return TorqueSensor(
        name=device.name,
        body=mounted["body"],
        rate_hz=mounted["rate_hz"],
        joint=[x.name for x in context.body.moving_links].index(link.name),
        axis=mounted["X_LS"].R.T @ link.joint.axis,
        slides=link.joint.type is JointType.PRISMATIC,
    )
