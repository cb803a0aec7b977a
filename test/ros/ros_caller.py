"""A peer that asks a simulator for whatever it likes, and sees whether it still runs."""

from __future__ import annotations

import math

from ros_peer import Peer
from simulation_interfaces.msg import Result, SimulationState
from simulator_services import ask


class Caller(Peer):
    """Asks the node for everything, and sees whether it still runs."""

    def __init__(self, process, log):
        super().__init__()
        self._process, self._log = process, log

    @property
    def log(self):
        return self._log.read_text(encoding="utf-8")

    def ask(self, name, /, **fields):
        return ask(self, name, **fields)

    def is_refused(self, name, code=None, /, **fields):
        """Ask for what cannot be: the answer says so, in words that can be read."""
        result = self.ask(name, **fields).result
        assert result.result != Result.RESULT_OK, (name, result)
        assert code is None or result.result == code, (name, result)
        assert 0 < len(result.error_message) < 5000, name

    def play(self):
        self.ask("set_simulation_state", state=SimulationState(state=1))

    def is_well(self):
        """Check that the node lives, answers, steps, and tells of joints that are somewhere."""
        assert self._process.poll() is None, self.log
        self.play()
        assert self.ask("get_simulation_state").state.state == SimulationState.STATE_PLAYING
        newest = self.wait_for("/joint_states", 3)[-1]
        assert all(map(math.isfinite, [*newest.position, *newest.velocity, *newest.effort]))
        assert "Traceback" not in self.log, self.log

    def publisher(self, topic, kind):
        publisher = self.node.create_publisher(kind, topic, 10)
        self.wait_until(f"a reader of {topic}", publisher.get_subscription_count)
        return publisher

    def send_until_told(self, topic, messages, words):
        """Publish over and over until the log has some words: nothing tells what has arrived."""
        publisher = self.publisher(topic, type(messages[0]))

        def told():
            for message in messages:
                publisher.publish(message)
            return words in self.log

        try:
            self.wait_until(f"'{words}' in the log", told)
        finally:
            self.end(publisher)
