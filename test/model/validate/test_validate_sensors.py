"""Devices: their numbers, their settings, and the names that they give to topics and frames."""

from dataclasses import replace
from math import inf, pi

import body_tools
import vrml_tools
from each_case import all_cases

from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.devices import (
    AccelerationSensor,
    Camera,
    DirectionalLight,
    ForceSensor,
    GenericDevice,
    ImageType,
    Imu,
    LensType,
    PhotoInterrupter,
    PointLight,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
    TorqueSensor,
)
from hrp_model.diagnostics import Severity, Source, Span
from hrp_model.validate import validate

SOURCE = Source("eye.body", "LINK\nEYE\n")
LINK_AT, EYE_AT = Span(SOURCE, 0, 4), Span(SOURCE, 5, 8)
ROOT = Link(name="LINK", parent=None, joint=Joint(type=JointType.FIXED, name="LINK"), at=LINK_AT)
CAMERA = Camera(name="eye", link="LINK", at=EYE_AT)
SCANNER = RangeSensor(name="scan", link="LINK", at=EYE_AT)
DEPTH = replace(CAMERA, image_type=ImageType.DEPTH, min_distance=0.1, max_distance=10.0)
TORQUE = TorqueSensor(name="torque", link="LINK", at=EYE_AT)
BEAM = PhotoInterrupter(name="beam", link="LINK", at=EYE_AT)
LAMP = SpotLight(name="lamp", link="LINK", beam_width=1.0, at=EYE_AT)


def body(*devices, root=ROOT):
    return Body(name="b", links=(root,), devices=devices)


SOUND = [
    CAMERA,
    DEPTH,
    SCANNER,
    LAMP,
    replace(CAMERA, field_of_view=3.1),
    replace(CAMERA, field_of_view=2 * pi, lens_type=LensType.DUAL_FISHEYE),
    replace(CAMERA, frame_rate=0.1),
    replace(CAMERA, width=1, height=1, far_clip=inf),
    replace(CAMERA, image_type=ImageType.NONE, width=0, height=0, frame_rate=0.0),
    replace(SCANNER, yaw_range=6.2832, yaw_step=0.1),
    replace(SCANNER, yaw_range=0.0, pitch_range=1.0),
    replace(SCANNER, yaw_range=pi, yaw_step=3.1416),
    replace(SCANNER, scan_rate=10_000.0, min_distance=0.0, max_distance=inf),
    PointLight(name="bulb", link="LINK", intensity=2.0),
    DirectionalLight(name="sun", link="LINK", ambient_intensity=1.0),
    AccelerationSensor(name="a", link="LINK"),
    ForceSensor(name="f", link="LINK", max_force=[1, 2, 3]),
    GenericDevice(name="x", link="LINK", type_name="Rotor"),
]


@all_cases("device", SOUND)
def test_a_sound_device_passes(device, diagnostics):
    validate(body(device), diagnostics)


