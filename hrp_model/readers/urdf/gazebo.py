"""Read <gazebo> blocks of a robot: sensors, contacts, gravity, springs, whether it is fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from ...body import Joint
from ...devices import Camera, Device, ForceSensor, RangeSensor, WrenchFrame
from ...diagnostics import Diagnostics, did_you_mean
from ...frames import X_S_OPTICAL, X_S_SCAN, parent_frame
from ...geometry import Shape, Surface
from ...read_context import ReadContext
from ...rigid import Pose
from ..joints import resistance
from ..sdf_sensors import FRAME_IDS, read_sensor
from ..sdf_values import (
    SdfReader,
    UnusedElements,
    never_colliding,
    read_surface,
    surface_of,
    turned,
)
from ..xml_tree import Element
from .joints import JointParts
from .links import LinkParts
from .objects import WORLD

_SURFACE = {
    "friction": ("mu1",),
    "friction_across": ("mu2",),
    "direction": ("fdir1",),
    "stiffness": ("kp",),
    "damping": ("kd",),
}
# Elements that are used here, and those that are used elsewhere or by Gazebo alone.
_USED = {
    *("mu1", "mu2", "fdir1", "kp", "kd", "collision", "selfCollide", "self_collide"),
    *("gravity", "turnGravityOff", "springStiffness", "springReference"),
}
_OF_OTHERS = {
    *("sensor", "static", "joint", "visual", "canonicalBody", "plugin"),
    *("preserveFixedJoint", "disableFixedJointLumping", "disableJointLumping", "provideFeedback"),
}
_SAME_PLACE = 1e-9


class GazeboSurfaces:
    """What the <gazebo> blocks of a robot state about its links and joints."""

    def __init__(self, robot: Element, context: ReadContext) -> None:
        self._context = context
        self._unused = UnusedElements(context.diagnostics)
        self._of_model: list[SdfReader] = []
        self._blocks: dict[str, list[SdfReader]] = {}
        for block in robot.all("gazebo"):
            for child in block.children:  # old files write <mu1 value="0.5"/>
                child.text = child.text or child.attributes.get("value", "")
            self._unused.add_others(block, _USED | _OF_OTHERS)
            reader = SdfReader(block, context.diagnostics, lenient=True)
            reference = block.attributes.get("reference")
            if reference is None:
                self._of_model.append(reader)
            else:
                self._blocks.setdefault(reference, []).append(reader)

    def report_unknown(self, links: Collection[str], joints: Collection[str]) -> None:
        """Warn of blocks that are of no link or joint; the reader of sensors warns of theirs."""
        for reference, blocks in self._blocks.items():
            for block in blocks if reference not in links and reference not in joints else ():
                if any(child.tag in _USED for child in block.element.children):
                    hint = did_you_mean(reference, (*links, *joints))
                    message = f"'{reference}' is neither a link nor a joint.{hint}"
                    at = block.element.at("reference")
                    self._context.diagnostics.warn("unknown-link", message, at)

    def collision(self, link: str, parts: LinkParts) -> tuple[Shape, ...]:
        """Return the collision shapes of a link with the surface that blocks declare."""
        surface = self._surface(link)
        if surface is None:
            return parts.collision
        return tuple(
            replace(shape, surface=turned(surface, R))
            for shape, R in zip(parts.collision, parts.collision_R, strict=True)
        )

    def _surface(self, link: str) -> Surface | None:
        """Return the surface of a link, in the frame of each collision."""
        blocks = self._blocks.get(link, [])
        if not blocks:
            return None
        first = blocks[0].element
        merged = Element("gazebo", {}, first.source, first.start)
        merged.children = [child for block in blocks for child in block.element.children]
        for collision in merged.all("collision"):
            reader = SdfReader(collision, self._context.diagnostics, lenient=True)
            written = reader.inside("surface")
            if written is not None:
                return read_surface(written, self._unused)
        return surface_of(SdfReader(merged, self._context.diagnostics, lenient=True), **_SURFACE)

    def weight_share(self, link: str) -> float:
        """Return 0 for a link without gravity, else 1."""
        blocks = self._blocks.get(link, [])
        is_off = any(
            block.choice("turnGravityOff") or block.choice("gravity") is False for block in blocks
        )
        return 0.0 if is_off else 1.0

    def with_spring(self, joint: Joint) -> Joint:
        """Return a joint with the spring that blocks declare."""
        for block in self._blocks.get(joint.name, []):
            stated = block.number("springStiffness", default=0.0)
            at, diagnostics = block.element.span, self._context.diagnostics
            stiffness = resistance("the springStiffness", stated, at, diagnostics)
            if stiffness > 0.0 and joint.moves:
                rest = block.number("springReference", default=0.0)
                joint = replace(joint, stiffness=stiffness, rest_position=rest)
        return joint

    def never_colliding(self, links: Iterable[str]) -> frozenset[frozenset[str]]:
        """Return the pairs of links that ``selfCollide`` excludes."""
        of_model = _choice(self._of_model)
        choices = {name: _choice(self._blocks.get(name, [])) for name in links}
        at = self._of_model[0].element.span if self._of_model else None
        return never_colliding(choices, of_model, self._context, at)


def _choice(blocks: list[SdfReader]) -> bool | None:
    """Return the last value of ``selfCollide``, or None."""
    found = [block.choice(tag) for block in blocks for tag in ("self_collide", "selfCollide")]
    return next((value for value in reversed(found) if value is not None), None)


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
