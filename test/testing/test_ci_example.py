"""The example of a repository whose robot is tested: its workflow does what its README says."""

import os
import re
import shutil
import subprocess

import pytest
import yaml
from paths import ROOT

EXAMPLE = ROOT / "examples" / "ci"
WORKFLOW = EXAMPLE / ".github" / "workflows" / "robot.yml"


@pytest.fixture
def repository(tmp_path, only_own_plugin):
    folder = tmp_path / "robot"
    unwanted = shutil.ignore_patterns("__pycache__", ".pytest_cache", "artifacts")
    shutil.copytree(EXAMPLE, folder, ignore=unwanted)
    return folder


def steps():
    """Return the steps of the only job."""
    (job,) = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"].values()
    return job["steps"]


def run_workflow(folder):
    """Run what the workflow runs with pytest."""
    (command,) = (step["run"] for step in steps() if "pytest --" in step.get("run", ""))
    environment = os.environ | {"COLUMNS": "200"}
    return subprocess.run(
        ["bash", "-ec", command],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_the_example_passes_and_leaves_its_baseline(repository):
    done = run_workflow(repository)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    name = "tests/reach.baseline.json"
    assert (repository / name).read_bytes() == (EXAMPLE / name).read_bytes()


@pytest.mark.slow
def test_a_heavier_forearm_is_named(repository):
    """The controller compensates the weight of the model, so that no expectation fails."""
    model = repository / "models" / "arm.body"
    text = model.read_text(encoding="utf-8")
    assert text.count("mass: 1.0") == 1
    model.write_text(text.replace("mass: 1.0", "mass: 1.1"), encoding="utf-8")
    done = run_workflow(repository)
    assert done.returncode == 1, done.stdout + done.stderr
    text = done.stdout
    assert "expected arm" not in text
    assert re.search(r"the first difference is at step \d+ \([\d.]+ s\)", text)
    assert re.search(
        r"  link '(UPPER|FOREARM)' \(joint '(SHOULDER|ELBOW)'\) of 'arm', \w+: exp", text
    )
    (upload,) = (s["with"] for s in steps() if "upload-artifact" in s.get("uses", ""))
    kept = repository / upload["path"]
    assert (kept / "report.xml").is_file()
    for name in re.findall(r"^(?:recording|picture at [\d.]+ s): (.*)$", text, re.MULTILINE):
        assert kept in (repository / name).parents
        assert (repository / name).stat().st_size > 0


@pytest.mark.slow
def test_a_weak_controller_misses_what_is_expected(repository):
    controller = repository / "controllers" / "reach.py"
    text = controller.read_text(encoding="utf-8")
    controller.write_text(text.replace("[400.0, 150.0]", "[10.0, 150.0]"), encoding="utf-8")
    done = run_workflow(repository)
    assert done.returncode == 1, done.stdout + done.stderr
    assert (
        "tests/reach.scenario.yaml: expected arm.joint.SHOULDER.position > 0.79 rad" in done.stdout
    )


def test_the_workflow_installs_the_extra_and_keeps_files_of_failures_only():
    commands = [step.get("run", "") for step in steps()]
    assert any("'hrp_ros[pytest]'" in command for command in commands)
    (upload,) = (step for step in steps() if "upload-artifact" in step.get("uses", ""))
    assert upload["if"] == "failure()"


def test_every_file_of_the_example_is_in_its_readme(repository):
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    there = {str(p.relative_to(repository)) for p in repository.rglob("*") if p.is_file()}
    assert named == there - {"README.md", "pytest.ini", ".gitignore"}
