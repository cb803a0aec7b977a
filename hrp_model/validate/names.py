"""Rules for names: what two things would share where frames and topics are named after them."""

from __future__ import annotations

import re
from dataclasses import replace

from ..body import Body
from ..devices import AccelerationSensor, Camera, ForceSensor, Imu, RangeSensor, RateGyroSensor
from ..diagnostics import Diagnostics
from ..frames import body_frames
from .common import place_of_device

_PUBLISHED = (AccelerationSensor, Camera, ForceSensor, Imu, RangeSensor, RateGyroSensor)
_NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9_]")


def frames_have_names_of_their_own(body: Body, diagnostics: Diagnostics) -> None:
    """Links and devices keep their names as frames, and joints theirs.

    Devices of equal names are another rule's business.
    """
    links = {link.name for link in body.links}
    devices = {d.name: d for d in reversed(body.devices) if d.link in links}
    if len(devices) < len(body.devices):
        body = replace(body, devices=tuple(reversed(devices.values())))
    body_frames(body, diagnostics)


def topics_have_names_of_their_own(body: Body, diagnostics: Diagnostics) -> None:
    """Sensors of different names have different topics, with all that topics cannot spell."""
    first: dict[str, str] = {}
    for device in body.devices:
        if not isinstance(device, _PUBLISHED):
            continue
        token = topic_level(device.name)
        other = first.setdefault(token, device.name)
        if other != device.name:
            message = f"sensors '{other}' and '{device.name}' would share the topic name '{token}'"
            diagnostics.warn("topic-name-collision", message, place_of_device(body, device))


RULES = (frames_have_names_of_their_own, topics_have_names_of_their_own)


def topic_level(name: str) -> str:
    """Return a name as one level of a ROS topic: letters, digits and "_", no digit in front."""
    level = _NOT_IN_TOPICS.sub("_", name) or "_"
    return f"n{level}" if level[0].isdigit() else level
