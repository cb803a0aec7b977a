"""Rate gyro and accelerometer, fixed to a link."""

from __future__ import annotations

from dataclasses import dataclass

from hrp_model import Pose
from hrp_model.rigid import Array

from ..state import WorldState
from .base import saturated


@dataclass(frozen=True, slots=True, eq=False)
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

    def read(self, world: WorldState) -> ImuReading:
        """Measure at the sensor's own origin, lever arm included."""
        motion, i = world.bodies[self.body].motion, self.link
        # On arrays this small ``dot`` takes half the time of ``@``.
        R_WS = motion.R[i].dot(self.X_LS.R)
        w_S = motion.w[i].dot(R_WS).tolist()
        gyro = acceleration = None
        if self.max_angular_velocity is not None:
            gyro = saturated(w_S, self.max_angular_velocity)
        if self.max_acceleration is not None:
            alpha_S = motion.alpha[i].dot(R_WS).tolist()
            f_S = (motion.a[i] - self.g_W).dot(R_WS).tolist()
            p_LS_S = self.X_LS.p.dot(self.X_LS.R).tolist()
            acceleration = saturated(
                _at_lever_arm(f_S, alpha_S, w_S, p_LS_S), self.max_acceleration
            )
        return ImuReading(world.time_ns, self.body, gyro, acceleration)


def _at_lever_arm(
    f: list[float], alpha: list[float], w: list[float], r: list[float]
) -> tuple[float, float, float]:
    """Return f + alpha x r + w x (w x r); numpy's cross costs ten times as much."""
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
