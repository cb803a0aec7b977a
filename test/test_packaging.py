"""What gets installed: the contents of wheel and sdist, their dependencies, and package.xml."""

import ast
import configparser
import email
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest
from code_tools import import_statements, tree_of
from each_case import all_cases
from paths import ROOT

import hrp_model.cli.main
import hrp_sim.cli.main
from hrp_msgs.messages import CLASSES

PACKAGES = ("hrp_model", "hrp_sim", "hrp_msgs", "hrp_ros")
SHARED_FOLDERS = ("launch", "config", "models")
# What we import that is not ROS: its name on PyPI, and its rosdep key where it has one.
LIBRARIES = {
    "PIL": ("Pillow", "python3-pil"),
    "moderngl": ("moderngl", None),
    "numpy": ("numpy", "python3-numpy"),
    "re2": ("google-re2", None),
    "argcomplete": ("argcomplete", "python3-argcomplete"),
    "rich": ("rich", "python3-rich"),
    "tomli": ("tomli", None),  # on Python 3.10, and only for settings of hrp-model check
    "urdf_parser_py": ("urdf-parser-py", "urdfdom_py"),
    "yaml": ("PyYAML", "python3-yaml"),
}
# Tools that do more when these are there: the name on PyPI, and the extra that brings it.
OPTIONAL = {
    "mujoco": ("mujoco", "verify"),
    "scipy": ("scipy", "verify"),
    "pinocchio": ("pin", "verify"),
    "viser": ("viser", "view"),
    "mcap": ("mcap", "record"),
    "rosbags": ("rosbags", "record"),
    "lz4": ("lz4", "record"),
    "zstandard": ("zstandard", "record"),
    "matplotlib": ("matplotlib", "record"),
    "xarray": ("xarray", "sweep"),
    "cloudpickle": ("cloudpickle", "sweep"),
    "gymnasium": ("gymnasium", "gym"),
    "pytest": ("pytest", "pytest"),
    "_pytest": ("pytest", "pytest"),
    "distributed": ("distributed", "sweep"),
    "pyarrow": ("pyarrow", "sweep"),
    "imageio_ffmpeg": ("imageio-ffmpeg", "record"),
}
# The second engine needs it, and says so: apt install python3-pyode.
BY_HAND = {"ode"}
# Import names that differ from those on PyPI.
TEST_NAMES = {name: distribution for name, (distribution, _) in OPTIONAL.items()}
# No rosdep key brings these; the tests that use them skip without them.
PYPI_ONLY = {*OPTIONAL, "coacd", "cyclonedds", "distributed", "embreex", "mpi4py", "playwright"}
PYPI_ONLY |= {"trimesh", "yourdfpy"}
PYPI_ONLY -= {"scipy"}


class Wheel:
    """A wheel of this package, opened."""

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path) as archive:
            self.files = {name: archive.read(name) for name in archive.namelist()}
        self.metadata = email.message_from_bytes(self._info("METADATA"))
        self.scripts = configparser.ConfigParser()
        self.scripts.read_string(self._info("entry_points.txt").decode())

    def _info(self, name: str) -> bytes:
        (found,) = (f for f in self.files if f.endswith(f".dist-info/{name}"))
        return self.files[found]

    def extra(self, name: str) -> set[str]:
        """Return what an extra requires."""
        pattern = rf"extra == ['\"]{name}['\"]"
        lines = self.metadata.get_all("Requires-Dist")
        return {_distribution(line) for line in lines if re.search(pattern, line)}

    def shared(self) -> dict[str, bytes]:
        """Return what goes to share/hrp_ros, by its path there."""
        place = ".data/data/share/hrp_ros/"
        return {name.split(place)[1]: c for name, c in self.files.items() if place in name}


def _distribution(requirement: str) -> str:
    return normal(re.split(r"[^\w.-]", requirement)[0])


