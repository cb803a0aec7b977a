from hrp_model.rigid import Array
from hrp_sim.articulation import Articulation
from hrp_sim.state import BodyMotion, JointDrive

FAULT_DRIVE: int
FAULT_TRACK: int
FAULT_STATE: int
FAULT_SOLVER: int

class World:
    def __new__(
        cls,
        *,
        step: float,
        quick: bool,
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
        predict_sticking: bool,
        seed: int,
    ) -> World: ...
    @property
    def complaints(self) -> int: ...
    @property
    def broken(self) -> bool: ...
    def add_body(
        self, articulation: Articulation, motion: BodyMotion, drive: JointDrive, /
    ) -> tuple[int, list[tuple[int, int]]]: ...
    def remove_body(self, body: int, /) -> None: ...
    def reset(self) -> None: ...
    def step(self, count: int, /) -> tuple[int, int, int, int] | None: ...
    def cast_rays(
        self,
        origins: Array,
        directions: Array,
        max_distance: float,
        ignored: int,
        distances: Array,
        /,
    ) -> None: ...
    def close(self) -> None: ...
