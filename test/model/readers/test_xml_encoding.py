"""The encoding that an XML file declares counts, in every format in XML."""

import pytest

from hrp_model import load_body
from hrp_model.files.package_search import package_name
from hrp_sim.world.load import load_world

LINK = (
    '<link name="{}"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
FORMATS = {
    "urdf": f'<robot name="r">{LINK}</robot>',
    "xacro": f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{LINK}</robot>',
    "sdf": '<sdf version="1.9"><model name="m"><link name="{}"/></model></sdf>',
    "mjcf": '<mujoco><worldbody><body name="{}"><geom size="1"/></body></worldbody></mujoco>',
    "xml": '<mujoco><worldbody><body name="{}"><geom size="1"/></body></worldbody></mujoco>',
}
# An encoding as declared, and a name that its bytes do not fit any other guess.
NAMES = {
    "ISO-8859-1": "élbowéb",
    "windows-1252": "œuvre",
    "GBK": "右臂",
    "GB2312": "右臂",
    "Big5": "右臂",
    "EUC-JP": "腕",
    "Shift_JIS": "腕",
    "EUC-KR": "팔",
    "KOI8-R": "рука",
    "UTF-16": "腕é",
    "utf-8": "腕é",
    "US-ASCII": "arm",
}


def written(tmp_path, text, declared, encoding=None, kind="urdf", quote='"'):
    """A file with a declaration, in the encoding that it declares or in another one."""
    path = tmp_path / f"model.{kind}"
    first = f"<?xml version={quote}1.0{quote} encoding = {quote}{declared}{quote}?>\n"
    path.write_bytes((first + text).encode(encoding or declared))
    return path


def link_of(path, diagnostics):
    return load_body(path, diagnostics).links[-1].name


@pytest.mark.parametrize("declared", NAMES)
def test_the_declared_encoding_counts(tmp_path, declared, diagnostics):
    name = NAMES[declared]
    path = written(tmp_path, FORMATS["urdf"].format(name), declared)
    assert link_of(path, diagnostics) == name


@pytest.mark.parametrize("kind", FORMATS)
def test_it_counts_in_every_format(tmp_path, kind, diagnostics):
    path = written(tmp_path, FORMATS[kind].format("élbowéb"), "iso-8859-1", kind=kind, quote="'")
    assert link_of(path, diagnostics) == "élbowéb"


def test_it_counts_in_included_files(tmp_path, diagnostics):
    part = FORMATS["xacro"].format("右臂")
    written(tmp_path, part, "GBK", kind="xacro").rename(tmp_path / "part.xacro")
    whole = FORMATS["xacro"].replace(LINK, '<xacro:include filename="part.xacro"/>')
    assert link_of(written(tmp_path, whole, "Big5", kind="xacro"), diagnostics) == "右臂"


def test_it_counts_in_projects(tmp_path, diagnostics):
    (tmp_path / "腕.urdf").write_text(FORMATS["urdf"].format("b"))
    text = '<grxui><mode name="Simulation"><item class="com.generalrobotix.ui.item.GrxModelItem" '
    text += 'name="腕" url="腕.urdf"/></mode></grxui>'
    world = load_world(written(tmp_path, text, "EUC-JP", kind="xml"), diagnostics)
    assert [entry.placement.name for entry in world.bodies] == ["腕"]
    diagnostics.found.clear()


def test_it_counts_in_package_manifests(tmp_path):
    path = written(tmp_path, "<package><!-- 腕 --><name>p</name></package>", "EUC-JP", kind="xml")
    assert package_name(path) == "p"


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("utf-8", "cp932"),
        ("utf-8", "latin-1"),
        ("UTF-16", "utf-8"),  # as written by .NET's StringWriter
        ("utf-8", "utf-16"),
        ("iso-8859-1", "utf-8-sig"),
        ("GBK", "utf-16"),
        ("x-klingon", "utf-8"),
        ("punycode", "utf-8"),
    ],
)
def test_a_false_declaration_is_reported_where_it_stands(tmp_path, declared, encoding, diagnostics):
    name = "café au lait" if encoding == "latin-1" else "左腕"
    path = written(tmp_path, FORMATS["urdf"].format(name), declared, encoding)
    assert link_of(path, diagnostics) == name
    found = diagnostics.take("false-encoding")
    text = found.at.source.text
    assert text[: found.at.start].endswith('encoding = "')
    assert text[found.at.start :].startswith(declared)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_a_mark_or_wide_characters_need_no_declaration(tmp_path, encoding, diagnostics):
    path = tmp_path / "model.urdf"
    text = '<?xml version="1.0"?>' + FORMATS["urdf"].format("腕é")
    path.write_bytes(text.encode(encoding))
    assert link_of(path, diagnostics) == "腕é"
