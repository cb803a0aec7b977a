"""OpenHRP's sensors as devices."""

from math import inf

import numpy as np
import pytest
from vrml_tools import body_of, link_of, robot

from hrp_model.devices import (
    AccelerationSensor,
    Camera,
    DirectionalLight,
    ForceSensor,
    GenericDevice,
    ImageType,
    PhotoInterrupter,
    PointLight,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
    TorqueSensor,
)


def device(text, diagnostics=None):
    (only,) = robot(f'jointType "free" children {text}', diagnostics).devices
    return only


def test_a_device_knows_its_link_number_and_place():
    made = device("DEF G Gyro { translation 1 2 3 rotation 0 1 0 1 sensorId 4 }")
    assert (type(made), made.name, made.link, made.id) == (RateGyroSensor, "G", "BASE", 4)
    assert made.X_LS.p.tolist() == [1, 2, 3]
    assert made.X_LS.R[0, 2] == pytest.approx(np.sin(1))
    assert made.info == {"sensorId": 4}


def test_a_device_below_transforms_and_segments_keeps_their_place():
    made = device("""DEF S Segment { children Transform { translation 0 0 1 scale 2 2 2
      children DEF F ForceSensor { translation 1 0 0 } } }""")
    assert made.X_LS.p.tolist() == [2, 0, 1]
    np.testing.assert_allclose(made.X_LS.R, np.eye(3))


def test_a_negative_limit_is_none():
    made = device("DEF A AccelerationSensor { maxAcceleration 7 -1 9 }")
    assert isinstance(made, AccelerationSensor)
    assert made.max_acceleration.tolist() == [7, inf, 9]
    force = device("DEF F ForceSensor { maxForce 1 2 3 }")
    assert isinstance(force, ForceSensor)
    assert force.max_force.tolist() == [1, 2, 3]
    assert force.max_torque.tolist() == [inf] * 3


def test_a_gyro_may_have_the_name_of_its_heading():
    text = "maxAngularVelocity 1 2 -1 translation 1 2 3 sensorId 4"
    one, other = device(f"DEF G Gyro {{ {text} }}"), device(f"DEF G GyroSensor {{ {text} }}")
    assert type(other) is type(one) is RateGyroSensor
    np.testing.assert_array_equal(other.max_angular_velocity, (1, 2, np.inf))
    np.testing.assert_array_equal(other.X_LS.p, one.X_LS.p)
    assert other.id == 4


def test_a_torque_sensor_and_a_photo_interrupter_are_devices():
    assert type(device("DEF T TorqueSensor { sensorId 1 }")) is TorqueSensor
    beam = device("DEF P PhotoInterrupter { transmitter 1 2 3 receiver 4 5 6 }")
    assert type(beam) is PhotoInterrupter
    np.testing.assert_array_equal((beam.transmitter, beam.receiver), ((1, 2, 3), (4, 5, 6)))


def test_the_device_id_goes_before_the_sensor_id():
    assert device("DEF G Gyro { sensorId 1 deviceId 2 }").id == 2
    assert device("DEF G Gyro { sensorId -1 }").id is None


def test_a_camera_is_read_whole():
    made = device("""DEF C VisionSensor { type "COLOR_DEPTH" width 64 height 48 fieldOfView 1
      frontClipDistance 0.1 backClipDistance 9 frameRate 15 name "unused" }""")
    assert isinstance(made, Camera)
    assert made.image_type is ImageType.COLOR_DEPTH
    assert (made.width, made.height, made.field_of_view) == (64, 48, 1.0)
    assert (made.near_clip, made.far_clip, made.frame_rate) == (0.1, 9.0, 15.0)
    assert made.name == "C"


def test_a_camera_of_depth_has_choreonoids_range_of_distances():
    made = device('DEF C VisionSensor { type "DEPTH" backClipDistance 50 }')
    assert (made.min_distance, made.max_distance, made.far_clip) == (0.1, 10.0, 50.0)
    made = device('DEF C VisionSensor { type "COLOR" }')
    assert (made.min_distance, made.max_distance) == (0.0, np.inf)


def test_the_defaults_of_a_camera_are_openhrps():
    made = device("DEF C VisionSensor { }")
    assert made.image_type is ImageType.NONE
    assert (made.width, made.height, made.field_of_view) == (320, 240, 0.785398)


def test_a_range_sensor_gives_its_total_angle():
    made = device("""DEF L RangeSensor { scanAngle 3 scanStep 0.5 scanRate 20 minDistance 0.2
      maxDistance 30 }""")
    assert isinstance(made, RangeSensor)
    assert (made.yaw_range, made.yaw_step, made.scan_rate) == (3.0, 0.5, 20.0)
    assert (made.min_distance, made.max_distance, made.pitch_range) == (0.2, 30.0, 0.0)


def test_a_spot_light_shines_where_it_points(diagnostics):
    made = device(
        "DEF L SpotLightDevice { on FALSE direction 0 0 -2 beamWidth 1 color 1 0 0 }", diagnostics
    )
    assert isinstance(made, SpotLight)
    assert not made.on
    assert (made.direction.tolist(), made.beam_width, made.color) == ([0, 0, -1], 1, (1, 0, 0))
    device("DEF L SpotLightDevice { direction 0 0 0 }", diagnostics)
    diagnostics.take("zero-axis")


