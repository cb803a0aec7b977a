"""Programs of several commands: modules, of which only the named one is imported."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = (".wrl", ".body", ".yaml", ".yml")


def run_program(package: str, commands: Mapping[str, str], arguments: Sequence[str] | None) -> int:
    """Run ``python scripts/PACKAGE COMMAND ...``.

    Args:
        package: Folder of the modules, each with ``add_options`` and ``run``.
        commands: What each command does, by the name of its module.
        arguments: Of the command line; None for those of this process.

    Returns:
        The exit status.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = f"scripts/{package}"
    if not words or words[0] not in commands:
        listed = "\n".join(f"  {command:14}{what}" for command, what in commands.items())
        is_help = words[:1] in (["-h"], ["--help"])
        text = f"usage: python {name} COMMAND [options]\n\n{listed}\n\n--help shows its options."
        print(text, file=sys.stdout if is_help else sys.stderr)
        return 0 if is_help else 2
    command = importlib.import_module(f"scripts.{package}.{words[0]}")
    parser = argparse.ArgumentParser(
        prog=f"{name} {words[0]}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_options(parser)
    return int(command.run(parser.parse_args(words[1:])))


def add_models(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add a folder of models, and the list of those in it that count."""
    parser.add_argument(
        "folder", type=Path, nargs="?" if optional else None, metavar="FOLDER", help="of the models"
    )
    parser.add_argument(
        "--list", type=Path, metavar="LIST.md", help="list of the models; default: all files"
    )


def listed_models(options: argparse.Namespace) -> tuple[list[str], dict[str, str]]:
    """Return the models of the command line, and the commits of their repositories.

    Raises:
        SystemExit: There are none.
    """
    models, commits = find_models(options.folder), dict[str, str]()
    if options.list is not None:
        models, commits = read_list(options.list.read_text(encoding="utf-8"), options.folder)
    if not models:
        print(f"error: no models in {options.folder}", file=sys.stderr)
        raise SystemExit(2)
    return models, commits


def find_models(folder: Path) -> list[str]:
    """Return every file in a folder that may be a model."""
    found = (p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in found)


def read_list(text: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the models, and the commits by folder, that the tables of a text name.

    Rows whose first cell is a model in the folder are the models; rows whose first cell is a folder
    in it, named OWNER__REPOSITORY, give in their second cell the commit of that repository.
    """
    models: list[str] = []
    commits: dict[str, str] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|") or not cells[0]:
            continue
        path = folder / cells[0]
        if path.suffix.lower() in SUFFIXES and path.is_file():
            models.append(cells[0])
        elif path.is_dir() and len(cells) > 1:
            commits[cells[0]] = cells[1]
    return models, commits
