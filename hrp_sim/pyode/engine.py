"""The Engine port on PyODE: that of ``hrp_sim.ode`` with a world made by PyODE."""

from __future__ import annotations

from typing import Any, ClassVar

from ..ode import OdeEngine
from ..physics.engine import PhysicsSettings
from .binding import check_library
from .world import World


class PyOdeEngine(OdeEngine):
    """A world of PyODE: primitives, and the joints that PyODE has.

    Its states equal those of ``OdeEngine`` to the last bit. It is slower and holds the
    interpreter lock; of our extension it uses only what catches ODE's errors, which would
    end the process.

    Raises:
        PhysicsError: A setting is not finite or has no sense, or PyODE is linked with an ODE
            that this package cannot share.
    """

    _world_type: ClassVar[Any] = World

    def __init__(self, settings: PhysicsSettings) -> None:
        check_library()
        super().__init__(settings)
