"""Find the links, joints and sensors of a Body; what is not there is named with what is."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

from ..diagnostics import did_you_mean_or_all
from .sensor import SensorType, sensors_by_id

if TYPE_CHECKING:
    from ..body import Body, Link
    from ..devices import Device


def link_index(body: Body, which: int | str) -> int:
    """Return the place in ``body.links`` of a link, by its name or just that place.

    Raises:
        IndexError: There is no such place.
        KeyError: There is no such name.
        TypeError: It is neither.
    """
    if isinstance(which, str):
        try:
            return body.link_index(which)
        except KeyError:
            hint = did_you_mean_or_all(which, [link.name for link in body.links])
            raise KeyError(f"body '{body.name}' has no link '{which}'.{hint}") from None
    place = _number(which, "a link is asked for by its name, its place or a LinkState")
    if not 0 <= place < len(body.links):
        last = len(body.links) - 1
        raise IndexError(f"body '{body.name}' has no link {place}; its links are 0 to {last}")
    return place


def joint_link(body: Body, joint_id: int) -> Link:
    """Return the link whose joint has this number; raises IndexError, TypeError."""
    number = _number(joint_id, "a joint is asked for by its id; link(name) finds it by its name")
    link = body.joints[number] if 0 <= number < len(body.joints) else None
    if link is None:
        known = [i for i, found in enumerate(body.joints) if found is not None]
        raise IndexError(f"body '{body.name}' has no joint {number}; {_numbers('joint', known)}")
    return link


def sensor_device(body: Body, kind: SensorType, sensor_id: int) -> Device:
    """Return the sensor of a type that has this number; raises IndexError, TypeError."""
    by_id = sensors_by_id(body, kind)
    number = _number(sensor_id, "a sensor is asked for by its type and its id")
    if number not in by_id:
        known = _numbers(f"{kind.name} sensor", sorted(by_id))
        raise IndexError(f"body '{body.name}' has no {kind.name} sensor {number}; {known}")
    return by_id[number]


def _number(value: int, wanted: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{wanted}, got {value!r}") from None


def _numbers(what: str, known: list[int]) -> str:
    return f"it has {', '.join(map(str, known))}" if known else f"no {what} has a number"
