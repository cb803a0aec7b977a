"""The plugin of pytest, as its users run it: scenarios that pass, fail, differ, or are invalid."""

import importlib
import subprocess
import sys
from contextlib import suppress
from xml.etree import ElementTree

import pytest
from scenario_files import BASELINE, HEAVIER, PASSING, write_scenario

# What runs in this process is imported once: extension modules cannot be imported again.
from hrp_ros.testing import runs
from hrp_ros.testing.runs import _folder_name

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.usefixtures("only_own_plugin")

SIZE = 320, 180  # of pictures
FAILING = PASSING.replace("upper.z < 6 cm", "upper.z > 6 cm")


@pytest.fixture
def run(pytester):
    """Return a function that runs pytest in the folder of the test, in a process of its own."""

    def run(*arguments):
        return pytester.runpytest_subprocess(*arguments)

    return run


@pytest.fixture(scope="module")
def _small_pictures():
    """Draw small pictures, with what is imported late: extensions cannot be imported again."""
    for name in ("mcap.writer", "moderngl", "glcontext", "PIL.PngImagePlugin"):
        with suppress(ImportError):
            importlib.import_module(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "_SIZE", SIZE)
        yield


@pytest.fixture
def quick(pytester, _small_pictures):
    """As ``run``, in this process."""

    def quick(*arguments):
        return pytester.runpytest_inprocess(*arguments)

    return quick


def update(run):
    done = run("--hrp-update-baseline")
    done.assert_outcomes(passed=1)
    return done


def test_a_scenario_file_is_a_test(pytester, quick):
    write_scenario(pytester.path)
    done = quick("-v")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["fall.scenario.yaml::fall PASSED*"])


def test_a_fixture_runs_a_scenario_and_returns_its_result(pytester, quick):
    write_scenario(pytester.mkdir("tests"))
    pytester.makepyfile(
        **{
            "tests/test_fall": """
            def test_fall(hrp_scenario):
                run = hrp_scenario("fall.scenario.yaml")
                assert not run.problems
                assert run.result.time == 0.4
                assert 0.049 < run.result.bodies["upper"].end.p[2] < 0.051
                assert [expectation.met for expectation in run.outcome.expectations] == [True, True]
        """
        }
    )
    quick("tests/test_fall.py").assert_outcomes(passed=1)


def test_a_wrong_expectation_fails_with_a_recording_and_a_picture(pytester, quick):
    pytest.importorskip("mcap", reason="recordings need mcap")
    pytest.importorskip("moderngl", reason="pictures need moderngl")
    write_scenario(pytester.path, FAILING)
    done = quick("--hrp-artifacts", "kept")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "fall.scenario.yaml: expected upper.z > 6 cm, but it is * cm at the end*",
            "at 0.4 s, the end:",
            "*'upper' did not fall*",
            "recording: */kept/fall.scenario.yaml_fall/run.mcap",
            "picture at 0.4 s: */kept/fall.scenario.yaml_fall/moment.png",
            "FAILED fall.scenario.yaml::fall - fall.scenario.yaml: expected upper.z > 6 cm*",
        ]
    )
    assert "Traceback" not in done.stdout.str()
    assert "another state" not in done.stdout.str()
    from PIL import Image

    from hrp_msgs.recording import Recording

    folder = pytester.path / "kept" / "fall.scenario.yaml_fall"
    with Image.open(folder / "moment.png") as picture:
        assert picture.size == SIZE
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 100
    times = [m.time_ns for m in Recording(folder / "run.mcap").messages(["/clock"])]
    assert max(times) == 400_000_000


def test_a_failure_in_the_fixture_shows_the_line_of_the_test(pytester, quick):
    write_scenario(pytester.path, FAILING, name="fall")
    pytester.makepyfile(
        test_fall="""
        def test_fall(hrp_scenario):
            hrp_scenario("fall.scenario.yaml")
    """
    )
    done = quick("test_fall.py", "--hrp-artifacts=kept")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            '>*hrp_scenario("fall.scenario.yaml")',
            "E*fall.scenario.yaml: expected upper.z > 6 cm, but it is*",
            "test_fall.py:2: ScenarioError",
            "*: */kept/test_fall.py_test_fall/*",
        ]
    )


