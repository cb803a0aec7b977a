"""hrp-model urdf --package: what the user is told, and that the command can be given again."""

import json
import shlex
from xml.etree import ElementTree

import pytest
from command_tools import everything_in
from paths import MODELS

from hrp_model.cli.main import _parser, main


def test_a_package_is_written_and_proved(model, tmp_path, capsys):
    package = tmp_path / "arm_description"
    path = model()
    assert main(["urdf", path, "--package", str(package), "--verify"]) == 0
    assert "passed" in capsys.readouterr().out
    assert (package / "package.xml").is_file()
    (package / "urdf" / "mine.urdf").write_text("<robot/>")  # it is none of ours
    (package / "srdf" / "mine.srdf").write_text("<robot/>")
    assert main(["urdf", path, "--package", str(package), "--verify"]) == 0
    assert "passed" in capsys.readouterr().out
    urdf = package / "urdf" / "arm.urdf"
    uris = [m.get("filename") for m in ElementTree.parse(urdf).getroot().iter("mesh")]
    assert uris
    assert all(uri.startswith("package://arm_description/") for uri in uris)


def test_a_package_of_a_doubtful_model_is_refused_when_strict(model, tmp_path, capsys):
    package = tmp_path / "arm_description"
    arguments = ["urdf", model(), "--package", str(package), "--strict"]
    assert main([*arguments, "--link-naming", "segment"]) == 1
    assert "[no-segment]" in capsys.readouterr().err
    assert everything_in(tmp_path) == ["arm.body"]


def made_by(package):
    """Return the options by which a package says that it was made, from both places."""
    (line,) = (x for x in (package / "README.md").read_text().splitlines() if "hrp-model " in x)
    words = shlex.split(line)
    assert words[:5] == ["hrp-model", "urdf", "MODEL", "--package", package.name]
    assert json.loads((package / ".hrp_model.json").read_text())["options"] == words[5:]
    return words[5:]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--ros2-control", "mock"],
        ["--ros2-control", "gz", "--gazebo", "--command-interface", "velocity"],
        ["--mujoco", "--glb-up", "y", "--collision", "box"],
        ["--link-naming", "joint", "--base", "base_footprint", "--frame-prefix", "r1/"],
    ],
)
def test_a_package_knows_the_command_that_makes_it_again(arguments, model, tmp_path):
    path, package, again = (
        model(),
        tmp_path / "arm_description",
        tmp_path / "again" / "arm_description",
    )
    assert main(["urdf", path, "--package", str(package), *arguments]) == 0
    assert main(["urdf", path, "--package", str(again), *made_by(package)]) == 0
    for one in sorted(x for x in package.rglob("*") if x.is_file()):
        assert one.read_bytes() == (again / one.relative_to(package)).read_bytes()
    given, noted = (
        vars(_parser().parse_args(["urdf", "m", *words])) for words in (arguments, made_by(package))
    )
    assert noted == given


def written(package, launch="display.launch.py"):
    """Return what is reported of a package that was written."""
    return (
        f"wrote package {package.name} in {package}\n"
        "next, in the root of its workspace: "
        f"colcon build --packages-select {package.name} && source install/setup.bash && "
        f"ros2 launch {package.name} {launch}\n"
    )


def test_a_package_has_the_name_that_was_given(model, tmp_path, capsys, monkeypatch):
    path = model()
    monkeypatch.chdir(tmp_path)
    assert main(["urdf", path, "--package", "my_robot"]) == 0
    assert capsys.readouterr().err == written(tmp_path / "my_robot")
    manifest = ElementTree.parse(tmp_path / "my_robot" / "package.xml")
    assert manifest.findtext("name") == "my_robot"
    assert (tmp_path / "my_robot" / "urdf" / "my_robot.urdf").is_file()
    monkeypatch.chdir(tmp_path / "my_robot")
    assert main(["urdf", path, "--package", "."]) == 0
    assert capsys.readouterr().err == written(tmp_path / "my_robot")


def test_what_is_added_to_a_package_is_started_next(tmp_path, capsys):
    rover = str(MODELS / "rover" / "rover.body")
    assert main(["urdf", rover, "--package", str(tmp_path / "rover"), "--nav2"]) == 0
    assert written(tmp_path / "rover", "nav2.launch.py") in capsys.readouterr().err


@pytest.mark.parametrize("name", ["My Robot", "p", "my-robot", "2legs"])
def test_a_name_that_ros_has_no_packages_of_is_refused(name, model, tmp_path, capsys):
    assert main(["urdf", model(), "--package", str(tmp_path / name)]) == 2
    assert f"'{name}' is not a valid name of a ROS package" in capsys.readouterr().err
    assert everything_in(tmp_path) == ["arm.body"]