SENSELESS = [
    ("sensor-rate", replace(CAMERA, frame_rate=0.0), "Camera 'eye' has a frame rate of 0 Hz"),
    ("sensor-rate", replace(CAMERA, frame_rate=-30.0), "-30 Hz"),
    ("sensor-rate", replace(CAMERA, frame_rate=30_000.0), "30000 Hz"),
    ("sensor-rate", replace(SCANNER, scan_rate=0.0), "scan rate of 0 Hz"),
    (
        "sensor-rate",
        Imu(name="imu", link="LINK", at=EYE_AT, sample_rate=-1.0),
        "sample rate of -1 Hz",
    ),
    ("field-of-view", replace(CAMERA, field_of_view=0.0), "0 rad"),
    ("field-of-view", replace(CAMERA, field_of_view=-1.0), "-1 rad (-57.3 degrees)"),
    ("field-of-view", replace(CAMERA, field_of_view=3.1416), "3.142 rad (180 degrees)"),
    ("field-of-view", replace(CAMERA, field_of_view=45.0), "45 rad (2578 degrees)"),
    ("field-of-view", replace(CAMERA, field_of_view=1e308), "1e+308 rad (inf degrees)"),
    (
        "field-of-view",
        replace(CAMERA, field_of_view=7.0, lens_type=LensType.FISHEYE),
        "7 rad (401.1 degrees)",
    ),
    ("image-size", replace(CAMERA, width=0), "0 x 480 pixels"),
    ("image-size", replace(CAMERA, height=-480), "640 x -480 pixels"),
    ("image-size", replace(CAMERA, width=10**9), "pixels"),
    ("sensor-distance", replace(CAMERA, near_clip=10.0, far_clip=10.0), "10 to 10 m"),
    ("sensor-distance", replace(CAMERA, near_clip=0.0), "0 to 200 m"),
    ("sensor-distance", replace(DEPTH, min_distance=20.0), "20 to 10 m"),
    ("sensor-distance", replace(SCANNER, min_distance=10.0), "10 to 10 m"),
    ("sensor-distance", replace(SCANNER, min_distance=-1.0), "-1 to 10 m"),
    ("scan-range", replace(SCANNER, yaw_range=270.0, yaw_step=0.25), "yaw range of 270 rad"),
    ("scan-range", replace(SCANNER, pitch_range=-1.0), "pitch range of -1 rad"),
    ("scan-step", replace(SCANNER, yaw_step=0.0), "yaw step of 0 rad"),
    ("scan-step", replace(SCANNER, yaw_step=-0.1), "-0.1 rad"),
    ("scan-step", replace(SCANNER, yaw_range=0.5, yaw_step=1.0), "in a range of 0.5 rad"),
    ("detection-rate", replace(SCANNER, detection_rate=90.0), "detection rate of 90"),
    ("sensor-limit", replace(SCANNER, error_deviation=-0.1), "-0.1 m"),
    ("detection-rate", replace(DEPTH, detection_rate=-0.5), "detection rate of -0.5"),
    ("sensor-limit", replace(DEPTH, error_deviation=-0.2), "-0.2 m"),
    (
        "sensor-limit",
        AccelerationSensor(name="a", link="LINK", max_acceleration=[9, 0, 9], at=EYE_AT),
        "max acceleration of 9 0 9 m/s^2",
    ),
    (
        "sensor-limit",
        RateGyroSensor(name="g", link="LINK", max_angular_velocity=[-1] * 3, at=EYE_AT),
        "max angular velocity of -1 -1 -1 rad/s",
    ),
    (
        "sensor-limit",
        Imu(name="i", link="LINK", max_angular_velocity=[0] * 3, at=EYE_AT),
        "max angular velocity",
    ),
    (
        "sensor-limit",
        ForceSensor(name="f", link="LINK", max_torque=[0, 1, 1], at=EYE_AT),
        "max torque of 0 1 1 N m",
    ),
    ("light-angle", replace(LAMP, beam_width=45.0), "beam width of 45 rad (2578 degrees)"),
    ("light-angle", replace(LAMP, cut_off_angle=-1.0), "cut-off angle of -1 rad"),
    ("light-strength", replace(LAMP, color=(255.0, 0.0, 0.0)), "colour of 255 0 0"),
    ("light-strength", replace(LAMP, intensity=-1.0), "has an intensity of -1"),
    ("light-strength", replace(LAMP, ambient_intensity=-0.5), "an ambient intensity of -0.5"),
    ("light-strength", replace(LAMP, attenuation=(1.0, -1.0, 0.0)), "an attenuation of 1 -1 0"),
]


@all_cases(("code", "device", "words"), SENSELESS)
def test_a_setting_that_makes_no_sense_is_one_warning_at_the_device(
    code, device, words, diagnostics
):
    validate(body(device), diagnostics)
    found = diagnostics.take(code)
    assert found.severity is Severity.WARNING
    assert found.at is EYE_AT
    assert words in found.message


def numbered(kind, ids, **options):
    return [kind(name=f"{kind.__name__}{n}", link="LINK", id=i, **options) for n, i in ids]


