"""Who may import whom, how long things may be, and whether the public names exist."""

import ast
import importlib
import re
from pathlib import Path

import pytest
from paths import ROOT

PACKAGES = ("hrp_model", "hrp_sim", "hrp_msgs", "hrp_ros")
ROS = {
    "rclpy", "ament_index_python", "tf2_ros", "tf2_msgs", "builtin_interfaces", "rcl_interfaces",
    "rosgraph_msgs", "std_msgs", "geometry_msgs", "nav_msgs", "sensor_msgs", "trajectory_msgs",
    "diagnostic_msgs", "std_srvs", "simulation_interfaces", "control_msgs", "hrp_msgs",
}  # fmt: skip
MODULES = sorted(p for top in PACKAGES for p in (ROOT / top).rglob("*.py"))
SOURCES = sorted([*MODULES, *(ROOT / "hrp_sim").rglob("*.[ch]"), *(ROOT / "test").rglob("*.py")])
READERS = ("vrml", "choreonoid", "urdf")
MAX_FILE_LINES = 600  # what one reads in a sitting
MAX_FUNCTION_LINES = 70


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(path: Path) -> set[str]:
    """Return the absolute dotted names of everything a module imports."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join([*base, *([node.module] if node.module else [])])
            found.update(f"{stem}.{alias.name}" for alias in node.names)
    return found


def uses(names: set[str], prefix: str) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for name in names)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_inward(path):
    names = imported(path)
    parts = path.relative_to(ROOT).parts
    # Names of topics and words for people are the parts of hrp_msgs that are no ROS.
    plain = ("hrp_msgs.names", "hrp_msgs.sanitize")
    tops = {name.split(".")[0] for name in names if not any(uses({name}, p) for p in plain)}
    is_node = path.name in {"node.py", "services.py"} or "ros" in parts
    if parts[0] != "hrp_msgs" and not is_node:
        assert not tops & ROS, "ROS belongs in hrp_msgs/ and in nodes"
    if parts[0] == "hrp_msgs":
        assert not tops & {"hrp_model", "hrp_sim"}, "messages know neither model nor simulation"
    if parts[:2] != ("hrp_sim", "ode"):
        assert not uses(names, "hrp_sim.ode._core"), "ODE belongs in hrp_sim/ode/"
    if parts[:2] != ("hrp_sim", "pyode"):
        assert not uses(names, "ode"), "PyODE belongs in hrp_sim/pyode/"
    if parts[0] == "hrp_model":
        assert "hrp_sim" not in tops, "the model does not know the simulation"
    if parts[0] == "hrp_sim":
        for inner in (*(f"hrp_model.readers.{name}" for name in READERS), "hrp_model.urdf"):
            assert not uses(names, inner), f"the simulation does not know {inner}"
    if parts[:2] == ("hrp_model", "readers") and parts[2] in READERS:
        for other in set(READERS) - {parts[2]}:
            assert not uses(names, f"hrp_model.readers.{other}"), "readers never import each other"


# hrp_msgs has processes that others read, and a build tool: no names of models get there.
STREAM_WRITERS = {"hrp_model/program/console.py"}


def writes_to_streams(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func)
    return called in ("print", "Console", "rich.print", "rich.console.Console") or re.fullmatch(
        r"sys\.(stdout|stderr)(\.buffer)?\.write(lines)?", called
    )


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_all_that_programs_print_goes_through_one_console(path):
    if path.relative_to(ROOT).parts[0] == "hrp_msgs" or name_of(path) in STREAM_WRITERS:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [node.lineno for node in ast.walk(tree) if writes_to_streams(node)] == []
    assert not uses(imported(path), "rich.console.Console")


def test_entry_points_import_next_to_nothing():
    """Ctrl-C before there is a handler would be a traceback."""
    assert imported(ROOT / "hrp_ros" / "programs.py") == {"os", "signal", "sys"}
    assert imported(ROOT / "hrp_ros" / "__init__.py") == set()


def test_the_body_has_no_word_of_a_file_format():
    text = (ROOT / "hrp_model" / "body.py").read_text(encoding="utf-8").lower()
    assert not [
        word for word in ("vrml", "yaml", "openhrp", "choreonoid", ".wrl", "urdf") if word in text
    ]


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_files_and_functions_stay_short(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_FILE_LINES
    if path.suffix != ".py":
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{node.name} has {length} lines"


@pytest.mark.parametrize("package", ["hrp_model", "hrp_sim"])
def test_every_public_name_exists(package):
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
