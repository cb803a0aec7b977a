"""The sensors of a world by name, and when each is due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from .schedule import SampleClock
from .sensors import Sensor

NEVER_NS = 2**63


class Watch:
    """Sensors that come and go with their bodies.

    The samples of a body's sensors are counted from the moment when it appeared. A sensor
    keeps its name as long as it is there.

    Attributes:
        sensors: By name; never changed, but replaced, so that any thread may walk through it.
    """

    def __init__(self) -> None:
        self.sensors: Mapping[str, Sensor] = {}
        self._origins: dict[str, int] = {}
        self._schedule: list[tuple[SampleClock, list[tuple[str, Sensor]]]] = []
        self._next_ns = NEVER_NS  # when the first of them is due

    def add(self, sensors: Sequence[Sensor], time_ns: int) -> None:
        """Add all sensors of some bodies that appear now.

        Each has the name of its device, or where that is taken, or twice among the new ones,
        with the body's name and a slash in front.
        """
        often = Counter(sensor.name for sensor in sensors)
        by_name = dict(self.sensors)
        for sensor in sensors:
            name = sensor.name if often[sensor.name] == 1 else f"{sensor.body}/{sensor.name}"
            while name in by_name:
                name = f"{sensor.body}/{name}"
            by_name[name] = sensor
            self._origins[sensor.body] = time_ns
        self.sensors = by_name
        self._wind(time_ns)

    def remove(self, body: str, time_ns: int) -> None:
        """Forget the sensors of a body."""
        self.sensors = {name: s for name, s in self.sensors.items() if s.body != body}
        self._origins.pop(body, None)
        self._wind(time_ns)

    def due(self, time_ns: int) -> Sequence[tuple[str, Sensor]]:
        """Return the sensors that are due now, with their names; each of them waits anew."""
        if time_ns < self._next_ns:
            return ()
        found = [
            named for clock, sensors in self._schedule if clock.is_due(time_ns) for named in sensors
        ]
        self._find_next()
        return found

    def reset(self) -> None:
        """Go back to time zero, when all bodies that are there appear."""
        self.restore(dict.fromkeys(self._origins, 0), 0)

    def origin(self, body: str) -> int:
        """Return when a body's sensors appeared, in [ns]; zero for one that has none."""
        return self._origins.get(body, 0)

    def restore(self, origins: Mapping[str, int], time_ns: int) -> None:
        """Go to a time, the bodies having appeared when they are said to, in [ns]."""
        self._origins = {body: origins[body] for body in self._origins}
        self._wind(time_ns)

    def _wind(self, time_ns: int) -> None:
        """Make the clocks, one for the sensors that are always due together."""
        self._schedule = []
        together: dict[tuple[float, int], list[tuple[str, Sensor]]] = {}
        for name, sensor in self.sensors.items():
            key = sensor.rate_hz, self._origins[sensor.body]
            if key not in together:
                together[key] = []
                clock = SampleClock(*key)
                clock.wait(time_ns)
                self._schedule.append((clock, together[key]))
            together[key].append((name, sensor))
        self._find_next()

    def _find_next(self) -> None:
        self._next_ns = min((clock.due_ns for clock, _ in self._schedule), default=NEVER_NS)
