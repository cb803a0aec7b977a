"""Scenario files: what they say happens, and all that is wrong in them is named with its place."""

from contextlib import closing

import numpy as np
import pytest
from paths import ROOT
from run_tools import OnStep

from hrp_model import Diagnostics, ModelError
from hrp_sim import Simulation
from hrp_sim.run.scenarios import CourseRun, load_scenario, run_scenario
from hrp_sim.run.summary import RunRecorder, meters, quantities, result_of

BLOCK = ROOT / "models" / "blocks" / "wood.body"  # 0.1 m, alone on a floor
ARM = ROOT / "models" / "worlds" / "arm.yaml"
HUMANOID = ROOT / "models" / "worlds" / "humanoid_body_in_room.yaml"


@pytest.fixture
def load(tmp_path):
    """Return a function that loads the text of a scenario."""

    def load(text, world=BLOCK, diagnostics=None):
        path = tmp_path / "scenario.yaml"
        path.write_text(f"world: {world}\n{text}", encoding="utf-8")
        return load_scenario(path, diagnostics or Diagnostics.silent())

    return load


def run(scenario, on_step=lambda _: None):
    """Return the outcome of a scenario."""
    with Simulation(scenario.world) as sim, closing(CourseRun(sim, scenario.course)) as course:
        return course.run([OnStep(lambda *_: on_step(course))])


def problems(load, text, world=BLOCK):
    """Return (line, code) of all errors of a scenario."""
    with pytest.raises(ModelError) as caught:
        load(text, world)
    found = caught.value.diagnostics
    return [(d.at.source.line_column(d.at.start)[0], d.code) for d in found]


def name_of(world):
    return next(e.placement.name for e in world.bodies if not e.placement.fixed)


def test_a_push_gives_its_impulse(load):
    scenario = load(
        "duration: 0.1\n"
        "physics: {gravity: [0, 0, 0], time_step: 0.002}\n"
        "bodies: {Wood: {position: [0, 0, 1]}}\n"
        "events: [{time: 0.02, push: {body: Wood, size: 3, direction: 1.5707963267948966,"
        " duration: 0.04}}]\n"
    )
    speeds = []
    outcome = run(scenario, lambda r: speeds.append((r.time, r.meters["Wood.speed"].value())))
    mass = next(e for e in scenario.world.bodies if e.placement.name == "Wood")
    final = 3 * 0.04 / mass.placement.body.root.mass
    assert outcome.passed
    assert outcome.time == pytest.approx(0.1)
    assert [s for t, s in speeds if t < 0.021] == [0.0] * 10
    assert speeds[-1][1] == pytest.approx(final, rel=1e-9)


def test_conditions_stop_a_run_and_tell_when(load):
    scenario = load(
        "duration: 2\n"
        "bodies: {Wood: {position: [0, 0, 0.55]}}\n"  # falls 0.5 m
        "stop: [{touched: [Wood, floor/FLOOR]}]\n"
        "expect:\n"
        "- Wood.z < 6 cm\n"
        "- always: Wood.tilt < 1 deg\n"
        "- {once: Wood.speed > 2 m/s, from: 0.1}\n"
        "- never: {distance: [Wood, [0, 0, 0.05]], below: 0.2}\n"
    )
    outcome = run(scenario)
    fall = np.sqrt(2 * 0.5 / 9.80665)
    assert outcome.time == pytest.approx(fall, abs=0.003)
    assert outcome.stopped_by.text == "Wood touched floor/FLOOR"
    assert outcome.stopped_by.first == outcome.time
    end, always, once, never = outcome.expectations
    assert (end.met, always.met, once.met, never.met) == (True, True, True, False)
    assert once.first == pytest.approx(2 / 9.80665, abs=0.002)
    assert never.first == pytest.approx(np.sqrt(2 * 0.3 / 9.80665), abs=0.003)
    assert never.extreme < 0.02
    assert str(once).startswith("expected once Wood.speed > 2 m/s, and it is 2.")
    assert "m/s at 0.2" in str(once)
    assert ", at best 3.1" in str(once)
    assert not outcome.passed
    assert str(never).startswith(
        "expected never distance from Wood to (0, 0, 0.05) < 0.2 m, but it is 0.19"
    )


def test_the_force_between_two_bodies_is_their_weight(load):
    scenario = load("duration: 0.5\nexpect: [{force: [floor, Wood], below: 1}]")
    [outcome] = run(scenario).expectations
    block = next(e for e in scenario.world.bodies if e.placement.name == "Wood")
    assert outcome.value == pytest.approx(block.placement.body.root.mass * 9.80665, rel=1e-3)
    assert not outcome.met


def test_commands_and_switches_take_effect(load):
    scenario = load(
        "duration: 1\n"
        "events:\n"
        "- {time: 0.1, command: {body: arm, positions: {J1: 0.3}}}\n"
        "- {time: 0.5, set_enabled: {device: wrist_force, on: false}}\n"
        "expect: [arm.joint.J1.position > 0.25 rad]\n",
        ARM,
    )
    with Simulation(scenario.world) as sim:
        assert run_scenario(sim, scenario.course).passed
        assert not sim.is_enabled("wrist_force")


