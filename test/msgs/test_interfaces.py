"""The interface packages we build are the official ones, and building them is safe."""

import hashlib
import json
import sys
import sysconfig
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from hrp_msgs.interfaces import build

INTERFACES = Path(build.__file__).parent
# As every ROS 2 since Iron has them; a message of another type is not heard on /tf.
OFFICIAL = {
    "TFMessage": "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
    "TF2Error": "RIHS01_db2485e7d6a0ec75bf087e058ee45df682acc3a621ca7780503d10aac141809a",
}


@pytest.fixture
def share():
    """The share folder of the tf2_msgs that was built into this Python."""
    tf2_msgs = pytest.importorskip("tf2_msgs", reason="tf2_msgs is not installed")
    prefix = Path(sys.prefix)
    if prefix not in Path(tf2_msgs.__file__).parents:
        pytest.skip("this tf2_msgs belongs to an installed ROS 2, it was not built here")
    return prefix / "share" / "tf2_msgs"


@pytest.mark.parametrize("name", OFFICIAL)
def test_the_type_hashes_are_the_official_ones(share, name):
    description = json.loads((share / "msg" / f"{name}.json").read_text(encoding="utf-8"))
    hashes = {h["type_name"]: h["hash_string"] for h in description["type_hashes"]}
    assert hashes[f"tf2_msgs/msg/{name}"] == OFFICIAL[name]


@pytest.mark.parametrize("name", OFFICIAL)
def test_the_type_descriptions_hash_to_that_by_the_rule_of_rihs01(share, name):
    text = (share / "msg" / f"{name}.json").read_text(encoding="utf-8")
    description = json.loads(text)["type_description_msg"]
    parts = [description["type_description"], *description["referenced_type_descriptions"]]
    for field in (field for part in parts for field in part["fields"]):
        del field["default_value"]
    assert (
        f"RIHS01_{hashlib.sha256(json.dumps(description).encode()).hexdigest()}" == OFFICIAL[name]
    )


def test_tf_goes_out_under_the_official_hash(monkeypatch):
    rclpy = pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    messages = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=78)
    node = rclpy.create_node("hashes", context=context, enable_rosout=False)
    try:
        node.create_publisher(messages.TFMessage, "type_of_tf", 1)
        (publisher,) = node.get_publishers_info_by_topic("/type_of_tf")
        if not hasattr(publisher, "topic_type_hash"):
            pytest.skip("this ROS 2 is older than type hashes")
        assert str(publisher.topic_type_hash) == OFFICIAL["TFMessage"]
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


def test_the_error_codes_are_the_official_ones():
    messages = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    codes = ("NO", "LOOKUP", "CONNECTIVITY", "EXTRAPOLATION", "INVALID_ARGUMENT", "TIMEOUT")
    names = [f"{code}_ERROR" for code in (*codes, "TRANSFORM")]
    assert [getattr(messages.TF2Error, name) for name in names] == list(range(7))


def test_a_workspace_with_ros_does_not_see_them():
    assert (INTERFACES / "COLCON_IGNORE").is_file()
    packages = [path.parent for path in INTERFACES.glob("*/package.xml")]
    assert packages
    for package in packages:
        name = ElementTree.parse(package / "package.xml").findtext("name")
        assert name == package.name


def test_a_missing_package_is_told_from_one_that_is_there():
    assert build.is_missing("no_such_package_msgs")
    assert build.is_missing("json")  # there, but without messages


def test_what_is_there_is_not_built_again(monkeypatch):
    monkeypatch.setattr(build, "is_missing", lambda package: False)
    monkeypatch.setattr(build, "build", lambda *_: pytest.fail("nothing is missing"))
    monkeypatch.setattr(build, "adapt_cmake_targets", lambda _: pytest.fail("nothing is missing"))
    assert build.main() == 0


def test_without_a_compiler_it_says_what_is_needed(tmp_path, monkeypatch, capsys):
    (tmp_path / "absent_msgs").mkdir()
    (tmp_path / "absent_msgs" / "package.xml").touch()
    monkeypatch.setattr(build, "HERE", tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    assert build.main() == 1
    said = capsys.readouterr()
    assert said.out == "building the interface package absent_msgs\n"
    assert said.err.startswith("error: absent_msgs could not be built: ")
    assert "are cmake, g++, ninja and the Python headers installed?" in said.err


def test_targets_of_wheels_point_at_this_python(tmp_path):
    cmake = tmp_path / "share" / "geometry_msgs" / "cmake"
    cmake.mkdir(parents=True)
    wheel = "/opt/python/cp311-cp311"
    numpy = f"{wheel}/lib/python3.11/site-packages/numpy/_core/include"
    (cmake / "export.cmake").write_text(f'set(A "{wheel}/include/python3.11;{numpy};/usr/x")\n')
    (cmake / "other.cmake").write_text("set(B /usr/include/python3.11)\n")
    build.adapt_cmake_targets(tmp_path)
    assert (cmake / "export.cmake").read_text() == (
        f'set(A "{sysconfig.get_path("include")};{np.get_include()};/usr/x")\n'
    )
    assert (cmake / "other.cmake").read_text() == "set(B /usr/include/python3.11)\n"
    adapted = (cmake / "export.cmake").read_text()
    build.adapt_cmake_targets(tmp_path)
    assert (cmake / "export.cmake").read_text() == adapted
