"""What small sensors measure at a link L, computed in C for many sensors at once.

A probe measures vectors of three numbers, which depend on its kind:

* WRENCH_ON_LINK, WRENCH_ON_PARENT: force [N] and torque [N m] about S, in S.
* INERTIAL: angular velocity [rad/s] and specific force [m/s^2] of S, in S.
* ROOT: position of L in W [m], its velocity [m/s] and angular velocity [rad/s] in L.
"""

from hrp_model.rigid import Array
from hrp_sim.engine.state import BodyMotion

WRENCH_ON_LINK: int
WRENCH_ON_PARENT: int
INERTIAL: int
ROOT: int

class Probe:
    """Measures at a link; immutable.

    Args:
        kind: One of the constants of this module.
        link: Index of L.
        R_LS: Rotation of the sensor frame S in L, shape (3, 3).
        p_LS: Its origin, in [m], shape (3,).
        g_W: Gravity, in [m/s^2], shape (3,).
        limits: To which the axes of the first two vectors are clipped, shape (2, 3); not of ROOT.
    """

    def __new__(
        cls, kind: int, link: int, R_LS: Array, p_LS: Array, g_W: Array, limits: Array
    ) -> Probe: ...

def measure(probes: tuple[Probe, ...], motions: tuple[BodyMotion, ...], /) -> tuple[bytes, ...]:
    """Return the vectors that each probe measures of its motion, one after the other, as float64.

    A probe holds the arrays of the last motion: they must not be replaced.

    Raises:
        ValueError: A motion does not have the link.
    """
