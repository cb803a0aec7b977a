"""Macros, arguments and expressions of xacro files, and what they must not do."""

import pytest
from each_case import all_cases, check_each, some_or_all
from paths import ROOT
from silent_diagnostics import silent

from hrp_model import ModelError, load_body, load_body_text

pytest.importorskip("xacro", reason="xacro is not installed")

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
LINK = '<link name="a"/>'


def read(*lines, **options):
    """Return the body of a text, and its diagnostics without those of missing masses."""
    found = silent()
    text = HEAD + "\n".join(lines) + "\n</robot>\n"
    body = load_body_text(text, found, kind="xacro", name="t.xacro", **options)
    return body, [d for d in found.found if d.code != "massless-link"]


def refused(*lines, **options):
    """Return code, place and message of the only error of a text."""
    found = silent()
    text = HEAD + "\n".join(lines) + "\n</robot>\n"
    with pytest.raises(ModelError) as error:
        load_body_text(text, found, kind="xacro", name="t.xacro", **options)
    [only] = error.value.diagnostics
    return only.code, str(only.at), only.message


def test_arguments_have_defaults_and_values():
    lines = '<xacro:arg name="side" default="left"/>', '<link name="$(arg side)_link"/>'
    assert read(*lines)[0].root.name == "left_link"
    assert read(*lines, arguments={"side": "right"})[0].root.name == "right_link"
    assert read(*lines, arguments={"side": 2.5})[0].root.name == "2.5_link"


def test_an_unknown_argument_is_a_warning():
    _, [found] = read('<xacro:arg name="side" default="l"/>', LINK, arguments={"sied": "r"})
    assert (found.code, found.message) == (
        "unknown-argument",
        "the file has no argument 'sied'. Did you mean 'side'?",
    )


def test_an_unknown_argument_is_a_warning_beside_expressions_of_others():
    lines = '<xacro:arg name="n" default="1"/>', '<link name="l$(eval n + m)"/>'
    body, [found] = read(*lines, arguments={"n": "2", "m": "3", "k": "4"})
    assert body.root.name == "l5"
    assert found.message == "the file has no argument 'k'. It is one of m, n."


def test_attributes_may_be_numbers():
    attribute = '<xacro:attribute name="name" value="${1 + 1}"/>'
    assert read(f"<link>{attribute}</link>")[0].root.name == "2"


def test_a_missing_argument_is_an_error():
    code, at, message = refused("", '<link name="$(arg side)"/>')
    assert (code, at) == ("xacro-error", "t.xacro:3:1")
    assert message == "the argument 'side' is not given: append side:=VALUE to the file"


def test_expressions_calculate():
    define = '<xacro:property name="sum_of" value="${lambda n: n}"/>'
    values = {
        "${1 + 2}": "3",
        "${'a-b'.split('-')[1].upper()}": "B",
        "${[x * 2 for x in [1, 2, 3]][-1]}": "6",
        "${sum_of(3)}": "3",
        "${round(radians(180), 3)}": "3.142",
        "${'%03d' % 7}": "007",
    }
    body, _ = read(define, f'<link name="{" ".join(values)}"/>')
    assert body.root.name.split() == list(values.values())
    assert read('<link name="l$(eval 2 * 3)"/>')[0].root.name == "l6"


@some_or_all(
    "expressions",
    [
        "${().__class__}",
        "${[x.__class__ for x in [1]]}",
        "${(lambda: 0).__code__}",
        "${(x for x in [1]).gi_frame}",
        "${'a'.format}",
        "${math.parent}",
        "${python.type(1)}",
        "${python.vars(1)}",
        "${xacro.load_yaml.func_globals}",
        "${open('/etc/passwd')}",
        "${_x}",
        "${__builtins__}",
        "${(y := 1)}",
        "$(eval open)",
        "$(eval __import__)",
    ],
    5,
)
def test_expressions_cannot_leave_their_sandbox(expressions):
    def check(expression):
        code, _, _ = refused(f'<link name="a" type="{expression}"/>')
        assert code == "xacro-error"

    check_each(expressions, check)


def test_no_expression_gets_at_files_and_processes(tmp_path):
    target = tmp_path / "made"
    for name in ("open", "exec", "eval", "compile", "getattr", "breakpoint", "__import__"):
        assert refused(f"<link name=\"${{{name}('{target}', 'w')}}\"/>")[0] == "xacro-error"
    assert not target.exists()


