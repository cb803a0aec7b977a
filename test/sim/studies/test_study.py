"""Studies: their cases, the values that vary in the simulation, and what is wrong in a file."""

import numpy as np
import pytest
import scipy.stats
from paths import ROOT
from silent_diagnostics import silent

from hrp_model import Diagnostics, ModelError, Severity
from hrp_sim import InlineExecutor, sweep
from hrp_sim.lab.studies import StudyRun, load_study

MODELS = ROOT / "models"
BLOCK = MODELS / "blocks" / "wood.body"  # 0.1 m, alone on a floor
ARM = MODELS / "worlds" / "arm.yaml"
PUSH = "events: [{name: push, time: 0, push: {body: Wood, size: 1, duration: 0.1}}]\n"
FLOATING = "physics: {gravity: [0, 0, 0]}\nbodies: {Wood: {position: [0, 0, 1]}}\n"


@pytest.fixture
def load(tmp_path):
    """Return a function that loads the text of a study."""

    def load(text, world=BLOCK):
        path = tmp_path / "study.yaml"
        path.write_text(f"world: {world}\nduration: 0.1\n{text}", encoding="utf-8")
        return load_study(path, silent())

    return load


def values_of(study):
    """Return what is kept of all cases, none of which may fail."""
    result = sweep(study.world_of, study.cases(), StudyRun(study), InlineExecutor())
    assert result.failures == {}
    return result.values


def problems(load, text):
    """Return (line, code) of all errors of a study."""
    with pytest.raises(ModelError) as caught:
        load(text)
    found = caught.value.diagnostics
    return [(d.at.source.line_column(d.at.start)[0], d.code) for d in found]


def test_every_combination_of_a_grid_goes_with_every_sample(load):
    study = load(
        f"{PUSH}vary:\n"
        "  friction: [0.3, 0.6]\n"
        "  events.push.size: {from: 0, to: 2, count: 3}\n"
        "  physics.cfm: {from: 1.0e-8, to: 1.0e-6, count: 3, spacing: logarithmic}\n"
        "  events.push.direction: {distribution: norm, loc: 1, scale: 0.1}\n"
        "random: {count: 4, seed: 7}\n"
    )
    cases = study.cases()
    assert len(cases) == 2 * 3 * 3 * 4
    assert len({tuple(case.values()) for case in cases}) == len(cases)
    assert {case["events.push.size"] for case in cases} == {0, 1, 2}
    assert sorted({case["physics.cfm"] for case in cases}) == pytest.approx([1e-8, 1e-7, 1e-6])
    drawn = [case["events.push.direction"] for case in cases[:4]]
    assert [case["events.push.direction"] for case in cases[4:8]] == drawn
    assert [v.unit for v in study.variables] == ["", "N", "", "rad"]


def test_samples_are_those_of_scipy_and_do_not_depend_on_other_variables(load):
    drawn = "  events.push.size: {distribution: gamma, a: 2, scale: 3}\n"
    alone = load(f"{PUSH}random: {{count: 500, seed: 3}}\nvary:\n{drawn}")
    other = "  friction: {distribution: uniform, loc: 0.2, scale: 0.1}\n"
    beside = load(f"{PUSH}random: {{count: 500, seed: 3}}\nvary:\n{other}{drawn}")
    sizes = [case["events.push.size"] for case in alone.cases()]
    assert [case["events.push.size"] for case in beside.cases()] == sizes
    assert scipy.stats.kstest(sizes, scipy.stats.gamma(2, scale=3).cdf).pvalue > 0.01
    reseeded = load(f"{PUSH}random: {{count: 500, seed: 4}}\nvary:\n{drawn}")
    assert reseeded.cases() != alone.cases()


def test_samples_may_be_counts(load):
    study = load("vary: {seed: {distribution: betabinom, n: 9, a: 1, b: 1}}\nrandom: {count: 99}")
    assert {type(case["seed"]) for case in study.cases()} == {int}
    assert {case["seed"] for case in study.cases()} == set(range(10))


def test_cases_can_be_listed(load):
    study = load("vary: [{friction: 0.3, seed: 1}, {friction: 0.5, seed: 2}]")
    assert study.cases() == [{"friction": 0.3, "seed": 1}, {"friction": 0.5, "seed": 2}]


def test_a_study_without_variations_has_one_case(load):
    assert load("keep: [Wood.z]").cases() == [{}]


def test_masses_and_pushes_vary_the_acceleration(load):
    study = load(
        f"{FLOATING}{PUSH}"
        "vary:\n  bodies.Wood.masses.Wood: [0.5, 2]\n  events.push.size: [1, 3]\n"
        "keep: [Wood.speed]\n"
    )
    speeds = values_of(study)["Wood.speed"]
    expected = [case["events.push.size"] * 0.1 / case["bodies.Wood.masses.Wood"]
                for case in study.cases()]  # fmt: skip
    np.testing.assert_allclose(speeds, expected, rtol=1e-9)


