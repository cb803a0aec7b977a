"""Topics that the bodies of a world share: time, TF and contacts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np

from .. import names, qos
from ..convert.basic import header
from ..convert.cdr import Template
from ..convert.tf import FramePose, tf_message, transform
from ..messages import Clock, ColorRGBA, Marker, MarkerArray, Point, TFMessage
from ..readings import Array
from .topic import TopicMaker

_STATIC_NS = 0  # stamp of static transforms, in [ns]
MIN_CLOCK_NS = 1  # nodes interpret a clock of 0 as not started


class SharedTopics:
    """Publishes ``/clock``, ``/tf`` and ``/tf_static``; callable from any thread.

    Args:
        topics: Creates the topics.

    Attributes:
        tf: Topic of moving frames.
        all: All three topics.
    """

    def __init__(self, topics: TopicMaker) -> None:
        self._clock = topics.create(Clock, names.CLOCK, qos.CLOCK)
        self._fill_clock = Template(Clock()).filler()
        self.tf = topics.create(TFMessage, names.TF, qos.TF)
        self._static = topics.create(TFMessage, names.TF_STATIC, qos.TF_STATIC)
        self.all = [self._clock, self.tf, self._static]
        self._static_frames: list[FramePose] | None = None
        self._publishing = threading.Lock()

    def publish_clock(self, time_ns: int) -> None:
        """Publish a simulation time in [ns]; zero as 1 ns, since 0 means that there is no time."""
        if self._clock.has_subscribers():
            self._clock.publish(self._fill_clock(max(time_ns, MIN_CLOCK_NS)))

    def publish_static(self, get_frames: Callable[[], list[FramePose]]) -> None:
        """Publish all static frames in one message, if they have changed.

        Args:
            get_frames: Returns the frames. Called under a lock, so that of several threads the
                last one publishes the newest frames.
        """
        with self._publishing:
            frames = get_frames()
            if frames != self._static_frames:
                self._static_frames = frames
                self._static.publish(tf_message(transform(_STATIC_NS, *x) for x in frames))


POINTS, FORCES = "contact_points", "contact_forces"
_MIN_LENGTH = 1e-3  # [m], of a visible arrow
_POINT, _SHAFT, _HEAD = 0.015, 0.008, 0.016  # [m], diameters
_POINT_COLOR = ColorRGBA(r=1.0, g=0.85, b=0.1, a=1.0)
_FORCE_COLOR = ColorRGBA(r=0.9, g=0.2, b=0.2, a=1.0)


def contact_markers(
    time_ns: int, frame_id: str, position: Array, force: Array, scale: float, arrows_before: int = 0
) -> MarkerArray:
    """Return the markers of all contacts of a step.

    Args:
        time_ns: Simulation time of the step, in [ns].
        frame_id: Name of the frame W.
        position: Positions of the contacts in W, in [m], shape (n, 3).
        force: Forces in W, in [N], shape (n, 3).
        scale: Length of the arrow of one newton, in [m/N]. Arrows shorter than a millimetre are
            omitted.
        arrows_before: Number of arrows in the previous message; surplus ones are deleted.
    """
    points = _marker(time_ns, frame_id, POINTS, 0, Marker.SPHERE_LIST)
    points.scale.x = points.scale.y = points.scale.z = _POINT
    points.color = _POINT_COLOR
    points.points = [_point(p) for p in position]
    if not len(position):
        points.action = Marker.DELETE  # RViz rejects empty lists
    arrows = scale * force
    visible = np.linalg.norm(arrows, axis=1) >= _MIN_LENGTH
    shown = [
        _arrow(time_ns, frame_id, number, p, p + along)
        for number, (p, along) in enumerate(zip(position[visible], arrows[visible], strict=True))
    ]
    for number in range(len(shown), arrows_before):
        gone = _marker(time_ns, frame_id, FORCES, number, Marker.ARROW)
        gone.action = Marker.DELETE
        shown.append(gone)
    return MarkerArray(markers=[points, *shown])


class ContactTopic:
    """Publishes ``contacts``.

    Args:
        topics: Creates the topic.
        frame_id: Name of the frame W.

    Attributes:
        topic: The topic.

    Raises:
        ImportError: The package ros_gz_interfaces is not installed.
    """

    def __init__(self, topics: TopicMaker, frame_id: str) -> None:
        from ..convert.contacts import ContactsConverter

        self._converter = ContactsConverter(frame_id)
        self.topic = topics.create(ContactsConverter.message_type, names.CONTACTS, qos.IMAGE)

    def publish(
        self,
        time_ns: int,
        links: Sequence[tuple[str, str]],
        position: Array,
        normal: Array,
        depth: Array,
        force: Array,
    ) -> None:
        """Publish the contacts of a step; see ``ContactsConverter.convert``."""
        message = self._converter.convert(time_ns, links, position, normal, depth, force)
        self.topic.publish(message)


class ContactMarkerTopic:
    """Publishes ``contacts/markers``.

    Args:
        topics: Creates the topic.
        frame_id: Name of the frame W.

    Attributes:
        topic: The topic.
    """

    def __init__(self, topics: TopicMaker, frame_id: str) -> None:
        self.topic = topics.create(MarkerArray, names.CONTACT_MARKERS, qos.IMAGE)
        self._frame_id = frame_id
        self._arrows = 0

    def publish(self, time_ns: int, position: Array, force: Array, scale: float) -> None:
        """Publish contacts, replacing the previous ones; see ``contact_markers``."""
        message = contact_markers(time_ns, self._frame_id, position, force, scale, self._arrows)
        shown = (m for m in message.markers if m.ns == FORCES and m.action == Marker.ADD)
        self._arrows = sum(1 for _ in shown)
        self.topic.publish(message)


def _marker(time_ns: int, frame_id: str, group: str, number: int, kind: int) -> Marker:
    marker = Marker(header=header(time_ns, frame_id), ns=group, id=number, type=kind)
    marker.pose.orientation.w = 1.0
    return marker


def _arrow(time_ns: int, frame_id: str, number: int, start: Array, end: Array) -> Marker:
    arrow = _marker(time_ns, frame_id, FORCES, number, Marker.ARROW)
    arrow.scale.x, arrow.scale.y = _SHAFT, _HEAD
    arrow.color = _FORCE_COLOR
    arrow.points = [_point(start), _point(end)]
    return arrow


def _point(p: Array) -> Point:
    x, y, z = p.tolist()
    return Point(x=x, y=y, z=z)