@all_cases(
    ("lines", "code", "at", "words"),
    [
        (['<link name="${foo}"/>'], "xacro-error", "2:1", "name 'foo' is not defined, when eval"),
        (["<xacro:none/>"], "xacro-error", "2:1", "unknown macro name: xacro:none"),
        (["", "<a><b></a>"], "xml-syntax", "3:9", "mismatched tag"),
        (['<xacro:include filename="none.xacro"/>'], "missing-resource", "2:1", "no such file"),
        (["<l>$(find no_such)/x</l>"], "unsourced-package", "2:1", "is its workspace sourced?"),
        (['<xacro:if value="maybe"/>'], "xacro-error", "2:1", "is not a boolean"),
        (['<xacro:include filename="*.xacro"/>'], "xacro-error", "2:1", "patterns"),
        (["<l>$(env NO_SUCH_VARIABLE)</l>"], "missing-resource", "2:1", "is not set"),
        (
            ['<xacro:macro name="m"><xacro:m/></xacro:macro>', "<xacro:m/>"],
            *("too-deep", "2:23", "nested too deeply: does one call itself without end?"),
        ),
        (
            ['<xacro:macro name="m">', ' <l v="${z}"/>', "</xacro:macro>", "<xacro:m/>"],
            *("xacro-error", "3:2", "in the macro <xacro:m> called at t.xacro:5:1"),
        ),
        (
            ['<xacro:property name="a" value="${a}"/>', '<l v="${a}"/>'],
            *("xacro-error", "3:1", "circular variable definition: a -> a"),
        ),
        (["<l>${xacro.load_yaml(5)}</l>"], "xacro-error", "2:1", "must be a text, not 5"),
        (["<l>${'a' * 10**10}</l>"], "too-large", "2:1", "needs more than 1024 MB of memory"),
    ],
)
def test_errors_have_places(lines, code, at, words):
    found, place, message = refused(*lines)
    assert (found, place) == (code, f"t.xacro:{at}")
    assert words in message
    assert "\n" not in message


def test_an_endless_expansion_is_stopped(monkeypatch):
    monkeypatch.setattr("hrp_model.readers.xacro.expander._MAX_TIME", 1.0)
    doubling = (
        '<xacro:macro name="m" params="n"><xacro:if value="${n &lt; 40}">'
        '<xacro:m n="${n + 1}"/><xacro:m n="${n + 1}"/></xacro:if></xacro:macro>'
    )
    code, _, message = refused(doubling, '<xacro:m n="0"/>')
    assert (code, message) == (
        "too-large",
        "the expansion takes too much time or memory: does a macro repeat without end?",
    )


def test_messages_of_the_file_are_reported():
    _, found = read("<x>${xacro.warning('hot')}</x>", LINK)
    assert ("xacro-warning", "hot") in [(d.code, d.message) for d in found]


def test_messages_of_the_file_are_cut():
    _, found = read("<x>${xacro.warning('h' * 10**7)}</x>", LINK)
    assert max(len(d.message) for d in found) == 2000


def test_files_that_include_each_other_are_a_cycle(tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        text = f'{HEAD}<xacro:include filename="{other}.xacro"/></robot>'
        (tmp_path / f"{name}.xacro").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError) as error:
        load_body(tmp_path / "a.xacro", silent())
    [only] = error.value.diagnostics
    assert only.code == "resource-cycle"
    assert only.message == "files include each other: a.xacro -> b.xacro -> a.xacro"


def test_a_sandbox_has_no_variables_and_no_other_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "hush")
    (tmp_path / "other.xacro").write_text(f"{HEAD}{LINK}</robot>", encoding="utf-8")
    folder = tmp_path / "model"
    folder.mkdir()
    options = {"folder": folder, "sandbox": True}
    for line in ('<x v="$(env SECRET)"/>', '<xacro:include filename="../other.xacro"/>'):
        code, _, message = refused(line, **options)
        assert code == "outside-sandbox"
        assert "hush" not in message
    assert read('<xacro:include filename="../other.xacro"/>', folder=folder)[0].root.name == "a"


