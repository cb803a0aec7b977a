"""Occupancy grids of a world for planners: what a level scan at a height could meet."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hrp_model.files.writer import yaml_text
from hrp_model.frames import level_scans
from hrp_model.kinematics.vehicle import vehicle_drive
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_model.shapes.tessellate import shape_mesh

from ..engine.state import SimulatedBody
from .obstacles import link_poses, placed_shapes

Cells = NDArray[np.bool_]
MAX_CELLS = 1 << 24  # 4096 x 4096
_SAMPLES = 1 << 20  # of segments, computed at once
_MARGIN = 0.5  # [m] around all that is seen
_ROOM = 2.0  # [m] around a vehicle
# Grey values that both thresholds of map_server tell apart: occupied, free, unknown.
_OCCUPIED, _FREE, _UNKNOWN = 0, 254, 128
_OCCUPIED_THRESHOLD, _FREE_THRESHOLD = 0.65, 0.25


@dataclass(frozen=True, eq=False)
class OccupancyMap:
    """An occupancy grid in the world's frame.

    Attributes:
        occupied: Cells that the surface of a shape crosses, shape (rows, columns): x grows with
            the columns, y with the rows.
        free: Cells that a vehicle can reach, of the same shape; without a vehicle, all that are
            not occupied.
        resolution: Length of a cell, in [m].
        origin: x and y of the corner of the first cell, in [m].
        height: Of the plane, in [m].
        moving: Names of the bodies that were left out, as they can move.
    """

    occupied: Cells
    free: Cells
    resolution: float
    origin: tuple[float, float]
    height: float
    moving: tuple[str, ...]

    def image(self) -> bytes:
        """Return the map as an image in the format PGM, the greatest y first."""
        grey = np.where(self.occupied, _OCCUPIED, np.where(self.free, _FREE, _UNKNOWN))
        rows, columns = grey.shape
        return b"P5\n%d %d\n255\n" % (columns, rows) + grey[::-1].astype(np.uint8).tobytes()

    def description(self, image: str) -> str:
        """Return the file of nav2_map_server that describes an image in the same folder."""
        return yaml_text(
            {
                "image": image,
                "mode": "trinary",
                "resolution": self.resolution,
                "origin": [*self.origin, 0.0],
                "negate": 0,
                "occupied_thresh": _OCCUPIED_THRESHOLD,
                "free_thresh": _FREE_THRESHOLD,
            }
        )


def scan_planes(bodies: Mapping[str, SimulatedBody]) -> dict[str, float]:
    """Return the heights of the level scans of all vehicles, in [m], by "BODY/SENSOR"."""
    return {
        f"{name}/{scanner.name}": float(pose.p[2])
        for name, simulated in bodies.items()
        if not isinstance(vehicle_drive(simulated.body), str)
        for scanner, pose in level_scans(simulated.body, link_poses(simulated))
    }


def occupancy_map(
    bodies: Mapping[str, SimulatedBody],
    fixed: Collection[str],
    height: float,
    resolution: float,
) -> OccupancyMap:
    """Return the map of the collision shapes of all bodies that cannot move.

    Args:
        bodies: The bodies of a world by name, in their present state.
        fixed: Names of those whose root is fixed to the world.
        height: Of the plane, in [m].
        resolution: Length of a cell, in [m].

    Raises:
        ValueError: Nothing is there to map, or the map would be too large.
    """
    still = [b for name, b in bodies.items() if name in fixed and not b.body.moving_links]
    if not still:
        raise ValueError("there is nothing to map: all bodies can move, and there is no floor")
    moving = tuple(name for name, b in bodies.items() if b not in still)
    vehicles = np.array(
        [
            b.motion.p[0, :2]
            for b in bodies.values()
            if b not in still and not isinstance(vehicle_drive(b.body), str)
        ]
    ).reshape(-1, 2)
    segments = np.concatenate([np.zeros((0, 2, 2)), *_sections(still, height)])
    around = [vehicles - (_ROOM - _MARGIN), vehicles + (_ROOM - _MARGIN), segments.reshape(-1, 2)]
    seen = np.concatenate(around)
    if not len(seen):
        raise ValueError(f"no collision shape of a body that cannot move is {height:g} m high")
    low = np.floor((seen.min(axis=0) - _MARGIN) / resolution) * resolution
    size = seen.max(axis=0) + _MARGIN - low
    if not np.prod(size / resolution) <= MAX_CELLS:
        raise ValueError(
            f"a map of {size[0]:.4g} x {size[1]:.4g} m would have more than {MAX_CELLS} cells of "
            f"{resolution:g} m: use larger cells"
        )
    columns, rows = (ceil(float(x) / resolution) for x in size)
    occupied = np.zeros((rows, columns), bool)
    for x, y in _cells(segments, low, resolution) if len(segments) else ():
        occupied[y, x] = True
    start = ((vehicles - low) / resolution).astype(int)
    return OccupancyMap(
        occupied,
        _reached(occupied, start),
        resolution,
        (round(float(low[0]), 6), round(float(low[1]), 6)),
        height,
        moving,
    )


def _sections(bodies: Collection[SimulatedBody], height: float) -> Iterator[Array]:
    """Yield where surfaces cross a plane: the ends of segments in [m], shape (n, 2, 2)."""
    for simulated in bodies:
        for _, pose, shape in placed_shapes(simulated):
            mesh = shape_mesh(shape, solid=True)
            yield _section((mesh.vertices @ pose.R.T + pose.p)[mesh.triangles], height)


def _section(triangles: Array, height: float) -> Array:
    """Return the segments in which triangles, shape (n, 3, 3), cross a level plane."""
    above = triangles[:, :, 2] > height
    crossing = np.nonzero(above.any(axis=1) & ~above.all(axis=1))[0]
    triangles, above = triangles[crossing], above[crossing]
    # The corner that is alone on its side, and the two edges from it.
    alone = np.where(above.sum(axis=1) == 1, above.argmax(axis=1), (~above).argmax(axis=1))
    rows = np.arange(len(triangles))
    a = triangles[rows, alone]
    ends = []
    for step in (1, 2):
        b = triangles[rows, (alone + step) % 3]
        share = (height - a[:, 2]) / (b[:, 2] - a[:, 2])
        ends.append(a[:, :2] + share[:, np.newaxis] * (b - a)[:, :2])
    return np.stack(ends, axis=1)


def _cells(segments: Array, low: Array, resolution: float) -> Iterator[tuple[Array, Array]]:
    """Yield the columns and rows of the cells that segments cross, sampled four times a cell."""
    a, b = np.moveaxis((segments - low) / resolution, 1, 0)
    counts = (4 * np.ceil(np.abs(b - a).max(axis=1)) + 2).astype(int)
    ends = counts.cumsum()
    for block in np.split(np.arange(len(counts)), np.nonzero(np.diff(ends // _SAMPLES))[0] + 1):
        each = np.repeat(block, counts[block])
        number = np.arange(len(each)) - np.repeat(ends[block] - counts[block], counts[block])
        share = (number + (ends[block[0]] - counts[block[0]])) / (counts[each] - 1)
        x, y = (a[each] + share[:, np.newaxis] * (b - a)[each]).astype(int).T
        yield x, y


def _reached(occupied: Cells, start: NDArray[np.int_]) -> Cells:
    """Return the cells that are connected with those of vehicles; without any, all free ones."""
    reached = np.zeros_like(occupied)
    reached[start[:, 1], start[:, 0]] = True
    reached &= ~occupied
    if not reached.any():
        return ~occupied
    known = 0
    while (count := int(reached.sum())) != known:
        known = count
        for cells, walls in ((reached, occupied), (reached.T, occupied.T)):
            # Runs of free cells: a wall, and the start of a line, begin another one.
            run = walls.astype(np.int64).ravel().cumsum().reshape(walls.shape)
            run += np.arange(len(walls))[:, np.newaxis]
            has = np.zeros(int(run.max()) + 1, bool)
            has[run[cells]] = True
            cells[...] = has[run] & ~walls
    return reached
