"""Read <gazebo> blocks of a robot: its sensors, and whether it is fixed to the world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ...devices import Camera, Device, ForceSensor, RangeSensor, WrenchFrame
from ...diagnostics import Diagnostics, did_you_mean
from ...frames import X_S_OPTICAL, X_S_SCAN, parent_frame
from ...rigid import Pose
from ..sdf_contents import FRAME_IDS
from ..sdf_sensors import read_sensor
from ..sdf_values import SdfReader
from ..xml_tree import Element
from .conventions import WORLD
from .joints import JointParts
from .links import LinkParts

_SAME_PLACE = 1e-9


class GazeboReader:
    """Reads the <gazebo> blocks of a robot whose links and joints have been read."""

    def __init__(
        self,
        robot: Element,
        links: Mapping[str, LinkParts],
        above: Mapping[str, JointParts],
        diagnostics: Diagnostics,
    ) -> None:
        self._robot = robot
        self._links = links
        self._above = above
        self._joints = {joint.joint.name: joint for joint in above.values()}
        self._diagnostics = diagnostics
        self._children = Counter(joint.parent for joint in above.values())

    def fixes_to_world(self, root: str) -> bool:
        """Return whether a block fixes the root link to the world."""
        for block in self._robot.all("gazebo"):
            sdf = SdfReader(block, self._diagnostics, lenient=True)
            if sdf.flag("static") and "reference" not in block.attributes:
                return True
            for joint in block.all("joint"):
                inside = SdfReader(joint, self._diagnostics, lenient=True)
                is_fixed = joint.attributes.get("type") == "fixed"
                is_in_world = is_fixed and inside.text("parent") == WORLD
                if is_in_world and self._is_fixed_to(inside.text("child"), root):
                    return True
        return False

    def _is_fixed_to(self, link: str, root: str) -> bool:
        """Whether only fixed joints are between a link and the root."""
        while (joint := self._above.get(link)) is not None and joint.joint.is_fixed:
            link = joint.parent
        return link == root

    def devices(self) -> tuple[list[Device], set[str]]:
        """Return the sensors, and the links that are only frames of sensors."""
        sensors = list(self._sensors())
        carriers = {link for _, link in sensors}
        made = [self._device(sensor, link) for sensor, link in sensors]
        framed = [self._with_frames(x, s) for x, (s, _) in zip(made, sensors, strict=True)]
        users: dict[str, set[str]] = {}
        for device, (_, own) in zip(made, framed, strict=True):
            for frame in own:
                users.setdefault(frame, set()).add(device.name)
        devices: list[Device] = []
        frames: set[str] = set()
        for device, (renamed, own) in zip(made, framed, strict=True):
            # Frames that other sensors use, too, stay links.
            shared = any(frame in carriers or len(users[frame]) > 1 for frame in own)
            devices.append(device if shared else renamed)
            frames |= set() if shared else own
        return devices, frames

    def _device(self, sensor: SdfReader, link: str) -> Device:
        name = sensor.element.attributes.get("name", "")
        if not name:
            name = f"{link}_{sensor.element.attributes.get('type') or 'sensor'}"
            sensor.warn("unnamed-device", f"this sensor has no name; it is named '{name}'")
        return read_sensor(sensor, name, link, sensor.pose("pose", link=link))

    def _sensors(self) -> Iterator[tuple[SdfReader, str]]:
        """Yield sensors with the link that carries them; for a joint, its child link."""
        for block in self._robot.all("gazebo"):
            on = block.attributes.get("reference")
            for element in block.all("sensor"):
                sensor = SdfReader(element, self._diagnostics, lenient=True)
                in_joint = element.attributes.get("type") == "force_torque"
                if on is None:
                    message = "a sensor needs a <gazebo> with a link or joint as reference"
                    sensor.warn("not-used", f"{message}; it is ignored")
                elif on in self._links and not (in_joint and on in self._joints):
                    yield sensor, on
                elif on in self._joints:
                    yield sensor, self._joints[on].child
                else:
                    hint = did_you_mean(on, (*self._links, *self._joints))
                    message = f"'{on}' is neither a link nor a joint.{hint}"
                    self._diagnostics.warn("unknown-link", message, block.at("reference"))

    def _with_frames(self, device: Device, sensor: SdfReader) -> tuple[Device, set[str]]:
        """Do as ``_with_frame``, and add the frame on the parent link in which a wrench is."""
        renamed, frames = self._with_frame(device, sensor)
        joint = self._above.get(device.link)
        if isinstance(device, ForceSensor) and joint is not None:
            outer, pose = parent_frame(renamed.name), Pose(p=joint.X_PL.p)
            is_parents = device.frame is WrenchFrame.PARENT
            if is_parents and self._is_frame(outer, joint.parent, pose, children=0):
                return renamed, {*frames, outer}
        return renamed, frames

    def _with_frame(self, device: Device, sensor: SdfReader) -> tuple[Device, set[str]]:
        """Return a device named after the empty links that are its frames, and those links.

        Such links are removed, since the frames of a body's devices would have the same names.
        """
        frame_id = next((text for tag in FRAME_IDS if (text := sensor.text(tag))), "")
        X_SD = _data_pose(device)
        for name in (frame_id, device.name):
            if X_SD is None:
                if self._is_frame(name, device.link, device.X_LS, children=0):
                    return replace(device, name=name), {name}
            elif name in self._above:
                outer = self._above[name].parent
                if self._is_frame(name, outer, X_SD, children=0) and self._is_frame(
                    outer, device.link, device.X_LS, children=1
                ):
                    return replace(device, name=outer), {name, outer}
        return device, set()

    def _is_frame(self, link: str, parent: str, pose: Pose, *, children: int) -> bool:
        """Whether a link is only a frame fixed to a parent, with a given number of children."""
        joint = self._above.get(link)
        return (
            joint is not None
            and joint.parent == parent
            and joint.joint.is_fixed
            and self._links[link].is_empty
            and self._children[link] == children
            and np.allclose(joint.X_PL.R, pose.R, rtol=0.0, atol=_SAME_PLACE)
            and np.allclose(joint.X_PL.p, pose.p, rtol=0.0, atol=_SAME_PLACE)
        )


def _data_pose(device: Device) -> Pose | None:
    """Return the pose of a device's data frame in S, or None if both are the same."""
    if isinstance(device, Camera):
        return X_S_OPTICAL
    return X_S_SCAN if isinstance(device, RangeSensor) else None
