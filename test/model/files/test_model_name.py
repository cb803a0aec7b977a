"""Names of models with the arguments of a xacro file."""

from each_case import all_cases

from hrp_model.files.model_file import join_arguments, split_model_name
from hrp_model.files.resources import path_from_uri


@all_cases(
    ("name", "file", "arguments"),
    [
        ("r.urdf", "r.urdf", {}),
        ("r.urdf.xacro", "r.urdf.xacro", {}),
        ("r.xacro a:=1 b:=2", "r.xacro", {"a": "1", "b": "2"}),
        ("r.xacro 'a:=x y' b:=", "r.xacro", {"a": "x y", "b": ""}),
        ("r.xacro mesh:=package://p/m.stl", "r.xacro", {"mesh": "package://p/m.stl"}),
        ("r.xacro a:=it's", "r.xacro", {"a": "it's"}),
        ("my robot.xacro a:=1", "my robot.xacro", {"a": "1"}),
        ("r.body a:=1", "r.body a:=1", {}),
        ("r.xacro.bak", "r.xacro.bak", {}),
    ],
)
def test_a_name_is_a_file_and_arguments(name, file, arguments):
    assert split_model_name(name) == (file, arguments)


def test_words_of_a_command_line_are_joined():
    words = ["check", "a.xacro", "x:=1", "y:=p q", "--strict", "b.body", "z:=2"]
    joined = join_arguments(words)
    assert joined == ["check", "a.xacro x:=1 'y:=p q'", "--strict", "b.body", "z:=2"]
    assert split_model_name(joined[1]) == ("a.xacro", {"x": "1", "y": "p q"})


def test_the_path_of_a_model_has_no_arguments():
    assert str(path_from_uri("a/b.xacro x:=1")) == "a/b.xacro"
