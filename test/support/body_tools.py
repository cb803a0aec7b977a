"""Read Choreonoid text in tests."""

from pathlib import Path

from hrp_model.diagnostics import Source
from hrp_model.read_context import ReadContext
from hrp_model.readers import choreonoid
from hrp_model.readers.mesh import mesh_file
from hrp_model.readers.vrml import read_scene

HEADER = "format: ChoreonoidBody\nformat_version: 2.0\nname: T\n"


def read_context(diagnostics):
    """Return a Reading with readers of every kind of file that a body may refer to."""
    scenes = {**dict.fromkeys((".stl", ".dae", ".obj", ".glb"), mesh_file.read_scene)}
    bodies = dict.fromkeys((".body", ".yaml"), choreonoid.read_body)
    return ReadContext(
        diagnostics, {**scenes, ".wrl": read_scene, ".scen": choreonoid.read_scene}, bodies
    )


def read_text(text, diagnostics, folder=None, header=HEADER):
    """Read a body from a text, as if it were m.body in a folder."""
    path = folder / "m.body" if folder else None
    return choreonoid.read_body(Source("m.body", header + text, path), read_context(diagnostics))


def read_file(path, diagnostics):
    """Read a body from a file."""
    return read_context(diagnostics).read_body(Path(path).resolve(), name=Path(path).name)


def read_link(keys, diagnostics, folder=None):
    """Read a body of one fixed link with these keys (YAML, one per line), and return the link."""
    lines = "".join(f"    {line}\n" for line in keys.strip("\n").splitlines())
    body = read_text(f"links:\n  - name: A\n{lines}", diagnostics, folder)
    return None if body is None else body.root


def read_device(keys, diagnostics):
    """Read a body whose only link carries one device with these keys (flow YAML)."""
    body = read_text(f"links: [{{name: A, elements: [{{{keys}}}]}}]", diagnostics)
    (device,) = body.devices
    return device
