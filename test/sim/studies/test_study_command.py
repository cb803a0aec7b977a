"""hrp-sim study: its folder, its tables and its page, and what it says."""

import csv
import os
import re
import resource
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import pytest
from paths import ROOT
from silent_diagnostics import silent

from hrp_sim import InlineExecutor, SweepResult, sweep
from hrp_sim.cli.main import main
from hrp_sim.lab.studies import StudyFolder, StudyRun, load_study
from hrp_sim.lab.studies.folder import csv_of, parquet_of, tables
from hrp_sim.lab.studies.report import report

pytest.importorskip("matplotlib", reason="matplotlib, which draws reports, is not installed")

BLOCK = ROOT / "models" / "blocks" / "wood.body"  # 0.1 m, alone on a floor
STUDY = f"""\
world: {BLOCK}
duration: 0.05
events: [{{name: push, time: 0, push: {{body: Wood, size: 20, duration: 0.02}}}}]
vary: {{friction: [0.2, 0.8], events.push.size: [5, 10, 15]}}
keep: [Wood.x, {{series: Wood.x, rate: 100}}]
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Work in a folder with a study; return its path."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "study.yaml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def swept(study, *options):
    return main(["study", str(study), "--out", "out", "--jobs", "1", *options])


def inline(path):
    """Return a study and its result, run in this process."""
    study = load_study(path, silent())
    return study, sweep(study.world_of, study.cases(), StudyRun(study), InlineExecutor())


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_study_fills_its_folder_and_continues_with_what_is_missing(study, tmp_path, capsys):
    assert swept(study) == 0
    err = capsys.readouterr().err
    assert "6 cases (2 x 3) of 0.05 s simulation time at most\n" in err
    assert "wrote out/cases.csv" in err
    out = tmp_path / "out"
    assert (out / "study.yaml").read_text(encoding="utf-8") == STUDY
    _, result = inline(study)
    table = rows(out / "cases.csv")
    assert [float(row["Wood.x"]) for row in table] == result.values["Wood.x"].tolist()
    assert [row["state_hash"] for row in table] == list(result.state_hashes)
    assert [(float(row["friction"]), int(row["events.push.size"])) for row in table] == [
        tuple(case.values()) for case in result.cases
    ]
    series = rows(out / "series.csv")
    assert len(series) == 6 * 6
    assert {row["quantity"] for row in series} == {"Wood.x"}
    if find_spec("pyarrow") is not None:
        from pyarrow.parquet import read_table

        columns = read_table(out / "cases.parquet").to_pydict()
        assert columns["Wood.x"] == result.values["Wood.x"].tolist()
        assert columns["error"] == [""] * 6

    files = sorted((out / "cases").glob("*.npz"))
    before = {file: file.stat().st_mtime_ns for file in files}
    files[0].unlink()
    assert swept(study) == 0
    written = [f for f in files if f.stat().st_mtime_ns != before[f]]
    assert written == files[:1]
    assert rows(out / "cases.csv") == table

    files[0].write_bytes(b"broken")
    assert swept(study) == 2
    assert f"'out/cases/{files[0].name}' is not the result of a case" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("duration: 0.05", "duration: 0.06"), "a study that differs in duration"),
        (("[5, 10, 15]", "[5, 10]"), "a study that differs in vary"),
        (("keep: [Wood.x,", "keep: [Wood.z,"), "a study that differs in keep"),
    ],
)
def test_a_changed_study_is_refused(study, tmp_path, capsys, change, words):
    folder = StudyFolder(tmp_path / "out", load_study(study, silent()))
    folder.begin()
    study.write_text("# the same\n" + STUDY, encoding="utf-8")
    StudyFolder(tmp_path / "out", load_study(study, silent())).check()
    study.write_text(STUDY.replace(*change), encoding="utf-8")
    assert swept(study) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("changed", ["a.py", "gait.py", "parts/__init__.py", "parts/leg.py"])
def test_a_changed_module_of_a_controller_is_refused(study, tmp_path, capsys, changed):
    (tmp_path / "parts").mkdir()
    for name, code in {
        "a.py": "from hrp_sim import Controller\nclass A(Controller):\n    import gait\n",
        "gait.py": "from parts import leg",
        "parts/__init__.py": "",
        "parts/leg.py": "from . import missing",
        "other.py": "",
    }.items():
        (tmp_path / name).write_text(code)
    study.write_text(STUDY + "controllers: [{class: a.py:A, body: Wood}]\n", encoding="utf-8")
    StudyFolder(tmp_path / "out", load_study(study, silent())).begin()
    (tmp_path / "other.py").write_text("x = 1")
    StudyFolder(tmp_path / "out", load_study(study, silent())).check()
    with (tmp_path / changed).open("a") as file:
        file.write("\nx = 1\n")
    assert swept(study) == 2
    assert "a study that differs in files of controllers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("out/notes.txt", b"mine", "not empty and not that of a study"),
        ("out/study.json", b"mine", "study.json in it is broken"),
        ("out/study.json", b"\xff", "study.json in it is broken"),
        ("out", b"mine", "it is a file"),
    ],
)
def test_other_things_are_not_touched(study, tmp_path, capsys, name, content, words):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    assert swept(study) == 2
    assert words in capsys.readouterr().err
    assert path.read_bytes() == content


def test_a_folder_that_could_not_be_completed_is_that_of_the_study(study, tmp_path):
    text = f"{STUDY}# {5000 * '-'}\n"
    study.write_text(text, encoding="utf-8")
    folder = StudyFolder(tmp_path / "out", load_study(study, silent()))
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size, name in ((100, "study.json"), (2000, "study.yaml")):
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
            with pytest.raises(OSError, match=f"File too large: .*{name}"):
                folder.begin()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
        folder.check()
    folder.begin()
    assert (tmp_path / "out" / "study.yaml").read_text(encoding="utf-8") == text


def test_a_dry_run_lists_the_cases_and_writes_nothing(study, tmp_path, capsys):
    assert main(["study", str(study), "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[-1] == "events.push.size [N]"
    assert [line.split() for line in lines[1:3]] == [["0", "0.2", "5"], ["1", "0.2", "10"]]
    assert len(lines) == 7
    assert list(tmp_path.iterdir()) == [study]


def test_samples_are_counted_once(study, capsys):
    vary = "{friction: {distribution: uniform}, physics.erp: {distribution: uniform}, seed: [1, 2]}"
    text = re.sub(r"^vary: .*$", f"vary: {vary}\nrandom: {{count: 5}}", STUDY, flags=re.MULTILINE)
    study.write_text(text, encoding="utf-8")
    assert main(["study", str(study), "--dry-run"]) == 0
    assert "10 cases (2 x 5 samples) of 0.05 s simulation time at most\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "give --out FOLDER for the results, or --dry-run"),
        (["--out", "out", "--jobs", "2", "--cluster", "tcp://127.0.0.1:1"], "cannot be combined"),
        (["--out", "out", "--jobs", "0"], "a whole number from 1 to 1000"),
        (["--out", "out", "--timeout", "-1"], "--timeout"),
        (["--out", "out", "--timeout", "1e9"], "a number of seconds above 0, up to 86400"),
    ],
)
def test_wrong_use_is_refused(study, capsys, options, words):
    assert main(["study", str(study), *options]) == 2
    assert words in capsys.readouterr().err


def test_a_cluster_that_is_not_there_is_named(study, capsys, monkeypatch):
    pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr("hrp_sim.cli.study._CONNECT_SECONDS", 0.3)
    assert main(["study", str(study), "--out", "out", "--cluster", "tcp://127.0.0.1:9"]) == 2
    assert "--cluster tcp://127.0.0.1:9: there is no Dask scheduler" in capsys.readouterr().err
    assert not (study.parent / "out").exists()
    for address, words in (
        ("nowhere", "write an address as tcp://HOST:PORT"),
        ("inproc://127.0.0.1:9", "write an address as tcp://HOST:PORT"),
        ("tls://127.0.0.1:9", "Dask's configuration states no certificates"),
    ):
        assert main(["study", str(study), "--out", "out", "--cluster", address]) == 2
        assert f"--cluster {address}: {words}" in capsys.readouterr().err


@pytest.mark.slow
def test_a_cluster_gives_equal_results_once_it_has_workers(study, tmp_path, capsys, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr("hrp_sim.cli.study._WORKER_SECONDS", 0.2)
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(n_workers=0, processes=True, **options) as cluster:
        address = cluster.scheduler_address
        command = ["study", str(study), "--out", "out", "--cluster", address]
        assert main(command) == 2
        words = f"the scheduler has no workers; start some with 'dask worker {address}"
        assert words in capsys.readouterr().err
        monkeypatch.setattr("hrp_sim.cli.study._WORKER_SECONDS", 300.0)
        cluster.scale(1)
        assert main(command) == 0
    _, result = inline(study)
    hashes = [row["state_hash"] for row in rows(tmp_path / "out" / "cases.csv")]
    assert hashes == list(result.state_hashes)


def test_problems_of_a_study_have_their_place_and_status_1(study, capsys):
    study.write_text(STUDY.replace("[0.2, 0.8]", "[0.2, -8]"), encoding="utf-8")
    assert swept(study) == 1
    err = capsys.readouterr().err
    assert "study.yaml:4:18: error: friction = -8: 'friction' must be from" in err


def test_a_controller_that_fails_at_once_is_found_before_the_sweep(study, tmp_path, capsys):
    (tmp_path / "a.py").write_text("import nothing_of_this_name\nclass A: pass\n")
    study.write_text(STUDY + "controllers: [{class: a.py:A, body: Wood}]\n", encoding="utf-8")
    assert swept(study) == 1
    assert "nothing_of_this_name" in capsys.readouterr().err
    assert not (tmp_path / "out" / "cases").exists()


def test_a_case_that_hangs_is_ended_and_reported_with_status_1(study, tmp_path, capsys):
    (tmp_path / "a.py").write_text(
        "import time\n"
        "from hrp_sim import Controller\n"
        "class A(Controller):\n"
        "    def initialize(self, io):\n"
        "        self.args = io.args\n"
        "    def control(self):\n"
        "        time.sleep(self.args['seconds'])\n"
        "        return True\n"
    )
    text = STUDY.replace("friction: [0.2, 0.8]", "controllers.Wood.args.seconds: [0, 600]")
    text += "controllers: [{class: a.py:A, body: Wood, args: {}}]\n"
    study.write_text(text.replace("[5, 10, 15]", "[5]"), encoding="utf-8")
    assert swept(study, "--timeout", "3") == 1
    assert "error: 1 of 2 cases failed; see out/report.html" in capsys.readouterr().err
    errors = [row["error"] for row in rows(tmp_path / "out" / "cases.csv")]
    assert errors[0] == ""
    assert errors[1].startswith("it took longer than 3 s")
    assert "<h2>Failures</h2>" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_ctrl_c_keeps_finished_cases_and_says_how_to_continue(study, tmp_path):
    study.write_text(STUDY.replace("[5, 10, 15]", "{from: 1, to: 20, count: 2000}"),
                     encoding="utf-8")  # fmt: skip
    words = [sys.executable, "-m", "hrp_sim.cli.main", "study", "study.yaml", "--out", "out"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = subprocess.Popen(
        [*words, "--jobs", "1"], stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
    )
    end = time.monotonic() + 300
    while not list((tmp_path / "out").glob("cases/*.npz")) and time.monotonic() < end:
        assert program.poll() is None
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=300)
    assert program.returncode == 130
    assert "\nto continue: hrp-sim study study.yaml --out out --jobs 1\n" in err
    assert 0 < len(list((tmp_path / "out").glob("cases/*.npz"))) < 4000
    assert "Traceback" not in err


EVIL = "<script>alert(1)</script>"


def test_the_page_shows_the_results_and_runs_nothing_from_names(pages, tmp_path, study):
    (tmp_path / "evil.body").write_text(
        BLOCK.read_text(encoding="utf-8").replace("name: Wood", f"name: '{EVIL}'")
    )
    text = STUDY.replace(str(BLOCK), "evil.body").replace("Wood", EVIL)
    study.write_text(text.replace(f"{EVIL}, size", f"'{EVIL}', size"), encoding="utf-8")
    loaded, result = inline(study)
    path = tmp_path / "report.html"
    path.write_bytes(report(loaded, result))
    assert EVIL not in path.read_text(encoding="utf-8")
    page = pages.open(path.as_uri(), (1200, 900))
    page.wait_for_text("6 cases, none of which failed.")
    assert page.tab.locator("figure svg").count() == 2
    captions = page.tab.locator("figcaption").all_inner_texts()
    assert captions == [f"{EVIL}.x", f"series {EVIL}.x"]
    assert page.tab.locator("script").count() == 0
    colors = []
    for scheme in ("light", "dark"):
        page.tab.emulate_media(color_scheme=scheme)
        colors.append(int(np.median(page.pixels())))
    assert colors[0] > 200 > 60 > colors[1]


@pytest.mark.parametrize(
    ("vary", "captions"),
    [
        ("{friction: [0.2, 0.8], seed: [1, 2], events.push.size: [5, 10]}",
         ["Wood.x\nmean over events.push.size", "series Wood.x"]),
        ("{friction: {distribution: uniform, scale: 0.5}}\nrandom: {count: 5}",
         ["Wood.x\ndistribution", "Wood.x\nover friction", "series Wood.x"]),
        ("{joint_limits: [true, false], solver: [world, quick]}", ["Wood.x", "series Wood.x"]),
        ("{}", ["series Wood.x"]),
    ],
)  # fmt: skip
def test_the_plots_follow_from_what_varies(study, vary, captions):
    text = re.sub(r"^vary: .*$", f"vary: {vary}", STUDY, flags=re.MULTILINE)
    study.write_text(text, encoding="utf-8")
    loaded, result = inline(study)
    assert result.failures == {}
    page = report(loaded, result).decode()
    found = re.findall("<figcaption>(.*?)</figcaption>", page)
    shown = [re.sub("<small>(.*?)</small>", r"\n\1", caption) for caption in found]
    assert shown == captions


@pytest.mark.parametrize(
    "values",
    [
        np.nextafter(0.05, [0.0, 0.05, 1.0] * 2),  # resting, but for their last digits
        np.full(6, np.nan),
    ],
)
def test_any_values_are_drawn(study, values):
    vary = "vary: {friction: {distribution: uniform}}\nrandom: {count: 6}\nkeep: [Wood.x]\n"
    study.write_text(STUDY.partition("vary")[0] + vary, encoding="utf-8")
    loaded = load_study(study, silent())
    columns = [""] * 6
    result = SweepResult(loaded.cases(), {"Wood.x": values}, columns, columns, columns)
    assert report(loaded, result).count(b"<figure>") == 2


def test_whole_numbers_of_any_size_are_written(study):
    (study.parent / "a.py").write_text("class A: pass\n")
    text = STUDY.replace("friction: [0.2, 0.8], events.push.size: [5, 10, 15]",
                         f"controllers.Wood.args.x: [1, {10**30}]")  # fmt: skip
    study.write_text(f"{text}controllers: [{{class: a.py:A, body: Wood}}]\n", encoding="utf-8")
    loaded = load_study(study, silent())
    result = SweepResult(loaded.cases(), {"Wood.x": np.zeros(2)}, ["", ""], ["", ""], ["", ""])
    table = tables(loaded, result)["cases"]
    assert str(10**30).encode() in csv_of(table)
    assert parquet_of(table) != b""
    assert b"<figure>" in report(loaded, result)


def test_a_study_of_which_nothing_is_left_has_a_report(study):
    loaded = load_study(study, silent())
    cases = loaded.cases()
    result = SweepResult(cases, {}, ["<b>bad</b>"] * 6, [""] * 6, [""] * 6)
    page = report(loaded, result).decode()
    assert "6 cases, 6 of which failed." in page
    assert "&lt;b&gt;bad&lt;/b&gt;" in page
    assert csv_of(tables(loaded, result)["cases"]).count(b"\r\n") == 7
