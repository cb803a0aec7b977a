"""Files and what they must give: ``y.urdf`` beside the problems in ``y.txt``."""

from each_case import all_cases
from paths import ROOT

from hrp_model import Diagnostics, ModelError, load_body

CORPUS = ROOT / "test" / "data" / "urdf"
INVALID = sorted((CORPUS / "invalid").glob("*.urdf"))


def found_in(path):
    """Return all that is found in a file, and whether there is a body in it."""
    found = Diagnostics.silent()
    try:
        load_body(path, found)
    except ModelError:
        assert found.has_errors
        return found, False
    return found, True


@all_cases("path", INVALID)
def test_an_invalid_file_gives_its_diagnostics(path):
    found, _ = found_in(path)
    expected = path.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    assert [str(d).replace(f"{path.parent}/", "") for d in found.found] == expected


def test_there_are_diagnostics_for_each_file():
    assert [
        path.with_suffix(".urdf") for path in sorted(INVALID[0].parent.glob("*.txt"))
    ] == INVALID


def test_a_valid_file_gives_its_robot_without_a_word():
    found, is_read = found_in(CORPUS / "valid" / "kitchen_sink.urdf")
    assert is_read
    assert [str(d) for d in found.found] == []
