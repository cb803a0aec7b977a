"""The sensors of a body for the blocks of a URDF, with their names and frames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from hrp_msgs.names import topic_token

from ...body import Body, JointType
from ...devices import Camera, Device, ForceSensor, ImageType, LensType, RangeSensor
from ...frames import BodyFrames, unique_name
from ...inertial_units import InertialUnit, inertial_units

_D = TypeVar("_D", bound=Device)


@dataclass(frozen=True, eq=False)
class Sensors:
    """The devices of a body that are switched on, by type."""

    body: Body
    frames: BodyFrames

    @cached_property
    def imus(self) -> tuple[InertialUnit, ...]:
        """IMUs; a gyro and an accelerometer at the same place are one."""
        return tuple(unit for unit in inertial_units(self.body) if unit.on)

    @cached_property
    def force(self) -> tuple[ForceSensor, ...]:
        """Force sensors whose link has a joint above it to measure in."""
        links = {x.name for x in self.body.links[1:] if x.joint.type is not JointType.FREE}
        return tuple(s for s in self._of_type(ForceSensor) if s.link in links)

    @cached_property
    def ranges(self) -> tuple[RangeSensor, ...]:
        """Laser scanners."""
        return self._of_type(RangeSensor)

    @cached_property
    def cameras(self) -> tuple[Camera, ...]:
        """Cameras with images and a lens without distortion."""
        return tuple(
            camera
            for camera in self._of_type(Camera)
            if camera.image_type is not ImageType.NONE and camera.lens_type is LensType.NORMAL
        )

    def name(self, device: Device) -> str:
        """Return the name of a sensor in the blocks, legal as one level of a topic."""
        return self._names[id(device)]

    def data_frame(self, device: Device) -> str:
        """Return the frame of a sensor's data."""
        index = next(i for i, other in enumerate(self.body.devices) if other is device)
        return self.frames.data[index]

    def _of_type(self, kind: type[_D]) -> tuple[_D, ...]:
        return tuple(d for d in self.body.devices if isinstance(d, kind) and d.on)

    @cached_property
    def _names(self) -> dict[int, str]:
        imus = (unit.device for unit in self.imus)
        return _unique_names((*imus, *self.force, *self.ranges, *self.cameras))


def _unique_names(devices: Iterable[Device]) -> dict[int, str]:
    """Return a name for each device, by ``id``; a number is appended to duplicates."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for device in devices:
        name = unique_name(topic_token(device.name), taken)
        taken.add(name)
        names[id(device)] = name
    return names