def test_only_a_package_has_a_base_link_unless_it_is_asked_for(model, tmp_path, capsys):
    def root(*words):
        assert main(["urdf", model(), *words]) == 0
        text = capsys.readouterr().out
        for path in (tmp_path / "robot").rglob("*.urdf"):
            text = path.read_text(encoding="utf-8")
        links = ElementTree.fromstring(text).findall("link")
        return links[0].get("name")

    own = root()
    assert own != "base_link"
    assert root("--base", "auto") == "base_link"
    package = ["--package", str(tmp_path / "robot")]
    assert root(*package) == "base_link"
    assert root(*package, "--base", "none") == own


def test_files_that_go_are_told(model, tmp_path, capsys):
    path, package = model(), tmp_path / "arm_description"
    assert main(["urdf", path, "--package", str(package), "--ros2-control", "mock"]) == 0
    assert capsys.readouterr().err == written(package)
    assert main(["urdf", path, "--package", str(package), "--collision", "box"]) == 0
    told = capsys.readouterr().err
    removed = "config/controllers.yaml, launch/ros2_control.launch.py, 1 mesh file"
    assert told == f"removed from {package}: {removed}\n{written(package)}"
    assert main(["urdf", path, "--package", str(package), "--collision", "box"]) == 0
    assert capsys.readouterr().err == written(package)


def test_a_manifest_that_was_changed_is_told_what_it_lacks(model, tmp_path, capsys):
    path, package = model(), tmp_path / "arm_description"
    arguments = ["urdf", path, "--package", str(package)]
    assert main(arguments) == 0
    capsys.readouterr()
    manifest = package / "package.xml"
    licensed = manifest.read_text().replace("NOASSERTION", "MIT")
    manifest.write_text(licensed)
    assert main([*arguments, "--strict"]) == 0  # nothing is amiss
    assert capsys.readouterr().err == written(package)
    control = ["--ros2-control", "mock"]
    assert main([*arguments, *control]) == 0
    told = capsys.readouterr().err
    assert "[incomplete-file]" in told
    needs = ["controller_manager", "hardware_interface", "joint_state_broadcaster"]
    lines = [f"<exec_depend>{need}</exec_depend>" for need in needs]
    assert all(line in told for line in lines)
    assert manifest.read_text() == licensed
    complete = ElementTree.parse(manifest)
    for line in told.split("but lacks ")[1].split(" [")[0].split(", "):
        complete.getroot().append(ElementTree.fromstring(line))
    complete.write(manifest)
    assert main([*arguments, *control, "--strict"]) == 0
    assert capsys.readouterr().err == written(package)


def test_a_build_file_that_was_changed_is_told_what_it_lacks(model, tmp_path, capsys):
    path, package = model(), tmp_path / "arm_description"
    arguments = ["urdf", path, "--package", str(package), "--ros2-control"]
    assert main([*arguments, "mock"]) == 0
    capsys.readouterr()
    build = package / "CMakeLists.txt"
    build.write_text(f"{build.read_text()}# mine\n")
    assert main([*arguments, "mock"]) == 0
    assert capsys.readouterr().err == written(package)
    assert main([*arguments, "gz", "--frame-prefix", "r_"]) == 0
    told = capsys.readouterr().err
    assert f"{build} was edited by hand and is kept, but lacks DIRECTORY worlds" in told


def test_a_manifest_that_is_none_any_more_is_kept_too(model, tmp_path, capsys):
    path, package = model(), tmp_path / "arm_description"
    assert main(["urdf", path, "--package", str(package)]) == 0
    (package / "package.xml").write_text("<package>")
    assert main(["urdf", path, "--package", str(package)]) == 0
    assert "[kept-file]" in capsys.readouterr().err


def test_a_file_is_no_folder_for_a_package(model, tmp_path, capsys):
    path, file = model(), tmp_path / "file"
    file.write_text("")
    assert main(["urdf", path, "--package", str(file)]) == 2
    told = capsys.readouterr().err
    assert told == f"hrp-model: error: cannot write {file}: it is a file, not a folder\n"


def test_its_readme_tells_of_what_is_there(model, tmp_path):
    path, package = model(), tmp_path / "arm_description"
    assert main(["urdf", path, "--package", str(package)]) == 0
    text = (package / "README.md").read_text()
    assert "2 links, 1 moving joint, 1 sensor or other device." in text
    assert "ros2 launch arm_description display.launch.py\n" in text
    assert "ros2_control.launch.py" not in text
    assert main(["urdf", path, "--package", str(package), "--ros2-control", "mock"]) == 0
    text = (package / "README.md").read_text()
    assert "ros2 launch arm_description ros2_control.launch.py\n" in text
    assert "`ros2_control.launch.py` runs its controllers" in text
