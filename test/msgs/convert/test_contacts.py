"""Contacts as ros_gz_interfaces/Contacts, with values that all differ."""

import numpy as np
import pytest
from message_bytes import read

from hrp_msgs import messages

if messages.HAS_ROS:
    pytest.importorskip("ros_gz_interfaces.msg", reason="ros_gz_interfaces is not installed")

from hrp_msgs.convert.contacts import ContactsConverter
from hrp_msgs.messages import Contacts, Entity

FOOT, HAND = ("robot/FOOT", "floor/FLOOR"), ("robot/HAND", "box/BOX")
LINKS = [FOOT, HAND, FOOT]
ROWS = np.arange(27.0).reshape(3, 9)
POSITION, NORMAL, FORCE = ROWS[:, :3], ROWS[:, 3:6], ROWS[:, 6:]
DEPTH = np.array([0.1, 0.2, 0.3])


def convert(converter, time_ns, rows, links=LINKS):
    numbers = (values[rows] for values in (POSITION, NORMAL, DEPTH, FORCE))
    return read(converter.convert(time_ns, [links[i] for i in rows], *numbers), Contacts)


def xyz(vectors):
    return [[v.x, v.y, v.z] for v in vectors]


def assert_has(contact, pair, rows):
    """Check a pair of links and its contacts, given by their rows."""
    entities = contact.collision1, contact.collision2
    assert tuple(entity.name for entity in entities) == pair
    assert {entity.type for entity in entities} == {Entity.LINK}
    np.testing.assert_array_equal(xyz(contact.positions), POSITION[rows])
    np.testing.assert_array_equal(xyz(contact.normals), NORMAL[rows])
    np.testing.assert_array_equal(contact.depths, DEPTH[rows])
    first = [wrench.body_1_wrench for wrench in contact.wrenches]
    second = [wrench.body_2_wrench for wrench in contact.wrenches]
    np.testing.assert_array_equal(xyz(w.force for w in first), FORCE[rows])
    np.testing.assert_array_equal(xyz(w.force for w in second), -FORCE[rows])
    assert not np.any(xyz(w.torque for w in (*first, *second)))
    for wrench in contact.wrenches:
        assert (wrench.body_1_name.data, wrench.body_2_name.data) == pair


def test_each_pair_of_links_has_all_its_contacts():
    message = convert(ContactsConverter("map"), 1_500_000_000, [0, 1, 2])
    foot, hand = message.contacts
    assert_has(foot, FOOT, [0, 2])
    assert_has(hand, HAND, [1])
    wrenches = (*foot.wrenches, *hand.wrenches)
    for header in (message.header, *(wrench.header for wrench in wrenches)):
        assert (header.frame_id, header.stamp.sec, header.stamp.nanosec) == ("map", 1, 500_000_000)


def test_contacts_change_from_message_to_message():
    converter = ContactsConverter("world")
    assert convert(converter, 0, []).contacts == []
    for rows in ([0], [2], [0, 2], [1, 0], [0, 1], [1], []):
        message = convert(converter, 1, rows)
        expected = {}
        for row in rows:
            expected.setdefault(LINKS[row], []).append(row)
        assert len(message.contacts) == len(expected)
        for contact, (pair, own) in zip(message.contacts, expected.items(), strict=True):
            assert_has(contact, pair, own)
