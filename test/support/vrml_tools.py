"""Read VRML text in tests."""

from pathlib import Path

from hrp_model.diagnostics import Diagnostics, Source
from hrp_model.read_context import ReadContext
from hrp_model.readers import vrml
from hrp_model.readers.mesh import mesh_file

HEADER = "#VRML V2.0 utf8\n"


def read_context(diagnostics):
    meshes = dict.fromkeys((".stl", ".obj", ".dae"), mesh_file.read_scene)
    return ReadContext(diagnostics, {".wrl": vrml.read_scene, **meshes}, {".wrl": vrml.read_body})


def body_of(text, diagnostics=None, name="m.wrl", path=None):
    """Read text as a model; problems go to ``diagnostics``, or are refused."""
    found = diagnostics or Diagnostics.silent(strict=True)
    body = read_context(found).read_text(Source(name, text, path), ".wrl")
    if diagnostics is None:
        found.raise_errors()
    return body


def robot(inside, diagnostics=None, above=""):
    """Read a robot of one root joint BASE, with ``inside`` among its fields."""
    text = f"{above}DEF R Humanoid {{ humanoidBody DEF BASE Joint {{ {inside} }} }}"
    return body_of(text, diagnostics)


def link_of(inside, diagnostics=None):
    return robot(f'jointType "fixed" {inside}', diagnostics).root


def shapes_of(text, diagnostics=None):
    return body_of(text, diagnostics).root.visual


def write(folder: Path, **files):
    """Write files named ``name.wrl``; return the path of the first."""
    for name, text in files.items():
        (folder / f"{name}.wrl").write_text(HEADER + text, encoding="utf-8")
    return folder / f"{next(iter(files))}.wrl"