def test_a_body_starts_otherwise_and_a_mass_scales_the_inertia(load):
    scenario = load(
        "duration: 1\nbodies: {arm: {joints: {J2: 0.4}, masses: {TOOL: 2.5}, rpy: [0, 0, 1]}}\n",
        ARM,
    )
    before = load("duration: 1", ARM).world
    old, new = (next(e.placement for e in w.bodies if e.placement.name == "arm")
                for w in (before, scenario.world))  # fmt: skip
    names = [link.joint.name for link in new.body.moving_links]
    assert new.initial_q[names.index("J2")] == 0.4
    a, b = old.body.link("TOOL"), new.body.link("TOOL")
    assert b.mass == 2.5
    np.testing.assert_allclose(b.inertia, a.inertia * 2.5 / a.mass)
    np.testing.assert_allclose(new.X_WL.R[0, 0], np.cos(1.0))


def test_everything_wrong_is_named_with_its_place(load):
    assert problems(
        load,
        "duration: 1\n"
        "bodies:\n"
        "  wood: {}\n"
        "  Wood: {masses: {ROOT: 1, Wood: -1}, joints: {J: 1}}\n"
        "physics: {friction: -1}\n",
    ) == [(6, "out-of-range"), (5, "out-of-range"), (5, "unknown-link"), (5, "unknown-joint"),
          (4, "unknown-body")]  # fmt: skip
    assert sorted(problems(
        load,
        "duration: 1\n"
        "events:\n"
        "- {time: 2, push: {body: Wood, force: [1, 0, 0]}}\n"
        "- {time: 0, push: {body: Wood, link: HAND, force: [1, 0, 0]}}\n"
        "- {time: 0}\n"
        "- {time: 0, command: {body: Wood, positions: {J9: 1}}}\n"
        "- {time: 0, set_enabled: {device: lamp}}\n"
        "stop: [{fell: woody}, {touched: [Wood]}, Wood.w > 1]\n"
        "expect:\n"
        "- {always: Wood.z > 0, never: Wood.z > 0}\n"
        "- {force: [Wood, floor]}\n"
        "expects: []\n",
    )) == sorted([
        (4, "out-of-range"), (5, "unknown-link"), (6, "bad-event"), (7, "unknown-joint"),
        (8, "no-device"), (9, "unknown-body"), (9, "bad-expectation"),
        (9, "unknown-quantity"), (11, "bad-expectation"), (12, "bad-expectation"),
        (13, "unknown-key"),
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "missing-key"),
        ("duration: -1", "out-of-range"),
        ("duration: 1\nstopp: []", "unknown-key"),
    ],
)
def test_a_scenario_needs_a_duration_and_known_keys(load, text, code):
    assert [found for _, found in problems(load, text)] == [code]


def test_a_world_that_is_missing_is_named(load):
    assert problems(load, "duration: 1", "nowhere.yaml") == [(1, "missing-world")]


def test_meters_measure_what_the_result_of_a_run_has():
    with Simulation(HUMANOID) as sim:
        recorder = RunRecorder(sim)
        sim.push("humanoid", "CHEST", [0, 60, 0], [0, 0, 0], 0.2)
        for _ in range(300):
            readings = sim.step()
            recorder.take_step(sim.state.time_ns, readings)
        result = result_of(recorder, "world", 1.0)
        found = {name: meter.value() for name, meter in meters(recorder).items()}
        assert list(found) == list(quantities(sim))
        body = result.bodies["humanoid"]
        expected = {
            **{f"humanoid.{axis}": body.end.p[i] for i, axis in enumerate("xyz")},
            "humanoid.tilt": body.end.tilt,
            "humanoid.speed": body.end.speed,
            "humanoid.fell": bool(body.fall),
            "contacts.count": result.contacts,
            "contacts.most": result.max_contacts,
            "contacts.largest_force": result.peak_force.force,
            "effort.share": result.hardest_joint[2].share,
        }
        for name, joint in body.joints.items():
            for field in ("position", "velocity", "effort", "largest_effort"):
                expected[f"humanoid.joint.{name}.{field}"] = getattr(joint, field)
        for name, sensor in result.sensors.items():
            expected |= {f"{name}.{number}": value for number, value in sensor.values.items()}
        assert {k: found[k] for k in expected} == expected


def test_a_run_can_be_repeated_with_equal_states(load):
    scenario = load(
        "duration: 0.3\nevents: [{time: 0, push: {body: Wood, force: [1, 0, 0]}}]\n"
        "expect: [contacts.count > 0]"
    )
    with Simulation(scenario.world) as sim:
        start = sim.save()
        hashes = []
        for _ in range(2):
            sim.restore(start)
            assert run_scenario(sim, scenario.course).passed
            hashes.append(sim.state_hash())
    assert hashes[0] == hashes[1]
