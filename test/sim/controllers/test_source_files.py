"""Source files of controllers: which modules count, without executing any."""

import pytest

from hrp_sim import ControllerEntry
from hrp_sim.control.controllers.classes import read_sources

FILES = {
    "main.py": "import os, json, gait\nfrom parts.arm import hand as h\nraise SystemExit\n",
    "gait.py": "import not_there\nfrom space import deep\nfrom parts import *\n",
    "unused.py": "",
    "json/__init__.py": "",
    "json.py": "",  # a package comes first
    "parts/__init__.py": "from .arm import finger\n",
    "parts/arm/__init__.py": "",
    "parts/arm/hand.py": "from .. import leg\nfrom ..leg import x\n",
    "parts/arm/finger.py": "import gait",
    "parts/leg.py": "this is no code",
    "parts/unused.py": "",
    "space/deep.py": "",  # below a folder that is no package
}
UNUSED = {"unused.py", "json.py", "parts/unused.py"}


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a controller and modules below 'own'."""
    for name, code in FILES.items():
        path = tmp_path / "own" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    return tmp_path


def test_imported_modules_below_the_folder_count(folder):
    found = read_sources(ControllerEntry(class_name="own/main.py:A", body="b", folder=folder))
    expected = FILES.keys() - UNUSED
    assert found == {f"own/{name}": FILES[name].encode() for name in expected}


@pytest.mark.parametrize("name", ["missing.py:A", "own.main:A", "os:A"])
def test_without_a_file_there_are_none(folder, name):
    assert read_sources(ControllerEntry(class_name=name, body="b", folder=folder)) == {}
