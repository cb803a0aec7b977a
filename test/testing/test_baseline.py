"""Baselines: files of them, and the first difference of a run from one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scenario_files import HEAVIER, PASSING, write_scenario

from hrp_ros.testing.baseline import (
    BaselineError,
    BaselineRecorder,
    SampledSteps,
    read_baseline,
    write_baseline,
)
from hrp_ros.testing.baseline_check import find_divergence
from hrp_sim import Simulation, load_world
from hrp_sim.run.scenarios import load_scenario

STEPS = 200
G = 9.80665


def recorded(world, steps=STEPS, sampled=None, act=lambda simulation, step: None):
    """Return the baseline of a run, and the models of its bodies."""
    with Simulation(world) as simulation:
        recorder = BaselineRecorder(simulation, steps, sampled)
        bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
        for step in range(steps):
            act(simulation, step)
            simulation.step()
            recorder.take_step(simulation.state.time_ns, {})
        return recorder.finish(), bodies


def scenario_world(folder, more=""):
    return load_scenario(write_scenario(folder, PASSING + more)).world


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return scenario_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def baseline(world):
    return recorded(world)[0]


def stored(baseline, folder):
    """Return a baseline as it is after it was written and read."""
    path = folder / "run.json"
    write_baseline(path, baseline)
    return read_baseline(path)


def test_a_baseline_is_the_same_after_it_was_written_and_read(baseline, tmp_path):
    again = stored(baseline, tmp_path)
    for name in ("fingerprint", "sampled", "layouts", "steps", "state", "hashes"):
        assert getattr(again, name) == getattr(baseline, name)
    assert again.samples.keys() == baseline.samples.keys()
    for step, sample in baseline.samples.items():
        for body, values in sample.items():
            for quantity, numbers in values.items():
                read = again.samples[step][body][quantity]
                np.testing.assert_allclose(read, numbers, rtol=1e-11, atol=1e-300)


def test_samples_are_the_motion(world):
    """Free fall of the upper block; the lower one has landed."""
    baseline, _ = recorded(world, 250, SampledSteps(1_000_000, 250, 1))
    upper, lower = (baseline.samples[250][name] for name in ("upper", "lower"))
    np.testing.assert_allclose(upper["velocity"], [[0, 0, -G * 0.25]], rtol=1e-9)
    np.testing.assert_allclose(upper["position"], [[0, 0, 0.5 - G * 0.25**2 / 2]], rtol=1e-9)
    np.testing.assert_allclose(upper["orientation"], [[0, 0, 0, 1]], atol=1e-12)
    assert upper["contact_force"] == 0.0
    np.testing.assert_allclose(lower["contact_force"], 0.6 * G, rtol=1e-3)


def test_equal_runs_do_not_differ(world, baseline, tmp_path):
    again, bodies = recorded(world)
    assert find_divergence(stored(baseline, tmp_path), again, bodies) is None


def test_a_changed_mass_is_named_with_its_link_and_the_first_step(baseline, tmp_path):
    heavier, bodies = recorded(scenario_world(tmp_path, HEAVIER), STEPS, baseline.sampled)
    found = find_divergence(stored(baseline, tmp_path), heavier, bodies)
    states = zip(baseline.hashes, heavier.hashes, strict=True)
    first = next(k for k, (a, b) in enumerate(states, start=1) if a != b)
    assert found.step == first
    assert f"the first difference is at step {first} ({first / 1000:g} s)" in found.text
    assert "link 'Wood' of 'lower'" in found.text
    assert "'upper'" not in found.text
    assert ": expected " in found.text
    assert ", got " in found.text


def test_the_step_of_a_push_is_named(world, baseline, tmp_path):
    """A force of 1 uN on a block of 0.6 kg, for a step of 1 ms."""

    def push(simulation, step):
        if step == 33:
            simulation.push("upper", "Wood", [1e-6, 0, 0], [0, 0, 0], 0.001)

    pushed, bodies = recorded(world, STEPS, baseline.sampled, push)
    found = find_divergence(stored(baseline, tmp_path), pushed, bodies)
    assert found.step == 34
    first, at, largest, *_ = found.text.splitlines()
    assert first == "the first difference is at step 34 (0.034 s)"
    assert "step 36 (0.036 s)" in at
    assert largest.startswith("  link 'Wood' of 'upper', velocity: expected (0, 0, -0.353")
    assert largest.endswith(" m/s")
    assert float(largest.split()[-2]) == pytest.approx(1e-6 * 0.001 / 0.6, rel=1e-2)


def test_joints_are_named_with_their_units(tmp_path):
    def command(simulation, step):
        if step == 3:
            simulation.command("arm", effort={"J3": 1.0})

    world = load_world("arm")
    quiet, bodies = recorded(world, 20)
    moved, _ = recorded(world, 20, quiet.sampled, command)
    found = find_divergence(stored(quiet, tmp_path), moved, bodies)
    assert found.step == 4
    assert "joint 'J3' of 'arm', velocity: expected" in found.text
    assert " rad/s, got " in found.text


def test_a_body_that_is_removed_in_one_of_the_runs_is_named(world, baseline, tmp_path):
    def remove(simulation, step):
        if step == 33:
            simulation.remove("upper")

    short, bodies = recorded(world, STEPS, baseline.sampled, remove)
    for expected, got, text in (
        (baseline, short, "body 'upper' has been removed in the run, but not in the baseline"),
        (short, baseline, "body 'upper' has been removed in the baseline, but not in the run"),
    ):
        expected = stored(expected, tmp_path)
        found = find_divergence(expected, got, bodies)
        assert found.step == 34
        assert found.text.splitlines()[2] == f"  {text}"
        assert find_divergence(replace(expected, fingerprint="x"), got, bodies).step == 36


def elsewhere(baseline, offset=0.0):
    """Return a baseline of another machine, with another place of a block from step 100 on."""
    samples = {}
    for step, sample in baseline.samples.items():
        samples[step] = {name: dict(values) for name, values in sample.items()}
        if step >= 100:
            samples[step]["upper"]["position"] = sample["upper"]["position"] + [offset, 0, 0]
    return replace(baseline, fingerprint="another machine", samples=samples, hashes=[], state="")


def test_runs_on_other_machines_are_compared_within_tolerances(world, baseline):
    run, bodies = recorded(world)
    assert find_divergence(elsewhere(baseline, 0.9e-3), run, bodies) is None
    far = elsewhere(baseline, 1.1e-3)
    found = find_divergence(far, run, bodies)
    assert found.step == 100
    assert "link 'Wood' of 'upper', position" in found.text
    assert "another machine" in found.text
    assert run.fingerprint in found.text
    assert find_divergence(far, run, bodies, tolerance=1.2) is None


def test_a_run_that_ends_early_is_named(world, baseline, tmp_path):
    short, bodies = recorded(world, 148, baseline.sampled)
    found = find_divergence(stored(baseline, tmp_path), short, bodies)
    assert found.step == 148
    assert "the run has 148 steps, the baseline 200" in found.text


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda ls: {"upper": ls["upper"]}, "the baseline has no moving body 'lower'"),
        (
            lambda ls: ls | {"lower": ls["lower"]._replace(root="")},
            "the root of 'lower' is the free link 'Wood', in the baseline fixed",
        ),
        (
            lambda ls: ls | {"lower": ls["lower"]._replace(links=("Wood", "Lid"))},
            "a link of 'lower' is missing, where the baseline has 'Lid'",
        ),
        (
            lambda ls: ls | {"lower": ls["lower"]._replace(joints=("HINGE",))},
            "a joint of 'lower' is missing, where the baseline has 'HINGE'",
        ),
    ],
)
def test_a_baseline_of_another_world_is_named(world, baseline, change, expected):
    run, bodies = recorded(world)
    other = replace(baseline, layouts=change(dict(baseline.layouts)))
    assert find_divergence(other, run, bodies).text == expected


def test_a_baseline_of_another_time_step_is_named(world, baseline):
    other = replace(baseline, sampled=baseline.sampled._replace(step_ns=2_000_000))
    run, bodies = recorded(world, STEPS, other.sampled)
    text = find_divergence(other, run, bodies).text
    assert text == "the time step is 0.001 s, that of the baseline 0.002 s"


def test_a_humanoid_of_ten_seconds_has_a_small_baseline(tmp_path):
    run, _ = recorded(load_world("humanoid_in_room"), 100)
    path = tmp_path / "run.json"
    write_baseline(path, run)
    sampled = SampledSteps.of_run(1_000_000, 10_000)
    assert sampled.hash_every == 1
    samples = 2 + 10_000 // sampled.sample_every
    assert samples * path.stat().st_size / len(run.samples) + 3 * 10_000 < 150_000


def test_the_number_of_hashes_is_bounded():
    assert 10**9 // SampledSteps.of_run(1_000_000, 10**9).hash_every <= 10_000


def test_a_file_that_is_no_baseline_is_not_replaced(baseline, tmp_path):
    path = tmp_path / "important.json"
    path.write_text('{"mine": 1}', encoding="utf-8")
    with pytest.raises(BaselineError, match=r"important\.json' is not a baseline, and is not repl"):
        write_baseline(path, baseline)
    assert path.read_text(encoding="utf-8") == '{"mine": 1}'


def test_an_empty_file_is_replaced(baseline, tmp_path):
    """Such as what a full disk has left."""
    path = tmp_path / "run.json"
    path.touch()
    write_baseline(path, baseline)
    assert read_baseline(path).steps == STEPS


def test_a_baseline_too_large_to_be_read_is_not_written(baseline, tmp_path, monkeypatch):
    monkeypatch.setattr("hrp_ros.testing.baseline._MAX_SIZE", 1 << 10)
    path = tmp_path / "run.json"
    with pytest.raises(BaselineError, match=r"run\.json' would be larger than"):
        write_baseline(path, baseline)
    assert not path.exists()


def with_samples(text, change):
    """Return a baseline with other samples, but all of its hashes."""
    root = json.loads(text)
    hashes = "".join(sample["hashes"] for sample in root["samples"])
    root["samples"] = [sample | {"hashes": ""} for sample in change(root["samples"])]
    root["samples"][-1]["hashes"] = hashes
    return json.dumps(root)


FORCE = '"contact_force": [0]'
BROKEN = {
    "empty": lambda text: "",
    "half": lambda text: text[: len(text) // 2],
    "binary": lambda text: "\x00\x01",
    "list": lambda text: "[]",
    "deep": lambda text: "[" * 100_000,
    "other format": lambda text: text.replace("baseline 1", "baseline 2"),
    "no fingerprint": lambda text: text.replace('"fingerprint"', '"print"'),
    "nan": lambda text: text.replace(FORCE, '"contact_force": [NaN]', 1),
    "infinite": lambda text: text.replace(FORCE, '"contact_force": [1e999]', 1),
    "many digits": lambda text: text.replace(FORCE, f'"contact_force": [{"9" * 5000}]', 1),
    "large": lambda text: text.replace(FORCE, f'"contact_force": [{"9" * 400}]', 1),
    "text": lambda text: text.replace(FORCE, '"contact_force": ["0"]', 1),
    "boolean": lambda text: text.replace(FORCE, '"contact_force": [true]', 1),
    "too many": lambda text: text.replace(FORCE, '"contact_force": [0, 0]', 1),
    "missing": lambda text: text.replace('"contact_force"', '"force"', 1),
    "unknown body": lambda text: text.replace('"bodies": {"upper": {"pos', '"bodies": {"x": {"pos'),
    "steps": lambda text: text.replace('"steps": 200', '"steps": 100'),
    "dense samples": lambda text: text.replace('"sample_every": 4', '"sample_every": 1'),
    "infinite steps": lambda text: text.replace('"steps": 200', '"steps": 1e400'),
    "no step": lambda text: text.replace('"step_ns": 1000000', '"step_ns": 0'),
    "negative step": lambda text: text.replace('"step": 4', '"step": -4'),
    "a sample less": lambda text: with_samples(text, lambda samples: samples[:9] + samples[10:]),
    "one sample": lambda text: with_samples(text, lambda samples: samples[:1]),
    "order": lambda text: with_samples(text, lambda samples: samples[::-1]),
    "twice": lambda text: with_samples(text, lambda samples: samples + samples[:1]),
    "no bodies": lambda text: with_samples(text, lambda ss: [s | {"bodies": {}} for s in ss]),
    "boolean step": lambda text: text.replace('"step_ns": 1000000', '"step_ns": true'),
}


@pytest.mark.parametrize("how", BROKEN)
def test_broken_files_are_words(baseline, tmp_path, how):
    path = tmp_path / "run.json"
    write_baseline(path, baseline)
    text = path.read_text(encoding="utf-8")
    changed = BROKEN[how](text)
    assert changed != text
    path.write_text(changed, encoding="utf-8")
    with pytest.raises(BaselineError, match=r"run\.json' is not a baseline"):
        read_baseline(path)


def test_a_line_of_the_file_is_a_sample(baseline, tmp_path):
    """So that version control shows from which time on a run differs."""
    path = tmp_path / "run.json"
    write_baseline(path, baseline)
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"step":')]
    assert [row["step"] for row in rows] == sorted(baseline.samples)
    assert sum(len(row["hashes"]) for row in rows) == 3 * STEPS
    assert rows[0]["bodies"]["upper"]["position"] == [0, 0, 0.5]
