"""What is refused is told at once, and not a thousand times a second."""

from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from hrp_msgs.node import throttled_warnings
from hrp_msgs.node.throttled_warnings import MAX_KINDS, PERIOD, ThrottledWarnings


class Log:
    """ThrottledWarnings of a node whose clock stands until it is moved."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        self.said = []
        monkeypatch.setattr(throttled_warnings, "time", SimpleNamespace(monotonic=lambda: self.now))
        logger = SimpleNamespace(warning=self.said.append)
        self._warnings = ThrottledWarnings(SimpleNamespace(get_logger=lambda: logger))

    def tell(self, topic, why):
        self._warnings.warn(topic, why)
        new, self.said[:] = list(self.said), []
        return new


@pytest.fixture
def log(monkeypatch):
    return Log(monkeypatch)


def test_the_same_is_told_again_after_a_while_with_its_number(log):
    assert log.tell("a", "2 values") == ["a: 2 values"]
    for n in (2, 3, 4):
        assert log.tell("a", f"{n} values") == []
    log.now = PERIOD
    assert log.tell("a", "-2.5e-3 values") == ["a: -2.5e-3 values (3 similar warnings suppressed)"]
    log.now = 2 * PERIOD
    assert log.tell("a", "5 values") == ["a: 5 values"]


def test_something_else_is_told_at_once(log):
    assert log.tell("a", "too long") == ["a: too long"]
    assert log.tell("a", "too short") == ["a: too short"]
    assert log.tell("b", "too long") == ["b: too long"]
    assert log.tell("a", "no joint 'J1'") == ["a: no joint 'J1'"]
    assert log.tell("a", "no joint 'J2'") == ["a: no joint 'J2'"]


def test_ever_new_nonsense_has_an_end_until_later(log):
    told = [log.tell("a", f"no joint 'J{n}'") for n in range(1000)]
    assert sum(map(len, told)) == MAX_KINDS
    assert log.tell("b", "something") == ["b: something"]
    log.now = PERIOD
    assert log.tell("a", "no joint 'K'") == ["a: no joint 'K'"]
