"""Broken texts, and what is no file, are read or refused."""

import os
import re

import pytest
from bounded_reading import outcome, read_or_refused
from each_case import check_each, mostly_slow
from hostile import BODY, LINK, WRL, body_link, shown, write
from hypothesis import given
from hypothesis import strategies as st
from paths import MODELS, ROOT

from hrp_model import Diagnostics, ModelError, load_body

# --- texts

LONG = "x" * 1_000_000
TEXTS = {
    "a long name_wrl": f"{WRL}DEF {LONG} Humanoid {{ humanoidBody DEF {LONG} Joint {{ }} }}",
    "a long word_wrl": WRL + LONG,
    "a long string_wrl": f'{WRL}Inline {{ url "{LONG}" }}',
    "a long comment_wrl": f"#{LONG}",
    "a long name_body": f"{BODY}links: [ {{ name: {LONG} }}, {{ name: B, parent: {LONG} }} ]",
    "a long key_body": f"{BODY}links: [ {{ name: A, ? {LONG} : 1 }} ]",
    "a long anchor_body": f"{BODY}a: &{LONG} 1\nlinks: [ {{ name: A, x: *{LONG} }} ]",
    "a long uri_body": shown(LONG),
    "a long unknown word_body": body_link(f"joint_type: {LONG}"),
}
BYTES = {
    "nothing_wrl": b"",
    "nothing_body": b"",
    "NUL_wrl": WRL.encode() + b"Group { }\0Group { }",
    "NUL_body": BODY.encode() + b"links: [ { name: A\0B } ]",
    "NUL in a name_body": BODY.encode() + b'links: [ { name: "A\\0B" } ]',
    "NUL in an uri_body": shown('"a\\0b.wrl"').encode(),
    "a lone surrogate_body": BODY.encode() + b'links: [ { name: "A\\uD800" } ]',
    "half of UTF-16_wrl": b"\xff\xfe" + (WRL + "Group { }").encode("utf-16-le") + b"\x00",
    "UTF-16_body": (BODY + "links: [ { name: A } ]").encode("utf-16"),
    "surrogates of UTF-16_body": b"\xff\xfe\x00\xd8\x00\xd8" + BODY.encode("utf-16-le"),
    "mixed encodings_wrl": WRL.encode() + "# 腕\n".encode() + "# 腕\n".encode("cp932") + b"Group{}",
    "mixed encodings_body": BODY.encode()
    + "# 腕\n".encode()
    + "links: [{name: 腕}]".encode("cp932"),
    "half a character_body": BODY.encode() + b"links: [ { name: \xe8\x85",
    "latin_wrl": WRL.encode() + b"DEF \xff\xfe\x81 Group { }",
    "control characters_body": BODY.encode() + b"links: [ { name: \x01\x02\x7f } ]",
    "line separators_body": BODY.encode() + "links:\u2028  - name:\u0085 A\u2029".encode(),
    "two marks_wrl": b"\xef\xbb\xbf\xef\xbb\xbf" + WRL.encode() + b"Group { }",
}


@pytest.mark.parametrize("name", mostly_slow([*TEXTS, *BYTES], 13))
def test_any_text_is_read_or_refused(tmp_path, name):
    path = tmp_path / f"a.{name.rpartition('_')[2]}"
    path.write_bytes(BYTES[name] if name in BYTES else TEXTS[name].encode())
    read_or_refused(path)


# --- what is no file

SUFFIXES = ("wrl", "body", "yaml")
SHAPES = ("wrl", "stl", "dae", "obj", "glb", "ply", "yaml", "scen")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_file_is_no_model(tmp_path, suffix):
    os.mkfifo(tmp_path / f"pipe.{suffix}")
    (tmp_path / f"folder.{suffix}").mkdir()
    (tmp_path / f"zero.{suffix}").symlink_to("/dev/zero")
    (tmp_path / f"dangling.{suffix}").symlink_to("nowhere")
    for name in ("pipe", "folder", "zero", "dangling", "missing"):
        found = outcome(tmp_path / f"{name}.{suffix}")
        assert found.kind == "refused", name
        assert found.codes in (["unreadable-file"], ["unknown-suffix"]), name  # of /dev/zero


