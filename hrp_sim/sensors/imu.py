"""Rate gyro and accelerometer, fixed to a link."""

from __future__ import annotations

from dataclasses import dataclass, field

from hrp_model import Pose
from hrp_model.rigid import Array

from ..state import WorldState
from .base import Rows, Vector, rows_of, saturated, turned, unless_identity, unrotated


@dataclass(slots=True, eq=False)
class ImuReading:
    """One sample, in the sensor frame S.

    Attributes:
        time_ns: Simulation time of the sample, in [ns].
        body: Name of the body that carries the sensor.
        angular_velocity: w_WS_S, in [rad/s], shape (3,); None without a gyro.
        linear_acceleration: a_WSo_S - g_S, the specific force, in [m/s^2], shape (3,);
            None without an accelerometer. At rest it points up, with length 9.81.
    """

    time_ns: int
    body: str
    angular_velocity: Array | None
    linear_acceleration: Array | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ImuSensor:
    """An ideal gyro, accelerometer, or both, whose frame S is fixed to a link L.

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it.
        rate_hz: Samples per second.
        link: Index of L in the body's links.
        X_LS: Pose of S in L.
        g_W: Gravity, in [m/s^2], shape (3,).
        max_angular_velocity: Where the gyro saturates per axis, in [rad/s], shape (3,);
            None without a gyro.
        max_acceleration: Where the accelerometer saturates per axis, in [m/s^2],
            shape (3,); None without an accelerometer.
    """

    name: str
    body: str
    rate_hz: float
    link: int
    X_LS: Pose
    g_W: Array
    max_angular_velocity: Array | None
    max_acceleration: Array | None
    _R_LS: Rows | None = field(init=False, repr=False)
    _p_LS: Vector = field(init=False, repr=False)
    _g_W: Vector = field(init=False, repr=False)
    _limits: tuple[Vector | None, Vector | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ranges = (self.max_angular_velocity, self.max_acceleration)
        limits = tuple(None if most is None else tuple(most.tolist()) for most in ranges)
        object.__setattr__(self, "_R_LS", unless_identity(rows_of(self.X_LS.R)))
        object.__setattr__(self, "_p_LS", tuple(self.X_LS.p.tolist()))
        object.__setattr__(self, "_g_W", tuple(self.g_W.tolist()))
        object.__setattr__(self, "_limits", limits)

    def read(self, world: WorldState) -> ImuReading:
        """Measure at the sensor's own origin, lever arm included."""
        motion, i = world.bodies[self.body].motion, self.link
        R_WL = motion.R[i].tolist()
        w_L = unrotated(R_WL, motion.w[i].tolist())
        gyro = acceleration = None
        max_angular_velocity, max_acceleration = self._limits
        if max_angular_velocity is not None:
            gyro = saturated(turned(self._R_LS, w_L), max_angular_velocity)
        if max_acceleration is not None:
            alpha_L = unrotated(R_WL, motion.alpha[i].tolist())
            (ax, ay, az), (gx, gy, gz) = motion.a[i].tolist(), self._g_W
            f_L = unrotated(R_WL, (ax - gx, ay - gy, az - gz))
            f_So = _at_lever_arm(f_L, alpha_L, w_L, self._p_LS)
            acceleration = saturated(turned(self._R_LS, f_So), max_acceleration)
        return ImuReading(world.time_ns, self.body, gyro, acceleration)


def _at_lever_arm(f: Vector, alpha: Vector, w: Vector, r: Vector) -> Vector:
    """Return f + alpha x r + w x (w x r), all in the axes of L."""
    fx, fy, fz = f
    ax, ay, az = alpha
    wx, wy, wz = w
    x, y, z = r
    # w x (w x r) = w (w . r) - r (w . w)
    along, square = wx * x + wy * y + wz * z, wx * wx + wy * wy + wz * wz
    return (
        fx + ay * z - az * y + wx * along - x * square,
        fy + az * x - ax * z + wy * along - y * square,
        fz + ax * y - ay * x + wz * along - z * square,
    )
