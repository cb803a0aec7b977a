"""The tree of links, included bodies, loops, collision rules, and headers."""

import numpy as np
import pytest
import reference_data
from body_tools import HEADER, read_file, read_text
from each_case import all_cases
from paths import SHARED, needs_shared
from reference_compare import compare

from hrp_model.body import JointType, link_pair

SUB = """
name: SUB
links:
  - { name: BASE, joint_type: revolute, joint_id: 0, joint_range: [-10, 10], translation: [1, 0, 0],
      mass: 2, inertia: [1, 0, 0, 1, 0, 1] }
  - { name: TIP, parent: BASE, joint_type: revolute, joint_id: 1, mass: 1,
      inertia: [1, 0, 0, 1, 0, 1], elements: [{ type: ForceSensor, name: FS, id: 4 }] }
extra_joints: [{ link1_name: BASE, link2_name: TIP, joint_type: ball }]
"""
LINKS = """
links:
  - { name: R }
  - { name: A, parent: R }
  - { name: B, parent: A }
  - { name: C, parent: B }
"""


def names(body):
    return [link.name for link in body.links]


def pairs(*written):
    return {link_pair(*pair) for pair in written}


@all_cases(
    ("rules", "expected"),
    [
        ("[{disabled_link_chain_level: 2}]", ("RA", "AB", "BC", "RB", "AC")),
        ("[{disabled_link_group: [R, C]}]", ("RC",)),
        ("[{disabled_links: [B]}]", ("RB", "AB", "BC")),
        ("[{disabled_links: all}, {enabled_links: [R, C]}]", ("RA", "RB", "AB", "AC", "BC")),
        ("[{disabled_link_chain_level: 1}, {enabled_link_group: [A, B]}]", ("RA", "BC")),
        ("[{disabled_link_chain_level: 1}, {enabled_links: [B]}]", ("RA",)),
        ("[{disabled_links: [B]}, {enabled_link_group: [A, B]}]", ("RB", "BC")),
        ("[]", ()),
    ],
)
def test_collision_rules_apply_in_order(rules, expected, diagnostics):
    body = read_text(f"collision_detection_rules: {rules}{LINKS}", diagnostics)
    assert body.self_collision_disabled == pairs(*expected)


@pytest.mark.parametrize("rule", ["{disabled_links: all}", "{disabled_link_chain_level: 9}"])
def test_more_pairs_than_a_model_can_have_are_not_kept(rule, diagnostics):
    links = ", ".join(f"{{name: L{i}, parent: L0}}" for i in range(1, 500))
    text = f"links: [{{name: L0}}, {links}]\ncollision_detection_rules: [{rule}]"
    assert len(read_text(text, diagnostics).self_collision_disabled) == 100_000
    diagnostics.take("too-large")


def test_what_floats_freely_collides_with_its_parent(diagnostics):
    loose = "{name: A, parent: R, joint_type: free, mass: 1, inertia: [1, 0, 0, 1, 0, 1]}"
    text = f"links: [{{name: R}}, {loose}]"
    assert read_text(text, diagnostics).self_collision_disabled == frozenset()


def test_an_included_body_is_renamed_and_placed(tmp_path, diagnostics):
    (tmp_path / "sub.body").write_text(HEADER.replace("name: T\n", "") + SUB)
    text = """
links:
  - { name: R }
  - { type: SubBody, uri: sub.body, prefix: L_, suffix: _X, parent: R, joint_id_offset: 2,
      translation: [0, 1, 0], elements: [{ type: Shape, geometry: { type: Box } }] }
"""
    body = read_text(text, diagnostics, tmp_path)
    assert names(body) == ["R", "L_BASE_X", "L_TIP_X"]
    base, tip = body.links[1:]
    assert (base.parent, tip.parent) == ("R", "L_BASE_X")
    assert (base.joint.id, tip.joint.id, base.mass) == (2, 3, 2.0)
    assert base.X_PL.p.tolist() == [0, 1, 0]
    # The original, too, forgets ranges that the including entry does not repeat.
    assert base.joint.position.upper == np.inf
    assert len(base.visual) == 1
    assert base.collision is base.visual
    assert [(d.name, d.link, d.id) for d in body.devices] == [("L_FS", "L_TIP_X", 4)]
    assert body.extra_joints[0].links == ("L_BASE_X", "L_TIP_X")


def test_of_an_included_body_names_and_masses_stay(tmp_path, diagnostics):
    (tmp_path / "sub.body").write_text(HEADER + SUB.replace("name: SUB", ""))
    entry = "{type: SubBody, uri: sub.body, parent: R, name: X, mass: 9}"
    base = read_text(f"links: [{{name: R}}, {entry}]", diagnostics, tmp_path).links[1]
    assert (base.name, base.mass) == ("BASE", 2.0)
    assert "uri" not in base.info
    assert [diagnostics.take("left-out").severity.value for _ in range(2)] == ["note"] * 2


