"""Look up links, joints and sensors of a Body; an error lists the names or ids that exist."""

from __future__ import annotations

from enum import IntEnum
from operator import index

from ..body import Body, Link
from ..devices import (
    AccelerationSensor,
    Camera,
    Device,
    ForceSensor,
    GenericDevice,
    Imu,
    PhotoInterrupter,
    RangeSensor,
    RateGyroSensor,
    TorqueSensor,
)
from ..diagnostics import did_you_mean_or_all


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


def parse_sensor_type(which: SensorType | int | str) -> SensorType:
    """Return the sensor type of a name or number; raises ValueError."""
    try:
        return SensorType[which] if isinstance(which, str) else SensorType(which)
    except (KeyError, ValueError):
        types = ", ".join(f"{kind.name} ({kind.value})" for kind in SensorType)
        raise ValueError(f"there is no sensor type {which!r}; they are {types}") from None


_BY_CLASS: dict[type[Device], tuple[SensorType, ...]] = {
    ForceSensor: (SensorType.FORCE,),
    RateGyroSensor: (SensorType.RATE_GYRO,),
    AccelerationSensor: (SensorType.ACCELERATION,),
    Imu: (SensorType.RATE_GYRO, SensorType.ACCELERATION),
    Camera: (SensorType.VISION,),
    RangeSensor: (SensorType.RANGE,),
    PhotoInterrupter: (SensorType.PHOTO_INTERRUPTER,),
    TorqueSensor: (SensorType.TORQUE,),
}
_BY_NAME = {"PressureSensor": SensorType.PRESSURE}


def sensor_types(device: Device) -> tuple[SensorType, ...]:
    """Return the sensor types of a device: two for an IMU, none for a light."""
    if isinstance(device, GenericDevice):
        kind = _BY_NAME.get(device.type_name)
        return () if kind is None else (kind,)
    return _BY_CLASS.get(type(device), ())


def sensors_by_id(body: Body, kind: SensorType) -> dict[int, Device]:
    """Return the sensors of a type by id; the first of equal ids wins.

    A sensor of just that type takes precedence over an IMU.
    """
    found = [d for d in body.devices if kind in sensor_types(d) and d.id is not None and d.id >= 0]
    by_id: dict[int, Device] = {}
    for device in sorted(found, key=lambda d: isinstance(d, Imu)):
        assert device.id is not None
        by_id.setdefault(device.id, device)
    return by_id


def link_index(body: Body, which: int | str) -> int:
    """Return the index in ``body.links`` of a link given by name or index.

    Raises:
        IndexError: The index is out of range.
        KeyError: No link has that name.
        TypeError: ``which`` is neither a name nor an index.
    """
    if isinstance(which, str):
        try:
            return body.link_index(which)
        except KeyError:
            hint = did_you_mean_or_all(which, [link.name for link in body.links])
            raise KeyError(f"body '{body.name}' has no link '{which}'.{hint}") from None
    number = _integer(which, "a link is given by its name, its index or a LinkState")
    if not 0 <= number < len(body.links):
        last = len(body.links) - 1
        raise IndexError(f"body '{body.name}' has no link {number}; its links are 0 to {last}")
    return number


def joint_link(body: Body, joint_id: int) -> Link:
    """Return the link whose joint has this id; raises IndexError, TypeError."""
    number = _integer(joint_id, "a joint is given by its id; link(name) finds it by name")
    link = body.joints[number] if 0 <= number < len(body.joints) else None
    if link is None:
        ids = [i for i, found in enumerate(body.joints) if found is not None]
        raise IndexError(f"body '{body.name}' has no joint {number}; {_list_ids('joint', ids)}")
    return link


def sensor_device(body: Body, kind: SensorType, sensor_id: int) -> Device:
    """Return the sensor of a type that has this id; raises IndexError, TypeError."""
    by_id = sensors_by_id(body, kind)
    number = _integer(sensor_id, "a sensor is given by its type and its id")
    if number not in by_id:
        ids = _list_ids(f"{kind.name} sensor", sorted(by_id))
        raise IndexError(f"body '{body.name}' has no {kind.name} sensor {number}; {ids}")
    return by_id[number]


def _integer(value: int, expected: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{expected}, got {value!r}") from None


def _list_ids(kind: str, ids: list[int]) -> str:
    return f"it has {', '.join(map(str, ids))}" if ids else f"no {kind} has an id"
