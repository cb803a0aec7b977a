"""Names of varied values: where they lead, and what is said of those that lead nowhere."""

import pytest

from hrp_sim.lab.studies.variables import KeyPathError, locate, replaced, unit_of

DOCUMENT = {
    "world": "arm",
    "bodies": {"arm": {"joints": {"J1": 0.1}, "position": [0, 0, 1]}},
    "controllers": [{"body": "arm", "class": "a:A", "args": {"gain": {"kp": 1}}}, {"body": "b"}],
    "events": [
        {"name": "shove", "time": 1, "push": {"body": "arm", "force": [1, 0, 0]}},
        {"time": 2, "command": {"body": "arm", "positions": {"J1": 0.3}}},
        {"name": "twice", "time": 3},
        {"name": "twice", "time": 4},
        {"name": "no. 2", "time": 5},
    ],
}
BODIES = ["arm", "my.robot", "my"]


@pytest.mark.parametrize(
    ("name", "key_path"),
    [
        ("friction", ("physics", "friction")),
        ("physics.time_step", ("physics", "time_step")),
        ("bodies.arm.joints.J1", ("bodies", "arm", "joints", "J1")),
        ("bodies.arm.joints.J.1", ("bodies", "arm", "joints", "J.1")),
        ("bodies.arm.position.z", ("bodies", "arm", "position", 2)),
        ("bodies.arm.masses.HAND", ("bodies", "arm", "masses", "HAND")),
        ("bodies.my.robot.masses.A", ("bodies", "my.robot", "masses", "A")),
        ("events.shove.time", ("events", 0, "time")),
        ("events.shove.push.force.y", ("events", 0, "push", "force", 1)),
        ("events.shove.force", ("events", 0, "push", "force")),
        ("events.shove.size", ("events", 0, "push", "size")),
        ("events.1.positions.J1", ("events", 1, "command", "positions", "J1")),
        ("controllers.arm.args.gain.kp", ("controllers", 0, "args", "gain", "kp")),
        ("controllers.1.rate", ("controllers", 1, "rate")),
        ("controllers.b.args.gain", ("controllers", 1, "args", "gain")),
        ("events.no. 2.time", ("events", 4, "time")),
        ("bodies.arm.control.joints.J1.kp", ("bodies", "arm", "control", "joints", "J1", "kp")),
        ("sensors.force_stdev", ("sensors", "force_stdev")),
        ("duration", ("duration",)),
    ],
)
def test_a_name_leads_to_a_place(name, key_path):
    assert locate(DOCUMENT, name, BODIES) == key_path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("frictoin", "a study has no 'frictoin' that could vary. Did you mean 'friction'?"),
        ("events.shov.size", "'events' has no item 'shov'. Did you mean 'shove'?"),
        ("events.twice.time", "'events' has several 'twice'; select one by its number, from 0"),
        ("controllers.5.rate", "'controllers' has no item '5'."),
        ("stop.0.fell", "the study has no 'stop', so '0.fell' cannot vary"),
        ("world.bodies", "'world' is a single value; it has no 'bodies'"),
        ("bodies.arm.position.w", "'bodies.arm.position' has no item 'w'."),
    ],
)
def test_a_name_that_leads_nowhere_is_explained(name, words):
    with pytest.raises(KeyPathError) as caught:
        locate(DOCUMENT, name, BODIES)
    assert str(caught.value).startswith(words)


def test_a_value_is_replaced_or_added_and_the_document_stays():
    key_path = locate(DOCUMENT, "events.shove.force.x", BODIES)
    assert replaced(DOCUMENT, key_path, 7)["events"][0]["push"]["force"] == [7, 0, 0]
    added = replaced(DOCUMENT, ("physics", "friction"), 0.2)
    assert added["physics"] == {"friction": 0.2}
    assert DOCUMENT["events"][0]["push"]["force"] == [1, 0, 0]
    assert "physics" not in DOCUMENT


def test_units_follow_from_places():
    units = {("arm", "J1"): "rad"}
    assert unit_of(("bodies", "arm", "joints", "J1"), units) == "rad"
    assert unit_of(("bodies", "arm", "masses", "duration"), units) == "kg"
    assert unit_of(("controllers", 0, "args", "size"), units) == ""
    assert unit_of(("events", 0, "push", "size"), units) == "N"
    assert unit_of(("bodies", "arm", "position", 2), units) == "m"
    assert unit_of(("physics", "friction"), units) == ""
