"""The log of a node: what packages without ROS log, and throttled warnings."""

import logging
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from hrp_msgs.node import start as node_start
from hrp_msgs.node.start import MAX_KINDS, WARNING_PERIOD, NodeLogHandler, ThrottledWarnings

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


class Refusals:
    """ThrottledWarnings of a node whose clock stands until it is moved."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(node_start, "time", SimpleNamespace(monotonic=lambda: self.now))
        self._node = FakeNode()
        self._warnings = ThrottledWarnings(self._node)

    def warn(self, topic, why):
        """Warn; return what is logged of that."""
        self._warnings.warn(topic, why)
        new, self._node.warnings[:] = list(self._node.warnings), []
        return new


@pytest.fixture
def refusals(monkeypatch):
    return Refusals(monkeypatch)


def test_the_same_warning_is_repeated_after_a_while_with_its_number(refusals):
    assert refusals.warn("a", "2 values") == ["a: 2 values"]
    for n in (2, 3, 4):
        assert refusals.warn("a", f"{n} values") == []
    refusals.now = WARNING_PERIOD
    similar = "a: -2.5e-3 values (3 similar warnings suppressed)"
    assert refusals.warn("a", "-2.5e-3 values") == [similar]
    refusals.now = 2 * WARNING_PERIOD
    assert refusals.warn("a", "5 values") == ["a: 5 values"]


def test_other_warnings_are_logged_at_once(refusals):
    for topic, why in [("a", "too long"), ("a", "too short"), ("b", "too long"), ("a", "no 'J1'")]:
        assert refusals.warn(topic, why) == [f"{topic}: {why}"]
    assert refusals.warn("a", "no 'J2'") == ["a: no 'J2'"]


def test_ever_new_warnings_of_a_topic_are_limited_within_a_period(refusals):
    logged = [refusals.warn("a", f"no joint 'J{n}'") for n in range(1000)]
    assert sum(map(len, logged)) == MAX_KINDS
    assert refusals.warn("b", "something") == ["b: something"]
    refusals.now = WARNING_PERIOD
    assert refusals.warn("a", "no joint 'K'") == ["a: no joint 'K'"]
