"""The published lists of keys: complete, and true for each key in a tiny file of its own."""

from each_case import check_each
from model.readers.choreonoid.body_page import (
    EVERY_NODE,
    IGNORED,
    PAGE,
    SUPPORTED,
    TABLES,
    UNSUPPORTED,
    emitted_codes,
    known,
    nodes_in,
    plain,
    read,
    rows,
)
from model.readers.choreonoid.body_samples import BESIDE, CONTEXTS, samples

from hrp_model.program.report import CODES
from hrp_model.readers.choreonoid import devices, geometries, links, scope

# Keys that nobody asks for: kept as information, or in a mapping that nobody checks.
KEPT = {
    ("Model file", key) for key in ("standard_pose", "standardPose", "link_group", "linkGroup")
} | {("CollisionGroup", "name")}


def keys_with(node, spellings, spelling, value):
    """Return the keys of a node: its defaults, what a key needs beside it, and the key."""
    keys = CONTEXTS[node].defaults | BESIDE.get((node, spellings[0]), {})
    return {k: v for k, v in keys.items() if k not in spellings} | {spelling: value}


def check_rows(heading, check, folder):
    """Check the rows of a list, each a node and the spellings of one key."""
    check_each(rows(heading), lambda row: check(*row, folder))


def test_every_key_stands_in_exactly_one_list():
    check_each(CONTEXTS, check_listed_once)


def check_listed_once(node):
    listed = [
        key
        for heading in (SUPPORTED, IGNORED)
        for name, spellings in rows(heading)
        for key in spellings
        if name == node and (node, key) not in KEPT
    ]
    assert sorted(listed) == sorted(set(listed))
    assert sorted(set(listed) - known(node)) == [], "the reader knows nothing of these"
    assert sorted(known(node) - set(listed)) == [], "the page says nothing of these"


def test_every_type_stands_in_exactly_one_list():
    types = {
        *CONTEXTS, "Skip", *scope.UNDRAWN, *devices.READERS, *devices.GENERIC,
        *geometries.READERS, EVERY_NODE,
    }  # fmt: skip
    named = [
        name
        for heading in (SUPPORTED, IGNORED)
        for cells in TABLES[heading]
        for name in nodes_in(cells[0])
    ]
    assert sorted(set(named) - types) == []
    aliases = {"CameraDevice", "Imu"}  # named where they are explained
    text = PAGE.read_text(encoding="utf-8")
    assert sorted(types - set(named) - aliases) == []
    assert all(f"`{alias}`" in text for alias in aliases)


def test_a_supported_key_has_an_effect_in_every_spelling(tmp_path):
    check_rows(SUPPORTED, check_effect, tmp_path)


def check_effect(node, spellings, tmp_path):
    key = spellings[0]
    seen = []
    for value in samples(node, key):
        body, found = read(node, keys_with(node, spellings, key, value), tmp_path)
        assert not found, [str(d) for d in found]
        seen.append(plain(body))
        for alias in spellings[1:]:
            same, found = read(node, keys_with(node, spellings, alias, value), tmp_path)
            assert not found, [str(d) for d in found]
            assert plain(same) == seen[-1], alias
    assert len(seen) < 2 or seen[0] != seen[1]


def test_an_ignored_key_changes_nothing_and_warns_of_nothing(tmp_path):
    check_rows(IGNORED, check_ignored, tmp_path)


def check_ignored(node, spellings, tmp_path):
    key = spellings[0]
    defaults = CONTEXTS[node].defaults | BESIDE.get((node, key), {})
    others = {k: v for k, v in defaults.items() if k not in spellings}
    without = plain(read(node, others, tmp_path)[0])
    for spelling in spellings:
        for value in samples(node, key):
            body, found = read(node, keys_with(node, spellings, spelling, value), tmp_path)
            assert not found, [str(d) for d in found]
            assert plain(body) == without


def test_an_unsupported_key_changes_nothing_but_warns(tmp_path):
    check_rows(UNSUPPORTED, check_unsupported, tmp_path)


def check_unsupported(node, spellings, tmp_path):
    defaults = CONTEXTS[node].defaults
    without = plain(read(node, defaults, tmp_path)[0])
    for spelling in spellings:
        for value in samples(node, spellings[0]):
            body, found = read(node, defaults | {spelling: value}, tmp_path)
            assert found
            assert plain(body) == without


def test_the_page_names_every_joint_type():
    text = PAGE.read_text(encoding="utf-8")
    assert [word for word in links.JOINT_TYPES if f"`{word}`" not in text] == []


def test_every_code_is_explained():
    assert sorted(emitted_codes() - CODES.keys()) == []