def test_a_body_used_twice_is_read_once(tmp_path, diagnostics):
    (tmp_path / "sub.body").write_text(HEADER + "links: [{name: A, mass: 1 kg}]\n")
    entries = ", ".join(f"{{type: SubBody, uri: sub.body, parent: R, prefix: {p}}}" for p in "LR")
    assert names(read_text(f"links: [{{name: R}}, {entries}]", diagnostics, tmp_path)) == [
        "R", "LA", "RA",
    ]  # fmt: skip
    diagnostics.take("trailing-text")


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("_rules: [{disabled_links: all}]", ("RA", "RB", "RC", "AB", "AC", "BC")),
        ("_rules: [{disabled_link_chain_level: 2}]", ("RA", "AB", "BC", "RB", "AC")),
        ("_rules: [{disabled_links: [B]}, {enabled_links: A}]", ("RB", "BC", "AB")),
        ("_rules: [{disabled_link_group: [A, C, X]}]", ("AC",)),
        ("_rules: []", ()),
        (": {exclude_tree_depth: 0, exclude_links: [C]}", ("RC", "AC", "BC")),
        (": {exclude_link_groups: [{links: [A, C]}, [B, A]]}", ("RA", "AB", "BC", "AC")),
    ],
)
def test_rules_of_an_included_body_count(rules, expected, tmp_path, diagnostics):
    text = f"{HEADER}collision_detection{rules}{LINKS}"
    (tmp_path / "sub.body").write_text(text, encoding="utf-8")
    body = read_text("links: [{type: SubBody, uri: sub.body}]", diagnostics, tmp_path)
    assert body.self_collision_disabled == pairs(*expected)
    diagnostics.found = [d for d in diagnostics.found if d.code != "unknown-link"]


@pytest.mark.parametrize(
    "rules", ["_rules: [{disabled_link_group: [A, C]}]", ": {exclude_link_groups: [[A, C]],"
    " exclude_tree_depth: 0}"],
)  # fmt: skip
def test_rules_count_through_a_body_between(rules, tmp_path, diagnostics):
    (tmp_path / "leg.body").write_text(f"{HEADER}collision_detection{rules}{LINKS}")
    (tmp_path / "half.body").write_text(
        f"{HEADER}links: [{{name: H}}, {{type: SubBody, uri: leg.body, prefix: l_, parent: H}}]\n"
    )
    entries = [f"{{type: SubBody, uri: half.body, prefix: {p}_, parent: T}}" for p in "ab"]
    body = read_text(f"links: [{{name: T}}, {', '.join(entries)}]", diagnostics, tmp_path)
    expected = {frozenset((f"{p}_l_A", f"{p}_l_C")) for p in "ab"}
    assert body.self_collision_disabled == expected


def test_own_rules_of_a_body_between_win(tmp_path, diagnostics):
    (tmp_path / "leg.body").write_text(
        f"{HEADER}collision_detection_rules: [{{disabled_links: all}}]{LINKS}"
    )
    (tmp_path / "half.body").write_text(
        f"{HEADER}collisionDetection: {{excludeTreeDepth: 0, excludeLinks: [l_A]}}\n"
        "links: [{type: SubBody, uri: leg.body, prefix: l_}]\n"
    )
    text = "links: [{type: SubBody, uri: half.body, suffix: _x}]"
    body = read_text(text, diagnostics, tmp_path)
    others = ("R", "B", "C")
    assert body.self_collision_disabled == {frozenset(("l_A_x", f"l_{o}_x")) for o in others}


def test_devices_of_an_included_body_may_have_a_prefix_of_their_own(tmp_path, diagnostics):
    (tmp_path / "sub.body").write_text(HEADER + SUB.replace("name: SUB", ""))
    entry = "{type: SubBody, uri: sub.body, parent: R, prefix: L_, suffix: _X, devicePrefix: D_}"
    body = read_text(f"links: [{{name: R}}, {entry}]", diagnostics, tmp_path)
    assert [(d.name, d.link) for d in body.devices] == [("D_FS", "L_TIP_X")]
    assert [link.joint.name for link in body.links[1:]] == ["L_BASE_X", "L_TIP_X"]


