"""Speed of reading models, compared with simple operations on the same text.

    python -m pytest test/bench/bench_readers.py

prints a table. Each round times the reader and its reference once, so that other load on the
machine affects both; the ratio is that of their medians. Times never fail a test.
"""

import tracemalloc

import bench_inputs
import numpy as np
import pytest
import yaml
from paths import SHARED, needs_shared
from silent_diagnostics import silent

from hrp_model import load_body
from hrp_model.diagnostics import Source
from hrp_model.readers.yaml.tree import parse

CHOREONOID = SHARED / "models" / "choreonoid__choreonoid"
MODELS = {
    "SR1.body": CHOREONOID / "share/model/SR1/SR1.body",
    "TerrainC.body": CHOREONOID / "sample/WRS2018/model/TerrainC.body",
    "HRP4Cmain.wrl": SHARED / "models/isri-aist__hrp4c_description/vrml/HRP4Cmain.wrl",
}


def events(text: str):
    """Return a function that iterates over all events of a text by PyYAML's binding of libyaml."""
    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    def run():
        loader = loader_class(text)
        while loader.get_event() is not None:
            pass

    return run


def split_numbers(text: str):
    """Return a function that converts all numbers of a VRML mesh by numpy and str.split."""
    lists = [part.split("]")[0].replace(",", " ") for part in text.split("[")[1:]]
    return lambda: [np.array(numbers.split(), float) for numbers in lists]


@pytest.fixture
def compare(in_turn, rows):
    """Time a reader and its reference in turn, and add a row to the table."""

    def run(what, size, reader, against="", baseline=None, rounds=7):
        seconds, reference = in_turn(reader, baseline, rounds=rounds)
        ratio = f"{seconds / reference:.2f}" if reference else ""
        speed = f"{size / seconds / 1e6:.1f} MB/s"
        rows.append((what, f"{1e3 * seconds:.1f} ms", speed, against, ratio))

    return run


def test_a_large_mesh_in_vrml(compare, tmp_path):
    text = bench_inputs.mesh_wrl(500)
    path = tmp_path / "mesh.wrl"
    path.write_text(text)
    compare(
        f"IndexedFaceSet, {len(text) / 1e6:.0f} MB .wrl, to a Body",
        len(text),
        lambda: load_body(path, silent()),
        "np.array(text.split(), float)",
        split_numbers(text),
    )


def test_many_small_nodes_in_vrml(compare, tmp_path):
    text = bench_inputs.robot_wrl(200)
    path = tmp_path / "robot.wrl"
    path.write_text(text)
    compare("200 joints, .wrl, to a Body", len(text), lambda: load_body(path, silent()))


YAML_INPUTS = {
    "1000 links with anchors, .body": lambda: bench_inputs.robot_body(1000),
    "IndexedFaceSet, 20 MB .body": lambda: bench_inputs.mesh_body(420),
}


@pytest.mark.parametrize("name", YAML_INPUTS)
def test_yaml_to_a_tree_with_places(compare, name):
    text = YAML_INPUTS[name]()
    compare(
        f"{name}, to a tree with places",
        len(text),
        lambda: parse(Source("m.body", text), silent()),
        "PyYAML's events of libyaml",
        events(text),
    )


@pytest.mark.parametrize("name", YAML_INPUTS)
def test_yaml_to_a_body(compare, tmp_path, name):
    text = YAML_INPUTS[name]()
    path = tmp_path / "model.body"
    path.write_text(text)
    compare(
        f"{name}, to a Body",
        len(text),
        lambda: load_body(path, silent()),
        "PyYAML's events of libyaml",
        events(text),
        rounds=5,
    )


@needs_shared
@pytest.mark.parametrize("name", MODELS)
def test_a_published_model(compare, name):
    path = MODELS[name]
    in_yaml = path.suffix == ".body"
    compare(
        f"{name}, with all it draws in" if not in_yaml else f"{name}, to a Body",
        path.stat().st_size,
        lambda: load_body(path, silent()),
        "PyYAML's events of libyaml" if in_yaml else "",
        events(path.read_text(encoding="utf-8")) if in_yaml else None,
        rounds=25,
    )


@pytest.mark.parametrize(("kind", "side"), [("wrl", 500), ("body", 420)])
def test_peak_of_memory(rows, tmp_path, kind, side):
    make = bench_inputs.mesh_wrl if kind == "wrl" else bench_inputs.mesh_body
    path = tmp_path / f"mesh.{kind}"
    path.write_text(make(3))
    load_body(path, silent())  # imports what is needed
    path.write_text(make(side))
    tracemalloc.start()
    load_body(path, silent())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = path.stat().st_size
    what = f"IndexedFaceSet, {size / 1e6:.0f} MB .{kind}, peak of memory"
    rows.append((what, "", f"{peak / 1e6:.0f} MB", "size of the file", f"{peak / size:.2f}"))
