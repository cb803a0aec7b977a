"""What packages without ROS log, in the log of a node."""

import logging
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from hrp_msgs.node.log import NodeLogHandler

LOGGER = logging.getLogger("some")


class FakeNode:
    """A node that keeps what it is told to log."""

    def __init__(self):
        self.warnings, self.errors = [], []
        log = SimpleNamespace(warning=self.warnings.append, error=self.errors.append)
        self.get_logger = lambda: log


@pytest.fixture
def opened():
    """Make handlers for fake nodes, and close them in the end."""
    logs = []

    def make():
        node = FakeNode()
        logs.append(NodeLogHandler(node, ["some"]))
        return node, logs[-1]

    yield make
    for log in logs:
        log.close()


def test_warnings_and_errors_are_told_with_their_severity(opened):
    node, _ = opened()
    LOGGER.info("nobody asked")
    LOGGER.warning("joint '%s' is loose", "A")
    LOGGER.error("it broke")
    assert (node.warnings, node.errors) == (["joint 'A' is loose"], ["it broke"])


def test_an_exception_is_told_with_its_traceback(opened):
    node, _ = opened()
    try:
        raise OSError("the disk is full")
    except OSError:
        LOGGER.exception("nothing was written")
    [said] = node.errors
    assert said.startswith("nothing was written\nTraceback")
    assert said.endswith("OSError: the disk is full")


def test_other_loggers_and_closed_handlers_tell_nothing(opened):
    node, log = opened()
    logging.getLogger("another").warning("not ours")
    log.close()
    LOGGER.warning("too late")
    assert node.warnings == []


def test_of_several_nodes_one_tells_and_when_it_ends_the_next(opened):
    (first, log), (second, _) = opened(), opened()
    LOGGER.warning("one")
    log.close()
    LOGGER.warning("two")
    assert (first.warnings, second.warnings) == (["one"], ["two"])