def test_rules_of_the_file_itself_win_over_those_of_included_bodies(tmp_path, diagnostics):
    rules = "collision_detection_rules: [{disabled_links: all}]"
    (tmp_path / "sub.body").write_text(f"{HEADER}{rules}{LINKS}", encoding="utf-8")
    text = "collisionDetection: {}\nlinks: [{type: SubBody, uri: sub.body}]"
    body = read_text(text, diagnostics, tmp_path)
    assert body.self_collision_disabled == pairs("RA", "AB", "BC")


def test_a_continuous_track_becomes_a_chain(diagnostics):
    text = """
links:
  - { name: R }
  - { type: ContinuousTrack, name: T, parent: R, numJoints: 3, jointOffset: [0.1, 0, 0],
      initialJointAngles: [90], jointAxis: Y, mass: 1, inertia: [1, 0, 0, 1, 0, 1] }
"""
    body = read_text(text, diagnostics)
    assert names(body) == ["R", "T0", "T1", "T2"]
    assert [link.parent for link in body.links] == [None, "R", "T0", "T1"]
    kinds = [link.joint.type for link in body.links[1:]]
    assert kinds == [JointType.FREE, JointType.REVOLUTE, JointType.REVOLUTE]
    assert body.links[2].joint.initial == pytest.approx(np.pi / 2)
    assert body.links[3].X_PL.p.tolist() == [0.1, 0, 0]
    assert body.links[1].info == {"isContinuousTrack": True}


def test_the_devices_of_a_track_are_on_its_first_link(diagnostics):
    keys = "name: T, parent: R, numJoints: 3, jointOffset: [1, 0, 0], mass: 1"
    entry = f"{{type: ContinuousTrack, {keys}, elements: [{{type: ForceSensor, name: F}}]}}"
    body = read_text(f"links: [{{name: R}}, {entry}]", diagnostics)
    assert [device.link for device in body.devices] == ["T0"]
    assert len([diagnostics.take("default-inertia") for _ in range(3)]) == 3


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ("numJoints: 2, jointOffset: [1, 0, 0]", "wrong-count"),
        ("jointOffset: [1, 0, 0]", "wrong-count"),
        ("numJoints: 3", "missing-key"),
    ],
)
def test_a_track_without_its_measures_is_an_error(keys, code, diagnostics):
    entry = f"{{type: ContinuousTrack, name: T, parent: R, {keys}}}"
    read_text(f"links: [{{name: R}}, {entry}]", diagnostics)
    assert diagnostics.take(code).severity.value == "error"
    diagnostics.found.clear()


def test_a_model_without_name_has_that_of_its_file(tmp_path, diagnostics):
    (tmp_path / "robot.body").write_text(
        "format: ChoreonoidBody\nformat_version: 2.0\nlinks: [{name: A}]\n"
    )
    assert read_file(tmp_path / "robot.body", diagnostics).name == "robot"


@needs_shared
@all_cases("path", sorted((SHARED / "reference" / "quirks").glob("b*.body")))
def test_quirks_agree_with_the_reference(path, diagnostics):
    body = read_file(path, diagnostics)
    assert not diagnostics.has_errors
    diagnostics.found.clear()
    found = compare(body, reference_data.load(f"{path}.json")).differences
    # The reference leaves axis vectors as long as they were written.
    others = [d for d in found if not (d.path.endswith("axis") and parallel(d.ours, d.theirs))]
    assert not others, "\n".join(map(str, others))


def parallel(ours, theirs):
    return np.allclose(ours, np.array(theirs) / np.linalg.norm(theirs), atol=1e-12)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("[{disabled_links: [B]}]", "B"),
        ("[{disabled_links: all}, {enabled_links: [R, C]}]", "AB"),
        ("[{disabled_links: [B]}, {enabled_link_group: [A, B]}]", ""),
        ("[{disabled_link_group: [R, C]}, {disabled_link_chain_level: 3}]", ""),
    ],
)
def test_disabled_links_touch_nothing_at_all(rules, expected, diagnostics):
    body = read_text(f"collision_detection_rules: {rules}{LINKS}", diagnostics)
    assert body.collision_disabled == set(expected)


def test_so_do_the_links_that_the_older_keys_exclude(diagnostics):
    body = read_text(f"collisionDetection: {{ excludeLinks: [C, A] }}{LINKS}", diagnostics)
    assert body.collision_disabled == {"A", "C"}


def test_names_are_made_unique_with_warnings(diagnostics):
    text = "links: [{name: A}, {name: A, parent: A}, {parent: A}, {name: A_2, parent: A}]"
    body = read_text(text, diagnostics)
    assert names(body) == ["A", "A_3", "link2", "A_2"]
    assert [link.joint.name for link in body.links] == names(body)
    diagnostics.take("duplicate-link-name")
    diagnostics.take("unnamed-link")
