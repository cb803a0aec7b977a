"""Parameters as rclpy takes them."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

import rclpy
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from hrp_msgs.params import Param, declare

PARAMS = (
    Param("factor", 1.0, "Simulated per real second.", 0.5, 10.0),
    Param("period", 0.5, "Time between messages [s].", 0.0),
    Param("world", "", "World file."),
    Param("seed", -1, "Of the random order.", read_only=False),
    Param("strict", False, "Whether warnings count as errors."),
)


@pytest.fixture
def node(monkeypatch):
    """Make a node that was started with these parameters, alone in a context of its own."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=77)
    nodes = []

    def make(**parameters):
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        nodes.append(
            Node("params", context=context, parameter_overrides=overrides, enable_rosout=False)
        )
        return nodes[-1]

    yield make
    for made in nodes:
        made.destroy_node()
    rclpy.shutdown(context=context)


def test_parameters_have_the_defaults_and_types_of_the_table(node):
    values = declare(node(), PARAMS)
    assert values == {p.name: p.default for p in PARAMS}
    assert [type(values[p.name]) for p in PARAMS] == [type(p.default) for p in PARAMS]


def test_what_the_node_was_started_with_wins(node):
    values = declare(node(world="room.yaml", factor=2.0, strict=True), PARAMS)
    assert (values["world"], values["factor"], values["strict"]) == ("room.yaml", 2.0, True)


@pytest.mark.parametrize("wrong", [{"factor": 0.1}, {"factor": 11.0}, {"period": -0.1}])
def test_limits_are_enforced_on_either_side(node, wrong):
    with pytest.raises(InvalidParameterValueException, match="out of range"):
        declare(node(**wrong), PARAMS)


def test_a_side_without_a_limit_is_open(node):
    assert declare(node(period=1e12), PARAMS)["period"] == 1e12


def test_another_type_is_refused(node):
    with pytest.raises(InvalidParameterTypeException):
        declare(node(world=5), PARAMS)


def test_only_what_is_not_read_only_can_be_set_later(node):
    made = node()
    declare(made, PARAMS)
    refused, taken = made.set_parameters(
        [Parameter("world", value="x"), Parameter("seed", value=3)]
    )
    assert (refused.successful, taken.successful) == (False, True)
    assert made.get_parameter("seed").value == 3
    assert made.get_parameter("world").value == ""


def test_a_parameter_tells_its_meaning(node):
    made = node()
    declare(made, PARAMS)
    descriptor = made.describe_parameter("factor")
    assert descriptor.description == "Simulated per real second."
    (limits,) = descriptor.floating_point_range
    assert (limits.from_value, limits.to_value) == (0.5, 10.0)
    assert list(made.describe_parameter("world").floating_point_range) == []


def test_limits_of_anything_but_a_float_are_a_mistake():
    with pytest.raises(ValueError, match="'seed' has limits but is no float"):
        Param("seed", 1, "Of the random order.", 0.0, 9.0)
