"""Depths that are not ideal: errors, pixels that are missed, limits of what was measured."""

from dataclasses import replace

import numpy as np
import pytest
from sim.render.scenes import camera_matrix, needs_opengl, pixel_rays
from sim.sensors.cameras import camera_before, wall

from hrp_model.devices import ImageType
from hrp_sim.render import Pinhole
from hrp_sim.sensors.noise import DistanceNoise, Noise

pytestmark = needs_opengl


def distance_noise(seed=5, **fields):
    return DistanceNoise(noise=Noise(seed, "robot", "eye"), **fields)


def noisy(*shapes, limits=None, **fields):
    return camera_before(
        *shapes,
        lens=Pinhole(320, 240, 1.2, 0.04, 100.0),
        image_type=ImageType.DEPTH,
        distance_noise=distance_noise(**fields),
        **limits or {},
    )


def test_errors_of_distances_are_normal_and_along_the_lines_of_sight():
    sensor, world = noisy(wall(3.0), error_deviation=0.02)
    reading = sensor.read(world)
    # Depth per distance, by the rays' lengths.
    lengths = np.linalg.norm(pixel_rays((320, 240), camera_matrix(sensor.lens)), axis=-1)
    errors = (reading.depth - 3.0) * lengths / 0.02
    count = errors.size
    assert abs(errors.mean()) < 4.0 / np.sqrt(count)
    assert errors.std() == pytest.approx(1.0, abs=4.0 / np.sqrt(2 * count))
    assert (errors**4).mean() == pytest.approx(3.0, abs=4.0 * np.sqrt(96.0 / count))
    for neighbours in (errors[1:] * errors[:-1], errors[:, 1:] * errors[:, :-1]):
        assert abs(neighbours.mean()) < 4.0 / np.sqrt(neighbours.size)
    corner, middle = errors[:40, :40].std(), errors[100:140, 140:180].std()
    assert corner == pytest.approx(middle, rel=0.1)


def test_pixels_that_are_not_detected_are_nan_and_as_many_as_the_rate_says():
    sensor, world = noisy(wall(3.0), detection_rate=0.9)
    depth = sensor.read(world).depth
    missed = np.isnan(depth)
    assert missed.mean() == pytest.approx(0.1, abs=4.0 * np.sqrt(0.09 / depth.size))
    np.testing.assert_allclose(depth[~missed], 3.0, rtol=1e-6)
    nothing, world = noisy(wall(3.0), detection_rate=0.0)
    assert np.isnan(nothing.read(world).depth).all()


def test_errors_and_misses_do_not_depend_on_each_other():
    errors, world = noisy(wall(3.0), error_deviation=0.02)
    both = replace(errors, distance_noise=distance_noise(error_deviation=0.02, detection_rate=0.5))
    both = both.read(world).depth
    alone, found = errors.read(world).depth, ~np.isnan(both)
    np.testing.assert_array_equal(both[found], alone[found])
    sides = [(alone[part] - 3.0).mean() for part in (found, ~found)]
    np.testing.assert_allclose(sides, 0.0, atol=4 * 0.02 / np.sqrt(found.size / 2))


def test_limits_are_those_of_what_was_measured():
    sensor, world = noisy(
        wall(3.0), error_deviation=0.1, limits={"min_distance": 2.9, "max_distance": 3.1}
    )
    depth = sensor.read(world).depth
    finite = depth[np.isfinite(depth)]
    assert finite.min() >= np.float32(2.9)
    assert finite.max() <= np.float32(3.1)
    assert not np.isnan(depth).any()
    for sign in (-np.inf, np.inf):
        assert 0.1 < (depth == sign).mean() < 0.25