def test_relative_meshes_are_relative_to_the_robot(tmp_path):
    (tmp_path / "parts").mkdir()
    mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    (tmp_path / "m.obj").write_text(mesh, encoding="utf-8")
    geometry = '<geometry><mesh filename="m.obj"/></geometry>'
    part = f'{HEAD}<link name="a"><visual>{geometry}</visual></link></robot>'
    (tmp_path / "parts" / "p.xacro").write_text(part, encoding="utf-8")
    robot = f'{HEAD}<xacro:include filename="parts/p.xacro"/></robot>'
    (tmp_path / "r.xacro").write_text(robot, encoding="utf-8")
    assert len(load_body(tmp_path / "r.xacro", silent()).root.visual) == 1


def test_links_defined_in_two_files_name_both_places(tmp_path):
    (tmp_path / "p.xacro").write_text(f"{HEAD}{LINK}</robot>", encoding="utf-8")
    lines = '<xacro:include filename="p.xacro"/>', LINK
    code, at, message = refused(*lines, folder=tmp_path)
    assert (code, at) == ("duplicate-link-name", "t.xacro:3:7")
    assert message == f"link 'a' is already defined in {tmp_path / 'p.xacro'}:2:1"


def test_arguments_of_other_formats_are_a_warning():
    found = silent()
    load_body(ROOT / "models" / "floor.body", found, arguments={"a": "b"})
    assert [d.code for d in found.found] == ["unknown-argument"]
    found = silent()
    load_body_text(f'<robot name="r">{LINK}</robot>', found, arguments={"a": "b"})
    assert "unknown-argument" in [d.code for d in found.found]


def test_arguments_of_other_formats_do_not_reach_their_parts(tmp_path):
    arg = '<xacro:arg name="n" default="a"/><link name="$(arg n)"/>'
    (tmp_path / "part.xacro").write_text(f"{HEAD}{arg}</robot>", encoding="utf-8")
    link = "{type: SubBody, uri: part.xacro}"
    text = f"{{format: ChoreonoidBody, format_version: 2.0, name: b, links: [{link}]}}"
    body = load_body_text(text, silent(), folder=tmp_path, arguments={"n": "b"})
    assert [link.name for link in body.links] == ["a"]


def test_a_missing_library_is_an_error_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr("hrp_model.readers.xacro.expander.find_spec", lambda _: None)
    code, _, message = refused(LINK)
    assert code == "missing-library"
    assert "pip install 'hrp_ros[xacro]'" in message


def test_names_are_relative_to_the_file_that_includes(tmp_path):
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    (tmp_path / "parts" / "p.xacro").write_text(
        f'{HEAD}<xacro:include filename="deep/q.xacro"/></robot>', encoding="utf-8"
    )
    value = "<xacro:property name='v' value='${xacro.load_yaml(\"v.yaml\")}'/>"
    link = '<link name="${v[0]}"/>'
    text = f"{HEAD}{value}{link}</robot>"
    (tmp_path / "parts" / "deep" / "q.xacro").write_text(text, encoding="utf-8")
    (tmp_path / "v.yaml").write_text("[b]\n", encoding="utf-8")
    (tmp_path / "parts" / "deep" / "v.yaml").write_text("[c]\n", encoding="utf-8")
    # As in xacro, a value is evaluated where it is first used.
    body, _ = read('<xacro:include filename="parts/p.xacro"/>', folder=tmp_path)
    assert body.root.name == "c"


def test_a_xacro_file_may_be_an_sdf():
    opening = '<sdf version="1.9" xmlns:xacro="http://www.ros.org/wiki/xacro"><model name="m">'
    link = '<link name="a"><inertial><mass>${1 + 1}</mass></inertial></link>'
    body = load_body_text(f"{opening}{link}</model></sdf>", silent(), kind="xacro")
    assert (body.name, body.root.mass) == ("m", 2.0)


def test_links_to_files_elsewhere_are_refused(tmp_path):
    (tmp_path / "secret.xacro").write_text(f"{HEAD}{LINK}</robot>", encoding="utf-8")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "p.xacro").symlink_to(tmp_path / "secret.xacro")
    code, at, _ = refused('<xacro:include filename="p.xacro"/>', folder=folder)
    assert (code, at) == ("link-outside", "t.xacro:2:1")