@pytest.fixture(scope="module")
def source(tmp_path_factory, quick_compiler):
    """A copy of the source tree."""
    if not (find_spec("wheel") or find_spec("setuptools.command.bdist_wheel")):
        pytest.skip("no wheel can be built: neither wheel nor setuptools >= 70.1 is installed")
    folder = tmp_path_factory.mktemp("source")
    unwanted = shutil.ignore_patterns(
        ".*", "__pycache__", "build", "install", "log", "*.so", "*.egg-info"
    )
    shutil.copytree(ROOT, folder / "source", ignore=unwanted)
    for name in SHARED_FOLDERS:  # as in a tree where they were run
        (folder / "source" / name / "__pycache__").mkdir()
        (folder / "source" / name / "__pycache__" / "old.pyc").touch()
    return folder / "source"


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # Extensions that are newer than their sources are not compiled once more; colcon does that
    # in test_colcon_self.
    built = folder / "built"
    for extension in (path for package in PACKAGES for path in (ROOT / package).rglob("*.so")):
        place = built / extension.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(extension, place)
    setup(source, "build", "--build-lib", str(built), "bdist_wheel", "-d", str(folder))
    (path,) = folder.glob("*.whl")
    return Wheel(path)


@pytest.fixture(scope="module")
def sdist(source, tmp_path_factory):
    """The unpacked sdist."""
    folder = tmp_path_factory.mktemp("sdist")
    setup(source, "sdist", "-d", str(folder))
    (path,) = folder.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(folder)
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    return unpacked


def setup(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "setup.py", "-q", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def manifest():
    return ElementTree.parse(ROOT / "package.xml").getroot()


@cache
def imports(folder: str) -> frozenset[str]:
    """Return the top-level names that the modules below a folder import from elsewhere."""
    found: set[str] = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in import_statements(tree_of(path)):
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return frozenset(found - sys.stdlib_module_names - set(PACKAGES))


def texts(manifest: ElementTree.Element, *tags: str) -> set[str]:
    return {e.text or "" for tag in tags for e in manifest.findall(tag)}


def normal(name: str) -> str:
    return name.lower().replace("_", "-")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# The wheel.


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_is_in_the_wheel(wheel, package):
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / package).rglob("*.py")}
    assert modules == {f for f in wheel.files if f.startswith(f"{package}/") and f.endswith(".py")}


@pytest.mark.parametrize(
    "name",
    [
        "hrp_msgs/convert/_cdr",
        "hrp_msgs/node/_sender",
        "hrp_sim/engine/ode/_core",
        "hrp_sim/sensors/_probe",
        "hrp_model/collision/_hull",
        "hrp_model/kinematics/_dynamics",
        "hrp_model/readers/_numbers",
        "hrp_model/readers/yaml/_yaml",
    ],
)
def test_the_extensions_are_in_the_wheel(wheel, name):
    assert [f for f in wheel.files if re.fullmatch(rf"{name}\.[^/]*(so|pyd)", f)]


def test_the_data_that_modules_read_is_in_the_wheel(wheel):
    code = {".py", ".pyc", ".c", ".h", ".so"}
    found = (p for package in PACKAGES for p in (ROOT / package).rglob("*") if p.is_file())
    data = {str(p.relative_to(ROOT)) for p in found if p.suffix not in code}
    # Without the last one colcon would take them for packages wherever an installed tree lies in a
    # workspace.
    kinds = {
        "builtin.wrl",
        "codes.csv",
        "TFMessage.msg",
        "py.typed",
        "generate.cmake",
        "COLCON_IGNORE",
        "page.css",
        "page.js",
        "scene.html",
    }
    assert kinds <= {Path(name).name for name in data}
    assert data <= wheel.files.keys()


@pytest.mark.parametrize("folder", SHARED_FOLDERS)
def test_a_shared_folder_is_installed_as_it_is(wheel, folder):
    files = {f"{folder}/{k}": v for k, v in tree(ROOT / folder).items() if "__pycache__" not in k}
    assert files
    assert {k: v for k, v in wheel.shared().items() if k.startswith(f"{folder}/")} == files