def test_the_lights_of_vrml97_are_devices_of_the_link_they_stand_in():
    body = robot("""jointType "free" children [
      Transform { translation 0 0 1 rotation 0 0 1 1.5707963267948966 scale 2 2 2 children
        PointLight { location 1 0 0 attenuation 1 2 3 radius 5 ambientIntensity 0.1 } }
      DEF S Segment { children DEF SUN DirectionalLight { direction 0 -2 0 color 1 0.5 0 } }
      DEF J Joint { jointType "rotate" children
        DEF LAMP SpotLight { beamWidth 0.3 cutOffAngle 0.4 on FALSE } } ]""")
    bulb, sun, lamp = body.devices
    assert isinstance(bulb, PointLight)
    assert (bulb.name, bulb.link) == ("PointLight1", "BASE")
    np.testing.assert_allclose(bulb.X_LS.p, [0, 2, 1], atol=1e-15)
    np.testing.assert_allclose(bulb.X_LS.R @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    assert (bulb.attenuation, bulb.radius, bulb.ambient_intensity) == ((1, 2, 3), 5, 0.1)
    assert isinstance(sun, DirectionalLight)
    assert (sun.name, sun.link, sun.direction.tolist()) == ("SUN", "BASE", [0, -1, 0])
    assert (sun.color, sun.intensity, sun.on) == ((1, 0.5, 0), 1, True)
    assert isinstance(lamp, SpotLight)
    assert (lamp.name, lamp.beam_width, lamp.cut_off_angle) == ("LAMP", 0.3, 0.4)
    assert (lamp.cut_off_exponent, lamp.radius, lamp.on) == (1.0, 100, False)


def test_a_scene_without_a_robot_keeps_its_lights(diagnostics):
    body = body_of(
        """Transform { translation 0 0 3 children [ Shape { geometry Box { } }
          DEF LAMP PointLight { location 1 0 0 } ] }
        DirectionalLight { }""",
        diagnostics,
    )
    lamp, sun = body.devices
    assert (lamp.name, lamp.link, lamp.X_LS.p.tolist()) == ("LAMP", "Root", [1, 0, 3])
    assert (sun.name, sun.X_LS.p.tolist()) == ("DirectionalLight1", [0, 0, 0])


@pytest.mark.parametrize(
    ("text", "info"),
    [
        ("PressureSensor { maxPressure 3 }", {"maxPressure": 3.0}),
        ('HardwareComponent { id 3 url "x" }', {"id": 3, "url": "x"}),
    ],
)
def test_other_devices_keep_all_that_is_written(text, info):
    made = device(f"DEF D {text}")
    assert isinstance(made, GenericDevice)
    assert made.type_name == text.split()[0]
    assert made.info == info


def test_what_a_sensor_looks_like_belongs_to_its_link():
    link = link_of("""children DEF C VisionSensor { translation 0 0 1 children
      Transform { translation 1 0 0 children Shape { geometry Box { } } } }""")
    assert link.visual[0].T_FG[:3, 3].tolist() == [1, 0, 1]


THERMOMETER = """PROTO Thermometer [ exposedField SFVec3f translation 0 0 0
  exposedField SFInt32 sensorId -1 field SFFloat gain 1 field MFNode children [] ] {
  Transform { translation IS translation children [ Shape { geometry Box { } }
    Group { children IS children } ] } } """


def test_an_instance_of_a_proto_with_a_number_is_a_device_of_an_unknown_kind(diagnostics):
    body = robot(
        'jointType "free" children DEF T Thermometer { translation 0 0 1 sensorId 2 gain 3 }',
        diagnostics,
        THERMOMETER,
    )
    (made,) = body.devices
    assert isinstance(made, GenericDevice)
    assert (made.type_name, made.name, made.id) == ("Thermometer", "T", 2)
    assert made.X_LS.p.tolist() == [0, 0, 1]
    assert made.info == {"sensorId": 2, "gain": 3.0}
    assert body.root.visual[0].T_FG[:3, 3].tolist() == [0, 0, 1]
    assert "'Thermometer'" in diagnostics.take("unknown-device").message


def test_a_proto_may_stand_for_a_known_device():
    proto = "PROTO Mine [ field SFInt32 sensorId 3 ] { Gyro { sensorId IS sensorId } } "
    (made,) = robot('jointType "free" children DEF G Mine { }', above=proto).devices
    assert isinstance(made, RateGyroSensor)
    assert (made.name, made.id) == ("G", 3)


def test_place_and_number_of_a_device_may_come_from_its_files_proto():
    proto = "PROTO Gyro [ field SFVec3f translation 0 0 2 field SFInt32 sensorId 5 ] { } "
    (made,) = robot('jointType "free" children DEF G Gyro { }', above=proto).devices
    assert (made.id, made.X_LS.p.tolist()) == (5, [0, 0, 2])


def test_a_camera_may_be_off():
    assert not device("DEF C VisionSensor { on FALSE }").on
    assert device("DEF L RangeSensor { }").on


@pytest.mark.parametrize("scale", ["-1 1 1", "1 2 1", "-2 -3 -1"])
def test_the_axes_of_a_device_stay_a_frame_in_any_transform(scale, diagnostics):
    inside = "Transform { rotation 0 0 1 0.5 children DEF G Gyro { translation 1 0 0 } }"
    made = device(f"Transform {{ scale {scale} children {inside} }}", diagnostics)
    diagnostics.take("bent-device")
    np.testing.assert_allclose(made.X_LS.R @ made.X_LS.R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(made.X_LS.R) == pytest.approx(1.0)
