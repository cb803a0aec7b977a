"""Controllers that world files, commands and services name."""

import json
import pickle
import re
import shutil

import pytest
from controlled_run import simulating
from paths import MODELS, ROOT

from hrp_model import Diagnostics, ModelError
from hrp_sim import ControllerEntry, Simulation, WorldConfig, load_world
from hrp_sim.cli.main import main
from hrp_sim.run.requests.resources import Resource

CODE = """\
import numpy as np
from hrp_sim import Controller, ForceHook
from gains import KP

open(__file__ + ".ran", "a").close()

class Hold(Controller):
    def initialize(self, io):
        self.io = io
        io.drive("effort")
        self.goal = np.array(io.args.get("goal", io.q + 0.1))

    def control(self):
        self.io.effort_target = KP * (self.goal - self.io.q) - 8.0 * self.io.dq
        return True

class Fails(Controller):
    def control(self):
        raise ValueError("no plan")

class Half(ForceHook):
    pass

NOTHING = 3
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "walk.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "gains.py").write_text("KP = 80.0\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def world(folder):
    """Return a function that writes a world of the arm with a list of controllers."""

    def world(*controllers):
        lines = [
            "bodies:",
            f"  - {{ model: {MODELS / 'arm' / 'arm.body'}, name: arm }}",
            "controllers:",
            *(f"  - {item}" for item in controllers),
        ]
        path = folder / "world.yaml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return world


def test_a_world_file_names_controllers(world, folder, diagnostics):
    path = world(
        "{ class: walk.py:Hold, body: arm, rate: 500, args: { goal: [1, 0, 0, 0, 0, 0] } }"
    )
    config = load_world(path, diagnostics)
    entry = ControllerEntry(
        class_name="walk.py:Hold",
        body="arm",
        rate=500.0,
        args={"goal": [1, 0, 0, 0, 0, 0]},
        folder=folder,
    )
    assert config.controllers == (entry,)
    assert not (folder / "walk.py.ran").exists()  # reading a world runs no code
    with Simulation(config, diagnostics=diagnostics) as simulation:
        simulation.run(3.0)
        assert simulation.bodies["arm"].motion.q[0] == pytest.approx(1.0, abs=0.01)
    with Simulation(pickle.loads(pickle.dumps(config)), diagnostics=diagnostics) as again:
        again.run(3.0)
        assert again.state_hash() == simulation.state_hash()


def test_a_class_of_a_module(world, diagnostics):
    path = world("{ class: controller_samples:Swing, body: arm }")
    with Simulation(load_world(path, diagnostics), diagnostics=diagnostics) as simulation:
        simulation.run(0.1)
        assert simulation.bodies["arm"].motion.dq.any()


def test_without_permission_no_code_runs(world, folder, diagnostics):
    config = load_world(world("{ class: walk.py:Hold, body: arm }"), diagnostics)
    with Simulation(config, run_controllers=False, diagnostics=diagnostics) as simulation:
        simulation.run(0.01)
    assert not (folder / "walk.py.ran").exists()


@pytest.mark.parametrize(
    ("item", "place", "text"),
    [
        ("{ class: walk.py:Hodl, body: arm }", "4:14", "no class 'Hodl'. Did you mean 'Hold'?"),
        ("{ class: run.py:Hold, body: arm }", "4:14", "cannot read 'run.py'"),
        ("{ class: walk.py, body: arm }", "4:14", "is written MODULE:CLASS or FILE.py:CLASS"),
        ("{ class: 'a-b:C', body: arm }", "4:14", "is written MODULE:CLASS or FILE.py:CLASS"),
        ("{ class: walk.py:Hold, body: amr }", "4:34", "no body 'amr'. Did you mean 'arm'?"),
        ("{ class: walk.py:Hold }", "4:5", "a controller needs 'body'"),
        ("{ body: arm }", "4:5", "a controller needs 'class'"),
        (
            "{ class: walk.py:Hold, body: arm, rate: 0 }",
            "4:45",
            "must be from 0.001 to 1,000,000 Hz",
        ),
        ("walk.py:Hold", "4:5", "a controller must be a mapping"),
    ],
)
def test_errors_of_the_file_are_located(item, place, text, world):
    diagnostics = Diagnostics.silent()
    with pytest.raises(ModelError):
        load_world(world(item), diagnostics)
    [found] = [str(d) for d in diagnostics.found]
    assert text in found
    assert f"world.yaml:{place}: error:" in found


def test_an_unknown_key_is_a_warning(world, diagnostics):
    load_world(world("{ class: walk.py:Hold, body: arm, arg: { a: 1 } }"), diagnostics)
    assert "'arg' is unknown" in diagnostics.take("unknown-key").message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("NOTHING", "'walk.py:NOTHING' is not a class derived from"),
        ("Controller", "'walk.py:Controller' is not a class derived from"),
        ("Half", "'walk.py:Half' lacks the method 'apply'"),
    ],
)
def test_what_is_no_controller_is_an_error_when_the_world_is_made(name, text, world, diagnostics):
    config = load_world(world(f"{{ class: walk.py:{name}, body: arm }}"), diagnostics)
    with pytest.raises(ModelError, match=rf"world.yaml:4:14: error: {text}"):
        Simulation(config, diagnostics=diagnostics)
    diagnostics.take("bad-controller")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import nowhere  # Hold", "ModuleNotFoundError: No module named 'nowhere' (walk.py:1)"),
        ("class Hold(:", "SyntaxError: invalid syntax (walk.py, line 1)"),
        ("x = 1 / 0  # Hold", "ZeroDivisionError: division by zero (walk.py:1)"),
    ],
)
def test_one_that_cannot_be_imported_is_left_out(code, text, world, folder, diagnostics):
    (folder / "walk.py").write_text(code, encoding="utf-8")
    config = load_world(world("{ class: walk.py:Hold, body: arm }"), diagnostics)
    with Simulation(config, diagnostics=diagnostics) as simulation:
        simulation.run(0.01)
        found = diagnostics.take("controller-failed")
        assert found.message.endswith(f"it cannot be imported: {text}")
        assert "world.yaml:4:14" in str(found)
        assert simulation.controllers.failures


def test_an_entry_for_an_unknown_body(diagnostics):
    entry = ControllerEntry(class_name="controller_samples:Idle", body="arm")
    with pytest.raises(ModelError, match="there is no such body, but none"):
        Simulation(WorldConfig(controllers=(entry,)), diagnostics=diagnostics)
    diagnostics.take("bad-controller")


def run(capsys, *words):
    """Run hrp-sim; return the exit status, the result and what it said."""
    status = main(["run", *words, "--duration", "0.2", "--json"])
    output = capsys.readouterr()
    return status, json.loads(output.out) if output.out else None, output.err


def test_the_command_runs_them(world, folder, capsys):
    path = str(world("{ class: walk.py:Hold, body: arm }"))
    status, by_file, text = run(capsys, path)
    assert (status, text) == (0, "")
    path = str(world())
    _, without, _ = run(capsys, path)
    status, by_option, _ = run(capsys, path, "--controller", f"arm={folder / 'walk.py'}:Hold")
    assert status == 0
    assert by_file["state"] == by_option["state"] != without["state"]
    path = str(world("{ class: walk.py:Hold, body: arm }"))
    _, off, _ = run(capsys, path, "--no-controllers")
    assert off["state"] == without["state"]


def test_a_failure_is_printed_and_makes_the_exit_status_1(world, capsys):
    status, result, text = run(capsys, str(world("{ class: walk.py:Fails, body: arm }")))
    assert status == 1
    assert result["simulated"] == pytest.approx(0.2)
    assert re.search(r"world.yaml:4:14: warning: controller 'walk.py:Fails' of body 'arm'", text)
    assert re.search(r"control\(\) raised ValueError: no plan \(walk.py:\d+\)", text)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("amr=walk.py:Hold", "the world has no body 'amr'. Did you mean 'arm'?"),
        ("walk.py:Hold", "written BODY=MODULE:CLASS or BODY=FILE.py:CLASS, not 'walk.py:Hold'"),
        ("arm=nowhere.py:Hold", "cannot read 'nowhere.py'"),
        ("arm=controller_samples:Hld", "'controller_samples' has no class 'Hld'"),
    ],
)
def test_errors_of_the_option(option, text, world, capsys):
    status, _, found = run(capsys, str(world()), "--controller", option)
    assert status == 1
    assert text in found


@pytest.mark.parametrize("command", ["check", "sensors"])
def test_commands_that_only_read_run_no_code(command, world, folder, capsys):
    path = world("{ class: walk.py:Fails, body: arm }")
    assert main([command, str(path)]) == 0
    capsys.readouterr()
    assert not (folder / "walk.py.ran").exists()


@pytest.mark.parametrize("permitted", [False, True])
def test_a_world_loaded_by_a_service_runs_code_only_if_permitted(permitted, world, folder):
    path = world("{ class: walk.py:Hold, body: arm }")
    with simulating(run_controllers=permitted) as harness:
        harness.control.load_world(Resource(str(path)))
    assert (folder / "walk.py.ran").exists() is permitted
    codes = [found.code for found in harness.diagnostics.found]
    assert codes == ([] if permitted else ["controllers-off"])


@pytest.mark.parametrize(
    "name", ["hrp_sim.x.py", "hrp_sim.world.motion.player.py", "hrp_sim.x/y.py"]
)
def test_a_file_is_not_taken_for_a_module_of_the_package(name, world, folder):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("open(__file__ + '.ran', 'w')\nclass MotionPlayer: pass\n")
    path = world(f"{{ class: '{name}:MotionPlayer', body: arm }}")
    with simulating() as harness:
        harness.control.load_world(Resource(str(path)))
    assert not (folder / f"{name}.ran").exists()
    assert [found.code for found in harness.diagnostics.found] == ["controllers-off"]


def test_a_world_loaded_by_a_service_runs_samples_of_choreonoid(folder):
    rover = f"{{ class: BodyItem, name: rover, data: {{ file: {MODELS}/rover/rover.body }}"
    program = "{ class: SimpleControllerItem, data: { controller: TankTutorial_TrackController } }"
    path = folder / "tank.cnoid"
    path.write_text(
        f"items:\n  class: WorldItem\n  children:\n    - {rover}, children: [ {program} ] }}\n"
    )
    with simulating() as harness:
        harness.control.load_world(Resource(str(path)))
        assert len(harness.simulation.controllers.plugins) == 1
    assert [found.code for found in harness.diagnostics.found] == ["sample-controller"]


def test_a_world_loaded_by_a_service_may_play_motions(world, folder):
    """Files are relative to the world."""
    shutil.copy(ROOT / "examples" / "controllers" / "wave.seq", folder)
    player = "hrp_sim.world.motion.player:MotionPlayer"
    path = world(f"{{ class: '{player}', body: arm, args: {{ file: wave.seq }} }}")
    with simulating() as harness:
        harness.control.load_world(Resource(str(path)))
        harness.step(1500)
        assert harness.simulation.bodies["arm"].motion.q[0] > 0.2
    assert harness.diagnostics.found == []
