"""Each row of the kinds of sensors holds together, from the device to the message."""

from dataclasses import replace
from typing import TypeVar, get_args, get_type_hints

import numpy as np
import pytest
from message_bytes import converted
from sim.sensors.factory_tools import DarkRenderer, camera, gyro, no_rays, scanner, sensors_of
from sim.sensors.handmade import arm_body, simulated, world_of
from vehicles import vehicle, wheel

from hrp_model import devices
from hrp_model.devices import ImageType
from hrp_sim.sensors import SensorSettings, instruments, make_sensors
from hrp_sim.sensors.kinds import KINDS, NUMBER_UNITS, kind_of, numbers_of, summary

DEVICES = (
    gyro(),
    devices.ForceSensor(name="wrist", link="ARM"),
    scanner(),
    replace(scanner(pitch_range=0.2, pitch_step=0.1), name="layers"),
    *(
        camera(image_type.value, image_type=image_type, width=4, height=3)
        for image_type in ImageType
        if image_type is not ImageType.NONE
    ),
    devices.TorqueSensor(name="strain", link="ARM"),
    devices.PhotoInterrupter(name="gate", link="ARM", receiver=np.array([0.0, 0.0, 1.0])),
)


class PlainRenderer(DarkRenderer):
    """Draws what is grey and one metre away."""

    def render(self, lens, *_, parts, **__):
        shape = lens.height, lens.width
        color = np.full((*shape, 3), 128, np.uint8) if parts.color else None
        return color, np.ones(shape, np.float32) if parts.depth else None


def samples(diagnostics):
    """Yield sensors of all kinds, each with a reading."""
    world = world_of(simulated(arm_body(*DEVICES)))
    for sensor in sensors_of(diagnostics, *DEVICES, renderer=PlainRenderer()):
        yield sensor, sensor.read(world)


def of_wheels(diagnostics):
    """Return the sensor of the wheels of a vehicle, with a reading."""
    world = world_of(simulated(vehicle(wheel("L", [0, 0.2, 0]), wheel("R", [0, -0.2, 0]))))
    asked = {"settings_of": lambda _body, _sensor: SensorSettings(odometry="wheels")}
    made = make_sensors(world, np.zeros(3), no_rays, DarkRenderer(), diagnostics, **asked)
    return made[-1], made[-1].read(world)


def reading_type(converter):
    """Return the class of the readings that a converter takes."""
    wanted = get_type_hints(converter.convert)["reading"]
    if isinstance(wanted, TypeVar):  # of a generic converter: its subclass says which
        (wanted,) = get_args(type(converter).__orig_bases__[0])
    return wanted


def test_readings_become_messages_of_the_type_of_each_topic(diagnostics):
    pytest.importorskip("sensor_msgs.msg", reason="the ROS 2 messages are not installed")
    from hrp_msgs.convert.basic import time_ns
    from hrp_msgs.convert.converter import Frames, make_converter
    from hrp_msgs.topics.topic import type_name

    tried = set()
    for sensor, reading in (*samples(diagnostics), of_wheels(diagnostics)):
        for spec in kind_of(sensor).topics:
            if not spec.offered(sensor):
                continue
            tried.add(spec)
            converter = make_converter(spec.converter, Frames("frame"))
            assert isinstance(reading, reading_type(converter))
            message = converted(converter, reading)
            assert type_name(type(message)) == type_name(converter.message_type) == spec.message
            assert time_ns(message.header.stamp) == reading.time_ns
    assert tried == {spec for kind in KINDS for spec in kind.topics}


def test_readings_have_the_fields_of_their_kind_within_their_bounds(diagnostics):
    for sensor, reading in (*samples(diagnostics), of_wheels(diagnostics)):
        for field in kind_of(sensor).fields:
            value = getattr(reading, field.name)
            if not field.offered(sensor):
                assert value is None
            elif field.bounds and (bounds := field.bounds(sensor)) is not None:
                least, greatest, shape = bounds
                assert np.size(value) == np.prod(shape)
                value = np.ravel(np.where(np.isfinite(value), value, greatest))
                assert np.all((least <= value) & (value <= greatest))
        numbers = summary(sensor, reading)
        assert list(numbers) == list(numbers_of(sensor))
        assert numbers.keys() <= NUMBER_UNITS.keys()
        assert summary(sensor, None) == {}


def test_sensors_are_made_in_the_order_of_the_rows(diagnostics):
    made = [s.name for s, _ in samples(diagnostics)]
    known = instruments(arm_body(*DEVICES))
    assert made == list(known)
    rows = [kind.name for kind in KINDS]
    order = [rows.index(instrument.kind) for instrument in known.values()]
    assert order == sorted(order)


def test_a_sensor_without_a_row_is_named():
    with pytest.raises(TypeError, match="DarkRenderer is in no row"):
        kind_of(DarkRenderer())