def test_a_mass_varies_the_inertia_likewise(load):
    study = load(
        f"{FLOATING}"
        "events: [{time: 0, push: {body: Wood, torque: [0, 0, 0.01], duration: 0.1}}]\n"
        "vary: {bodies.Wood.masses.Wood: [0.5, 2]}\nkeep: [Wood.speed]\n"
    )
    worlds = [study.world_of(case) for case in study.cases()]
    inertias = [next(e.placement.body.root.inertia for e in w.bodies if e.placement.name == "Wood")
                for w in worlds]  # fmt: skip
    np.testing.assert_allclose(inertias[1], 4 * inertias[0])
    assert study.world_of(dict(study.cases()[0])) is worlds[0]


def test_friction_and_time_step_vary_where_a_block_slides_to(load):
    study = load(
        "events: [{time: 0, push: {body: Wood, size: 20, duration: 0.02}}]\n"
        "vary: {friction: [0.2, 0.8], time_step: [0.001, 0.0005]}\nkeep: [Wood.x]\n"
    )
    assert study.scenario.course.duration == 0.1
    x = values_of(study)["Wood.x"].reshape(2, 2)
    assert (x[0] > x[1]).all()
    np.testing.assert_allclose(x[:, 0], x[:, 1], rtol=0.05)


def test_a_quantity_is_kept_at_the_end_at_its_extremes_and_over_time(load):
    study = load(
        "bodies: {Wood: {position: [0, 0, 0.5]}}\n"
        "stop: [Wood.z < 0.48]\n"
        "expect: [Wood.speed > 10]\n"
        "keep: [Wood.z, {max: Wood.speed}, {min: Wood.z}, {series: Wood.z, rate: 100}]\n"
    )
    values = {name: array[0] for name, array in values_of(study).items()}
    fall = np.sqrt(2 * 0.02 / 9.80665)
    assert values["end_time"] == pytest.approx(fall, abs=0.0015)
    assert values["stopped_by"] == "Wood.z < 0.48"
    assert not values["passed"]
    assert values["failed_expectation"].startswith("expected Wood.speed > 10, but it is 0.6")
    assert values["Wood.z"] == values["min Wood.z"] < 0.48
    assert values["max Wood.speed"] == pytest.approx(9.80665 * values["end_time"])
    series = values["series Wood.z"]
    times = np.arange(11) / 100
    reached = times <= values["end_time"]
    np.testing.assert_allclose(series[reached], 0.5 - 9.80665 / 2 * times[reached] ** 2, atol=1e-3)
    assert np.isnan(series[~reached]).all()


def test_arguments_of_a_controller_vary(load, tmp_path):
    (tmp_path / "lift.py").write_text(
        "from hrp_sim import Controller\n"
        "class Lift(Controller):\n"
        "    def initialize(self, io):\n"
        "        self.io = io\n"
        "        io.drive('position')\n"
        "    def control(self):\n"
        "        self.io.q_target[0] = self.io.args['angle']\n"
        "        return True\n"
    )
    study = load(
        "controllers: [{class: lift.py:Lift, body: arm, args: {angle: 0}}]\n"
        "vary: {controllers.arm.args.angle: [0, 0.02]}\nkeep: [arm.joint.J1.position]\n",
        ARM,
    )
    q = values_of(study)["arm.joint.J1.position"]
    assert q[1] - q[0] > 0.01


def test_gains_and_noise_vary(load):
    study = load(
        "events: [{time: 0, push: {body: arm, link: J3, force: [0, 0, -100], duration: 1}}]\n"
        "vary:\n  bodies.arm.control.kp: [500, 5000]\n  sensors.force_stdev: [0, 5]\n"
        "keep: [arm.joint.J2.position, wrist_force.force]\n",
        ARM,
    )
    values = values_of(study)
    q, force = (values[name].reshape(2, 2) for name in (metric.name for metric in study.metrics))
    start = q[1, 0] - q[0, 0]
    assert abs(start) > 1e-3
    np.testing.assert_array_equal(q[:, 0], q[:, 1])
    assert (np.abs(force[:, 0] - force[:, 1]) > 1e-3).all()


def test_everything_wrong_is_named_with_its_place(load):
    assert problems(
        load,
        f"{PUSH}vary:\n"
        "  frictoin: [1]\n"
        "  friction: [0.5, -1]\n"
        "  physics.friction: [0.5]\n"
        "  bodies.Wood.masses.HAND: [1]\n"
        "  events.push.link: [Wood, Stone]\n"
        "  physics.time_stp: [1]\n",
    ) == [(5, "unknown-key"), (6, "out-of-range"), (8, "unknown-link"), (9, "unknown-link"),
          (10, "unknown-key")]  # fmt: skip


