"""hrp-model urdf: the meshes that it writes, and the time that it takes for them."""

import pytest
import trimesh
from arm_model import ARM, write_model
from urdf_tools import parsed

from hrp_model import load_body
from hrp_model.cli.main import main
from hrp_model.collision import decompose
from hrp_model.geometry import Mesh
from hrp_model.program import console
from hrp_model.urdf import UpAxis
from hrp_model.verify import Outcome, verify

# A cone that is as wide as the other one, and higher.
CONE = ARM.replace("height: 0.2", "height: 0.3")
# Far from its hull: two plates at a right angle.
ANGLE = ARM.replace(
    "type: Cone, radius: 0.1, height: 0.2",
    "type: Extrusion, cross_section: [ 0, 0, 0, 2, 0.2, 2, 0.2, 0.2, 2, 0.2, 2, 0, 0, 0 ], "
    "spine: [ 0, 0, 0, 0, 1, 0 ]",
)


def stats(folder):
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_meshes_that_are_there_are_not_written_again_but_damaged_ones_are(tmp_path):
    path, out = write_model(tmp_path), tmp_path / "out" / "arm.urdf"
    meshes = out.parent / "meshes"
    assert main(["urdf", path, "-o", str(out)]) == 0
    before, sound = stats(meshes), {p.name: p.read_bytes() for p in meshes.iterdir()}
    damaged, *others = sorted(sound)
    (meshes / damaged).write_bytes(bytes(len(sound[damaged])))
    (meshes / "mine.stl").write_bytes(b"mine")
    assert main(["urdf", path, "-o", str(out)]) == 0
    assert {p.name: p.read_bytes() for p in meshes.iterdir()} == {**sound, "mine.stl": b"mine"}
    assert others
    assert {name: stats(meshes)[name] for name in others} == {n: before[n] for n in others}


def extents(out, suffix):
    """Return the sizes of the boxes around the meshes beside a URDF, by name of link."""
    files = (out.parent / "meshes").glob(f"*{suffix}")
    return {f.name.partition("-")[0]: trimesh.load_mesh(f).extents.round(6) for f in files}


def test_z_is_up_in_meshes_or_y_as_gltf_has_it(tmp_path):
    path, seen, touched = write_model(tmp_path, CONE), [], []
    for up in ("z", "y"):
        out = tmp_path / up / "arm.urdf"
        assert main(["urdf", path, "-o", str(out), "--glb-up", up]) == 0
        seen.append(extents(out, ".glb"))
        touched.append(extents(out, ".stl"))
    assert seen[0].keys() == seen[1].keys() != set()
    for link, (x, y, z) in seen[0].items():
        assert y != z
        assert seen[1][link].tolist() == [x, z, y]
        assert touched[0][link].tolist() == touched[1][link].tolist() == [x, y, z]


def test_meshes_with_y_up_are_proved_as_such(tmp_path, capsys):
    pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    path, out = write_model(tmp_path, CONE), tmp_path / "arm.urdf"
    assert main(["urdf", path, "-o", str(out), "--glb-up", "y", "--verify"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "compared with y up, as in glTF" in told
    assert "passed" in told
    turned = verify(load_body(path), out, libraries=["pinocchio"], glb_up=UpAxis.Y)
    (row,) = [row for row in turned.rows if row.quantity == "visual meshes"]
    assert row.outcome is Outcome.PASSED
    assert row.difference < 1e-6
    found = verify(load_body(path), out, libraries=["pinocchio"])
    assert [row.quantity for row in found.failures] == ["visual meshes"]


@pytest.fixture
def quick_split(monkeypatch, tmp_path):
    """Have meshes split at once and in-process, and kept below a folder; count how many are."""
    split = []

    class Small:
        def __init__(self, *_):
            pass

        def parts(self, mesh):
            split.append(mesh)
            return [Mesh(mesh.vertices * scale, mesh.triangles) for scale in (0.5, 0.6)]

        def close(self):
            pass

    monkeypatch.setattr(decompose, "_Worker", Small)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return split


def test_what_was_split_once_is_remembered(tmp_path, capsys, quick_split):
    path = write_model(tmp_path, ANGLE)
    pytest.importorskip("vhacdx", reason="vhacdx is not installed")
    texts = []
    for _ in range(2):
        arguments = [path, "--collision", "decomposed", "--mesh-dir", str(tmp_path / "m")]
        assert main(["urdf", *arguments]) == 0
        texts.append(capsys.readouterr().out)
        assert len(quick_split) == 1
    assert texts[0] == texts[1]
    assert len(parsed(texts[0]).link_map["ARM"].collisions) == 2


def test_who_waits_for_more_than_a_second_is_told_why(capsys, quick_split, tmp_path, monkeypatch):
    pytest.importorskip("vhacdx", reason="vhacdx is not installed")
    path = write_model(tmp_path, ANGLE)
    for patience, cache, words in (
        (1e9, "a", ""),
        (0.0, "b", "decomposing meshes into convex parts: 1 ...\n"),
        (0.0, "b", ""),  # they are there
    ):
        monkeypatch.setattr(console, "_DELAY", patience)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
        arguments = [path, "--collision", "decomposed", "--mesh-dir", str(tmp_path / "m")]
        assert main(["urdf", *arguments]) == 0
        written = f"wrote 3 mesh files in {tmp_path / 'm'}\n"
        assert capsys.readouterr().err == words + written
    assert quick_split


def two_links():
    """Return an arm with a second link that has a mesh."""
    start, end = ARM.index("  - name: ARM"), ARM.index("      - type: ForceSensor")
    other = ARM[start:end].replace("name: ARM", "name: ARM2").replace("joint_id: 0", "joint_id: 1")
    return ARM[:end] + other


def test_links_without_their_meshes_are_told_in_one_sentence(tmp_path, capsys):
    path = write_model(tmp_path)
    assert main(["urdf", path]) == 0
    assert "1 shape of link 'ARM' has no mesh file; left out" in capsys.readouterr().err
    path = write_model(tmp_path, two_links())
    assert main(["urdf", path]) == 0
    told = capsys.readouterr().err
    assert told.count("[shape-without-mesh]") == 1
    assert "2 links have shapes that need a mesh file; left out" in told
    assert "-o" in told


def test_meshes_of_a_former_urdf_stay_and_are_told(tmp_path, capsys):
    path, out = write_model(tmp_path), tmp_path / "out" / "arm.urdf"
    arguments = ["urdf", path, "-o", str(out)]
    assert main([*arguments, "--collision", "convex"]) == 0
    meshes = out.parent / "meshes"
    before = stats(meshes)
    left = f"{meshes}: 1 mesh file of the previous URDF is no longer used\n"
    assert "not used" not in capsys.readouterr().err
    assert main([*arguments, "--collision", "box"]) == 0
    assert capsys.readouterr().err.startswith(left)
    assert before.items() <= stats(meshes).items()
    assert main([*arguments, "--collision", "box"]) == 0  # once is enough
    assert "not used" not in capsys.readouterr().err