def test_ament_finds_the_package(wheel):
    assert wheel.shared()["package.xml"] == (ROOT / "package.xml").read_bytes()
    assert [
        f for f in wheel.files if f.endswith("share/ament_index/resource_index/packages/hrp_ros")
    ]


def test_nothing_else_is_in_the_wheel(wheel):
    tops = {name.split("/")[0] for name in wheel.files}
    assert {t for t in tops if not t.startswith("hrp_ros-")} == set(PACKAGES)
    assert not [name for name in wheel.files if "__pycache__" in name]


def test_every_script_has_its_function(wheel):
    scripts = dict(wheel.scripts["console_scripts"])
    assert scripts.keys() == {"hrp-model", "hrp-sim", "model_node", "sim_node", "view_node"}
    for target in scripts.values():
        module, function = target.split(":")
        source = (ROOT / module.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8")
        assert function in {
            n.name for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)
        }


def test_pytest_finds_its_plugin(wheel):
    modules = wheel.scripts["pytest11"].values()
    assert [f"{module.replace('.', '/')}.py" for module in modules] == ["hrp_ros/testing/plugin.py"]


# The sdist.


@pytest.mark.slow
def test_all_sources_are_in_the_sdist(source, sdist):
    made = {"PKG-INFO", "setup.cfg"}  # setuptools adds a section to the latter
    given = {k: v for k, v in tree(source).items() if "__pycache__" not in k}
    given = {k: v for k, v in given.items() if k not in made and ".egg-info/" not in k}
    given = {k: v for k, v in given.items() if not k.startswith("build/")}  # of the wheel
    packed = tree(sdist)
    assert given.keys() - packed.keys() == set()
    assert {k: packed[k] for k in given} == given
    assert not [name for name in packed if "__pycache__" in name]


@pytest.mark.slow
def test_the_wheel_of_the_sdist_is_that_of_the_tree(sdist, wheel, tmp_path):
    """It is built as pip does it, with nothing from a network, and nothing built before."""
    if find_spec("pip") is None:
        pytest.skip("pip is not installed")
    command = [
        sys.executable, "-m", "pip", "-q", "wheel", "--no-index", "--no-deps",
        "--no-build-isolation", "--disable-pip-version-check", "-w", str(tmp_path), str(sdist),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.glob("*.whl")
    again = Wheel(path)
    assert again.files.keys() == wheel.files.keys()
    changed = {name for name in again.files if again.files[name] != wheel.files[name]}
    # Extensions were compiled anew; one file of the wheel lists digests of all others.
    assert {n for n in changed if not n.endswith((".so", ".pyd", ".dist-info/RECORD"))} == set()


# What it says of itself.


def test_versions_agree(wheel, manifest, capsys):
    version = manifest.findtext("version")
    assert wheel.metadata["Version"] == version
    assert hrp_model.__version__ == hrp_sim.__version__ == version
    for main, name in ((hrp_model.cli.main.main, "hrp-model"), (hrp_sim.cli.main.main, "hrp-sim")):
        with suppress(SystemExit):  # argparse has printed it
            main(["--version"])
        assert capsys.readouterr().out == f"{name} {version}\n"
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## \[?(\d+\.\d+\.\d+)", log, re.MULTILINE)
    assert releases[:1] in ([], [version]), "the newest release in the change log is another"


def test_package_xml_is_what_ament_expects(manifest):
    assert manifest.get("format") == "3"
    assert manifest.findtext("export/build_type") == "ament_python"
    assert manifest.findtext("name") == "hrp_ros"
    # Where "ros2 run" looks for the executables of an ament_python package.
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    assert settings["develop"]["script_dir"] == "$base/lib/hrp_ros"
    assert settings["install"]["install_scripts"] == "$base/lib/hrp_ros"


@all_cases(
    "path",
    [ROOT / "package.xml", *sorted(ROOT.glob("hrp_msgs/interfaces/*/package.xml"))],
)
def test_ros_tools_accept_package_xml(path):
    package = pytest.importorskip("catkin_pkg.package", reason="catkin_pkg is not installed")
    warnings: list[str] = []
    package.parse_package(str(path), warnings=warnings)
    assert not warnings


# Dependencies.


def test_pip_installs_what_is_imported_and_no_more(wheel):
    required = {
        _distribution(line)
        for line in wheel.metadata.get_all("Requires-Dist")
        if "extra ==" not in line
    }
    used = set().union(*map(imports, PACKAGES)) & LIBRARIES.keys()
    assert required == {normal(LIBRARIES[name][0]) for name in used}


@pytest.mark.parametrize("name", OPTIONAL)
def test_an_extra_brings_what_is_used_if_present(wheel, name):
    distribution, extra = OPTIONAL[name]
    assert name in set().union(*map(imports, PACKAGES))
    assert distribution in wheel.extra(extra)


def test_the_extra_all_brings_what_any_command_uses(wheel):
    others = {"all", "docs", "learn", "ros", "test", "test-ros"}
    extras = set(wheel.metadata.get_all("Provides-Extra")) - others
    assert wheel.extra("all") == set.union(*map(wheel.extra, extras))


def test_every_extra_for_users_is_documented(wheel):
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)
    extras = set(wheel.metadata.get_all("Provides-Extra"))
    assert set(named) == extras - {"docs", "test", "test-ros"}