def test_files_are_kept_of_a_run_whose_result_the_test_does_not_accept(pytester, quick):
    write_scenario(pytester.path)
    pytester.makepyfile(
        test_fall="""
        def test_fall(hrp_scenario):
            assert hrp_scenario("fall.scenario.yaml").result.time > 1
    """
    )
    done = quick("test_fall.py", "--hrp-artifacts=kept", "--show-capture=no")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*: */kept/test_fall.py_test_fall/*"])


def test_nothing_is_kept_of_an_earlier_scenario_than_that_which_fails(pytester, quick):
    write_scenario(pytester.path)
    pytester.makepyfile(
        """
        def test_fall(hrp_scenario):
            hrp_scenario("fall.scenario.yaml")
            hrp_scenario("missing.scenario.yaml")
    """
    )
    done = quick(
        "test_nothing_is_kept_of_an_earlier_scenario_than_that_which_fails.py",
        "--hrp-artifacts=kept",
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*cannot read 'missing.scenario.yaml'*"])
    assert not (pytester.path / "kept").exists()


def test_tests_keep_their_files_in_folders_of_their_own():
    ids = ["a/test_b.py::c[1]", "test.py::c[x<1]", "test.py::c[x>1]", "1" * 200, "2" + "1" * 200]
    names = {_folder_name(nodeid) for nodeid in ids}
    assert len(names) == len(ids)
    assert "a_test_b.py_c_1_" in names
    assert max(map(len, names)) < 120


def test_without_an_option_files_are_kept_in_the_cache(pytester, quick):
    write_scenario(pytester.path, FAILING)
    quick().stdout.fnmatch_lines(["*/.pytest_cache/d/hrp_ros/fall.scenario.yaml_fall/*"])


@pytest.mark.slow
def test_files_are_kept_elsewhere_if_the_cache_cannot_be_written(pytester, quick):
    write_scenario(pytester.path, FAILING)
    (pytester.path / ".pytest_cache").touch()
    done = quick()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*: */hrp_ros-*/fall.scenario.yaml_fall/*"])


def test_a_folder_that_cannot_be_written_is_named(pytester, quick):
    write_scenario(pytester.path, FAILING)
    (pytester.path / "file").touch()
    done = quick("--hrp-artifacts=file/kept")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["there is no picture: '*/moment.png': Not a directory"])


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("mcap", "there is no recording: *pip install 'hrp_ros*record?'"),
        ("moderngl", "there is no picture: *moderngl*"),
    ],
)
def test_a_missing_library_is_named_and_the_failure_stays(pytester, run, library, expected):
    write_scenario(pytester.path, FAILING)
    pytester.makeconftest(f"import sys; sys.modules[{library!r}] = None")
    done = run()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["fall.scenario.yaml: expected upper.z > 6 cm, but*", expected])
    assert "Traceback" not in done.stdout.str()


def test_a_run_that_cannot_be_repeated_is_named(pytester, quick):
    write_scenario(
        pytester.path,
        FAILING + "controllers: [{ class: wild.py:Wild, body: upper }]\n",
    )
    pytester.makepyfile(
        wild="""
        import os
        from hrp_sim import ForceHook

        class Wild(ForceHook):
            def apply(self, state, dt):
                state.force[0] = [os.urandom(1)[0] + 1, os.urandom(1)[0], 0]
    """
    )
    done = quick()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["the run was repeated for these files and ended in another state*"])


def test_the_first_difference_from_a_baseline_is_named(pytester, quick):
    write_scenario(pytester.path, PASSING + BASELINE)
    update(quick).stdout.fnmatch_lines(["wrote the baseline fall.baseline.json"])
    quick().assert_outcomes(passed=1)
    write_scenario(pytester.path, PASSING + BASELINE + HEAVIER)
    done = quick()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "fall.scenario.yaml: the run differs from its baseline 'fall.baseline.json':",
            "*the first difference is at step * s)",
            "*link 'Wood' of 'lower', *: expected *, got *, a difference of *",
            "*pytest --hrp-update-baseline fall.scenario.yaml",
            "picture at 0.* s: *",
        ]
    )
    assert "'upper', " not in done.stdout.str()
    update(quick)
    quick().assert_outcomes(passed=1)


def test_a_baseline_that_did_not_change_is_not_written_again(pytester, quick):
    write_scenario(pytester.path, PASSING + BASELINE)
    update(quick)
    path = pytester.path / "fall.baseline.json"
    before = path.stat()
    assert "wrote" not in update(quick).stdout.str()
    assert path.stat().st_ino == before.st_ino


