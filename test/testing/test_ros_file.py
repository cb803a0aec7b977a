"""The key 'ros' of scenario files, which is read without ROS."""

import sys

import pytest
from scenario_files import PASSING, write_scenario

from hrp_model import ModelError
from hrp_ros.testing.runs import load_scenario_test


def load(folder, ros):
    return load_scenario_test(write_scenario(folder, f"{PASSING}ros: {{ {ros} }}\n")).ros


def test_what_is_written_is_read(tmp_path):
    setup = load(
        tmp_path,
        "nodes: [ python 'a node.py' -x, sh ], lock_step: [ a, /b ], lock_step_rate: 100,"
        " timeout: 3, real_time_factor: 2, parameters: { naming: hrpsys, J1.kp: 3.5 },"
        " rates: [ a/b > 3 Hz ]",
    )
    assert [command[1:] for command in setup.nodes] == [("a node.py", "-x"), ()]
    assert setup.nodes[0][0] == sys.executable
    assert setup.nodes[1][0].endswith("/sh")
    assert (setup.folder, setup.lock_step, setup.lock_step_rate) == (tmp_path, ("a", "/b"), 100.0)
    assert (setup.timeout, setup.real_time_factor) == (3.0, 2.0)
    assert setup.parameters == {"naming": "hrpsys", "J1.kp": 3.5}
    (rate,) = setup.rates
    assert (rate.quantity, rate.comparison, rate.bound) == ("a/b", ">", 3.0)


def test_topics_may_be_the_words_of_a_text_as_in_the_parameter(tmp_path):
    assert load(tmp_path, "lock_step: a /b").lock_step == ("a", "/b")


@pytest.mark.parametrize(("ros", "factor"), [("lock_step: a", 0.0), ("", 1.0)])
def test_only_a_run_in_lock_step_is_as_fast_as_possible_by_default(tmp_path, ros, factor):
    assert load(tmp_path, ros).real_time_factor == factor


def test_programs_are_found_in_the_folder_of_the_scenario(tmp_path):
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert load(tmp_path, "nodes: [ ./node ]").nodes == ((str(program),),)


@pytest.mark.parametrize(
    ("ros", "message"),
    [
        ("nodes: [ pyton x.py ]", r":7:17: error: there is no program 'pyton'"),
        ('nodes: [ "sh \'a" ]', r":7:17: error: expected a command such as 'python node.py'"),
        ("nodes: [ [ a, b ] ]", r"expected a command such as 'python node.py'"),
        ("nodes: sh", r"expected a list, found 'sh'"),
        ("lock_step: { a: 1 }", r"expected a list, found a mapping"),
        ("lock_step: [ [ a ] ]", r"expected text, found a list"),
        ("lock_step_rate: 0", r"'lock_step_rate' must be above 0 Hz and at most 10000 Hz, not 0"),
        ("timeout: 1e5", r"'timeout' must be above 0 s and at most 3600 s, not 100,000"),
        ("real_time_factor: -1", r"'real_time_factor' must be from 0 to 1,000, not -1"),
        ("parameters: { world: a }", r"'world' is not set here, but by the key 'world'"),
        ("parameters: { seed: 3 }", r"'seed' is not set here, but by the key 'physics.seed'"),
        ("parameters: { record: a.mcap }", r"'record' cannot be set in a scenario"),
        ("parameters: { a: [ 1 ] }", r"expected text, a number, true or false, found a list"),
        ("rates: [ a > 3 m ]", r"expected the unit 'Hz'"),
        ("rates: [ a ]", r"expected a comparison with one of"),
        ("rates: [ '> 3 Hz' ]", r"expected the rate of a topic, such as 'joint_states > 99 Hz'"),
        ("nods: [ sh ]", r"'nods' is unknown here. Did you mean 'nodes'\?"),
    ],
)
def test_problems_are_located(tmp_path, ros, message):
    with pytest.raises(ModelError, match=message):
        load(tmp_path, ros)


def test_a_study_has_no_nodes(tmp_path):
    from hrp_sim.run.scenarios import load_scenario

    path = write_scenario(tmp_path, f"{PASSING}ros: {{ nodes: [ sh ] }}\n")
    with pytest.raises(ModelError, match="'ros' is unknown here"):
        load_scenario(path)


def test_a_missing_ros_is_named(tmp_path, monkeypatch):
    from hrp_model.diagnostics import MissingLibraryError
    from hrp_ros.testing.stage import stage_of

    test = load_scenario_test(write_scenario(tmp_path, f"{PASSING}ros: {{ nodes: [ sh ] }}\n"))
    monkeypatch.setitem(sys.modules, "hrp_ros.testing.ros.stage", None)
    with (
        pytest.raises(MissingLibraryError, match=r"fall\.scenario\.yaml: ROS 2 cannot be imported"),
        stage_of(test.name, test.scenario, test.ros),
    ):
        pass
