"""Common parts of the tests of ``hrp-model urdf``."""

from urdf_tools import parsed

from hrp_model.cli.main import main


def everything_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def urdf_of(arguments, capsys):
    """Run the command and return the robot that it prints, as urdf_parser_py reads it."""
    assert main(["urdf", *arguments]) == 0
    return parsed(capsys.readouterr().out)
