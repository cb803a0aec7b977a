"""What ``sim_node`` says of each of its parameters, and what it does with forbidden values."""

from __future__ import annotations

from contextlib import closing

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from rclpy.parameter import Parameter
from ros_peer import ENVIRONMENT

from hrp_sim.ros.sim_node import RosSession

OF_RCLPY = ("use_sim_time", "start_type_description_service")
# Of a sensor alone, so that it has parameters of its own.
GIVEN = ["-p", "left_foot_force.rate:=50.0", "-p", "left_foot_force.force_stdev:=0.5"]
# They have no unit: they are shares, ratios and numbers to begin with.
PURE = ("real_time_factor", "wheel_separation_multiplier", "detection_rate", "color_stdev")


@pytest.fixture(scope="module", params=["humanoid_in_room", "rover"])
def node(request):
    """The node of a session; nothing runs."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        parameters = {"world": str(MODELS / "worlds" / f"{request.param}.yaml"), "describe": True}
        given = GIVEN if request.param == "humanoid_in_room" else []
        with closing(RosSession(parameters, ["--ros-args", *given])) as session:
            yield session.node


def parameters(node):
    """Return the descriptor and the value of each parameter that rclpy does not declare."""
    own = {k: p for k, p in node.get_parameters_by_prefix("").items() if k not in OF_RCLPY}
    return {k: (node.describe_parameter(k), p.value) for k, p in own.items()}


def is_number(value):
    return type(value) in (int, float)


def attempt(node, name, value):
    [result] = node.set_parameters([Parameter(name, value=value)])
    return result


def test_every_parameter_has_a_meaning_and_numbers_their_range_and_unit(node):
    for name, (stated, value) in parameters(node).items():
        assert stated.description, name
        if not is_number(value) or name.startswith("qos_overrides."):
            continue
        limits = stated.floating_point_range if isinstance(value, float) else stated.integer_range
        assert len(limits) == 1, name
        assert limits[0].from_value <= value <= limits[0].to_value, name
        alias = name.startswith("gains.")  # which names the parameter that has the unit
        if isinstance(value, float) and not alias and name.rpartition(".")[2] not in PURE:
            assert "[" in stated.description, name


def test_a_value_out_of_its_range_is_refused_and_changes_nothing(node):
    tried = 0
    for name, (stated, value) in parameters(node).items():
        for limits in stated.floating_point_range:
            # Closer to a limit than this rclpy does not look.
            lowest, highest = limits.from_value, limits.to_value
            below, above = lowest - 2e-6 * max(abs(lowest), 0.5), highest * 1.001 + 1.0
            for wrong in (below, above, float("nan")):
                result = attempt(node, name, wrong)
                assert not result.successful, (name, wrong)
                assert result.reason
                assert node.get_parameter(name).value == value
                tried += 1
    assert tried > 50


def test_read_only_parameters_cannot_be_set_and_the_rest_can(node):
    for name, (stated, value) in parameters(node).items():
        result = attempt(node, name, value)
        assert result.successful != stated.read_only, (name, result.reason)
        assert result.successful or "read-only" in result.reason, (name, result.reason)
        assert node.get_parameter(name).value == value
