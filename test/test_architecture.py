"""Who may import whom, how the packages are divided, and whether the public names exist."""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from code_tools import import_statements, tree_of
from each_case import all_cases
from paths import ROOT

PACKAGES = ("hrp_model", "hrp_sim", "hrp_msgs", "hrp_ros")
ROS = {
    "rclpy", "ament_index_python", "tf2_ros", "tf2_msgs", "builtin_interfaces", "rcl_interfaces",
    "rosgraph_msgs", "std_msgs", "geometry_msgs", "nav_msgs", "sensor_msgs", "trajectory_msgs",
    "diagnostic_msgs", "std_srvs", "simulation_interfaces", "control_msgs", "hrp_msgs",
    "moveit_msgs", "shape_msgs",
}  # fmt: skip
# Parts of hrp_msgs that need no ROS.
WITHOUT_ROS = tuple(
    f"hrp_msgs.{name}"
    for name in (
        *("names", "qos", "sanitize", "messages", "readings", "convert"),
        "recording",
        *("topics.recorded", "topics.topic", "topics.world"),
    )
)
MODULES = sorted(p for top in PACKAGES for p in (ROOT / top).rglob("*.py"))
READERS = tuple(
    f"hrp_model.readers.{name}"
    for name in ("vrml", "choreonoid", "urdf", "xacro", "mjcf", "sdf", "collada")
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def package_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).parts[:-1])


