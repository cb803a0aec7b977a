"""YAML with places: text stays text, surprises are reported, nothing crashes."""

import pytest
import yaml
from each_case import all_cases, check_each, some_or_all
from hypothesis import example, given
from hypothesis import strategies as st
from paths import MODELS, ROOT, SHARED
from pyyaml_events import LOADERS, PyYamlEvents

from hrp_model.diagnostics import Diagnostics, Source
from hrp_model.read_context import read_source
from hrp_model.readers.yaml import tree as tree_module
from hrp_model.readers.yaml.tree import Mapping, Scalar, Sequence, parse, parse_document

ALPHABET = "ab01.-+eE:,#&*<>{}[]'\"|!%@\\ \n\té😀\x00\ufeff"
needs_both = pytest.mark.skipif(
    not yaml.__with_libyaml__, reason="PyYAML was built without libyaml"
)
FILES = sorted(
    path
    for folder in (MODELS, ROOT / "test/data/choreonoid", SHARED / "models")
    for suffix in ("body", "yaml")
    for path in folder.rglob(f"*.{suffix}")
)
# Without line breaks: PyYAML writes some of them as they are, and reads them as spaces.
TEXTS = st.text(st.characters(exclude_categories=("C", "Z")), max_size=8)
VALUES = st.recursive(
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(params=["extension", *LOADERS])
def loader(request, monkeypatch):
    """Read with each of the parsers there are."""
    if request.param != "extension":
        monkeypatch.setattr(tree_module, "_yaml", PyYamlEvents(LOADERS[request.param]))


def tree(text, diagnostics):
    return parse(Source("m.yaml", text), diagnostics)


def written(node):
    """Return the characters a node's place covers."""
    return node.span.source.text[node.span.start : node.span.end]


@all_cases("text", ["on", "010", "1e-6", "1:30", "yes", "null", "2001-01-01"])
def test_a_scalar_stays_text(text, diagnostics):
    root = tree(f"{text}: {text}\n", diagnostics)
    ((key, value),) = root.items()
    assert (key.text, value.text) == (text, text)


def test_places_count_characters_not_bytes(loader, diagnostics):
    text = "# 腕 é 😀\nü: [1, 'π']\r\nb: {c: d}\n"
    root = tree(text, diagnostics)
    assert str(root.entries()["b"][0].span) == "m.yaml:3:1"
    pi = root.sequence("ü").items[1]
    assert (written(pi), pi.text) == ("'π'", "π")
    assert written(root.sequence("ü")) == "[1, 'π']"
    assert written(root.mapping("b")) == "{c: d}"


def test_a_byte_order_mark_does_not_shift_places(loader, diagnostics):
    root = tree("\ufeffa: 1\n", diagnostics)
    assert written(root.get("a")) == "1"
    assert str(root.entries()["a"][0].span) == "m.yaml:1:2"


def test_an_alias_is_the_anchored_node_itself(diagnostics):
    root = tree("a: &x [1, 2]\nb: *x\n", diagnostics)
    assert root.get("a") is root.get("b")


def test_merged_keys_fill_gaps_and_the_first_mapping_wins(diagnostics):
    text = "x: &x {a: 1, b: 1}\ny: &y {a: 2, c: 2}\nz: {d: 3, <<: [*x, *y], b: 3}\n"
    assert tree(text, diagnostics).mapping("z").plain_value() == {"d": 3, "b": 3, "a": 1, "c": 2}


def test_of_two_merge_keys_the_earlier_wins(diagnostics):
    root = tree("z: {<<: {a: 1}, <<: {a: 2, b: 2}}\n", diagnostics)
    assert root.mapping("z").plain_value() == {"a": 1, "b": 2}


def test_merging_something_else_is_an_error(diagnostics):
    tree("z: {<<: [1, {a: 2}]}\n", diagnostics)
    assert str(diagnostics.take("bad-merge").at) == "m.yaml:1:10"


def test_the_last_of_equal_keys_wins_with_a_warning(diagnostics):
    root = tree("a: 1\nb: 2\na: 3\n", diagnostics)
    assert root.number("a", default=0.0) == 3.0
    found = diagnostics.take("duplicate-key")
    assert str(found).startswith("m.yaml:3:1: warning: 'a' replaces the same key in line 1")


def test_an_alias_without_anchor_is_an_error(diagnostics):
    assert tree("a: *x\n", diagnostics).get("a").is_null
    assert str(diagnostics.take("unknown-alias").at) == "m.yaml:1:4"


def test_an_alias_inside_its_own_anchor_is_an_error(diagnostics):
    assert tree("a: &x [*x]\n", diagnostics) is not None
    assert str(diagnostics.take("alias-cycle").at) == "m.yaml:1:8"


def test_aliases_may_name_nodes_of_another_file(diagnostics):
    main = parse_document(Source("main", "a: &x 7\n"), diagnostics)
    part = parse_document(Source("part", "&b {c: *x}\n"), diagnostics, main.anchors)
    assert part.root.number("c", default=0.0) == 7.0
    assert part.root.get("c").span.source.name == "main"
    assert set(part.anchors) == {"b"}


@all_cases(
    ("text", "place"),
    [
        ("a: [1, 2\nb: 3\n", "m.yaml:2:2"),
        ("a: @VAR@\n", "m.yaml:1:4"),
        ("é: 'open\n", "m.yaml:2:1"),
        ("a: b\n\tc: d\n", "m.yaml:2:1"),
        ("é: \x01\n", "m.yaml:1:4"),
    ],
)
def test_a_syntax_error_has_its_place(text, place, diagnostics):
    assert tree(text, diagnostics) is None
    assert str(diagnostics.take("yaml-syntax").at) == place


def test_a_mapping_as_a_key_is_an_error(diagnostics):
    tree("a: {{ name }}\n", diagnostics)
    diagnostics.take("bad-key")


def test_only_the_first_document_counts(diagnostics):
    assert tree("--- 1\n--- 2\n", diagnostics).text == "1"
    diagnostics.take("more-documents")


def test_an_empty_text_has_no_root(diagnostics):
    assert tree("# nothing\n", diagnostics) is None


def test_deep_nesting_is_refused(loader, diagnostics):
    assert tree("[" * 5000, diagnostics) is None
    diagnostics.take("too-deep")


def test_nesting_through_aliases_is_refused(diagnostics):
    lines = ["a0: &a0 [0]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 300))]
    assert tree("\n".join(lines), diagnostics) is None
    diagnostics.take("too-deep")


def test_an_alias_bomb_is_refused(diagnostics):
    lines = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    assert tree("a0: &a0 [0]\n" + "\n".join(lines), diagnostics) is None
    diagnostics.take("alias-bomb")


@all_cases(
    ("text", "value"),
    [("1.E-3", 1e-3), (".5", 0.5), ("+7", 7.0), ("010", 10.0), ("0x1F", 31.0), ("-0x1F", -31.0)],
)
def test_numbers_are_read_as_c_reads_them(text, value, diagnostics):
    root = tree(f"a: {text}\nb: [{text}, {text}]\n", diagnostics)
    assert root.number("a", default=None) == value
    assert root.numbers("b", count=2, default=None).tolist() == [value, value]


@pytest.mark.parametrize("text", ["0.t", "1_0", "3 m", "1.2.3"])
def test_text_after_a_number_is_reported(text, diagnostics):
    root = tree(f"a: {text}\nb: [{text}]\n", diagnostics)
    expected = float(text[0] if text[1] != "." else text[:3].rstrip("t"))
    assert root.number("a", default=None) == expected
    assert root.numbers("b", count=1, default=None).tolist() == [expected]
    assert str(diagnostics.take("trailing-text").at) == "m.yaml:1:4"
    assert str(diagnostics.take("trailing-text").at) == "m.yaml:2:5"


@pytest.mark.parametrize("getter", ["number", "integer", "boolean"])
def test_a_key_without_value_says_nothing(getter, diagnostics):
    assert getattr(tree("a:\n", diagnostics), getter)("a", default=None) is None
    assert diagnostics.take("empty-value").severity.value == "warning"


@all_cases("text", ["x", "''", "nan", "inf", "1e999", "[1]", "{a: 1}", "١"])
def test_what_is_no_finite_number_is_an_error(text, diagnostics):
    assert tree(f"a: {text}\n", diagnostics).number("a", default=-1.0) == -1.0
    assert str(diagnostics.take("wrong-type").at) in ("m.yaml:1:3", "m.yaml:1:4")


@all_cases("text", ["[1, x]", "[1, nan]", "[1, [2]]", "7", "{a: 1}"])
def test_what_is_no_list_of_numbers_is_an_error(text, diagnostics):
    assert tree(f"a: {text}\n", diagnostics).numbers("a", count=2, default=None) is None
    diagnostics.take("wrong-type")


def test_a_list_of_the_wrong_length_is_an_error(diagnostics):
    assert tree("a: [1, 2]\n", diagnostics).numbers("a", count=3, default=None) is None
    assert str(diagnostics.take("wrong-count").at) == "m.yaml:1:4"


@all_cases("word", ["y", "Yes", "TRUE", "on", "n", "No", "false", "OFF"])
def test_truth_has_many_words(word, diagnostics):
    root = tree(f"a: {word}\n", diagnostics)
    assert root.boolean("a", default=None) == (word.lower() in {"y", "yes", "true", "on"})


def test_a_whole_number_is_one(diagnostics):
    root = tree("a: 3\nb: 3.7\n", diagnostics)
    assert (root.integer("a", default=0), root.integer("b", default=0)) == (3, 3)
    assert str(diagnostics.take("not-an-integer").at) == "m.yaml:2:4"


def test_a_choice_suggests_the_nearest_word(diagnostics):
    root = tree("joint: revolut\n", diagnostics)
    chosen = root.choice("joint", choices={"revolute": 1, "fixed": 2}, default=0, code="no-joint")
    assert chosen == 0
    assert "Did you mean 'revolute'?" in diagnostics.take("no-joint").message


def test_the_first_spelling_wins_over_the_second(diagnostics):
    root = tree("jointId: 1\njoint_id: 2\n", diagnostics)
    assert root.integer("joint_id", "jointId", default=0) == 2
    assert str(diagnostics.take("two-spellings").at) == "m.yaml:1:1"


def test_keys_that_nobody_asked_for_are_reported_once(diagnostics):
    root = tree("x: &x {mas: 1, free: 2}\ny: *x\n", diagnostics)
    for key in ("x", "y"):
        root.mapping(key).number("mass", default=0.0)
        root.mapping(key).finish(ignore=("free",))
    found = diagnostics.take("unknown-key")
    assert str(found).startswith("m.yaml:1:8: warning: 'mas'")
    assert "Did you mean 'mass'?" in found.message


def test_plain_values_are_only_what_is_plainly_so(diagnostics):
    root = tree("b: {c: [2, 2.5, true, on, 'true', x, ~]}\n", diagnostics)
    assert root.plain_value() == {"b": {"c": [2, 2.5, True, "on", "true", "x", None]}}


def test_tabs_before_a_key_are_called_by_their_name(loader, diagnostics):
    assert tree("a:\n\t- b\n", diagnostics) is None
    assert str(diagnostics.take("yaml-syntax")) == (
        "m.yaml:2:1: error: YAML must be indented with spaces, not with tabs [yaml-syntax]"
    )


def test_an_empty_value_counts_as_absent_for_lists_and_mappings(diagnostics):
    root = tree("a:\nb:\n", diagnostics)
    assert root.mapping("a") is None
    assert root.sequence("b") is None


@given(st.text(alphabet=ALPHABET, max_size=60) | st.text(max_size=30))
def test_any_text_gives_a_tree_or_an_error(text):
    diagnostics = Diagnostics.silent()
    root = tree(text, diagnostics)
    for found in diagnostics.found:
        assert str(found)
    stack = [root] if root is not None else []
    while stack:
        node = stack.pop()
        assert 0 <= node.span.start <= node.span.end <= len(text)
        if isinstance(node, Mapping):
            stack += [child for entry in node.items() for child in entry]
        elif isinstance(node, Sequence):
            stack += node.items
        else:
            assert isinstance(node, Scalar)


def described(text):
    """Return all that reading a text gives: nodes, places, anchors, diagnostics."""
    diagnostics = Diagnostics.silent()
    document = parse_document(Source("m.yaml", text), diagnostics)
    numbers: dict[int, int] = {}

    def node(n):
        if id(n) in numbers:
            return numbers[id(n)]
        numbers[id(n)] = len(numbers)
        place = (n.span.start, n.span.end)
        if isinstance(n, Scalar):
            return (place, n.text, n.plain)
        size = (place, n.weight, n.depth)
        if isinstance(n, Sequence):
            inside = [node(item) for item in n.items]
            assert n.count == len(inside)
            return (size, n.is_nested, inside, str(n.numbers()))
        return (size, [(node(key), node(value)) for key, value in n.items()])

    tree = None if document.root is None else node(document.root)
    anchors = {name: node(n) for name, n in document.anchors.items()}
    return tree, anchors, [str(found) for found in diagnostics.found]


def assert_same_with_both_parsers(text):
    found = described(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_module, "_yaml", PyYamlEvents(yaml.CSafeLoader))
        assert described(text) == found


@needs_both
@some_or_all("files", FILES, 40)
def test_both_parsers_read_a_file_alike(files):
    check_each(files, lambda path: assert_same_with_both_parsers(read_source(path).text))


@needs_both
@given(st.text(alphabet=ALPHABET, max_size=60) | st.text(alphabet="[], 1.5e-x&*#\n:", max_size=40))
@example("[" * 101 + "1 @")
@example("&a [1, 2, &a 3]")
@example("[1, 2.5, 0x10, 3] # 1")
@example("- 1\n- -2e3\n- !!int 3\n- '4'\n")
@example("[1, 2\n 3, 1_0, 1e999, 4]")
@example("\ufeff[é, 1, 😀, 2]")
@example("\ufeffa: \ufeff")
@example("a: \ud800 [1]")
@example("{a: 1, b: [1, 2], c: {d: x}}")
@example("{a: 1, b: [1, x], c: 2}")
@example("{a: 1, [1, 2]: 3, [x]: 4, b: 5}")
@example("a: 1\na: 2\nb: [3]\n'<<': 4\n<<: {a: 5, c: [6]}\nd: 7")
@example("a: &a 1\nb: *a\n&c c: &d [1]\n&e {f: 1}: 2")
@example("{a: 1, b: [2], c: ")
@example("{a: 1, b: [2], c: @")
def test_both_parsers_read_any_text_alike(text):
    assert_same_with_both_parsers(text)


def test_a_list_of_numbers_is_text_still(loader, diagnostics):
    root = tree("a: &x [ 1, -2.50, # 3\n  .5e1 ]\nb: *x\n", diagnostics)
    items = root.sequence("a")
    assert items.numbers().tolist() == [1.0, -2.5, 5.0]
    assert [(item.text, written(item)) for item in items.items] == [
        (text, text) for text in ("1", "-2.50", ".5e1")
    ]
    assert written(items) == "&x [ 1, -2.50, # 3\n  .5e1 ]"
    assert root.get("b") is items
    assert items.plain_value() == [1, -2.5, 5.0]


@given(VALUES)
def test_what_pyyaml_writes_comes_back(value):
    text = yaml.safe_dump(value, allow_unicode=True)
    diagnostics = Diagnostics.silent()
    root = tree(text, diagnostics)
    assert not diagnostics.found
    assert as_text(root) == texts(value)


def as_text(node):
    """Return a tree with every scalar as its text."""
    if isinstance(node, Mapping):
        return {key.text: as_text(value) for key, value in node.items()}
    if isinstance(node, Sequence):
        return [as_text(item) for item in node.items]
    return node.text


def texts(value):
    """Return a value with every scalar as PyYAML writes it."""
    if isinstance(value, dict):
        return {texts(key): texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [texts(inner) for inner in value]
    return value if isinstance(value, str) else yaml.safe_dump(value).split("\n")[0]


def test_equal_keys_at_the_top_that_only_hold_anchors_are_a_note(diagnostics):
    root = tree("a: &x {n: 1}\na: &y {<<: *x, m: 2}\nb: *x\nc: *y\n", diagnostics)
    assert root.mapping("b").number("n", default=0.0) == 1.0
    assert root.mapping("c").number("m", default=0.0) == 2.0
    found = diagnostics.take("duplicate-key")
    assert found.severity.value == "note"
    assert found.message.endswith("; aliases of both still work")


@pytest.mark.parametrize("text", ["a: &x 1\na: 2\n", "a: 1\na: &x 2\n", "a: {b: &x 1, b: &y 2}\n"])
def test_equal_keys_of_which_one_is_lost_are_a_warning(text, diagnostics):
    tree(text, diagnostics)
    assert diagnostics.take("duplicate-key").severity.value == "warning"


def test_the_last_of_equal_anchors_wins_with_a_warning(diagnostics):
    root = tree("t: {a: &x 1, b: &x 2}\nc: *x\n", diagnostics)
    assert root.number("c", default=0.0) == 2.0
    found = diagnostics.take("duplicate-anchor")
    assert (str(found.at), found.severity.value) == ("m.yaml:1:17", "warning")


def test_an_anchor_that_the_top_of_a_file_uses_again_is_a_note(diagnostics):
    root = tree("a: &x 1\nb: &x 2\nc: *x\n", diagnostics)
    assert root.number("c", default=0.0) == 2.0
    found = diagnostics.take("duplicate-anchor")
    assert (str(found.at), found.severity.value) == ("m.yaml:2:4", "note")
