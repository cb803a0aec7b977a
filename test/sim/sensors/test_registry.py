"""Each row of the registry of sensors holds together, from the device to the message."""

import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pkgutil import resolve_name
from typing import TypeVar, get_args, get_type_hints

import numpy as np
import pytest
from message_bytes import converted
from paths import ROOT
from sim.sensors.factory_tools import DarkRenderer, camera, gyro, scanner, sensors_of
from sim.sensors.handmade import arm_body, simulated, world_of

from hrp_model import devices
from hrp_model.devices import ImageType
from hrp_sim.run.summary.readings import fields_of, last_values
from hrp_sim.sensors import instruments
from hrp_sim.sensors.registry import KINDS, kind_of

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
TOPICS = [pytest.param(spec, id=spec.name) for kind in KINDS for spec in kind.topics]


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


def reading_type(converter):
    """Return the class of the readings that a converter takes."""
    wanted = get_type_hints(converter.convert)["reading"]
    if isinstance(wanted, TypeVar):  # of a generic converter: its subclass says which
        (wanted,) = get_args(type(converter).__orig_bases__[0])
    return wanted


def test_what_is_read_of_each_topic_becomes_a_message_of_its_type(diagnostics):
    pytest.importorskip("sensor_msgs.msg", reason="the ROS 2 messages are not installed")
    from hrp_msgs.convert.basic import time_ns
    from hrp_msgs.convert.converter import Frames, make_converter

    tried = set()
    for sensor, reading in samples(diagnostics):
        for spec in kind_of(sensor).topics:
            if not spec.offered(sensor):
                continue
            tried.add(spec)
            converter = make_converter(spec.converter, Frames("frame"))
            wanted = reading_type(converter)
            assert type(reading) is spec.reading
            assert isinstance(reading, wanted)
            message = converted(converter, reading)
            assert type(message) is converter.message_type
            package = converter.message_type.__module__.split(".")[0]
            assert f"{package}/{converter.message_type.__name__}" == spec.message
            assert time_ns(message.header.stamp) == reading.time_ns
    assert tried == {spec for kind in KINDS for spec in kind.topics}


@pytest.mark.parametrize("spec", TOPICS)
def test_a_converter_names_its_message_and_gives_bytes(spec):
    pytest.importorskip("sensor_msgs.msg", reason="the ROS 2 messages are not installed")
    converter = resolve_name(spec.converter)
    package, name = spec.message.split("/")
    assert converter.message_type is getattr(import_module(f"{package}.msg"), name)
    told = get_type_hints(converter.convert)["return"]
    assert bytes in (told, *get_args(told))


def test_converters_need_no_client_library():
    pytest.importorskip("sensor_msgs.msg", reason="the ROS 2 messages are not installed")
    names = [spec.values[0].converter for spec in TOPICS]
    code = (
        f"import sys, pkgutil; sys.modules['rclpy'] = None; [*map(pkgutil.resolve_name, {names})]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_every_reading_is_summed_up_in_what_its_sensor_promises(diagnostics):
    for sensor, reading in samples(diagnostics):
        assert set(last_values(sensor, reading)) <= set(fields_of(sensor))
        if "gyro" not in sensor.name:  # which lacks an accelerometer
            assert set(last_values(sensor, reading)) == set(fields_of(sensor))
        assert last_values(sensor, None) == {}


def test_sensors_are_made_in_the_order_of_the_rows(diagnostics):
    made = [s.name for s, _ in samples(diagnostics)]
    known = instruments(arm_body(*DEVICES))
    assert made == list(known)
    rows = [kind.name for kind in KINDS]
    order = [rows.index(instrument.kind) for instrument in known.values()]
    assert order == sorted(order)


def test_a_sensor_without_a_row_is_named():
    with pytest.raises(TypeError, match="DarkRenderer is not in the sensor"):
        kind_of(DarkRenderer())
