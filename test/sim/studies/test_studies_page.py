"""docs/studies.md: its keys are those of the readers, its examples exist."""

import re

import numpy as np
import pytest
from paths import ROOT
from silent_diagnostics import silent

from hrp_model import Diagnostics
from hrp_model.readers.yaml.nodes import Mapping
from hrp_sim import InlineExecutor, Simulation, sweep
from hrp_sim.lab.studies import StudyRun, check_first, load_study
from hrp_sim.run.scenarios import load_scenario, run_scenario

PAGE = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "examples" / "studies"


def keys(name):
    """Return the keys of a table between two marks."""
    [text] = re.findall(rf"<!-- Keys of {name}: .*?-->\n(.*?)<!-- end of ", PAGE, re.DOTALL)
    cells = [line.strip("|").split(" | ")[:2] for line in text.splitlines()[2:]]
    return {key for row in cells for cell in row for key in re.findall(r"`(\w+)`", cell)}


def test_the_readers_ask_for_its_keys(tmp_path, monkeypatch):
    asked = set()
    for name in ("get", "number", "integer", "boolean", "text", "choice", "numbers", "mapping",
                 "sequence"):  # fmt: skip
        original = getattr(Mapping, name)

        def listen(self, *words, _original=original, **options):
            asked.update(words)
            return _original(self, *words, **options)

        monkeypatch.setattr(Mapping, name, listen)
    path = tmp_path / "study.yaml"
    text = (
        "world: arm\nduration: 1\nphysics: {}\nsensors: {}\nbodies: {arm: {joints: {J1: 0}}}\n"
        "events:\n"
        "- {time: 0, push: {body: arm, force: [1, 0, 0]}}\n"
        "- {time: 0, command: {body: arm, positions: {J1: 0}}}\n"
        "- {time: 0, set_enabled: {device: wrist_force}}\n"
    )
    path.write_text(text, encoding="utf-8")
    load_study(path, silent())
    asked = {key for key in asked if key.islower()}
    written = keys("the file") | keys("bodies") | keys("events") | {"time", "name"}
    assert written <= asked


def test_its_conditions_can_be_read(tmp_path):
    rows = re.findall(r"^\| `(.*?)` \| ", PAGE.partition("### Conditions")[2], re.MULTILINE)[:5]
    texts = [row.replace("arm/TOOL", "humanoid/HEAD").replace("box", "Room") for row in rows]
    assert len([t for t in texts if t.startswith("{")]) == 4
    path = tmp_path / "scenario.yaml"
    lines = "".join(f"- {text}\n" for text in texts)
    path.write_text(f"world: humanoid_in_room\nduration: 0.01\nstop:\n{lines}", encoding="utf-8")
    scenario = load_scenario(path, silent())
    assert len(scenario.course.stop) == 5
    with Simulation(scenario.world) as sim:  # which stands, and touches nothing with its head
        assert run_scenario(sim, scenario.course).stopped_by.text.startswith("force between")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_the_examples_have_no_problems(path):
    found = []
    study = load_study(path, Diagnostics(listener=found.append))
    check_first(study)
    assert found == []
    assert f"examples/studies/{path.name}" in PAGE


def test_the_block_of_the_example_slides_as_coulomb_says():
    study = load_study(EXAMPLES / "sliding_block.yaml", silent())
    cases = [case for case in study.cases() if case["time_step"] == 0.001][2::3]
    result = sweep(study.world_of, cases, StudyRun(study), InlineExecutor())
    mu = np.array([case["friction"] for case in cases])
    mass, force, push, g = 0.6, 20.0, 0.05, 9.80665
    a = force / mass - mu * g
    expected = 0.5 * a * push**2 + (a * push) ** 2 / (2 * mu * g)
    np.testing.assert_allclose(result.values["Wood.x"], expected, rtol=0.02)
    np.testing.assert_allclose(result.values["max Wood.speed"], a * push, rtol=0.005)


@pytest.mark.parametrize(
    ("size", "fell"), [pytest.param(140, False, marks=pytest.mark.slow), (400, True)]
)
def test_the_humanoid_of_the_example_falls_of_a_heavy_push_alone(size, fell):
    study = load_study(EXAMPLES / "pushed_humanoid.yaml", silent())
    case = {"events.push.direction": 0.0, "events.push.size": size}
    result = sweep(study.world_of, [case], StudyRun(study), InlineExecutor())
    assert result.values["humanoid.fell"].tolist() == [float(fell)]
    assert result.values["stopped_by"].tolist() == ["humanoid fell" if fell else ""]
