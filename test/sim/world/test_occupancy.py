"""Maps of worlds, against closed forms and what the simulated scanner sees."""

from itertools import pairwise

import numpy as np
import pytest
import yaml
from PIL import Image

from hrp_sim import Simulation
from hrp_sim.cli.main import main
from hrp_sim.world.occupancy import occupancy_map, scan_planes

SIZE = 0.05
# Outlines in the room at a height of 0.29 m: x0, y0, x1, y1.
WALLS = (
    (3.0, -1.6, 3.1, 2.1), (-2.5, 2.0, 3.0, 2.1), (-2.5, -1.6, 3.0, -1.5), (-2.6, -1.6, -2.5, 2.1),
)  # fmt: skip
RED = (2.15, 0.75, 2.65, 1.25)
GREEN = (1.9, -0.8, 0.2)  # centre and radius


def made(world="rover", height=0.29, resolution=SIZE):
    with Simulation(world, defer_images=True, run_controllers=False) as simulation:
        fixed = [name for name in simulation.bodies if simulation.is_fixed(name)]
        return occupancy_map(simulation.bodies, fixed, height, resolution)


def cell_of(grid, points):
    columns, rows = ((points - grid.origin) / grid.resolution).astype(int).T
    return rows, columns


def outlines():
    """Return points on all outlines, shape (n, 2)."""
    t = np.linspace(0.0, 1.0, 400)[:, np.newaxis]
    found = []
    for x0, y0, x1, y1 in (*WALLS, RED):
        corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]])
        found += [a + t * (b - a) for a, b in pairwise(corners)]
    x, y, radius = GREEN
    angles = 2.0 * np.pi * t[:, 0]
    found.append(np.stack([x + radius * np.cos(angles), y + radius * np.sin(angles)], axis=1))
    return np.concatenate(found)


def test_boxes_and_cylinders_have_their_outlines():
    grid = made()
    points = outlines()
    rows, columns = np.nonzero(grid.occupied)
    centres = np.stack([columns, rows], axis=1) * SIZE + grid.origin + SIZE / 2.0
    nearest = [np.hypot(*(points - centre).T).min() for centre in centres]
    assert max(nearest) <= 0.75 * SIZE  # half a diagonal, and the facets of a cylinder
    # A point on the border of two cells may count to either.
    nudges = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) * 2e-3
    around = [grid.occupied[cell_of(grid, points + nudge)] for nudge in nudges]
    assert np.any(around, axis=0).all()


def test_the_scanner_sees_what_the_map_has():
    grid = made()
    with Simulation("rover", defer_images=True) as simulation:
        (height,) = scan_planes(simulation.bodies).values()
        scan = simulation.sensors["scanner"].read(simulation.state)
        X_WL = simulation.bodies["rover"].motion
        start = X_WL.p[0, :2] + [0.22, 0.0]  # the rover looks along x
    assert height == pytest.approx(0.29)
    angles = scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    seen = np.isfinite(scan.ranges)
    assert seen.all()  # as the room is closed
    ends = start + scan.ranges[:, np.newaxis] * directions
    rows, columns = cell_of(grid, ends)
    near = np.any([grid.occupied[rows + i, columns + j] for i in (-1, 0, 1) for j in (-1, 0, 1)], 0)
    assert near.all()
    for share in np.linspace(0.0, 1.0, 50)[:-1]:
        on_ray = (
            start + share * np.maximum(scan.ranges - 2.0 * SIZE, 0.0)[:, np.newaxis] * directions
        )
        assert grid.free[cell_of(grid, on_ray)].mean() > 0.97  # some pass close to a corner


def test_only_what_a_vehicle_reaches_is_free():
    grid = made()
    inside, behind = np.array([[2.4, 1.0]]), np.array([[0.0, 2.4]])
    for hidden in (inside, behind):
        assert not grid.free[cell_of(grid, hidden)]
        assert not grid.occupied[cell_of(grid, hidden)]
    assert grid.moving == ("rover",)
    empty = made("humanoid_in_room")
    assert empty.free.sum() + empty.occupied.sum() == empty.free.size  # there is no vehicle


def test_the_command_writes_a_map_for_map_server(tmp_path, capsys):
    out = tmp_path / "map.yaml"
    assert main(["map", "rover", "-o", str(out)]) == 0
    assert "rover/scanner" in capsys.readouterr().out
    about = yaml.safe_load(out.read_text())
    grid = made()
    with Image.open(tmp_path / about["image"]) as image:
        grey = np.array(image)[::-1]  # the first row of an image is at the top
    # As map_server of Nav2 reads it, with negate 0.
    occupancy = (255.0 - grey) / 255.0
    np.testing.assert_array_equal(occupancy > about["occupied_thresh"], grid.occupied)
    np.testing.assert_array_equal(occupancy < about["free_thresh"], grid.free)
    assert about["origin"] == [*grid.origin, 0.0]
    assert (about["negate"], about["resolution"]) == (0, SIZE)


def test_worlds_that_cannot_be_mapped_are_refused(tmp_path, capsys):
    for words, arguments in {
        "give --height": ["arm"],
        "no collision shape": ["arm", "--height", "50"],
        "use larger cells": ["rover", "--resolution", "0.001"],
    }.items():
        assert main(["map", *arguments, "-o", str(tmp_path / "map.yaml")]) == 2
        assert words in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_a_world_without_anything_fixed_has_no_map(tmp_path, capsys):
    (tmp_path / "world.yaml").write_text(
        "bodies: [{name: rover, model: package://hrp_ros/models/rover/rover.body}]"
    )
    output = tmp_path / "map.yaml"
    assert main(["map", str(tmp_path / "world.yaml"), "-o", str(output)]) == 2
    assert "no floor" in capsys.readouterr().err
    assert not output.exists()
