"""Rules for names: frames and topics that are named after links and devices are unique."""

from __future__ import annotations

from dataclasses import replace

from hrp_msgs.names import topic_token

from ..body import Body
from ..devices import AccelerationSensor, Camera, ForceSensor, Imu, RangeSensor, RateGyroSensor
from ..diagnostics import Diagnostics
from ..frames import body_frames
from .common import place_of_device

_PUBLISHED = (AccelerationSensor, Camera, ForceSensor, Imu, RangeSensor, RateGyroSensor)


def frame_names_are_unique(body: Body, diagnostics: Diagnostics) -> None:
    """Links, devices and joints keep their names as frames and joints of a URDF.

    Devices of equal names are covered by another rule.
    """
    links = {link.name for link in body.links}
    devices = {d.name: d for d in reversed(body.devices) if d.link in links}
    if len(devices) < len(body.devices):
        body = replace(body, devices=tuple(reversed(devices.values())))
    body_frames(body, diagnostics)


def topic_names_are_unique(body: Body, diagnostics: Diagnostics) -> None:
    """Sensors with different names have different topics, whose characters are restricted."""
    first: dict[str, str] = {}
    for device in body.devices:
        if not isinstance(device, _PUBLISHED):
            continue
        token = topic_token(device.name)
        other = first.setdefault(token, device.name)
        if other != device.name:
            message = f"sensors '{other}' and '{device.name}' would share the topic name '{token}'"
            diagnostics.warn("topic-name-collision", message, place_of_device(body, device))


RULES = (frame_names_are_unique, topic_names_are_unique)
