"""The clock of a replay, and which messages it sends when."""

import pytest
from motion_recordings import fail

from hrp_msgs.messages import Clock, String
from hrp_msgs.messages.definitions import serialize
from hrp_msgs.recording import Recorder, Recording
from hrp_sim.recording.replay import PERIOD, Playback, Replay

SECOND = 1_000_000_000


class Wall:
    """A wall clock that only ``sleep`` advances."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, duration):
        self.now += duration


class Output:
    """Notes what it receives, with the wall time."""

    def __init__(self, wall, *topics):
        self.topics = topics
        self.taken, self.jumps, self.refreshed = [], [], []
        self._wall = wall

    def take(self, message):
        self.taken.append((self._wall.now - 100.0, message.topic, message.message.data))

    def jump(self, time_ns):
        self.jumps.append(time_ns)

    def refresh(self, time_ns):
        self.refreshed.append(time_ns)


@pytest.fixture
def wall():
    return Wall()


@pytest.fixture
def recording(tmp_path):
    """Messages on /a at every tenth of a second for 2 s, on /b at every half."""
    recorder = Recorder(tmp_path / "a.mcap", on_error=fail)
    a, b = (recorder.channel(name, String, latched=False) for name in ("/a", "/b"))
    for i in range(21):
        a.write(i * SECOND // 10, serialize(String(data=str(i))))
        if i % 5 == 0:
            b.write(i * SECOND // 10, serialize(String(data=str(i))))
    other = recorder.channel("/other", Clock, latched=False)
    other.write(SECOND, serialize(Clock()))
    recorder.close()
    return Recording(tmp_path / "a.mcap")


def replay(recording, wall, *outputs, factor=1.0):
    clock = Playback(recording.start_ns, recording.end_ns, factor, wall=wall)
    return clock, Replay(recording, clock, outputs, sleep=wall.sleep, wall=wall)


@pytest.mark.parametrize("factor", [0.5, 1.0, 4.0])
def test_messages_come_at_their_times_divided_by_the_factor(recording, wall, factor):
    output = Output(wall, "/a")
    _, run = replay(recording, wall, output, factor=factor)
    run.run(goes_on=lambda: not run.is_finished)
    assert [data for _, _, data in output.taken] == [str(i) for i in range(21)]
    expected = [i / 10 / factor for i in range(21)]
    assert [at for at, _, _ in output.taken] == pytest.approx(expected, abs=1e-6)


def test_each_output_gets_its_topics_in_order(recording, wall):
    first, second = Output(wall, "/a", "/b"), Output(wall, "/b")
    _, run = replay(recording, wall, first, second)
    run.run(goes_on=lambda: not run.is_finished)
    assert len(first.taken) == 26
    assert [data for _, _, data in second.taken] == ["0", "5", "10", "15", "20"]
    times = [int(data) for _, _, data in first.taken]
    assert times == sorted(times)


def test_outputs_are_refreshed_at_a_steady_rate_also_in_a_pause(recording, wall):
    output = Output(wall, "/a")
    clock, run = replay(recording, wall, output)
    clock.pause()
    run.run(goes_on=lambda: wall.now < 101.0)
    assert len(output.refreshed) == pytest.approx(1.0 / PERIOD, abs=1)
    assert set(output.refreshed) == {0}
    assert [data for _, _, data in output.taken] == ["0"]


def test_after_a_jump_the_replay_goes_on_from_there(recording, wall):
    output = Output(wall, "/a")
    clock, run = replay(recording, wall, output)
    run.run(goes_on=lambda: len(output.taken) < 3)
    clock.jump(15 * SECOND // 10)
    run.run(goes_on=lambda: len(output.taken) < 5)
    clock.jump(0)
    run.run(goes_on=lambda: len(output.taken) < 7)
    assert [data for _, _, data in output.taken] == ["0", "1", "2", "15", "16", "0", "1"]
    assert output.jumps == [15 * SECOND // 10, 0]


def test_a_jump_right_after_the_time_was_read_is_not_lost(recording, wall):
    class Interrupted(Playback):
        """Is sent back by another thread, once, as soon as 1.5 s were read."""

        @property
        def now_ns(self):
            now_ns = super().now_ns
            if now_ns >= 3 * SECOND // 2 and not self.jumps:
                self.jump(SECOND // 2)
            return now_ns

    output = Output(wall, "/b")
    clock = Interrupted(recording.start_ns, recording.end_ns, wall=wall)
    run = Replay(recording, clock, [output], sleep=wall.sleep, wall=wall)
    for _ in range(400):
        run.advance()
        wall.sleep(0.01)
    assert output.jumps == pytest.approx([SECOND // 2], abs=SECOND // 20)
    assert [data for _, _, data in output.taken[-2:]] == ["15", "20"]
    assert [data for _, _, data in output.taken].count("10") == 2


def test_a_slow_output_does_not_stop_the_refreshing(recording, wall):
    class Slow(Output):
        def take(self, message):
            super().take(message)
            wall.sleep(1.0)

    output = Slow(wall, "/a", "/b")
    _, run = replay(recording, wall, output)
    run.run(goes_on=lambda: not run.is_finished)
    assert len(output.taken) == 26
    assert len(output.refreshed) >= 20


def test_the_clock_pauses_jumps_and_changes_its_speed(wall):
    clock = Playback(10 * SECOND, 20 * SECOND, wall=wall)
    wall.now += 2.0
    assert clock.now_ns == 12 * SECOND
    clock.pause()
    wall.now += 2.0
    assert clock.now_ns == 12 * SECOND
    clock.resume()
    clock.factor = 2.0
    wall.now += 1.0
    assert clock.now_ns == 14 * SECOND
    assert clock.wall_time_until(16 * SECOND) == 1.0
    clock.jump(0)
    assert clock.now_ns == 10 * SECOND
    clock.jump(10**12)
    assert clock.has_ended


def test_the_clock_starts_again_when_it_is_resumed_at_its_end(wall):
    clock = Playback(10 * SECOND, 20 * SECOND, wall=wall)
    wall.now += 60.0
    assert clock.now_ns == 20 * SECOND
    clock.resume()
    assert clock.now_ns == 10 * SECOND
    assert clock.jumps == 1
