"""What a verification says: which libraries compared what, and what is wrong first."""

import io
import re
import sys
from dataclasses import replace

import pytest
from each_case import all_cases, check_each, mostly_slow
from rich.console import Console
from verify_samples import crane, report_of, row, written

from hrp_model.cli.main import main
from hrp_model.rigid import Pose
from hrp_model.verify import LIBRARIES, Outcome, Report, Row, verify
from hrp_model.verify.report import report_table

for _module in ("pinocchio", "mujoco"):
    pytest.importorskip(_module, reason=f"{_module} reads URDFs independently of us")

ADVICE = "pip install 'hrp_ros[verify]'"
READERS = {"pinocchio": "pinocchio", "MuJoCo": "mujoco"}


def shown(report, width=80, color=False):
    console = Console(width=width, file=io.StringIO(), force_terminal=color, highlight=False)
    console.print(report_table(report))
    return console.file.getvalue()


def unfolded(text):
    return " ".join(text.split())


def broken(tmp_path, monkeypatch, library, statement):
    """Put a package in the place of a library that only fails to import."""
    module = READERS[library]
    (tmp_path / "broken" / module).mkdir(parents=True)
    (tmp_path / "broken" / module / "__init__.py").write_text(statement)
    monkeypatch.syspath_prepend(tmp_path / "broken")
    ours = f"hrp_model.verify.with_{library.lower()}"
    for name in [x for x in sys.modules if x.partition(".")[0] == module or x == ours]:
        monkeypatch.delitem(sys.modules, name)


BREAKAGES = [
    ("ImportError('numpy.core.multiarray failed')", "ImportError: numpy.core.multiarray failed"),
    ("OSError('libGL.so.1: cannot open shared object file')", "OSError: libGL.so.1"),
    ("AttributeError('no FrameType')", "AttributeError: no FrameType"),
]


@pytest.mark.parametrize(
    ("library", "error", "reason"),
    mostly_slow([(library, *broken) for broken in BREAKAGES for library in READERS], 2),
)
def test_a_library_that_cannot_be_imported_stops_no_other(
    library, error, reason, tmp_path, monkeypatch
):
    path = written(crane(), tmp_path)
    broken(tmp_path, monkeypatch, library, f"raise {error}")
    report = verify(crane(), path)
    (found,) = report.rows_of(library)
    assert found.outcome is Outcome.UNUSABLE
    assert f"cannot be imported: {reason}" in found.reason
    assert report.passed, report
    assert f"without {library}" in report.verdict
    for other in READERS.keys() - {library}:
        assert row(report, other, "poses of links").outcome is Outcome.PASSED
    assert f"cannot be imported: {reason.split(':')[0]}" in unfolded(shown(report))


def test_the_command_goes_on_without_a_library_that_cannot_be_imported(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "box.body").write_text(
        "format: ChoreonoidBody\nformat_version: 2.0\nname: box\nlinks: [ { name: BOX, "
        "joint_type: free, mass: 1, inertia: [ 0.2, 0, 0, 0, 0.2, 0, 0, 0, 0.2 ] } ]\n"
    )
    broken(tmp_path, monkeypatch, "MuJoCo", "raise OSError('libGL')")
    assert main(["urdf", str(tmp_path / "box.body"), "--verify"]) == 0
    out, err = capsys.readouterr()
    assert "passed with pinocchio; without MuJoCo" in unfolded(out)
    assert "MuJoCo unusable: cannot be imported: OSError: libGL" in unfolded(out)
    assert err == ""
    assert "unusable: cannot be imported: OSError: libGL\n" in out  # no line is folded


def test_what_is_not_installed_is_told_and_no_failure(tmp_path, monkeypatch):
    path = written(crane(), tmp_path)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    report = verify(crane(), path, libraries=["pinocchio", "MuJoCo"])
    assert report.verdict == "passed with pinocchio; without MuJoCo"
    (absent,) = report.rows_of("MuJoCo")
    assert (absent.outcome, absent.reason) == (Outcome.NOT_INSTALLED, ADVICE)
    assert f"MuJoCo not installed: {ADVICE}" in unfolded(shown(report))


