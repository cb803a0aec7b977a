"""Speed of converting a model to a URDF with meshes, compared with trimesh on the same files.

    python -m pytest test/bench/bench_urdf.py

prints a table. Each round times the conversion and its reference once, so that other load on the
machine affects both; the ratio is that of their medians. Times never fail a test.
"""

import subprocess
import sys
from itertools import count

import bench_inputs
import numpy as np
import pytest
import trimesh
from paths import SHARED, needs_shared
from silent_diagnostics import silent
from trimesh.exchange.gltf import export_glb
from trimesh.exchange.stl import export_stl

from hrp_model import load_body
from hrp_model.collision.hull import convex_hull, tight_box
from hrp_model.collision.shapes import CollisionShapes, with_collision
from hrp_model.geometry import Material, Mesh
from hrp_model.shapes.meshing import corner_normals
from hrp_model.urdf import body_to_urdf, write_meshes
from hrp_model.urdf.glb import glb, stl

MODELS = {
    "HRP4Cmain.wrl": "isri-aist__hrp4c_description/vrml/HRP4Cmain.wrl",
    "nextage main.wrl": "tork-a__rtmros_nextage/nextage_description/models/main.wrl",
    "Labo1v2.body": "choreonoid__choreonoid/share/model/Labo1/Labo1v2.body",
    "AizuSpiderNS.body": "choreonoid__choreonoid/share/model/AizuSpider/AizuSpiderNS.body",
    "Gen3NV.body": "k38-suzuki__hairo-world-plugin/sample/robotic-arm/model/Gen3/Gen3NV.body",
}


@pytest.fixture
def compare(in_turn, rows):
    """Time a conversion and its reference in turn, and add a row to the table."""

    def run(what, size, ours, against="", baseline=None, rounds=5):
        seconds, reference = in_turn(ours, baseline, rounds=rounds)
        ratio = f"{seconds / reference:.2f}" if reference else ""
        rows.append((what, f"{1e3 * seconds:.1f} ms", size, against, ratio))

    return run


def convert(path, folder):
    """Return a function that reads a model and writes its URDF and meshes to a new folder."""
    number = count()

    def run():
        body = load_body(path, silent())
        uris = write_meshes(body, folder / str(next(number)), diagnostics=silent())
        return body_to_urdf(body, uris, silent())

    return run


def read_only(path):
    return lambda: load_body(path, silent())


def test_fifty_meshes(compare, tmp_path):
    path = tmp_path / "robot.wrl"
    path.write_text(bench_inputs.meshes_wrl(50, 40))
    compare(
        ".wrl of 50 meshes to URDF, GLB, STL",
        f"{50 * 2 * 39**2} triangles",
        convert(path, tmp_path),
        "reading it",
        read_only(path),
    )


def test_fifty_meshes_by_the_command(compare, tmp_path):
    path = tmp_path / "robot.wrl"
    path.write_text(bench_inputs.meshes_wrl(50, 40))
    number = count()

    def command():
        out = tmp_path / str(next(number)) / "robot.urdf"
        out.parent.mkdir()
        run("-m", "hrp_model.cli.main", "urdf", str(path), "-o", str(out))

    def run(*arguments):
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    compare(
        "the same by hrp-model urdf",
        "",
        command,
        'python -c "import trimesh"',
        lambda: run("-c", "import trimesh"),
        rounds=3,
    )


@needs_shared
@pytest.mark.parametrize("name", MODELS)
def test_a_published_model(compare, tmp_path, name):
    path = SHARED / "models" / MODELS[name]
    uris = write_meshes(load_body(path, silent()), tmp_path / "count", diagnostics=silent())
    shapes = len(uris.visual) + len(uris.collision)
    size = f"{shapes} shapes"
    compare(f"{name} to URDF, GLB, STL", size, convert(path, tmp_path), "reading", read_only(path))


SMOOTH, FLAT = 0.8, 0.0


@pytest.mark.parametrize("crease_angle", [SMOOTH, FLAT])
def test_glb(compare, crease_angle):
    points, triangles = bench_inputs.surface(220)
    mesh = Mesh(points, triangles, crease_angle=crease_angle)

    def by_trimesh():
        # The same corners with normals of their own; it neither joins them nor drops any.
        solid = trimesh.Trimesh(
            points[triangles].reshape(-1, 3),
            np.arange(triangles.size).reshape(-1, 3),
            vertex_normals=corner_normals(mesh).reshape(-1, 3),
            process=False,
        )
        return export_glb(trimesh.Scene(solid), include_normals=True)

    compare(
        f"GLB of one mesh, {'smooth' if crease_angle else 'flat'}",
        f"{len(triangles)} triangles",
        lambda: glb(mesh, Material()),
        "trimesh, corners not joined",
        by_trimesh,
    )


def test_stl(compare):
    mesh = Mesh(*bench_inputs.surface(220))
    size = f"{len(mesh.triangles)} triangles"

    def by_trimesh():
        return export_stl(trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False))

    compare("STL of one mesh", size, lambda: stl(mesh), "trimesh", by_trimesh)


def test_hull(compare):
    points, _ = bench_inputs.surface(220)
    by_trimesh = trimesh.convex.convex_hull
    size = f"{len(points)} points"
    compare("convex hull", size, lambda: convex_hull(points), "trimesh", lambda: by_trimesh(points))


def test_box(compare):
    mesh = Mesh(*bench_inputs.surface(220))
    oriented = trimesh.bounds.oriented_bounds
    size = f"{len(mesh.vertices)} points"
    compare("box", size, lambda: tight_box(mesh), "trimesh", lambda: oriented(mesh.vertices))


@needs_shared
@pytest.mark.parametrize("how", [CollisionShapes.CONVEX, CollisionShapes.BOX])
def test_collision_shapes_of_a_published_model(compare, how):
    path = SHARED / "models" / MODELS["HRP4Cmain.wrl"]
    body = load_body(path, silent())
    what = f"HRP4Cmain.wrl, --collision {how.value}"
    compare(what, "", lambda: with_collision(body, how, silent()), "reading", read_only(path))
