"""What nodes say of each of their parameters, and what they do with values that these forbid."""

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
PURE = ("real_time_factor", "detection_rate", "color_stdev")


@pytest.fixture(scope="module", params=["humanoid_in_room", "rover"])
def nodes(request):
    """The nodes of a session; nothing runs."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        parameters = {"world": str(MODELS / "worlds" / f"{request.param}.yaml"), "describe": True}
        given = GIVEN if request.param == "humanoid_in_room" else []
        with closing(RosSession(parameters, ["--ros-args", *given])) as session:
            yield session.node, *session.node.interface.models


def parameters(node):
    """Return the descriptor and the value of each parameter that rclpy does not declare."""
    own = {k: p for k, p in node.get_parameters_by_prefix("").items() if k not in OF_RCLPY}
    return {k: (node.describe_parameter(k), p.value) for k, p in own.items()}


def is_number(value):
    return type(value) in (int, float)


def is_derived(name):
    """Tell whether the node alone sets it, as a model has it."""
    return name.startswith(("joint_limits.", "robot_description"))


def attempt(node, name, value):
    [result] = node.set_parameters([Parameter(name, value=value)])
    return result


def test_every_parameter_says_what_it_means_and_numbers_their_range_and_unit(nodes):
    for node in nodes:
        for name, (told, value) in parameters(node).items():
            assert told.description, name
            if not is_number(value) or name.startswith("qos_overrides."):
                continue
            limits = told.floating_point_range if isinstance(value, float) else told.integer_range
            assert len(limits) == 1, name
            assert limits[0].from_value <= value <= limits[0].to_value, name
            alias = name.startswith("gains.")  # which names the parameter that has the unit
            if isinstance(value, float) and not alias and name.rpartition(".")[2] not in PURE:
                assert "[" in told.description, name


def test_what_is_out_of_its_range_is_refused_with_words_and_changes_nothing(nodes):
    tried = 0
    for node in nodes:
        for name, (told, value) in parameters(node).items():
            for limits in told.floating_point_range:
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


def test_what_is_read_only_cannot_be_set_and_the_rest_can(nodes):
    for node in nodes:
        for name, (told, value) in parameters(node).items():
            if name == "model":
                continue  # it would be read once more
            result = attempt(node, name, value)
            if told.read_only:
                assert not result.successful, name
                assert "read-only" in result.reason, (name, result.reason)
            elif not is_derived(name):
                # What describes a body of a world is no model by itself: most is not for others.
                assert result.successful or "can be set" in result.reason, (name, result.reason)
            assert node.get_parameter(name).value == value