@cache
def imported(path: Path) -> frozenset[str]:
    """Return the absolute dotted names of everything a module imports."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    found: set[str] = set()
    for node in import_statements(tree_of(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        else:
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join([*base, *([node.module] if node.module else [])])
            found.update(f"{stem}.{alias.name}" for alias in node.names)
    return frozenset(found)


def lies_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def imports_of(
    forbidden: tuple[str, ...], *, where: str = "", beside: tuple[str, ...] = ()
) -> list[str]:
    """Return "module imports name" for what lies in one package but not in others."""
    return [
        f"{name_of(path)} imports {name}"
        for path in MODULES
        if lies_in(package_of(path), where) or not where
        if not any(lies_in(package_of(path), other) for other in beside)
        for name in sorted(imported(path))
        if any(lies_in(name, package) for package in forbidden)
    ]


def test_ros_is_imported_in_hrp_msgs_and_in_packages_named_ros():
    found = [
        f"{name_of(path)} imports {name}"
        for path in MODULES
        if package_of(path).split(".")[0] != "hrp_msgs" and path.parent.name != "ros"
        for name in sorted(imported(path))
        if name.split(".")[0] in ROS and not any(lies_in(name, plain) for plain in WITHOUT_ROS)
    ]
    assert found == []


# What only some packages may import: (what, where that is looked for; "" is everywhere, but where).
ONE_PLACE = {
    "messages know neither model nor simulation": (("hrp_model", "hrp_sim"), "hrp_msgs", ()),
    "the model does not know the simulation": (("hrp_sim",), "hrp_model", ()),
    "the simulation knows no model format": ((*READERS, "hrp_model.urdf"), "hrp_sim", ()),
    "formats of projects": (
        ("hrp_sim.world.projects.choreonoid",), "", ("hrp_sim.world.projects",)
    ),
    "ODE": (("hrp_sim.engine.ode._core",), "", ("hrp_sim.engine.ode",)),
    "PyODE": (("ode",), "", ("hrp_sim.engine.pyode",)),
    "encoders of films": (("imageio_ffmpeg",), "", ("hrp_sim.recording.video",)),
    "formats of recordings": (("mcap", "rosbags"), "", ("hrp_msgs.messages", "hrp_msgs.recording")),
    "plots": (("matplotlib",), "", ("hrp_sim.recording", "hrp_sim.lab.studies")),
    "datasets": (("xarray",), "", ("hrp_sim.lab.sweeps",)),
    "clusters": (("distributed",), "", ("hrp_sim.cli",)),
    "Parquet": (("pyarrow",), "", ("hrp_sim.lab.studies",)),
    "xacro": (("xacro",), "", ("hrp_model.readers.xacro",)),
    "MuJoCo": (
        ("mujoco",),
        "",
        ("hrp_model.readers.mjcf", "hrp_model.verify", "hrp_sim.lab.certificate"),
    ),
    "Gymnasium": (("gymnasium",), "", ("hrp_sim.lab.gym",)),
    "pytest": (("pytest", "_pytest", "hrp_ros.testing"), "", ("hrp_ros.testing",)),
    "the benchmark": (("hrp_sim.lab.benchmark",), "", ("hrp_sim.lab.benchmark", "hrp_sim.cli")),
    "the console": (("rich.console.Console",), "", ("hrp_model.program",)),
    **{f"reader {r}": (tuple(set(READERS) - {r}), r, ()) for r in READERS},
}  # fmt: skip


@all_cases("rule", ONE_PLACE)
def test_it_is_imported_in_its_packages_alone(rule):
    what, where, beside = ONE_PLACE[rule]
    assert imports_of(what, where=where, beside=beside) == []


def test_viser_is_imported_in_packages_named_view():
    found = [text for text in imports_of(("viser",)) if "/view/" not in text.split()[0]]
    assert found == []


# hrp_msgs has processes that others read, and a build tool: no names of models get there.
STREAM_WRITERS = {"hrp_model/program/console.py"}


def writes_to_streams(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func)
    return called in ("print", "Console", "rich.print", "rich.console.Console") or bool(
        re.fullmatch(r"sys\.(stdout|stderr)(\.buffer)?\.write(lines)?", called)
    )


def test_all_that_programs_print_goes_through_one_console():
    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        if not lies_in(package_of(path), "hrp_msgs") and name_of(path) not in STREAM_WRITERS
        for node in ast.walk(tree_of(path))
        if writes_to_streams(node)
    ]
    assert found == []


def test_all_log_with_the_two_loggers_that_nodes_forward():
    """Loggers below these do not propagate if ROS's launch was imported before."""
    own = re.compile(r"getLogger\((?!\"hrp_(?:model|sim)\"\))(?:__name__|\"hrp_)")
    found = [name_of(path) for path in MODULES if own.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_entry_points_import_next_to_nothing():
    """Ctrl-C before there is a handler would be a traceback."""
    assert imported(ROOT / "hrp_ros" / "programs.py") == {"os", "signal", "sys"}
    assert imported(ROOT / "hrp_ros" / "__init__.py") == set()


def test_the_body_has_no_word_of_a_file_format():
    text = (ROOT / "hrp_model" / "body.py").read_text(encoding="utf-8").lower()
    assert not [
        word for word in ("vrml", "yaml", "openhrp", "choreonoid", ".wrl", "urdf") if word in text
    ]


def rooms(top: str) -> dict[str, set[str]]:
    """Return which modules and packages at the top of a package import which others."""
    names = {
        p.stem for p in (ROOT / top).iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    names -= {"__init__"}
    found: dict[str, set[str]] = {name: set() for name in names}
    for path in MODULES:
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] != top or parts[1] == "__init__":
            continue
        for name in imported(path):
            inner = name.split(".")[1:2]
            if name.split(".")[0] == top and inner and inner[0] in names - {parts[1]}:
                found[parts[1]].add(inner[0])
    return found


@pytest.mark.parametrize("top", PACKAGES)
def test_packages_import_each_other_in_one_direction(top):
    try:
        TopologicalSorter(rooms(top)).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports in {top}: {' -> '.join(reversed(error.args[1]))}")


def test_modules_of_a_package_import_each_other_in_one_direction():
    for package in {package_of(p) for p in MODULES}:
        modules = {f"{package}.{p.stem}": p for p in MODULES if package_of(p) == package}
        graph = {
            name: {other for other in modules if any(lies_in(x, other) for x in imported(path))}
            for name, path in modules.items()
            if path.stem != "__init__"
        }
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            pytest.fail(f"a circle of imports: {' -> '.join(reversed(error.args[1]))}")


# The entry points must import next to nothing, and the definitions of messages are data.
SINGLE_MODULES = {"hrp_ros", "hrp_msgs/interfaces"}


def packages_of_one_module() -> Iterator[str]:
    for init in MODULES:
        folder = init.parent
        if init.name != "__init__.py" or init.read_text(encoding="utf-8").count("\n") > 10:
            continue
        modules = [p for p in folder.glob("*.py") if p != init]
        packages = [p for p in folder.iterdir() if (p / "__init__.py").exists()]
        if len(modules) + len(packages) <= 1 and not list(folder.glob("*.in")):
            yield name_of(folder)


def test_no_package_has_a_single_module():
    assert set(packages_of_one_module()) <= SINGLE_MODULES


@pytest.mark.parametrize("package", ["hrp_model", "hrp_sim"])
def test_every_public_name_exists(package):
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
