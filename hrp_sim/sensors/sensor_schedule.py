"""The sensors and other devices of a world by name, whether they are on, and when to sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

import numpy as np

from hrp_model.late_dataclass import dataclass
from hrp_msgs.readings import Reading

from ..engine.engine import AnyArray
from ..engine.schedule import EARLIEST_NS, NEVER_NS, SampleClock
from ..engine.state import BodyMotion, ByName, WorldState
from ._probe import Probe, measure
from .base import ProbingSensor, Sensor
from .camera import CameraSensor

_EACH_STEP_NS = 0
_NEVER_SEEN_NS = -1  # in the memory of sensors: not yet


@dataclass(frozen=True, slots=True)
class Light:
    """A light that can be switched.

    Attributes:
        body: Name of the body in the world that carries it.
        name: Name of the device in the model.
    """

    body: str
    name: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A holder or conveyor, which acts on other bodies.

    Attributes:
        body: Name of the body in the world that carries it.
        name: Name of the device in the model.
        kind: "holder" or "conveyor".
    """

    body: str
    name: str
    kind: str


Switchable: TypeAlias = Sensor | Light | Tool


class ScheduledSensor(NamedTuple):
    """A sensor of a group.

    Attributes:
        name: Of the sensor in the world.
        sensor: The sensor.
        probing: The same if it has a probe, else None.
        camera: The same if it is a camera, else None.
        place: Of its probe among those of the group.
    """

    name: str
    sensor: Sensor
    probing: ProbingSensor[Reading] | None
    camera: CameraSensor | None
    place: int


class SensorGroup:
    """Sensors that are due together, whose probes are measured together.

    Args:
        clock: When they are due.

    Attributes:
        clock: When they are due.
        sensors: In the order in which they are read.
    """

    def __init__(self, clock: SampleClock) -> None:
        self.clock = clock
        self.sensors: list[ScheduledSensor] = []
        self._probing: list[ProbingSensor[Reading]] = []
        self._probes: tuple[tuple[Probe, ...], tuple[BodyMotion, ...]] | None = None
        self._has_memory = False

    def append(self, name: str, sensor: Sensor) -> None:
        """Add a sensor, before the first measurement."""
        self._has_memory |= bool(sensor.memory)
        probing = sensor if isinstance(sensor, ProbingSensor) else None
        camera = sensor if isinstance(sensor, CameraSensor) else None
        self.sensors.append(ScheduledSensor(name, sensor, probing, camera, len(self._probing)))
        if probing is not None:
            self._probing.append(probing)

    def skip(self, until_ns: int) -> None:
        """Skip the samples up to a time except the last one, unless they affect later ones."""
        if not self._has_memory:
            self.clock.skip(until_ns)

    def measure(self, world: WorldState) -> tuple[bytes, ...]:
        """Return the vectors of all probes, see ``_probe.measure``."""
        if self._probes is None:
            self._probes = (
                tuple(sensor.probe for sensor in self._probing),
                tuple(world.bodies[sensor.body].motion for sensor in self._probing),
            )
        return measure(*self._probes)


