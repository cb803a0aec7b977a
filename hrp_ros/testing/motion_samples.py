"""Numbers that describe the motion of bodies at one step, by body, quantity and name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from hrp_model import Body, Link
from hrp_model.rigid import Array, matrix_quaternion
from hrp_sim import Simulation
from hrp_sim.engine.state import BodyMotion

# By quantity, one row for each name.
BodySample: TypeAlias = Mapping[str, Array]
Sample: TypeAlias = Mapping[str, BodySample]


class Tolerance(NamedTuple):
    """Difference that counts as one unit, in SI units, and as a share of the expected value."""

    absolute: float
    relative: float

    def shares(self, difference: Array, expected: Array) -> Array:
        """Return differences as multiples of the tolerance."""
        ratio: Array = difference / (self.absolute + self.relative * np.abs(expected))
        return ratio


class Quantity(NamedTuple):
    """A quantity of roots, joints or links.

    Attributes:
        label: In messages, after the name of link or joint.
        width: Numbers for each name.
        tolerance: Difference that is accepted between different machines.
    """

    label: str
    width: int
    tolerance: Tolerance


_POSITION, _VELOCITY = Tolerance(1e-3, 1e-3), Tolerance(1e-2, 1e-3)
_FORCE = Tolerance(1.0, 0.05)
# The keys are those of the file. An orientation is a quaternion (x, y, z, w) with w >= 0.
OF_ROOT = {
    "position": Quantity("position", 3, _POSITION),
    "orientation": Quantity("orientation", 4, _POSITION),
    "velocity": Quantity("velocity", 3, _VELOCITY),
    "angular_velocity": Quantity("angular velocity", 3, _VELOCITY),
}
OF_JOINTS = {
    "joint_position": Quantity("position", 1, _POSITION),
    "joint_velocity": Quantity("velocity", 1, _VELOCITY),
    "joint_effort": Quantity("effort", 1, _FORCE),
}
OF_LINKS = {"contact_force": Quantity("contact force", 1, _FORCE)}
QUANTITIES = OF_ROOT | OF_JOINTS | OF_LINKS
_UNITS = {  # of other quantities than those of joints
    "position": "m",
    "orientation": "",
    "velocity": "m/s",
    "angular_velocity": "rad/s",
    "contact_force": "N",
}


class Layout(NamedTuple):
    """The parts of a body whose motion is sampled.

    Attributes:
        root: Name of the root link, or "" if it is fixed.
        joints: Names of the moving joints.
        links: Names of all links.
    """

    root: str
    joints: tuple[str, ...]
    links: tuple[str, ...]

    def names(self, quantity: str) -> Sequence[str]:
        """Return the names of the links or joints that have a quantity."""
        if quantity in OF_ROOT:
            return (self.root,) if self.root else ()
        return self.joints if quantity in OF_JOINTS else self.links

    def shapes(self) -> dict[str, tuple[int, int]]:
        """Return the shapes of all quantities that this body has."""
        named = ((key, len(self.names(key)), q.width) for key, q in QUANTITIES.items())
        return {key: (count, width) for key, count, width in named if count}


def layouts_of(simulation: Simulation) -> dict[str, Layout]:
    """Return the layouts of all bodies that can move, by name."""
    return dict(_layouts(simulation))


def _layouts(simulation: Simulation) -> Iterator[tuple[str, Layout]]:
    for name, simulated in simulation.bodies.items():
        body = simulated.body
        is_free = not (simulation.is_fixed(name) or body.is_static)
        joints = tuple(link.joint.name for link in body.moving_links)
        if is_free or joints:
            links = tuple(link.name for link in body.links)
            yield name, Layout(body.root.name if is_free else "", joints, links)


def sample_of(simulation: Simulation, layouts: Mapping[str, Layout]) -> dict[str, BodySample]:
    """Return the numbers of the last step; its contacts must have been recorded."""
    forces = _contact_forces(simulation)
    sample: dict[str, BodySample] = {}
    for name, layout in layouts.items():
        simulated = simulation.bodies.get(name)
        if simulated is None:  # removed
            continue
        values = _root_values(simulated.motion) if layout.root else {}
        if layout.joints:
            values |= _joint_values(simulated.motion)
        on_links = np.zeros((len(layout.links), 3))
        for link, force in forces.get(name, ()):
            on_links[link] += force
        values["contact_force"] = np.linalg.norm(on_links, axis=1)[:, np.newaxis]
        sample[name] = values
    return sample


def _root_values(motion: BodyMotion) -> dict[str, Array]:
    orientation = np.array([matrix_quaternion(motion.R[0])])
    values = {"position": motion.p[:1], "orientation": orientation}
    values |= {"velocity": motion.v[:1], "angular_velocity": motion.w[:1]}
    return {key: value.copy() for key, value in values.items()}


def _joint_values(motion: BodyMotion) -> dict[str, Array]:
    columns = zip(OF_JOINTS, (motion.q, motion.dq, motion.effort), strict=True)
    return {key: value[:, np.newaxis].copy() for key, value in columns}


def _contact_forces(simulation: Simulation) -> dict[str, list[tuple[int, Array]]]:
    """Return links and forces of all contacts by body; each counts for both of its bodies."""
    points = simulation.contacts()
    found: dict[str, list[tuple[int, Array]]] = {}
    for (a, b), (i, j), force in zip(points.bodies, points.links, points.force, strict=True):
        found.setdefault(a, []).append((int(i), force))
        found.setdefault(b, []).append((int(j), -force))
    return found


def part_text(body: Body, quantity: str, name: str) -> str:
    """Return a link, or a joint with its link, as text."""
    if quantity not in OF_JOINTS:
        return f"link '{name}'"
    link = _link_of(body, name).name
    return f"joint '{name}'" if link == name else f"link '{link}' (joint '{name}')"


def unit_of(body: Body, quantity: str, name: str) -> str:
    """Return the unit of a quantity, which for joints depends on their type."""
    if quantity in OF_JOINTS:
        units = dict(zip(OF_JOINTS, _link_of(body, name).joint.type.units, strict=True))
        return units[quantity]
    return _UNITS[quantity]


def _link_of(body: Body, joint: str) -> Link:
    return next(link for link in body.moving_links if link.joint.name == joint)
