from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array
from hrp_sim.engine.articulation.articulation import Articulation
from hrp_sim.engine.ode.saved_state import SavedBody
from hrp_sim.engine.state import BodyMotion, ExternalWrench, JointDrive

FAULT_NONE: int
FAULT_DRIVE: int
FAULT_TRACK: int
FAULT_STATE: int
FAULT_SOLVER: int
FAULT_WRENCH: int
FAULT_CONTACTS: int
FAULT_BLOCKS: int
FAULT_INTERRUPTED: int
FAULT_SURFACE: int
SOLVER_WORLD: int
SOLVER_QUICK: int
MAX_CONTACTS: int
MEMORY_NUMBERS: int
REST_NUMBERS: int
MAX_BLOCKS: int

class OdeError(RuntimeError):
    """ODE has failed; the objects that it was working on must not be used again."""

def guarded(function: Callable[..., Any], /, *arguments: object) -> Any:
    """Call a builtin that only calls ODE; raise OdeError if ODE fails."""

def take_messages() -> int:
    """Return the number of ODE messages in this thread since the last call."""

class World:
    def __new__(
        cls,
        *,
        step: float,
        solver: int,
        gravity: tuple[float, float, float],
        erp: float,
        cfm: float,
        iterations: int,
        over_relaxation: float,
        max_correcting_velocity: float,
        surface_layer: float,
        max_contacts: int,
        joint_limits: bool,
        self_collision: bool,
        sleeping: bool,
        seed: int,
    ) -> World: ...
    @property
    def message_count(self) -> int: ...
    @property
    def contacts(self) -> int: ...
    record_contacts: bool
    record_pair_costs: bool
    @property
    def recorded_contacts(self) -> int: ...
    @property
    def random(self) -> int: ...
    @random.setter
    def random(self, value: int) -> None: ...
    @property
    def contact_memory(self) -> bytes: ...
    @contact_memory.setter
    def contact_memory(self, value: bytes) -> None: ...
    @property
    def broken(self) -> bool: ...
    def set_materials(
        self, friction: Array, restitution: Array, prevails: NDArray[np.int32], /
    ) -> None: ...
    def add_body(
        self,
        articulation: Articulation,
        motion: BodyMotion,
        drive: JointDrive,
        wrench: ExternalWrench,
        /,
    ) -> tuple[int, list[tuple[int, int]]]: ...
    def remove_body(self, body: int, /) -> None: ...
    def rebase_body(self, body: int, articulation: Articulation, /) -> None: ...
    def move_body(self, body: int, articulation: Articulation, /) -> None: ...
    def add_joint(
        self,
        kind: int,
        body_a: int,
        link_a: int,
        R_AJ: Array,
        p_AJ: Array,
        body_b: int,
        link_b: int,
        R_BJ: Array,
        p_BJ: Array,
        axis: Array,
        /,
    ) -> int: ...
    def remove_joint(self, joint: int, /) -> None: ...
    def read_state(self, body: int, arrays: SavedBody, /) -> None: ...
    def write_state(self, body: int, arrays: SavedBody, /) -> None: ...
    @property
    def steps_to_sleep(self) -> int: ...
    @property
    def sleeping_contacts(self) -> int: ...
    def read_sleep(
        self, bodies: NDArray[np.int32], contacts: NDArray[np.int32], values: Array, /
    ) -> None: ...
    def write_sleep(
        self, bodies: NDArray[np.int32], contacts: NDArray[np.int32], values: Array, /
    ) -> None: ...
    def reset(self) -> None: ...
    def read_contacts(self, ids: NDArray[np.int32], values: Array, /) -> None: ...
    def interrupt(self) -> None: ...
    @property
    def steps_done(self) -> int: ...
    def step(self, count: int, /) -> tuple[int, int, int] | None: ...
    def cast_rays(
        self,
        origins: Array,
        directions: Array,
        max_distance: float,
        ignored: int,
        ignored_link: int,
        distances: Array,
        /,
    ) -> None: ...
    def read_pair_costs(self) -> list[tuple[int, int, int, int, float]]: ...
    def read_failed_pairs(self) -> list[tuple[int, int, int, int]]: ...
    def close(self) -> None: ...
