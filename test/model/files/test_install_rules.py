"""Files in the source of a package that CMake installs elsewhere."""

import pytest
from silent_diagnostics import silent

from hrp_model import ModelError, load_body
from hrp_model.files.resources import FileAccess, ResourceError, UnsourcedError, resolve

MANIFEST = "<package format='3'><name>arm_description</name></package>"
ROBOT = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:include filename="$(find arm_description)/urdf/parts.xacro"/>
</robot>
"""
SHARE = "DESTINATION share/${PROJECT_NAME}"


@pytest.fixture
def package(tmp_path):
    """Return a function that writes files of a package, whose lists of CMake have some lines."""

    def write(lines, *files, folder="."):
        top = tmp_path / "ws" / "src" / "arm"
        for file in files:
            (top / file).parent.mkdir(parents=True, exist_ok=True)
            (top / file).write_text("<robot><link name='a'/></robot>", encoding="utf-8")
        (top / "package.xml").write_text(MANIFEST, encoding="utf-8")
        text = f"project(arm_description)\n# install(DIRECTORY no {SHARE})\n{lines}\n"
        (top / folder / "CMakeLists.txt").write_text(text, encoding="utf-8")
        return top

    return write


@pytest.mark.parametrize(
    ("lines", "file"),
    [
        (f"install(DIRECTORY src/urdf {SHARE})", "src/urdf/parts.xacro"),
        (f"INSTALL (DIRECTORY other/ {SHARE}/urdf)", "other/parts.xacro"),
        (f"install(DIRECTORY\n  launch\n  a/urdf/\n  {SHARE}/urdf/\n)", "a/urdf/parts.xacro"),
        (
            'install(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/a/urdf"\n'
            "  DESTINATION ${CATKIN_PACKAGE_SHARE_DESTINATION} PATTERN *.xacro)",
            "a/urdf/parts.xacro",
        ),
        ("install(FILES a/parts.xacro DESTINATION share/arm_description/urdf)", "a/parts.xacro"),
    ],
)
def test_a_file_is_found_where_it_is_installed_from(package, lines, file):
    top = package(lines, file)
    expected = top / file
    assert resolve("package://arm_description/urdf/parts.xacro", top / "robots") == expected
    pytest.importorskip("xacro", reason="xacro is not installed")
    robot = top / "robots" / "r.urdf.xacro"
    robot.parent.mkdir()
    robot.write_text(ROBOT, encoding="utf-8")
    assert [link.name for link in load_body(robot, silent()).links] == ["a"]


def test_folders_have_lists_of_their_own(package):
    top = package(f"install(DIRECTORY urdf {SHARE})", "a/urdf/parts.xacro", folder="a")
    package("add_subdirectory(a)")
    found = resolve("package://arm_description/urdf/parts.xacro", top)
    assert found == top / "a" / "urdf" / "parts.xacro"


@pytest.mark.parametrize(
    "lines",
    [
        f"install(DIRECTORY ${{folders}} {SHARE})",
        "install(DIRECTORY a DESTINATION lib/arm_description/urdf)",
        "install(DIRECTORY a DESTINATION)",
        "install()",
        f"install(DIRECTORY ../../../secret/ {SHARE}/urdf)",
        "add_subdirectory(.)",
        "install(" * 10_000,
        f"install(DIRECTORY {'a ' * 100_000} {SHARE})",
    ],
)
def test_other_rules_are_skipped(package, lines):
    """Without the rule, the workspace is named as the cause."""
    top = package(lines, "b/parts.xacro")
    secret = top.parents[2] / "secret"
    secret.mkdir()
    (secret / "parts.xacro").write_text("", encoding="utf-8")
    access = FileAccess((top,), sandboxed=True)
    with pytest.raises(UnsourcedError, match="no sourced workspace"):
        resolve("package://arm_description/urdf/parts.xacro", top, access)


def test_what_may_be_built_is_not_called_a_wrong_path(package):
    top = package("", "robots/r.urdf")
    mesh = '<mesh filename="package://arm_description/meshes/a.stl"/>'
    text = f'<robot name="r"><link name="a"><visual><geometry>{mesh}</geometry></visual>'
    (top / "robots" / "r.urdf").write_text(f"{text}</link></robot>", encoding="utf-8")
    found = silent()
    load_body(top / "robots" / "r.urdf", found)
    assert "unsourced-package" in [d.code for d in found.found]
    (top / "robots" / "r.urdf").write_text(
        f"{text}</link></robot>".replace("package://arm_description/", ""), encoding="utf-8"
    )
    found = silent()
    load_body(top / "robots" / "r.urdf", found)
    assert "missing-resource" in [d.code for d in found.found]


def test_installed_packages_are_complete(tmp_path, monkeypatch):
    share = tmp_path / "share" / "arm_description"
    share.mkdir(parents=True)
    (share / "package.xml").write_text(MANIFEST, encoding="utf-8")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    with pytest.raises(ResourceError) as caught:
        resolve("package://arm_description/urdf/parts.xacro", tmp_path)
    assert not isinstance(caught.value, UnsourcedError)


def test_a_model_in_a_package_that_is_not_found_names_the_workspace():
    with pytest.raises(ModelError, match="is its workspace sourced"):
        load_body("package://no_such_description/r.urdf", silent())