def test_each_kind_of_device_is_numbered_by_itself(diagnostics):
    cameras = numbered(Camera, enumerate([1, 0]))
    forces = numbered(ForceSensor, enumerate([0, 1]))
    nameless = numbered(RangeSensor, enumerate([None, None]))
    validate(body(*cameras, *forces, *nameless), diagnostics)


def test_two_devices_of_a_kind_with_one_number_are_told(diagnostics):
    validate(body(*numbered(Camera, enumerate([0, 0, 1]), at=EYE_AT)), diagnostics)
    found = diagnostics.take("duplicate-device-id")
    assert found.message == "id 0 of Camera 'Camera1' is also that of 'Camera0'"
    assert found.at is EYE_AT


def test_a_gap_in_the_numbers_of_a_kind_is_told(diagnostics):
    rotors = [GenericDevice(name=f"r{i}", link="LINK", id=i, type_name="Rotor") for i in (1, 4)]
    validate(body(*rotors), diagnostics)
    found = diagnostics.take("device-id-gap")
    assert found.message == "no Rotor has id 0, 2, 3"
    assert found.at is LINK_AT


def test_a_gap_of_any_size_is_told_in_short(diagnostics):
    validate(body(*numbered(Camera, [(0, 10**12)])), diagnostics)
    assert diagnostics.take("device-id-gap").message == (
        "no Camera has id 0, 1, 2, 3, 4, 5, 6, 7 and 999999999992 more"
    )


def test_a_device_named_as_a_link_gets_another_frame(diagnostics):
    validate(body(replace(CAMERA, name="LINK")), diagnostics)
    found = diagnostics.take("frame-name-collision")
    assert "'LINK_2'" in found.message
    assert found.at is EYE_AT


def test_frames_that_the_sensors_add_count_too(diagnostics):
    other = ForceSensor(name="eye_optical_frame", link="LINK", at=EYE_AT)
    validate(body(CAMERA, other), diagnostics)
    assert "'eye_optical_frame_2'" in diagnostics.take("frame-name-collision").message


def test_one_instrument_of_two_devices_is_told_once_as_a_duplicate(diagnostics):
    twins = [
        kind(name="imu", link="LINK", at=EYE_AT) for kind in (AccelerationSensor, RateGyroSensor)
    ]
    validate(body(*twins), diagnostics)
    diagnostics.take("duplicate-device-name")


def test_names_that_no_file_of_xml_can_carry_are_told(diagnostics):
    validate(body(replace(SCANNER, name="/scan\x00")), diagnostics)
    diagnostics.take("illegal-name")


@all_cases("other", [SCANNER, TORQUE, BEAM])
@all_cases(("a", "b"), [("eye-1", "eye.1"), ("左", "右"), ("1", "n1")])
def test_sensors_that_would_share_a_topic_are_told(a, b, other, diagnostics):
    first, second = replace(CAMERA, name=a), replace(other, name=b)
    validate(body(first, second), diagnostics)
    found = diagnostics.take("topic-name-collision")
    assert a in found.message
    assert b in found.message


def test_what_has_no_topic_may_be_called_anything(diagnostics):
    lamps = [replace(LAMP, name=name) for name in ("lamp-1", "lamp.1")]
    validate(body(*lamps), diagnostics)


def test_devices_of_no_link_are_an_error_and_nothing_worse(diagnostics):
    validate(body(replace(CAMERA, link="LEG")), diagnostics)
    found = diagnostics.take("unknown-link")
    assert (found.severity, found.at) == (Severity.ERROR, EYE_AT)


def test_a_setting_is_located_in_the_file(diagnostics):
    """In both notations at the device itself, not at its link."""
    links = "links: [{name: A, elements: [{type: Camera, name: c, format: COLOR, width: 0}]}]"
    choreonoid = body_tools.read_text(links, diagnostics)
    vrml = vrml_tools.robot(
        'jointType "fixed" children DEF c VisionSensor { type "COLOR" width 0 }', diagnostics
    )
    for robot, start in ((choreonoid, "{type: Camera"), (vrml, "VisionSensor")):
        validate(robot, diagnostics)
        at = diagnostics.take("image-size").at
        assert at.source.text[at.start :].lstrip("{").startswith(start.lstrip("{"))