def test_the_extra_ros_is_what_the_set_up_installs(wheel):
    file = ROOT / "hrp_msgs" / "interfaces" / "requirements-jazzy.txt"
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    assert wheel.extra("ros") == {_distribution(line) for line in lines}


def test_the_description_shows_nothing_that_only_the_sources_have(wheel):
    metadata = wheel.metadata
    text = metadata.get_payload() or metadata["Description"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert text.startswith("# hrp_ros\n")
    assert "<img" not in text
    assert re.findall(r"\]\((?!https?:)[^)\s]*\)", text) == []


def test_rosdep_installs_what_is_imported_and_no_more(manifest):
    names = set().union(*map(imports, (*PACKAGES, "launch"))) - OPTIONAL.keys() - BY_HAND
    names |= {*CLASSES, "simulation_interfaces"}  # imported by their names
    # What is not known as a library is a ROS package, and its key is its name.
    keys = {LIBRARIES[name][1] if name in LIBRARIES else name for name in names} - {None}
    # Linked by the extensions; started by launch files; what starts these.
    by_other_ways = {"opende", "libyaml", "libqhull"}
    by_other_ways |= {"rviz2", "joint_state_publisher_gui", "ros2launch"}
    assert texts(manifest, "exec_depend", "depend") == keys | by_other_ways
    assert texts(manifest, "build_depend", "depend") >= {"opende", "libyaml-dev", "libqhull"}


def modules_of_tests():
    paths = [*(ROOT / "test").rglob("*"), ROOT / "scripts"]
    return {path.stem for path in paths if path.suffix == ".py" or path.is_dir()}


@pytest.mark.slow
def test_what_tests_import_is_declared(wheel, manifest):
    extra = wheel.extra("test")
    local = modules_of_tests()
    local.add("atheris")  # no test needs it; scripts/fuzz.sh installs it
    local.add("tf2_ros")  # tested where a ROS 2 is installed
    local |= {"pybullet", "pydrake"}  # compared with where they are installed
    ros = texts(manifest, "exec_depend", "depend")
    used = imports("test") - local - LIBRARIES.keys() - ros
    assert used
    assert {normal(TEST_NAMES.get(name, name)) for name in used} - extra == set()
    keys = {f"python3-{normal(name)}" for name in used - PYPI_ONLY}
    assert keys - texts(manifest, "test_depend") == set()


def test_an_extra_brings_what_tests_with_ros_need(wheel, manifest):
    extra = wheel.extra("test-ros")
    assert extra < wheel.extra("test")
    local = modules_of_tests()
    ros = texts(manifest, "exec_depend", "depend")
    used = (imports("test/ros") | imports("test/msgs")) - local - LIBRARIES.keys() - ros
    assert {normal(name) for name in used} - extra == set()
