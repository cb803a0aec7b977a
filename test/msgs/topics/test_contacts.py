"""Contacts as markers of RViz."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from visualization_msgs.msg import Marker

from hrp_msgs.topics.world import FORCES, POINTS, contact_markers

POSITION = np.array([[0.1, -0.2, 0.0], [0.3, 0.4, 0.5], [1.0, 2.0, 3.0]])
FORCE = np.array([[0.0, 0.0, 100.0], [-20.0, 30.0, 50.0], [0.0, 0.0, 1e-3]])


def xyz(point):
    return [point.x, point.y, point.z]


def test_each_contact_is_a_point_and_each_force_an_arrow_from_it():
    points, *arrows = contact_markers(1_500_000_000, "map", POSITION, FORCE, 0.002).markers
    assert (points.ns, points.type, points.action) == (POINTS, Marker.SPHERE_LIST, Marker.ADD)
    np.testing.assert_array_equal([xyz(p) for p in points.points], POSITION)
    assert points.scale.x == points.scale.y == points.scale.z > 0.0
    assert len(arrows) == 2  # a milli-newton cannot be seen
    for number, arrow in enumerate(arrows):
        assert (arrow.ns, arrow.id, arrow.type) == (FORCES, number, Marker.ARROW)
        start, end = (np.array(xyz(p)) for p in arrow.points)
        np.testing.assert_array_equal(start, POSITION[number])
        np.testing.assert_allclose(end - start, 0.002 * FORCE[number], atol=1e-15)
        assert arrow.scale.y > arrow.scale.x > 0.0
    for marker in (points, *arrows):
        assert (marker.header.frame_id, marker.header.stamp.sec) == ("map", 1)
        assert marker.header.stamp.nanosec == 500_000_000
        assert marker.pose.orientation.w == 1.0
        assert marker.color.a == 1.0
        assert (marker.lifetime.sec, marker.lifetime.nanosec) == (0, 0)


def test_arrows_of_contacts_that_ended_are_deleted():
    message = contact_markers(0, "world", POSITION[:1], FORCE[:1], 0.01, arrows_before=3)
    actions = [(m.ns, m.id, m.action) for m in message.markers]
    assert actions == [
        (POINTS, 0, Marker.ADD),
        (FORCES, 0, Marker.ADD),
        (FORCES, 1, Marker.DELETE),
        (FORCES, 2, Marker.DELETE),
    ]


def test_what_touches_nothing_any_more_shows_nothing():
    message = contact_markers(0, "world", np.zeros((0, 3)), np.zeros((0, 3)), 0.01, 1)
    assert {m.action for m in message.markers} == {Marker.DELETE}
    assert {(m.ns, m.id) for m in message.markers} == {(POINTS, 0), (FORCES, 0)}
