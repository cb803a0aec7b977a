"""Photo interrupters: whether something is in a beam of light."""

from math import inf

import numpy as np
import pytest
from message_bytes import converted
from paths import MODELS
from sim.sensors.factory_tools import sensors_of

from hrp_model import Body, Joint, JointType, Link, Pose, devices, load_body
from hrp_model.geometry import Box, Shape
from hrp_model.rigid import axis_angle_matrix
from hrp_sim import Simulation
from hrp_sim.engine.engine import Placement
from hrp_sim.world.config import BodyEntry, WorldConfig

TURNED = Pose(axis_angle_matrix((0.0, 0.0, 1.0), np.pi / 2.0), np.array([1.0, 2.0, 3.0]))


def gate(**fields):
    """A gate in the world, which stands in the frame TURNED: its beam is along W's -x."""
    ends = {"transmitter": np.array([0.0, 0.5, 0.0]), "receiver": np.array([0.0, 1.5, 0.0])}
    beam = devices.PhotoInterrupter(name="gate", link="FRAME", **(ends | fields))
    post = Shape(geometry=Box(size=(0.1, 3.0, 0.1)))  # of its own link, around the beam
    link = Link(
        name="FRAME",
        parent=None,
        joint=Joint(type=JointType.FIXED, name="FRAME"),
        collision=(post,),
    )
    return Body(name="stand", links=(link,), devices=(beam,))


def read(block_at, body):
    """Return a reading with a cube of 0.1 m at a place of the world."""
    cube = load_body(MODELS / "blocks" / "wood.body")
    bodies = [
        Placement(name="stand", body=body, X_WL=TURNED, fixed=True),
        Placement(name="cube", body=cube, X_WL=Pose(p=np.array(block_at)), fixed=True),
    ]
    config = WorldConfig(bodies=tuple(BodyEntry(placement=placement) for placement in bodies))
    with Simulation(config) as simulation:
        simulation.step()
        return simulation.sensors["gate"].read(simulation.state)


# The beam leads from (0.5, 2, 3) to (-0.5, 2, 3) in W.
@pytest.mark.parametrize(
    ("place", "is_blocked"),
    [
        ((0.0, 2.0, 3.0), True),
        ((0.0, 2.049, 3.0), True),
        ((0.0, 2.051, 3.0), False),
        ((-0.54, 2.0, 3.0), True),
        ((-0.56, 2.0, 3.0), False),  # beyond the receiver
        ((0.56, 2.0, 3.0), False),  # behind the transmitter
    ],
)
def test_an_object_between_both_ends_blocks_the_beam(place, is_blocked):
    reading = read(place, gate())
    assert (reading.is_blocked, reading.length) == (is_blocked, pytest.approx(1.0))


@pytest.mark.parametrize(
    ("receiver", "length"), [((0.0, 0.5, 0.0), "0 m"), ((0.0, 1e31, 0.0), "1e+31 m")]
)
def test_a_beam_without_a_possible_length_is_left_out_with_a_warning(receiver, length, diagnostics):
    device = devices.PhotoInterrupter(
        name="gate",
        link="ARM",
        transmitter=np.array([0.0, 0.5, 0.0]),
        receiver=np.array(receiver, dtype=float),
    )
    assert "gate" not in [sensor.name for sensor in sensors_of(diagnostics, device)]
    assert f"its beam of {length}" in diagnostics.take("unusable-device").message


def test_its_message_is_that_of_a_fixed_distance_ranger():
    pytest.importorskip("sensor_msgs.msg", reason="the ROS 2 messages are not installed")
    from hrp_msgs.convert.converter import Frames
    from hrp_msgs.convert.sensors import LightBeamConverter

    converter = LightBeamConverter(Frames("gate"))
    for place, expected in (((0.0, 2.0, 3.0), -inf), ((0.0, 9.0, 3.0), inf)):
        message = converted(converter, read(place, gate()))
        assert (message.range, message.min_range, message.max_range) == (expected, 1.0, 1.0)
        assert message.header.frame_id == "gate"
        assert message.radiation_type == message.INFRARED