class SensorSchedule:
    """The sensors and other devices in a world, which are added and removed with their bodies.

    The sampling times of a sensor are counted from when its body was added, whether the sensor
    is on or off. A device keeps its name as long as it exists.

    Args:
        switched: Called with a name and whether it is on now, after each change.

    Attributes:
        devices: All by name: sensors, lights, then tools; replaced, never modified, so that any
            thread may iterate over it.
        sensors, lights: Those of them, likewise.
        tools: The holders and conveyors, likewise.
        observers: Sensors that are on and process every step, with their names.
        next_ns: Time from which the next step must be observed or sampled, in [ns].
    """

    def __init__(self, switched: Callable[[str, bool], None]) -> None:
        self._set_devices({})
        self.observers: Sequence[tuple[str, Sensor]] = ()
        self._switched = switched
        # By body, then by name in the model: whether it is on, now and initially.
        self._on: dict[str, dict[str, bool]] = {}
        self._on_at_start: dict[str, Mapping[str, bool]] = {}
        self._origins: dict[str, int] = {}
        self._groups: list[SensorGroup] = []
        self.next_ns = NEVER_NS

    def add(
        self,
        groups: Sequence[Sequence[Switchable]],
        on: Mapping[str, Mapping[str, bool]],
        time_ns: int,
    ) -> None:
        """Add all sensors and other devices of new bodies.

        Each gets the name of its device, prefixed by the body's name and a slash if that is taken
        or not unique in its group.

        Args:
            groups: Of the new bodies: sensors, lights, tools; named in this order.
            on: For each new body, whether each device is on initially, by name in the model.
            time_ns: Simulation time, in [ns].
        """
        for group in groups:
            self._set_devices({**self.devices, **_named(group, self.devices)})
        for body, states in on.items():
            self._on[body], self._on_at_start[body] = dict(states), states
            self._origins[body] = time_ns
        self._rebuild_clocks(time_ns)

    def remove(self, body: str, time_ns: int) -> None:
        """Remove the sensors and other devices of a body."""
        self._set_devices({name: d for name, d in self.devices.items() if d.body != body})
        del self._on[body], self._on_at_start[body], self._origins[body]
        self._rebuild_clocks(time_ns)

    def is_on(self, name: str) -> bool:
        """Return whether a device is on.

        Raises:
            KeyError: There is none of this name.
        """
        device = self.devices[name]
        return self._on[device.body][device.name]

    def switch(self, name: str, on: bool, time_ns: int) -> None:
        """Switch a device; a sensor that is switched on is reset.

        Raises:
            KeyError: There is none of this name.
        """
        if self.is_on(name) == on:
            return
        device = self.devices[name]
        if on and not isinstance(device, Light | Tool):
            device.reset()
        self._on[device.body][device.name] = on
        self._rebuild_clocks(time_ns)
        self._switched(name, on)

    def reset_sensors(self, body: str) -> None:
        """Reset the memory of the sensors of a body, after a discontinuity of its state."""
        for sensor in self.sensors.values():
            if sensor.body == body:
                sensor.reset()

    def due(self, time_ns: int) -> Sequence[SensorGroup]:
        """Return the sensors that are due now, and schedule their next samples."""
        found: list[SensorGroup] = []
        for group in self._groups:
            if time_ns >= group.clock.due_ns:  # saves calls
                group.clock.advance(time_ns)
                found.append(group)
        if found:
            self._find_next()
        return found

    def skip(self, until_ns: int) -> None:
        """Skip samples up to a time, in [ns], that affect neither the last ones nor later ones."""
        for group in self._groups:
            group.skip(until_ns)
        self._find_next()

    def resume(self, time_ns: int) -> None:
        """Schedule the first samples after a time, in [ns], also those that ``skip`` left out."""
        for group in self._groups:
            group.clock.wait(time_ns)
        self._find_next()

    def reset(self) -> None:
        """Go back to time zero, with all devices on or off as in their models."""
        for body in self._origins:
            self.reset_sensors(body)
        self._origins = dict.fromkeys(self._origins, 0)
        self._set_all({body: dict(states) for body, states in self._on_at_start.items()}, 0)

    def retime(self, before_ns: int, time_ns: int) -> None:
        """Change the simulation time, in [ns]; times in the memory of sensors are shifted along.

        Sampling times are those that a clock would have which reached this time by itself.
        """
        for name, array in self._memories().items():
            if name.endswith("_ns"):
                array[array != _NEVER_SEEN_NS] += time_ns - before_ns
        self._origins = {body: min(origin, time_ns) for body, origin in self._origins.items()}
        self._rebuild_clocks(time_ns)

    def save(self) -> dict[str, AnyArray]:
        """Return copies of the whole state by name.

        Of each body, as "BODY/...": ``origin_ns``, when it was added; ``on``, 1 for devices that
        are on, in the order of ``instruments(body)``; and ``memory/SENSOR/...``.
        """
        arrays: dict[str, AnyArray] = {}
        for body, states in self._on.items():
            arrays[f"{body}/origin_ns"] = np.array(self._origins[body], dtype=np.int64)
            arrays[f"{body}/on"] = np.array(list(states.values()), dtype=np.int32)
        return arrays | {name: array.copy() for name, array in self._memories().items()}

    def restore(self, arrays: Mapping[str, AnyArray], time_ns: int) -> None:
        """Restore a saved state at a time in [ns]; shapes and types must be those of ``save``."""
        for name, array in self._memories().items():
            array[...] = arrays[name]
            if name.endswith("_ns"):  # no times in the future
                np.clip(array, EARLIEST_NS, time_ns, out=array)
        states: dict[str, dict[str, bool]] = {}
        for body, names in self._on.items():
            self._origins[body] = min(max(int(arrays[f"{body}/origin_ns"]), 0), time_ns)
            on = (arrays[f"{body}/on"] != 0).tolist()
            states[body] = dict(zip(names, on, strict=True))
        self._set_all(states, time_ns)

    def _set_devices(self, devices: Mapping[str, Switchable]) -> None:
        sensors = {k: d for k, d in devices.items() if not isinstance(d, Light | Tool)}
        lights = {k: d for k, d in devices.items() if isinstance(d, Light)}
        tools = {k: d for k, d in devices.items() if isinstance(d, Tool)}
        self.sensors: Mapping[str, Sensor] = ByName("sensor", sensors)
        self.lights: Mapping[str, Light] = ByName("light", lights)
        self.tools: Mapping[str, Tool] = ByName("holder or conveyor", tools)
        self.devices: Mapping[str, Switchable] = ByName("device", {**sensors, **lights, **tools})

    def _set_all(self, states: dict[str, dict[str, bool]], time_ns: int) -> None:
        before, self._on = self._on, states
        self._rebuild_clocks(time_ns)
        for name, device in self.devices.items():
            if (on := states[device.body][device.name]) != before[device.body][device.name]:
                self._switched(name, on)

    def _memories(self) -> dict[str, AnyArray]:
        """Return the memories of all sensors, as live arrays.

        Names are quoted, so that those with slashes stay unique.
        """
        return {
            f"{sensor.body}/memory/{quote(sensor.name, safe='')}/{key}": array
            for sensor in self.sensors.values()
            for key, array in sensor.memory.items()
        }

    def _rebuild_clocks(self, time_ns: int) -> None:
        """Create the clocks of the sensors that are on; sensors that are due together share one.

        A new clock has the same sampling times as the one it replaces.
        """
        groups: dict[tuple[float, int], SensorGroup] = {}
        enabled = [(name, s) for name, s in self.sensors.items() if self._on[s.body][s.name]]
        for name, sensor in enabled:
            key = sensor.rate_hz, self._origins[sensor.body]
            if key not in groups:
                groups[key] = SensorGroup(SampleClock(*key))
                groups[key].clock.wait(time_ns)
            groups[key].append(name, sensor)
        self._groups = list(groups.values())
        self.observers = [(name, sensor) for name, sensor in enabled if sensor.observes]
        self._find_next()

    def _find_next(self) -> None:
        self.next_ns = NEVER_NS
        for group in self._groups:
            if group.clock.due_ns < self.next_ns:  # min() takes twice as long
                self.next_ns = group.clock.due_ns
        if self.observers:
            self.next_ns = _EACH_STEP_NS


def _named(new: Sequence[Switchable], taken: Mapping[str, object]) -> dict[str, Switchable]:
    counts = Counter(device.name for device in new)
    by_name: dict[str, Switchable] = {}
    for device in new:
        name = device.name if counts[device.name] == 1 else f"{device.body}/{device.name}"
        while name in taken or name in by_name:
            name = f"{device.body}/{name}"
        by_name[name] = device
    return by_name
