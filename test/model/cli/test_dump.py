"""The dump: its schema, its numbers, and that none of its digits are lost."""

import json
from math import inf

import jsonschema
import numpy as np
import pytest
from paths import ROOT

from hrp_model import devices
from hrp_model.body import (
    Body,
    ExtraJoint,
    ExtraJointType,
    Joint,
    JointType,
    Link,
    Range,
    link_pair,
)
from hrp_model.cli.dump import Posture, dump_body
from hrp_model.geometry import Box, Capsule, Cone, Cylinder, Material, Mesh, Shape, Sphere
from hrp_model.rigid import Pose, rpy_matrix

SCHEMA = json.loads((ROOT / "docs" / "dump-schema.json").read_text(encoding="utf-8"))

R = rpy_matrix(0.1, 0.2, 0.3)
MESH = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
SHAPES = tuple(
    Shape(geometry, Pose(R, [1, 2, 3]).matrix(), Material(name="red"), "part")
    for geometry in (
        Box([1, 2, 3]),
        Sphere(0.1),
        Cylinder(0.1, 2, top=False),
        Cone(0.1, 2),
        Capsule(0.1, 2),
        MESH,
    )
)
CAMERA = {"link": "ARM", "X_LS": Pose(R, [0.1, 0.2, 0.3])}
DEVICES = (
    devices.AccelerationSensor(name="a", link="ROOT", id=0, max_acceleration=[1, inf, 3]),
    devices.RateGyroSensor(name="g", link="ROOT"),
    devices.Imu(name="i", link="ROOT"),
    devices.ForceSensor(name="f", link="ARM", max_force=[1, 2, 3]),
    devices.Camera(name="c", **CAMERA),
    devices.Camera(name="d", image_type=devices.ImageType.DEPTH, **CAMERA),
    devices.RangeSensor(name="r", yaw_range=2.0, max_distance=inf, **CAMERA),
    devices.PointLight(name="p", **CAMERA),
    devices.SpotLight(name="s", beam_width=1.0, **CAMERA),
    devices.DirectionalLight(name="l", **CAMERA),
    devices.GenericDevice(name="x", link="ARM", type_name="Thruster"),
)
BODY = Body(
    name="腕",
    links=(
        Link(
            name="ROOT",
            parent=None,
            joint=Joint(type=JointType.FREE, name="ROOT"),
            mass=1.0,
            inertia=np.eye(3),
        ),
        Link(
            name="ARM",
            parent="ROOT",
            joint=Joint(
                type=JointType.REVOLUTE,
                name="J1",
                id=1,
                axis=[0, 1, 0],
                initial=0.5,
                position=Range(-1.0, inf),
                encoder_pulse=512.0,
            ),
            X_PL=Pose(R, [0, 0, 1 / 3]),
            mass=2.0,
            center_of_mass=[0.1, 0, 0],
            inertia=np.eye(3) / 3,
            visual=SHAPES,
            collision=SHAPES[:1],
        ),
    ),
    devices=DEVICES,
    extra_joints=(
        ExtraJoint(type=ExtraJointType.HINGE, links=("ROOT", "ARM"), X_AJ=Pose(p=[1, 0, 0])),
    ),
    self_collision_disabled=frozenset({link_pair("ROOT", "ARM")}),
    collision_disabled=frozenset({"ARM"}),
)


def dumped(**kwargs):
    return json.loads(json.dumps(dump_body(BODY, **kwargs), allow_nan=False))


@pytest.mark.parametrize("postures", [None, [], [Posture(), Posture({"J1": 1.0})]])
def test_it_follows_the_schema(postures):
    jsonschema.validate(dumped(postures=postures), SCHEMA)


def test_the_schema_notices_what_is_missing_and_what_is_new():
    for spoil in (
        lambda d: d["links"][0].pop("mass"),
        lambda d: d["links"][0].update(colour=1),
        lambda d: d["devices"][4]["params"].pop("width"),
        lambda d: d["links"][1]["visual"]["shapes"][0].pop("size"),
    ):
        data = dumped()
        spoil(data)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data, SCHEMA)


def test_numbers_keep_all_their_digits():
    arm = dumped()["links"][1]
    assert arm["b"] == [0, 0, 1 / 3]
    assert arm["Rb"] == R.tolist()
    assert arm["I"] == (np.eye(3) / 3).tolist()


def test_no_encoder_is_null():
    assert [link["encoder_pulse"] for link in dumped()["links"]] == [None, 512.0]


def test_no_limit_is_null():
    data = dumped()
    assert (data["links"][1]["q_lower"], data["links"][1]["q_upper"]) == (-1.0, None)
    assert data["devices"][0]["params"]["dv_max"] == [1, None, 3]
    assert data["devices"][3]["params"]["F_max"] == [1, 2, 3, None, None, None]


def test_joints_are_listed_by_id_with_gaps():
    assert dumped()["joints"] == [None, "J1"]


def test_devices_have_their_class():
    assert [d["class"] for d in dumped()["devices"]] == [
        "AccelerationSensor",
        "RateGyroSensor",
        "Imu",
        "ForceSensor",
        "Camera",
        "RangeCamera",
        "RangeSensor",
        "PointLight",
        "SpotLight",
        "DirectionalLight",
        "Thruster",
    ]


def test_shapes_are_measured_in_the_links_frame():
    arm = dumped()["links"][1]
    assert arm["collision"]["num_shapes"] == 1
    box = arm["collision"]["shapes"][0]
    assert (box["type"], box["size"]) == ("Box", [1, 2, 3])
    half = np.abs(R) @ [0.5, 1, 1.5]
    np.testing.assert_allclose(box["bbox_max"], np.add([1, 2, 3], half))
    np.testing.assert_allclose(arm["collision"]["bbox_min"], np.subtract([1, 2, 3], half))
    assert arm["collision"]["signed_volume"] == pytest.approx(6.0)
    assert arm["collision"]["area"] == pytest.approx(22.0)


def test_a_link_without_shapes_has_no_box():
    visual = dumped()["links"][0]["visual"]
    assert visual["num_shapes"] == visual["triangles"] == 0
    assert visual["bbox_min"] is None


def test_postures_move_the_links_and_the_root():
    posture = Posture({"J1": 0.25}, np.array([1.0, 2.0, 3.0]), R)
    initial, moved = dumped(postures=[Posture(), posture])["poses"]
    assert initial["q"] == {"J1": 0.5}
    assert initial["root_p"] == [0, 0, 0]
    assert moved["q"] == {"J1": 0.25}
    assert moved["p"]["ROOT"] == [1, 2, 3]
    np.testing.assert_allclose(moved["p"]["ARM"], R @ [0, 0, 1 / 3] + [1, 2, 3])
    np.testing.assert_allclose(moved["R"]["ARM"], R @ R @ rpy_matrix(0, 0.25, 0), atol=1e-12)
    assert np.shape(moved["mass_matrix"]) == (7, 7)
    assert moved["mass_matrix_joints"] == ["J1"]
    arm = np.array(moved["R"]["ARM"])
    torque = np.cross(arm @ [0.1, 0, 0], [0, 0, 2.0 * 9.80665]) @ arm @ [0, 1, 0]
    assert moved["gravity_torque"]["J1"] == pytest.approx(torque)


def test_an_unknown_joint_in_a_posture_is_refused():
    with pytest.raises(KeyError, match="no moving joint 'J2'"):
        dump_body(BODY, [Posture({"J2": 0.0})])
