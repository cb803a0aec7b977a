"""Topic of the states of switches: which sensors and other devices of a body are on."""

from __future__ import annotations

import threading
from collections.abc import Collection
from contextlib import suppress

from hrp_msgs import qos
from hrp_msgs.convert.diagnostics import diagnostic_status
from hrp_msgs.messages import DiagnosticStatus
from hrp_msgs.topics.topic import TopicMaker

from ..simulation import Simulation


class SwitchTopic:
    """Publishes which devices of a body are "on" or "off", latched.

    Args:
        topics: Creates the topic.
        name: Name of the topic.
        simulation: The simulation with the body.
        body: Name of the body.
        devices: Names of the devices in the simulation.

    Raises:
        ValueError: The name or the quality of service of the topic is invalid.
    """

    def __init__(
        self,
        topics: TopicMaker,
        name: str,
        simulation: Simulation,
        body: str,
        devices: Collection[str],
    ) -> None:
        self._simulation = simulation
        self._body = body
        known = simulation.devices
        self._names = {key: known[key].name for key in devices}
        self._publishing = threading.Lock()
        self._topic = topics.create(DiagnosticStatus, name, qos.LATCHED)

    def publish(self) -> None:
        """Publish which devices are on; callable from any thread."""
        states: dict[str, str] = {}
        with self._publishing:  # so that the newest states are published last
            for key, name in self._names.items():
                with suppress(KeyError):  # its body was just deleted
                    states[name] = "on" if self._simulation.is_enabled(key) else "off"
            count = sum(1 for state in states.values() if state == "on")
            message = f"{count} of {len(states)} devices are on"
            name = f"{self._body}: devices"
            self._topic.publish(diagnostic_status("ok", name, message, states, self._body))

    def close(self) -> None:
        """Close the topic."""
        self._topic.close()