@pytest.mark.parametrize("duration", [0.39, pytest.param(8, marks=pytest.mark.slow)])
def test_a_changed_duration_differs_and_keeps_the_file_small(pytester, quick, duration):
    text = PASSING + BASELINE
    write_scenario(pytester.path, text)
    update(quick)
    path = pytester.path / "fall.baseline.json"
    before = len(path.read_text(encoding="utf-8"))
    write_scenario(pytester.path, text.replace("0.4", str(duration)))
    done = quick()
    done.assert_outcomes(failed=1)
    steps = round(duration * 1000)
    done.stdout.fnmatch_lines([f"the run has {steps} steps, the baseline 400; they are equal *"])
    update(quick)
    quick().assert_outcomes(passed=1)
    # All that grows is the number of hashes, of 3 bytes each.
    assert len(path.read_text(encoding="utf-8")) < before * 1.2 + 3 * 10_000


def test_a_missing_baseline_fails_with_the_command_that_makes_it(pytester, quick):
    write_scenario(pytester.mkdir("tests"), PASSING + BASELINE)
    done = quick()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "tests/fall.scenario.yaml: the baseline 'tests/fall.baseline.json' is missing; make it "
            "with: pytest --hrp-update-baseline tests/fall.scenario.yaml"
        ]
    )


def test_a_scenario_that_fails_gets_no_baseline(pytester, quick):
    write_scenario(pytester.path, FAILING + BASELINE)
    done = quick("--hrp-update-baseline")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["*'fall.baseline.json' is not written, since the scenario does not pass"]
    )
    assert not (pytester.path / "fall.baseline.json").exists()


def test_the_command_for_a_baseline_of_a_fixture_runs_its_test(pytester, quick):
    """The scenario need not be a test by itself."""
    write_scenario(pytester.path, PASSING + BASELINE).rename(pytester.path / "fall.yaml")
    pytester.makepyfile(
        **{
            "test of fall": """
            def test_fall(hrp_scenario):
                run = hrp_scenario("fall.yaml")
                assert run.result.time > 1
        """
        }
    )
    done = quick("test of fall.py")
    done.stdout.fnmatch_lines(["*make it with: pytest --hrp-update-baseline 'test of fall.py'"])
    done = quick("--hrp-update-baseline", "test of fall.py")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["wrote the baseline fall.baseline.json"])


def test_a_broken_baseline_is_named_and_can_be_made_again(pytester, quick):
    write_scenario(pytester.path, PASSING + BASELINE)
    update(quick)
    path = pytester.path / "fall.baseline.json"
    path.write_text(path.read_text(encoding="utf-8")[:1000], encoding="utf-8")
    done = quick()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*'fall.baseline.json' is not a baseline; make it again with: *"])
    update(quick)
    quick().assert_outcomes(passed=1)


def test_a_file_that_is_none_is_not_replaced_by_a_baseline(pytester, quick):
    write_scenario(pytester.path, PASSING + "baseline: package.json")
    path = pytester.path / "package.json"
    path.write_text("{}", encoding="utf-8")
    done = quick("--hrp-update-baseline")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["*'package.json' is not a baseline, and is not replaced by one; remove it first"]
    )
    assert path.read_text(encoding="utf-8") == "{}"


INVALID = {
    "unknown key": (PASSING + "durration: 3", "fall.scenario.yaml:7:1: error: *durration*"),
    "no world": ("duration: 1", "fall.scenario.yaml:*: error: 'world' is missing*"),
    "missing world": (
        "world: none.yaml\nduration: 1",
        "fall.scenario.yaml:1:8: error: *none.yaml*",
    ),
    "unknown body": (
        "world: world.yaml\nduration: 1\nexpect: [ top.z > 1 m ]",
        "fall.scenario.yaml:3:*: error: *'top.z'*",
    ),
    "no mapping": ("[]", "fall.scenario.yaml:1:1: error: *"),
    "no YAML": ("world: [", "fall.scenario.yaml:*: error: *"),
    "baseline": (PASSING + "baseline: x.txt", "fall.scenario.yaml:7:*: error: *'.json'*"),
    "escape": (PASSING + '"\\e[31m": 1', "fall.scenario.yaml:7:*: error: *"),
}


