"""Contacts of a step to ros_gz_interfaces/Contacts; apart, as that package may be missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ..messages import Contact, Contacts, Entity, Header, JointWrench, String, Vector3
from ..readings import Array
from .cdr import Template

Links = tuple[str, str]


class ContactsConverter:
    """Converts the contacts of steps; one message has an element for each pair of links.

    As in Gazebo, the normal and the force of ``body_1_wrench`` act on the first link, and
    ``body_2_wrench`` is the opposite force. Torques are zero, because the forces act at the
    contact positions.

    Args:
        frame_id: Name of the frame W.
    """

    message_type = Contacts

    def __init__(self, frame_id: str) -> None:
        self._frame_id = frame_id
        self._counts: Mapping[Links, int] = {}
        self._arrange([])

    def convert(
        self,
        time_ns: int,
        links: Sequence[Links],
        position: Array,
        normal: Array,
        depth: Array,
        force: Array,
    ) -> bytes:
        """Return the message of the contacts of a step.

        Args:
            time_ns: Simulation time of the step, in [ns].
            links: Names of both links of each contact.
            position: In W, in [m], shape (n, 3).
            normal: From the second link into the first, unit vectors in W, shape (n, 3).
            depth: Penetration depths, in [m], shape (n,).
            force: Of the second link on the first, in W, in [N], shape (n, 3).
        """
        rows_of: defaultdict[Links, list[int]] = defaultdict(list)
        for row, pair in enumerate(links):
            rows_of[pair].append(row)
        counts = {pair: len(rows) for pair, rows in rows_of.items()}
        if list(counts.items()) != list(self._counts.items()):  # seldom, while links stay in touch
            self._arrange(counts.items())
            self._counts = counts
        rows = [row for rows in rows_of.values() for row in rows]
        numbers = zip(position[rows], normal[rows], depth[rows], force[rows], strict=True)
        for places, values in zip(self._points, numbers, strict=True):
            places.fill(*values)
        return self._template.data(time_ns)

    def _arrange(self, counts: Iterable[tuple[Links, int]]) -> None:
        """Make the template of a message with these numbers of contacts, by pairs of links."""
        header = Header(frame_id=self._frame_id)
        contacts = [_contact(header, *pair, count) for pair, count in counts]
        self._template = template = Template(Contacts(header=header, contacts=contacts))
        self._points = [
            _Point(template, f"contacts[{i}]", j)
            for i, contact in enumerate(contacts)
            for j in range(len(contact.positions))
        ]


class _Point:
    """Places of the numbers of a contact in the bytes of a message."""

    def __init__(self, template: Template, contact: str, number: int) -> None:
        wrench = f"{contact}.wrenches[{number}]"
        self._position = template.view(f"{contact}.positions[{number}]")
        self._normal = template.view(f"{contact}.normals[{number}]")
        self._depth = template.view(f"{contact}.depths")[number : number + 1]
        self._force = template.view(f"{wrench}.body_1_wrench.force")
        self._opposite = template.view(f"{wrench}.body_2_wrench.force")

    def fill(self, position: Array, normal: Array, depth: float, force: Array) -> None:
        """Replace the numbers; see ``ContactsConverter.convert``."""
        self._position[:], self._normal[:], self._depth[:] = position, normal, depth
        self._force[:], self._opposite[:] = force, -force


def _contact(header: Header, first: str, second: str, count: int) -> Contact:
    names = {"body_1_name": String(data=first), "body_2_name": String(data=second)}
    return Contact(
        collision1=Entity(name=first, type=Entity.LINK),
        collision2=Entity(name=second, type=Entity.LINK),
        positions=[Vector3()] * count,
        normals=[Vector3()] * count,
        depths=[0.0] * count,
        wrenches=[JointWrench(header=header, **names)] * count,
    )