@pytest.mark.parametrize("suffix", mostly_slow(SHAPES, 3))
def test_what_is_no_file_has_no_shapes(tmp_path, suffix):
    os.mkfifo(tmp_path / f"pipe.{suffix}")
    (tmp_path / f"folder.{suffix}").mkdir()
    (tmp_path / f"zero.{suffix}").symlink_to("/dev/zero")
    nodes = [f"{{ type: Resource, uri: {n}.{suffix} }}" for n in ("pipe", "folder", "zero")]
    found = read_or_refused(write(tmp_path, a_body=LINK % ", ".join(nodes)))
    assert found.kind == "body"
    assert len(found.codes) >= 3


@pytest.mark.parametrize("name", ["pipe", "zero", "folder"])
def test_companions_of_meshes_must_be_files(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    buffers = f'"buffers":[{{"byteLength":9,"uri":"{name}"}}]'
    accessor = '"accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"}]'
    views = '"bufferViews":[{"buffer":0,"byteLength":36}]'
    meshes = '"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}]'
    write(
        tmp_path,
        m_obj=f"mtllib {name}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
        m_gltf=f'{{"asset":{{"version":"2.0"}},{buffers},{accessor},{views},{meshes}}}',
    )
    nodes = "{ type: Resource, uri: m.obj }, { type: Resource, uri: m.gltf }"
    read_or_refused(write(tmp_path, a_body=LINK % nodes))


@pytest.mark.parametrize("options", ["-s " + "1" * 200_000, "-s 1 " * 100_000])
def test_endless_options_of_a_texture_are_passed_over(tmp_path, options):
    write(
        tmp_path,
        m_obj="mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl A\nf 1 2 3\n",
        m_mtl=f"newmtl A\nmap_Kd {options} no.png\n",
    )
    assert outcome(write(tmp_path, a_body=shown("m.obj"))).codes == ["missing-resource"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_without_permission_is_refused(tmp_path):
    path = write(tmp_path, a_wrl=WRL)
    path.chmod(0)
    assert outcome(path).codes == ["unreadable-file"]


# --- what is left of files, and what was never one

CORPUS = [
    path
    for folder in (ROOT / "test/data/vrml", ROOT / "test/data/choreonoid")
    for path in sorted(folder.rglob("*"))
    if path.suffix in (".wrl", ".body", ".yaml", ".stl", ".obj", ".dae", ".scen")
]
TOKEN = re.compile(rb"[\w.+-]+|[^\w\s]")


def load(path):
    """Read a model here; anything but a ModelError fails the test."""
    found = Diagnostics.silent()
    try:
        load_body(path, found)
    except ModelError:
        assert found.has_errors
    for diagnostic in found.found:
        assert str(diagnostic)


def user_of(path):
    """Return a model that shows a file, or the file itself if it is a model."""
    if path.suffix in (".wrl", ".body", ".yaml"):
        return path
    user = path.with_name("user.body")
    user.write_text(shown(path.name))
    return user


@pytest.mark.parametrize("cuts", [8, pytest.param(40, marks=pytest.mark.slow)])
def test_a_file_may_end_after_any_word(cuts, tmp_path):
    check_each(CORPUS, lambda path: check_ends(path, cuts, tmp_path))


def check_ends(path, cuts, tmp_path):
    data = path.read_bytes()
    ends = [match.end() for match in TOKEN.finditer(data)]
    cut = tmp_path / path.name
    for end in ends[:: max(1, len(ends) // cuts)]:
        cut.write_bytes(data[:end])
        load(user_of(cut))


@pytest.mark.parametrize("suffix", ["wrl", "body", "yaml", *SHAPES[1:]])
@given(data=st.binary(max_size=300))
def test_random_bytes_are_read_or_refused(tmp_path_factory, suffix, data):
    path = tmp_path_factory.getbasetemp() / f"random.{suffix}"
    path.write_bytes(data)
    load(user_of(path))


@pytest.mark.parametrize("name", ["humanoid/humanoid.wrl", "arm/arm.body"])
@given(data=st.data())
def test_damaged_models_are_read_or_refused(tmp_path_factory, name, data):
    text = (MODELS / name).read_bytes()
    path = tmp_path_factory.getbasetemp() / f"damaged{(MODELS / name).suffix}"
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        damage = data.draw(st.sampled_from([b"", b"{", b"]", b'"', b"\0", b"\xff", b"\n", b"- "]))
        text = text[:at] + damage + text[at + data.draw(st.integers(0, 60)) :]
    path.write_bytes(text)
    load(path)