@pytest.mark.parametrize("how", INVALID)
def test_invalid_scenarios_are_located_errors(pytester, quick, how):
    text, expected = INVALID[how]
    write_scenario(pytester.path, text)
    done = quick("--color=no")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([expected])
    assert "Traceback" not in done.stdout.str()
    assert "\x1b" not in done.stdout.str()


def test_a_controller_that_fails_is_named(pytester, quick):
    write_scenario(pytester.path, PASSING + "controllers: [{ class: bad.py:Bad, body: upper }]\n")
    pytester.makepyfile(
        bad="""
        from hrp_sim import Controller

        class Bad(Controller):
            def control(self):
                raise ArithmeticError("broken law")
    """
    )
    done = quick()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["fall.scenario.yaml: *ArithmeticError: broken law*"])


def test_collecting_imports_no_simulation(pytester):
    write_scenario(pytester.path, "this is not even read: [")
    pytester.makeconftest(
        """
        import sys

        def pytest_sessionfinish():
            assert not [name for name in sys.modules if name.startswith(("hrp_sim", "numpy"))]
    """
    )
    done = pytester.runpytest_subprocess("--collect-only", "-q")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["fall.scenario.yaml::fall", "1 test collected*"])


def test_a_suite_without_scenarios_imports_next_to_nothing(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_modules():
            loaded = {name for name in sys.modules if name.split(".")[0].startswith("hrp_")}
            ours = {"plugin", "hooks", "names"}
            assert loaded == {"hrp_ros", "hrp_ros.testing"} | {f"hrp_ros.testing.{m}" for m in ours}
            assert "numpy" not in sys.modules
    """
    )
    (pytester.path / "other.yaml").write_text("steps: [a, b]", encoding="utf-8")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_scenarios_are_selected_by_name(pytester, quick):
    for name in ("walk_far", "walk_near", "stand"):
        write_scenario(pytester.path, "", name)
    for words, expected in (("walk", 2), ("far or stand", 2), ("not walk", 1)):
        done = quick("--collect-only", "-q", "-k", words)
        assert done.stdout.str().count("scenario.yaml::") == expected
    done = quick("--collect-only", "-q", "stand.scenario.yaml::stand")
    done.stdout.fnmatch_lines(["stand.scenario.yaml::stand"])


def test_the_patterns_of_files_are_a_setting(pytester, quick):
    write_scenario(pytester.path)
    (pytester.path / "fall.scenario.yaml").rename(pytester.path / "sim_fall.yml")
    write_scenario(pytester.path, name="ignored")
    pytester.makeini("[pytest]\nhrp_scenario_files = sim_*.yml")
    done = quick("-v")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["sim_fall.yml::sim_fall PASSED*"])


@pytest.mark.parametrize("value", ["-1", "nan", "much"])
def test_an_invalid_setting_is_an_error_of_use(pytester, quick, value):
    pytester.makeini(f"[pytest]\nhrp_baseline_tolerance = {value}")
    done = quick()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: *hrp_baseline_tolerance must be a number*'{value}'"])


def test_artifacts_need_a_folder(pytester, quick):
    (pytester.path / "file").touch()
    done = quick("--hrp-artifacts", "file")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: *--hrp-artifacts: 'file' is not a folder"])


def test_reports_for_other_programs_name_the_files(pytester, quick):
    write_scenario(pytester.path, FAILING)
    quick("--junit-xml=report.xml", "--hrp-artifacts=kept")
    (failure,) = ElementTree.parse(pytester.path / "report.xml").iter("failure")
    assert "expected upper.z > 6 cm" in failure.text
    assert "moment.png" in failure.text


@pytest.mark.slow
def test_several_processes_of_xdist_share_the_tests(pytester, run):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    for name in ("a", "b", "c"):
        write_scenario(pytester.path, PASSING + f"baseline: {name}.json", name)
    done = run("-pxdist.plugin", "-n2", "--hrp-update-baseline")
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines([f"wrote the baseline {name}.json" for name in ("a", "b", "c")])


def test_a_program_of_ones_own_reads_the_baseline_of_pytest(pytester, quick):
    """The file is plain JSON."""
    write_scenario(pytester.path, PASSING + BASELINE)
    update(quick)
    code = "import json; print(json.load(open('fall.baseline.json'))['steps'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "400\n"
