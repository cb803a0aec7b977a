"""hrp::Sensor: a sensor of a Body, found by its type and number."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from ..devices import (
    AccelerationSensor,
    Camera,
    Device,
    ForceSensor,
    GenericDevice,
    Imu,
    RangeSensor,
    RateGyroSensor,
)

if TYPE_CHECKING:
    from ..body import Body
    from ..rigid import Array
    from .link_state import LinkState
    from .state import BodyState


class SensorType(IntEnum):
    """Types of sensors, with the numbers of hrp::Sensor::SensorType."""

    FORCE = 1
    RATE_GYRO = 2
    ACCELERATION = 3
    PRESSURE = 4
    PHOTO_INTERRUPTER = 5
    VISION = 6
    TORQUE = 7
    RANGE = 8


def known_type(which: SensorType | int | str) -> SensorType:
    """Return a type of sensors by its name or number; raises ValueError."""
    try:
        return SensorType[which] if isinstance(which, str) else SensorType(which)
    except (KeyError, ValueError):
        known = ", ".join(f"{kind.name} ({kind.value})" for kind in SensorType)
        raise ValueError(f"there is no sensor type {which!r}; they are {known}") from None


_BY_CLASS: dict[type[Device], tuple[SensorType, ...]] = {
    ForceSensor: (SensorType.FORCE,),
    RateGyroSensor: (SensorType.RATE_GYRO,),
    AccelerationSensor: (SensorType.ACCELERATION,),
    Imu: (SensorType.RATE_GYRO, SensorType.ACCELERATION),
    Camera: (SensorType.VISION,),
    RangeSensor: (SensorType.RANGE,),
}
_BY_NAME = {
    "PressureSensor": SensorType.PRESSURE,
    "PhotoInterrupter": SensorType.PHOTO_INTERRUPTER,
    "TorqueSensor": SensorType.TORQUE,
}


def sensor_types(device: Device) -> tuple[SensorType, ...]:
    """Return what a device counts as: an IMU as two sensors, a lamp as none."""
    if isinstance(device, GenericDevice):
        kind = _BY_NAME.get(device.type_name)
        return () if kind is None else (kind,)
    return _BY_CLASS.get(type(device), ())


def sensors_by_id(body: Body, kind: SensorType) -> dict[int, Device]:
    """Return the sensors of a type by their ids; of equal ids the first counts.

    A sensor of that type alone goes before an IMU.
    """
    found = [d for d in body.devices if kind in sensor_types(d) and d.id is not None and d.id >= 0]
    by_id: dict[int, Device] = {}
    for device in sorted(found, key=lambda d: isinstance(d, Imu)):
        assert device.id is not None
        by_id.setdefault(device.id, device)
    return by_id


class Sensor:
    """A sensor of a Body in a state: hrp::Sensor.

    Attributes:
        device: What the model says about it.
        type: What it was asked for as, or the first type of the device.
    """

    __slots__ = ("_state", "device", "type")

    def __init__(self, state: BodyState, device: Device, type: SensorType) -> None:  # noqa: A002
        self._state = state
        self.device = device
        self.type = type

    @property
    def name(self) -> str:
        """Name of the sensor."""
        return self.device.name

    @property
    def id(self) -> int:
        """Number among the sensors of its type; -1 for none."""
        return -1 if self.device.id is None else self.device.id

    @property
    def link(self) -> LinkState:
        """The link that carries it."""
        return self._state.link(self.device.link)

    @property
    def local_pos(self) -> Array:
        """Position in the link's frame in [m], shape (3,): localPos."""
        return self.device.X_LS.p

    @property
    def local_R(self) -> Array:  # noqa: N802
        """Rotation in the link's frame, shape (3, 3): localR."""
        return self.device.X_LS.R

    @property
    def p(self) -> Array:
        """Position in the world in [m], shape (3,) or (m, 3)."""
        link = self.link
        return link.R @ self.local_pos + link.p

    @property
    def R(self) -> Array:  # noqa: N802
        """Rotation in the world, shape (3, 3) or (m, 3, 3)."""
        return self.link.R @ self.local_R

    def __repr__(self) -> str:
        return f"<Sensor '{self.name}': {self.type.name} {self.id} on '{self.device.link}'>"
