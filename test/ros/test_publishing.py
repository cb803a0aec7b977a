"""What a session publishes beside the run: in which order, and how it ends."""

import struct
import threading
from contextlib import closing

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from fake_middleware import PATIENCE, Middleware, blocked
from paths import MODELS
from ros_peer import DOMAIN_ID, ENVIRONMENT
from std_msgs.msg import Bool

from hrp_sim.ros import sim_node
from hrp_sim.run.run import Run

pytestmark = pytest.mark.ros

WORLD = str(MODELS / "worlds" / "arm.yaml")
_STAMP = struct.Struct("<4xiI")  # at the beginning of clocks and of messages with headers
CLOCK, JOINTS = "/clock", "/joint_states"


class Published:
    """A session whose topics all have a subscriber in a fake middleware."""

    def __init__(self, monkeypatch, **parameters):
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        self._is_closed = False
        self.middleware = Middleware()
        monkeypatch.setattr(sim_node, "rcl_sender", self.middleware.sender)
        self.session = sim_node.RosSession({"world": WORLD, **parameters}, ["test"], DOMAIN_ID)
        topics = self.session.node.topics
        self.topics = {topic.name: topic for topic in topics}
        self._names = {topic._publisher.handle.pointer: topic.name for topic in topics}

    def run(self, seconds=None):
        run = Run(self.session.simulation, real_time_factor=0.0, duration=seconds)
        self.session.serve(run)
        return run

    def stamps(self, *names):
        """Return topic and stamp in [ns] of what was published on some topics, in order."""
        found = [(self._names.get(p), data) for p, data in self.middleware.sent]
        stamped = [(name, _STAMP.unpack_from(data)) for name, data in found if name in names]
        return [(name, sec * 10**9 + nanosec) for name, (sec, nanosec) in stamped]

    def close(self):
        if not self._is_closed:
            self._is_closed = True
            self.session.close()


@pytest.fixture
def publish(monkeypatch):
    made = []

    def make(**parameters):
        made.append(Published(monkeypatch, **parameters))
        return made[-1]

    yield make
    for published in made:
        published.close()


def wait_for_steps(thread):
    """Leave a processor to the thread of a run that must not have ended."""
    thread.join(0.001)
    assert thread.is_alive()


def test_the_clock_of_a_step_comes_before_its_data_and_none_is_lost(publish):
    published = publish(clock_rate=250.0)
    with published.run(0.1) as run:
        run.run()
    stamps = published.stamps(CLOCK, JOINTS)
    clocks = [stamp for name, stamp in stamps if name == CLOCK]
    joints = [stamp for name, stamp in stamps if name == JOINTS]
    assert clocks == [k * 4_000_000 for k in range(1, 26)]
    assert joints == [k * 2_000_000 for k in range(1, 51)]
    last = 0
    for name, stamp in stamps:
        if name == CLOCK:
            last = stamp
        else:
            assert last <= stamp < last + 4_000_000
    counts = {name: count for name, (_, count) in published.session.published().items()}
    assert (counts[CLOCK], counts[JOINTS]) == (25, 50)


def test_the_last_time_is_published_at_a_pause_and_at_the_end(publish):
    published = publish(clock_rate=1.0)
    run = published.run(0.035)
    with run:
        run.pause()
        thread = threading.Thread(target=run.run)
        thread.start()
        while True:
            try:
                assert run.step(17).wait(PATIENCE)
                break
            except sim_node.NotRunningError:  # not yet
                wait_for_steps(thread)
        at_pause = published.stamps(CLOCK)[-1]
        run.resume()
        thread.join()
    assert at_pause == (CLOCK, 17_000_000)
    assert published.stamps(CLOCK)[-1] == (CLOCK, 35_000_000)


def test_who_changes_the_world_gets_an_answer_after_its_time_is_published(publish):
    published = publish(clock_rate=1.0, start_paused=True)
    with published.run() as run:
        thread = threading.Thread(target=run.run)
        thread.start()
        while published.stamps(CLOCK) != [(CLOCK, 1)]:  # which nodes take for the beginning
            wait_for_steps(thread)
        for step in range(1, 20):
            run.step(1).wait(PATIENCE)
            assert published.stamps(CLOCK)[-1] == (CLOCK, step * 1_000_000)
        run.reset()
        assert published.stamps(CLOCK)[-1] == (CLOCK, 1)
        run.step(3).wait(PATIENCE)
        assert published.stamps(CLOCK)[-1] == (CLOCK, 3_000_000)
        run.stop()
        thread.join()


def test_a_run_goes_on_if_the_middleware_fails_and_says_so(publish, capfd):
    published = publish()
    published.middleware.before = lambda _: True
    with published.run(0.1) as run:
        run.run()
    assert run.simulation.state.time_ns == 100_000_000
    published.close()
    assert not published.stamps(JOINTS, CLOCK)
    assert published.topics[JOINTS].count == published.topics[CLOCK].count == 0
    assert "/joint_states: a message cannot be published: " in "".join(capfd.readouterr())


def test_a_run_waits_for_a_middleware_that_blocks_and_can_be_stopped(publish):
    published = publish()
    with blocked(published.middleware) as go_on, published.run() as run:
        thread = threading.Thread(target=run.run)
        thread.start()
        while not run.simulation.state.time_ns:
            wait_for_steps(thread)
        run.stop()
        go_on.set()
        thread.join()
    end = run.simulation.state.time_ns
    assert published.stamps(CLOCK)[-1] == (CLOCK, max(end, 1))


def test_nothing_is_published_after_the_end(publish):
    published = publish()
    with published.run(0.01) as run:
        run.run()
    published.close()
    sent = len(published.middleware.sent)
    count = published.topics[JOINTS].count
    for topic in published.topics.values():
        topic.publish(bytes(20))
        topic.publish(Bool())  # even its type does not matter any more
        assert not topic.has_subscribers()
    assert len(published.middleware.sent) == sent
    assert published.topics[JOINTS].count == count


def test_the_topics_of_another_world_follow_those_of_the_one_before(publish):
    published = publish()
    node = published.session.node
    with published.run() as run:
        thread = threading.Thread(target=run.run)
        thread.start()
        before = {topic._publisher.handle.pointer for topic in node.topics if topic.name == JOINTS}
        while len(published.stamps(JOINTS)) < 10:
            wait_for_steps(thread)
        with closing(run.replace(node.make_simulation(node.world))):
            node.sync()
            count = len(published.middleware.sent)
            after = {t._publisher.handle.pointer for t in node.topics if t.name == JOINTS}
            while not after.intersection(p for p, _ in published.middleware.sent[count:]):
                wait_for_steps(thread)
        run.stop()
        thread.join()
    assert before.isdisjoint(p for p, _ in published.middleware.sent[count:]) or before == after
