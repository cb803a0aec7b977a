"""Contacts of a step to ros_gz_interfaces/Contacts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..messages import Contact, Contacts, Entity, Header, JointWrench, String, Vector3
from .basic import Array
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
        rows = np.array([row for rows in rows_of.values() for row in rows], dtype=np.intp)
        self._set_positions(position[rows])
        self._set_normals(normal[rows])
        self._set_depths(depth[rows])
        self._set_forces(force[rows])
        self._set_opposite_forces(-force[rows])
        return self._template.data(time_ns)

    def _arrange(self, counts: Iterable[tuple[Links, int]]) -> None:
        """Make the template of a message with these numbers of contacts, by pairs of links."""
        header = Header(frame_id=self._frame_id)
        contacts = [_contact(header, *pair, count) for pair, count in counts]
        self._template = template = Template(Contacts(header=header, contacts=contacts))
        of_pairs = [f"contacts[{i}]" for i in range(len(contacts))]
        of_points = [
            (f"{path}.{{}}[{j}]").format
            for path, contact in zip(of_pairs, contacts, strict=True)
            for j in range(len(contact.positions))
        ]
        self._set_positions = template.table([path("positions") for path in of_points])
        self._set_normals = template.table([path("normals") for path in of_points])
        self._set_depths = template.table([f"{path}.depths" for path in of_pairs])
        wrenches = [path("wrenches") for path in of_points]
        self._set_forces = template.table([f"{path}.body_1_wrench.force" for path in wrenches])
        self._set_opposite_forces = template.table(
            [f"{path}.body_2_wrench.force" for path in wrenches]
        )


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
