"""Text of any encoding, and files that draw in others."""

import pytest

from hrp_model import Body, Joint, JointType, Link
from hrp_model.diagnostics import Severity, Source, Span
from hrp_model.geometry import SceneNode
from hrp_model.read_context import ReadContext, read_source

JAPANESE = "左腕 # ソ表\n"  # the second half holds characters whose second byte is '\\' in cp932


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp932"])
def test_japanese_text_reads_the_same_in_every_encoding(tmp_path, encoding):
    path = tmp_path / "m.wrl"
    path.write_bytes(JAPANESE.encode(encoding))
    source = read_source(path)
    assert (source.name, source.text, source.path) == (str(path), JAPANESE, path)


def test_what_is_neither_utf_8_nor_shift_jis_is_latin_1(tmp_path):
    path = tmp_path / "m.wrl"
    path.write_bytes("# café au lait".encode("latin-1"))
    assert read_source(path, "m").text == "# café au lait"


def test_an_odd_utf_16_file_is_text_all_the_same(tmp_path):
    path = tmp_path / "m.wrl"
    path.write_bytes("ab".encode("utf-16") + b"\x00")
    assert read_source(path).text.startswith("ab")


class Files:
    """A folder and readers of a toy format: a file names the files it includes."""

    def __init__(self, folder, diagnostics):
        self.folder = folder
        self.read = []
        self.context = ReadContext(
            diagnostics,
            scene_readers={".mesh": self.scene},
            body_readers={".robot": self.body},
        )

    def write(self, name, *included):
        (self.folder / name).write_text("\n".join(included))
        return self.folder / name

    def place(self, name="user"):
        return Span(Source(name, "\n\n  x", self.folder / name), 4, 5)

    def scene(self, path, context):
        self.read.append(path.name)
        lines = path.read_text().split()
        at = self.place(path.name)
        inside = [context.read_scene(path.parent / line, at) for line in lines]
        return SceneNode(path.name, children=tuple(node for node in inside if node))

    def body(self, source, context):
        self.read.append(source.name)
        for line in source.text.split():
            if context.read_body(source.path.parent / line, self.place(source.name)) is None:
                return None
        root = Link(name="BASE", parent=None, joint=Joint(type=JointType.FREE, name="BASE"))
        return Body(name=source.name, links=(root,))


@pytest.fixture
def files(tmp_path, diagnostics):
    return Files(tmp_path, diagnostics)


def test_a_scene_is_read_once_however_often_it_is_used(files):
    path = files.write("a.mesh")
    first = files.context.read_scene(path, files.place())
    assert first is files.context.read_scene(path, files.place())
    assert files.read == ["a.mesh"]


def test_scenes_include_scenes(files):
    files.write("b.mesh")
    node = files.context.read_scene(files.write("a.mesh", "b.mesh", "b.mesh"), files.place())
    assert [child.name for child in node.children] == ["b.mesh", "b.mesh"]
    assert files.read == ["a.mesh", "b.mesh"]


def test_scenes_that_include_each_other_are_an_error_and_not_a_crash(files, diagnostics):
    files.write("b.mesh", "a.mesh")
    node = files.context.read_scene(files.write("a.mesh", "b.mesh"), files.place())
    assert [child.name for child in node.children] == ["b.mesh"]
    assert str(diagnostics.take("resource-cycle")) == (
        "b.mesh:3:3: error: files include each other: a.mesh -> b.mesh -> a.mesh [resource-cycle]"
    )
    assert files.context.open_files == []


def test_a_scene_that_cannot_be_read_is_left_out_and_reported_where_it_is_named(files, diagnostics):
    assert files.context.read_scene(files.folder / "a.mesh", files.place()) is None
    assert files.context.read_scene(files.folder / "a.mesh", files.place()) is None
    found = diagnostics.take("unreadable-resource")
    assert str(found).startswith("user:3:3: warning: 'a.mesh' is left out: ")


def test_a_scene_of_an_unknown_kind_lists_the_known_ones(files, diagnostics):
    assert files.context.read_scene(files.write("a.max"), files.place()) is None
    assert "shapes are read from .mesh" in diagnostics.take("unknown-suffix").message


def test_suffixes_have_no_case(files):
    assert files.context.read_scene(files.write("A.MESH"), files.place()) is not None
    assert files.context.read_body(files.write("A.Robot")) is not None


def test_a_body_is_called_what_the_user_called_its_file(files):
    assert files.context.read_body(files.write("a.robot"), name="./a.robot").name == "./a.robot"


def test_bodies_that_include_each_other_are_an_error(files, diagnostics):
    files.write("b.robot", "a.robot")
    assert files.context.read_body(files.write("a.robot", "b.robot")) is None
    assert "a.robot -> b.robot -> a.robot" in diagnostics.take("resource-cycle").message
    assert files.context.open_files == []


def test_a_missing_body_is_an_error_that_says_why(files, diagnostics):
    assert files.context.read_body(files.folder / "a.robot", name="a.robot") is None
    assert str(diagnostics.take("unreadable-file")) == (
        "error: cannot read 'a.robot': No such file or directory [unreadable-file]"
    )


def test_a_body_of_an_unknown_kind_lists_the_known_ones(files, diagnostics):
    assert files.context.read_body(files.write("a.sdf"), name="a.sdf") is None
    assert "models are read from .robot files" in diagnostics.take("unknown-suffix").message


def test_a_reference_is_relative_to_the_file_that_makes_it(files, diagnostics):
    path = files.write("a.mesh")
    assert files.context.resolve("a.mesh", files.place()) == path.resolve()
    assert files.context.resolve("b.mesh", files.place()) is None
    found = diagnostics.take("missing-resource")
    assert str(found).startswith("user:3:3: warning: 'b.mesh' is left out: no such file")


def test_a_reference_may_be_relative_to_another_folder(files, diagnostics):
    (files.folder / "parts").mkdir()
    path = files.write("parts/b.mesh")
    assert files.context.resolve("b.mesh", files.place(), folder=path.parent) == path.resolve()


def test_what_is_needed_and_missing_is_an_error(files, diagnostics):
    assert files.context.resolve("b.robot", files.place(), needed=True) is None
    assert diagnostics.take("missing-resource").severity is Severity.ERROR


def test_a_look_for_a_file_reports_nothing(files, diagnostics):
    files.write("a.mesh")
    assert files.context.exists("a.mesh", files.place())
    assert not files.context.exists("b.mesh", files.place())


def test_a_reader_knows_where_its_file_was_named(files, diagnostics):
    """For what is wrong in a file that has no lines."""
    named = []

    def read(path, context):
        named.append(context.reference_span)
        return SceneNode()

    files.context.scene_readers[".bin"] = read
    at = files.place()
    files.context.read_scene(files.write("a.bin"), at)
    assert named == [at]
    assert files.context.reference_span is None


def test_a_link_out_of_the_folder_is_left_out_or_an_error(files, diagnostics, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "a.mesh"
    outside.write_text("")
    (files.folder / "a.mesh").symlink_to(outside)
    assert files.context.resolve("a.mesh", files.place()) is None
    assert diagnostics.take("link-outside").severity is Severity.WARNING
    assert files.context.resolve("a.mesh", files.place(), needed=True) is None
    assert diagnostics.take("link-outside").severity is Severity.ERROR
    assert not files.context.exists("a.mesh", files.place())
