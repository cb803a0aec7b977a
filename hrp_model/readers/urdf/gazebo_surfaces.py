"""Read what <gazebo> blocks state about contacts, gravity and springs of links and joints."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from ...body import Joint
from ...diagnostics import did_you_mean
from ...geometry import Shape, Surface
from ...reading import Reading
from ..sdf_surfaces import UnusedElements, never_colliding, read_surface, surface_of, turned
from ..sdf_values import SdfReader
from ..xml_tree import Element
from .links import LinkParts

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


class GazeboSurfaces:
    """What the <gazebo> blocks of a robot state about its links and joints."""

    def __init__(self, robot: Element, reading: Reading) -> None:
        self._reading = reading
        self._unused = UnusedElements(reading.diagnostics)
        self._of_model: list[SdfReader] = []
        self._blocks: dict[str, list[SdfReader]] = {}
        for block in robot.all("gazebo"):
            for child in block.children:  # old files write <mu1 value="0.5"/>
                child.text = child.text or child.attributes.get("value", "")
            self._unused.add_others(block, _USED | _OF_OTHERS)
            reader = SdfReader(block, reading.diagnostics, lenient=True)
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
                    self._reading.diagnostics.warn("unknown-link", message, at)

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
            reader = SdfReader(collision, self._reading.diagnostics, lenient=True)
            written = reader.inside("surface")
            if written is not None:
                return read_surface(written, self._unused)
        return surface_of(SdfReader(merged, self._reading.diagnostics, lenient=True), **_SURFACE)

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
            stiffness = block.number("springStiffness", default=0.0)
            if stiffness < 0.0:
                message = f"the springStiffness is {stiffness:g}, but it must not be negative; "
                block.warn("negative-resistance", f"{message}0 is used")
            elif stiffness > 0.0 and joint.moves:
                rest = block.number("springReference", default=0.0)
                joint = replace(joint, stiffness=stiffness, rest_position=rest)
        return joint

    def never_colliding(self, links: Iterable[str]) -> frozenset[frozenset[str]]:
        """Return the pairs of links that ``selfCollide`` excludes."""
        of_model = _choice(self._of_model)
        choices = {name: _choice(self._blocks.get(name, [])) for name in links}
        at = self._of_model[0].element.span if self._of_model else None
        return never_colliding(choices, of_model, self._reading, at)


def _choice(blocks: list[SdfReader]) -> bool | None:
    """Return the last value of ``selfCollide``, or None."""
    found = [block.choice(tag) for block in blocks for tag in ("self_collide", "selfCollide")]
    return next((value for value in reversed(found) if value is not None), None)
