"""Random numbers of sensors: what repeats, what differs, and what they are like."""

from math import erf

import numpy as np
import pytest

from hrp_sim.sensors.noise import Noise, NoiseSeed

MS = 1_000_000
# Of statistics that are normal under the hypothesis: beyond lie 6 in 100 000.
SIGMAS = 4.0


def misfit(sample, distribution):
    """Kolmogorov's sqrt(n) sup |F_n - F|; beyond 2.2 lies 1 in 10 000 samples that fit."""
    expected, n = np.array([distribution(x) for x in np.sort(sample)]), len(sample)
    ranks = np.arange(n + 1) / n
    return np.sqrt(n) * max((ranks[1:] - expected).max(), (expected - ranks[:-1]).max())


def normal_distribution(x):
    return (1.0 + erf(x / np.sqrt(2.0))) / 2.0


def numbers(seed=1, body="robot", sensor="gyro", *, time_ns=5 * MS, stream=0):
    return Noise(seed, body, sensor).normals(time_ns, 8, stream).tolist()


def test_equal_seeds_names_times_and_streams_give_equal_numbers():
    assert numbers() == numbers()


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 2},
        {"seed": -1},
        {"seed": 2**64 + 1},
        {"body": "robot2"},
        {"sensor": "Gyro"},
        {"time_ns": 5 * MS + 1},
        {"time_ns": 0},
        {"stream": 1},
        {"stream": 5 * MS, "time_ns": 0},
    ],
    ids=str,
)
def test_whatever_differs_gives_other_numbers(other):
    assert not set(numbers()) & set(numbers(**other))


def test_names_are_kept_apart_wherever_they_are_cut():
    pairs = [("ab", "c"), ("a", "bc"), ("a\0b", "c"), ("a", "b\0c"), ("a', 'b", "c"), ("", "abc")]
    assert len({numbers(body=body, sensor=sensor)[0] for body, sensor in pairs}) == len(pairs)


def test_names_may_be_of_any_characters():
    names = ["\u8173", "\ud800", "", "\n", "\\ud800"]
    assert len({numbers(sensor=name)[0] for name in names}) == len(names)


def test_a_seed_may_change_for_all_that_share_it():
    seed = NoiseSeed(1)
    shared = [Noise(seed, "robot", name) for name in ("gyro", "laser")]
    before = [noise.normals(MS, 3).tolist() for noise in shared]
    seed.value = 2
    assert shared[0].normals(MS, 3).tolist() == Noise(2, "robot", "gyro").normals(MS, 3).tolist()
    assert shared[1].normals(MS, 3).tolist() == Noise(2, "robot", "laser").normals(MS, 3).tolist()
    seed.value = 1
    assert [noise.normals(MS, 3).tolist() for noise in shared] == before


def test_a_seed_may_be_an_integer_of_numpy():
    assert numbers(np.int64(7)) == numbers(7)


def test_every_time_that_64_bits_hold_has_numbers_of_its_own():
    times = [-(2**63), -1, 0, 1, 2**32, 2**53, 2**53 + 1, 2**62, 2**63 - 1]
    noise = Noise(1, "robot", "gyro")
    firsts = [noise.normals(time_ns, 1)[0] for time_ns in times]
    assert len(set(firsts)) == len(times)
    assert np.isfinite(firsts).all()


def test_numbers_do_not_depend_on_those_asked_for_before():
    noise, lazy = Noise(1, "robot", "gyro"), Noise(1, "robot", "gyro")
    for k in range(20):
        noise.normals(k * MS, 3 + k)
        noise.uniforms(k * MS, 1)
    np.testing.assert_array_equal(noise.normals(20 * MS, 6), lazy.normals(20 * MS, 6))
    np.testing.assert_array_equal(noise.normals(3 * MS, 6), lazy.normals(3 * MS, 6))


def test_fewer_numbers_are_the_first_of_more():
    noise = Noise(1, "robot", "laser")
    np.testing.assert_array_equal(noise.normals(MS, 720)[:100], noise.normals(MS, 100))
    np.testing.assert_array_equal(noise.uniforms(MS, 720)[:100], noise.uniforms(MS, 100))


def test_one_sample_may_have_very_many_numbers():
    # Another time and another stream must not begin where these end.
    many = Noise(1, "robot", "camera").normals(MS, 1_000_000)
    beside = [Noise(1, "robot", "camera").normals(MS + d, 4, s) for d, s in ((1, 0), (0, 1))]
    assert len(np.unique(many)) > 999_990  # by chance two of 2**52 may be equal
    assert not np.isin(np.concatenate(beside), many).any()


@pytest.fixture(scope="module")
def samples():
    """Three axes of 20 000 samples at 1 kHz: what a gyro reads in 20 s."""
    noise = Noise(3, "robot", "gyro")
    return np.array([noise.normals(k * MS, 3) for k in range(20_000)])


def test_numbers_over_time_are_normal(samples):
    for axis in samples.T:
        assert abs(axis.mean()) < SIGMAS / np.sqrt(axis.size)
        assert abs(axis.var() - 1.0) < SIGMAS * np.sqrt(2.0 / axis.size)
        assert misfit(axis, normal_distribution) < 2.2


def test_numbers_over_time_are_white(samples):
    # The autocorrelation of white noise is 0 with a deviation of 1 / sqrt(n) at each lag.
    n = len(samples)
    for axis in samples.T:
        lags = [axis[:-lag] @ axis[lag:] / n for lag in range(1, 21)]
        assert np.abs(lags).max() < SIGMAS / np.sqrt(n)


def test_axes_streams_and_sensors_are_independent(samples):
    n = len(samples) // 4
    others = [
        [Noise(3, "robot", "gyro2").normals(k * MS, 3) for k in range(n)],
        [Noise(4, "robot", "gyro").normals(k * MS, 3) for k in range(n)],
        [Noise(3, "robot", "gyro").normals(k * MS, 3, stream=1) for k in range(n)],
    ]
    together = np.hstack([samples[:n], *map(np.array, others)])
    between = np.corrcoef(together.T) - np.eye(12)
    assert np.abs(between).max() < SIGMAS / np.sqrt(n)


def test_uniform_numbers_fill_the_range_evenly():
    noise = Noise(3, "robot", "laser")
    found = np.concatenate([noise.uniforms(k * MS, 10) for k in range(2000)])
    assert found.min() >= 0.0
    assert found.max() < 1.0
    assert misfit(found, float) < 2.2