def test_nothing_proves_nothing(tmp_path, monkeypatch):
    path = written(crane(), tmp_path)
    for module in READERS.values():
        monkeypatch.setitem(sys.modules, module, None)
    report = verify(crane(), path)
    assert not report.failures
    assert not report.passed
    assert report.verdict == f"nothing was compared: {ADVICE}"
    assert "passed" not in shown(report)


def test_the_verdict_names_the_libraries_and_below_what_they_compared(tmp_path):
    report = report_of(crane(), tmp_path)
    assert report.verdict == "passed with pinocchio, MuJoCo"
    assert report.subjects("pinocchio") == (
        *("tree", "limits", "kinematics", "masses", "dynamics", "shapes"),
    )
    text = unfolded(shown(report))
    assert "MuJoCo compared tree, limits, kinematics, masses, dynamics, shapes" in text
    assert "nearest to its tolerance: " in text


def sabotaged(tmp_path):
    """Return the report of a URDF whose boom is heavier, farther away and of another size."""
    links = tuple(
        replace(x, mass=x.mass * 1.0001, X_PL=Pose(p=x.X_PL.p + 3.0, R=x.X_PL.R), collision=())
        if x.name == "BOOM"
        else x
        for x in crane().links
    )
    return verify(replace(crane(), links=links), written(crane(), tmp_path))


@pytest.mark.parametrize("good", [True, False], ids=["right", "wrong"])
def test_the_table_fits_its_width_with_every_number_whole(good, tmp_path):
    report = report_of(crane(), tmp_path) if good else sabotaged(tmp_path)
    check_each([80, 100, 200], lambda width: check_table(report, width, good))


def check_table(report, width, good):
    lines = shown(report, width).splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    text = unfolded(" ".join(lines))
    for found in report.rows:
        if found.outcome is not Outcome.FAILED:
            assert found.quantity in text
            assert found.reason in text
    (masses,) = (line for line in lines if line.startswith("total mass"))
    assert masses.split()[-1] == "1e-9"
    assert len(re.findall("FAILED", masses)) == (0 if good else 2)


def test_failures_come_first_in_red_with_link_and_library(tmp_path):
    report = sabotaged(tmp_path)
    lines = shown(report, 200).splitlines()
    assert lines[0].rstrip() == "URDF against the model: FAILED"
    last = max(i for i, line in enumerate(lines) if line.startswith("FAILED"))
    assert last < lines.index(next(line for line in lines if line.startswith("largest diff")))
    told = "\n".join(lines[: last + 1])
    masses = "total mass (pinocchio {0}, MuJoCo {0}): the whole robot"
    assert re.search(re.escape(masses).replace(r"\{0\}", r"\de-\d"), told), told
    assert "mass of link 'BOOM'" in told
    assert "link 'BOOM' has 1 collision shapes, not 0" in told
    for found in report.failures:
        assert found.where in told
    red = "\x1b[1;37;41mFAILED"
    assert shown(report, 200, color=True).count(red) > len(report.failures)


def test_a_loss_of_everything_is_told_by_every_library(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text("<robot name='crane'/>")
    text = shown(verify(crane(), path))
    for library in LIBRARIES:
        absent = f"{library} not installed" in unfolded(text)
        assert absent or re.search(rf"^FAILED [^(]*\([^)]*{library}", text, re.M), library


@all_cases(
    ("difference", "cell"),
    [(0.0, "0"), (2.3e-16, "2e-16"), (3e-4, "3e-4"), (0.84, "0.84"), (15.2, "15"), (5e6, "5e6")],
)
def test_numbers_are_as_short_as_they_can_be(difference, cell):
    found = Row("x", "total mass", Outcome.PASSED, difference, 1e9, "the whole robot", 1)
    text = shown(Report((found,)))
    (line,) = (line for line in text.splitlines() if line.startswith("total mass"))
    assert line.split() == ["total", "mass", cell, "1e9"]


def test_names_in_brackets_are_names(tmp_path):
    found = Row("x", "total mass", Outcome.FAILED, 1.0, 1e-9, "link '[red]'", 1, "[/] [bold]")
    assert "link '[red]'; [/] [bold]" in shown(Report((found,)))
