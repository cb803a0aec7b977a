"""What ROS itself does not take at the start is refused in words, not by a traceback."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from paths import MODELS
from ros_session import session

from hrp_msgs.node.start import WrongUseError
from hrp_msgs.topics.commands import VELOCITY_TYPES

pytestmark = pytest.mark.ros

WORLD = str(MODELS / "worlds" / "arm.yaml")
ROVER = str(MODELS / "worlds" / "rover.yaml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["-p", "qos_overrides./clock.publisher.depth:=-5"],
            "topic '/clock' cannot be created: .* depth must be in the range 0 .. .*, not -5",
        ),
        (
            ["-p", "qos_overrides./clock.publisher.depth:=2147483648"],
            "topic '/clock' cannot be created: .* not 2147483648",
        ),
        (
            ["-p", "qos_overrides./clock.publisher.reliability:=unknown"],
            "topic '/clock' cannot be created: .* reliability must not be 'unknown'",
        ),
        (
            ["-p", "qos_overrides./joint_states.publisher.reliability:=some"],
            "topic 'joint_states' cannot be created: Unexpected QoS override",
        ),
        (
            ["-p", "qos_overrides./joint_commands.subscription.history:=keep_some"],
            "topic 'joint_commands' cannot be created",
        ),
        (["-p", "lock_step:=//"], "lock_step cannot be created"),
        (
            ["-p", "lock_step:=follow_joint_trajectory"],
            "lock_step: '/follow_joint_trajectory' is an action",
        ),
        (["-r", f"__ns:=/{'n' * 240}"], "the node cannot be created"),
        (["-r", f"__node:={'n' * 300}"], "the node cannot be created"),
    ],
)
def test_names_and_qualities_that_ros_does_not_take_are_refused(arguments, words):
    with (
        pytest.raises(WrongUseError, match=words),
        session({"world": WORLD}, ["--ros-args", *arguments]),
    ):
        pass


@pytest.mark.parametrize("message", VELOCITY_TYPES)
@pytest.mark.parametrize(
    ("quality", "words"),
    [
        ("depth:=-5", "depth must be in the range 0 .. 2147483647, not -5"),
        ("reliability:=some", "Unexpected QoS override"),
    ],
)
def test_so_are_those_of_velocities_whichever_message_they_have(message, quality, words):
    given = ["-p", f"qos_overrides./cmd_vel.subscription.{quality}"]
    with (
        pytest.raises(WrongUseError, match=f"topic 'cmd_vel' cannot be created: .*{words}"),
        session({"world": ROVER, "cmd_vel_type": message}, ["--ros-args", *given]),
    ):
        pass