def test_all_parts_of_a_study_are_checked_at_once(load):
    assert problems(
        load, f"stopp: []\n{PUSH}vary:\n  frictoin: [1]\n  friction: [0.5]\nkeep: [Wood.w]\n"
    ) == [(3, "unknown-key"), (6, "unknown-key"), (8, "unknown-quantity")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("vary: {friction: []}", "bad-study"),
        ("vary: {friction: 3}", "bad-study"),
        ("vary: {friction: {from: 1, to: 2}}", "bad-study"),
        ("vary: {friction: {from: 1, to: 2, count: 1}}", "out-of-range"),
        ("vary: {friction: {from: 0, to: 2, count: 5, spacing: logarithmic}}", "out-of-range"),
        ("vary: {friction: {from: 0, to: 1, count: 2, by: 3}}", "unknown-key"),
        ("vary: {friction: [0.1, 0.2], physics.friction: [1]}", "bad-study"),
        ("vary: {friction: {distribution: nrom}}\nrandom: {count: 3}", "unknown-distribution"),
        ("vary: {friction: {distribution: norm, mean: 3}}\nrandom: {count: 3}", "unknown-key"),
        ("vary: {friction: {distribution: gamma}}\nrandom: {count: 3}", "bad-study"),
        ("vary: {friction: {distribution: gamma, a: -1}}\nrandom: {count: 3}", "out-of-range"),
        ("vary: {friction: {distribution: norm, loc: -9}}\nrandom: {count: 3}", "out-of-range"),
        ("vary: {friction: {distribution: betabinom, n: 2.5, a: 1, b: 1}}\nrandom: {count: 3}",
         "out-of-range"),
        ("vary: {friction: {distribution: gausshyper, a: 1e300, b: 1e300, c: 1e300, z: 1e300}}\n"
         "random: {count: 3}", "out-of-range"),
        ("vary: {friction: {distribution: norm}}", "missing-key"),
        ("random: {count: 3}", "bad-study"),
        ("vary: {friction: [0.5]}\nrandom: {count: 3}", "bad-study"),
        ("vary: {physics.time_step: [0.001, 2 ms]}", "wrong-type"),
        ("physics: {time_step: 2 ms}", "wrong-type"),
        ("vary: [{friction: 1}, {seed: 1}]", "bad-study"),
        ("vary: {friction: {from: 0, to: 1, count: 1000}, seed: {from: 0, to: 1, count: 1000}}",
         "too-many-cases"),
        ("vary: {friction: {from: 0, to: 1, count: 99999}}\n"
         "keep: [{series: Wood.z, rate: 100000}]", "too-many-cases"),
        ("keep: [Wood.w]", "unknown-quantity"),
        ("keep: [{mean: Wood.z}]", "bad-study"),
        ("keep: [{series: Wood.z}]", "out-of-range"),
        ("keep: [Wood.z, Wood.z]", "bad-study"),
        ("varry: {}", "unknown-key"),
    ],
)  # fmt: skip
def test_a_study_that_cannot_be_run_is_refused(load, text, code):
    assert code in [found for _, found in problems(load, text)]


def test_a_warning_about_a_varied_value_is_passed_on(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(f"world: {BLOCK}\nduration: 1\nvary: {{bodies.Wood.rpy: [[0, 0, 90]]}}")
    found = []
    load_study(path, Diagnostics(listener=found.append))
    assert [(d.severity, d.code) for d in found] == [(Severity.WARNING, "maybe-degrees")]
    assert found[0].message.startswith("bodies.Wood.rpy = [0, 0, 90]: ")


def test_names_may_have_any_characters(load, tmp_path):
    name = "K\u00f6rper \U0001f916 $x$: 'a'"
    text = BLOCK.read_text(encoding="utf-8").replace("name: Wood", f'name: "{name}"')
    (tmp_path / "block.body").write_text(text, encoding="utf-8")
    study = load(
        f'events: [{{name: "{name}", time: 0, push: {{body: "{name}", size: 1}}}}]\n'
        f'vary: {{friction: [0.1, 0.2], "events.{name}.size": [1, 2]}}\nkeep: ["{name}.x"]\n',
        "block.body",
    )
    assert values_of(study)[f"{name}.x"].shape == (4,)


def test_a_world_without_a_kept_quantity_is_a_failure(load):
    study = load(f"vary: {{world: ['{BLOCK}', '{ARM}']}}\nkeep: [Wood.x]\n")
    result = sweep(study.world_of, study.cases(), StudyRun(study), InlineExecutor())
    assert list(result.failures) == [1]
    assert "the world of this case has no quantity 'Wood.x'" in result.failures[1]


def test_values_that_do_not_fit_to_each_other_are_failures(load):
    study = load(
        "events: [{name: push, time: 0, push: {body: Wood, size: 1}}]\n"
        "vary: {duration: [0.05, 0.1], events.push.time: [0.01, 0.07]}\nkeep: [Wood.x]\n"
    )
    result = sweep(study.world_of, study.cases(), StudyRun(study), InlineExecutor())
    assert list(result.failures) == [1]
    assert "must be from 0 to below the duration of 0.05 s" in result.failures[1]
