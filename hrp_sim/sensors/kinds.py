"""What can be switched on a body: the names and kinds of its sensors and lights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hrp_model import Body, devices
from hrp_model.inertial_units import inertial_units

JOINT_STATES = "joint_states"
ODOMETRY = "odometry"

_KINDS: dict[type[devices.Device], str] = {
    devices.ForceSensor: "force",
    devices.RangeSensor: "range",
    devices.Camera: "camera",
    devices.Light: "light",
}


@dataclass(frozen=True, slots=True)
class Instrument:
    """A sensor or light of a body, as its model has it.

    Attributes:
        name: Among all of the body.
        kind: "joints", "odometry", "imu", "force", "range", "camera" or "light"; sensors are
            called so in ``SensorSettings``, too.
        on: Whether it is switched on at the start.
    """

    name: str
    kind: str
    on: bool


def instruments(body: Body) -> dict[str, Instrument]:
    """Return the sensors and lights of a body by name; of equal names the first counts.

    They come in the order in which ``make_sensors`` makes them, the lights last.
    """
    found: dict[str, Instrument] = {}
    for instrument in _all(body):
        found.setdefault(instrument.name, instrument)
    return found


def _all(body: Body) -> Iterator[Instrument]:
    if body.jointed_links:
        yield Instrument(JOINT_STATES, "joints", on=True)
    if not body.is_static:
        yield Instrument(ODOMETRY, "odometry", on=True)
    for unit in inertial_units(body):
        yield Instrument(unit.device.name, "imu", unit.on)
    for device_type, kind in _KINDS.items():
        for device in body.devices:
            if isinstance(device, device_type):
                yield Instrument(device.name, kind, device.on)
