"""Obstacles of planners: scene files, read as MoveIt reads them, against the world."""

from io import StringIO

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hrp_sim import Simulation
from hrp_sim.cli.main import main
from hrp_sim.world.obstacles import GAP, obstacles, planning_pose, scene_text

WORLD = """
bodies:
  - {{model: {folder}/mount.urdf, name: crane, position: [1.0, 2.0, 0.5],
      rotation: [0, 0, 1, 1.5708], fixed: true}}
  - {{model: {folder}/things.body, name: some things, position: [0.3, 0.0, 0.4]}}
  - {{model: {folder}/things.body, name: table, position: [0.0, -3.0, 0.0], fixed: true}}
"""
ROBOT = """<robot name="crane"><link name="base"/><link name="jib"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="jib"/>
<axis xyz="0 0 1"/></joint></robot>"""
THINGS = """
format: ChoreonoidBody
format_version: 2.0
name: Things
links:
  - name: ROOT
    joint_type: free
    mass: 1.0
    inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1]
    elements:
      - {type: Shape, geometry: {type: Box, size: [0.1, 0.2, 0.3]},
         appearance: {material: {diffuse: [0.1, 0.2, 0.3], transparency: 0.25}}}
      - {type: Shape, translation: [0, 0, 1], geometry: {type: Sphere, radius: 0.4}}
  - name: "far end"
    parent: ROOT
    joint_type: fixed
    translation: [0.0, 0.0, 2.0]
    mass: 1.0
    inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1]
    elements:
      - {type: Shape, geometry: {type: Cylinder, radius: 0.2, height: 0.6}}
      - {type: Shape, geometry: {type: Capsule, radius: 0.1, height: 0.8}}
      - {type: Shape, geometry: {type: Cone, radius: 0.3, height: 0.5}}
"""


class Reader:
    """Reads a scene file as loadGeometryFromStream of MoveIt 2.12: words, and lines for names."""

    def __init__(self, text):
        self.stream = StringIO(text)

    def word(self):
        found = ""
        while (c := self.stream.read(1)) and not (c.isspace() and found):
            found += c.strip()
        if c:
            self.stream.seek(self.stream.tell() - 1)
        return found

    def numbers(self, count, kind=float):
        return [kind(self.word()) for _ in range(count)]

    def pose(self):
        p, q = self.numbers(3), self.numbers(4)
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = Rotation.from_quat(q).as_matrix(), p
        return X

    def shape(self):
        kind = self.word()
        count = {"sphere": 1, "box": 3, "cylinder": 2, "cone": 2, "plane": 4, "mesh": 2}[kind]
        size = self.numbers(count, int if kind == "mesh" else float)
        if kind != "mesh":
            return kind, size
        vertices = np.array(self.numbers(3 * size[0])).reshape(-1, 3)
        triangles = np.array(self.numbers(3 * size[1], int)).reshape(-1, 3)
        return kind, vertices[triangles]

    def scene(self):
        name, objects = self.stream.readline().strip(), {}
        lines = self.stream.getvalue().splitlines()
        starts = [i for i, line in enumerate(lines[1:], 1) if line.startswith("*")]
        assert " " in lines[starts[0] + 1].strip()  # else the format without poses of objects
        while (mark := self.word()) == "*":
            key = self.stream.readline().strip()
            pose = self.pose()
            shapes = [
                (*self.shape(), self.pose(), self.numbers(4)) for _ in range(int(self.word()))
            ]
            frames = {self.word(): self.pose() for _ in range(int(self.word()))}
            objects[key] = pose, shapes, frames
        assert mark == "."
        return name, objects


@pytest.fixture
def world(tmp_path):
    (tmp_path / "mount.urdf").write_text(ROBOT)
    (tmp_path / "things.body").write_text(THINGS)
    path = tmp_path / "world.yaml"
    path.write_text(WORLD.format(folder=tmp_path))
    return path


@pytest.mark.parametrize("frame", ["root", "world"])
def test_a_scene_has_all_shapes_in_the_planning_frame(frame, world, tmp_path, capsys):
    out = tmp_path / "my world.scene"
    chosen = ["--frame", frame] if frame == "root" else []
    assert main(["scene", str(world), "-o", str(out), *chosen]) == 0
    assert "crane" in capsys.readouterr().out
    name, objects = Reader(out.read_text()).scene()
    assert name == "my world"
    assert list(objects) == ["some things", "table"]
    X_WP = np.eye(4)
    if frame == "root":
        X_WP[:3, :3] = Rotation.from_rotvec([0.0, 0.0, 1.5708]).as_matrix()
        X_WP[:3, 3] = [1.0, 2.0, 0.5]
    for key, place in {"some things": [0.3, 0.0, 0.4], "table": [0.0, -3.0, -GAP]}.items():
        pose, shapes, frames = objects[key]
        X_WO = X_WP @ pose
        np.testing.assert_allclose(X_WO, [*np.c_[np.eye(3), place], [0, 0, 0, 1]], atol=1e-9)
        np.testing.assert_allclose(frames["far_end"][:3, 3], [0.0, 0.0, 2.0], atol=1e-9)
        kinds = [kind for kind, *_ in shapes]
        assert kinds == ["box", "sphere", "cylinder", "cylinder", "sphere", "sphere", "mesh"]
        sizes = [[0.1, 0.2, 0.3], [0.4], [0.2, 0.6], [0.1, 0.8], [0.1], [0.1]]
        assert [size for _, size, *_ in shapes[:-1]] == sizes
        assert all(color == [0.1, 0.2, 0.3, 0.75] for *_, color in shapes)
        centres = [X[:3, 3].tolist() for _, _, X, _ in shapes[:6]]
        ends = [[0, -0.4, 2], [0, 0.4, 2]]
        np.testing.assert_allclose(centres[:4], [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 2]])
        np.testing.assert_allclose(sorted(centres[4:]), ends, atol=1e-9)
        for _, _, X, _ in shapes[2:4]:  # along y, while MoveIt's cylinders are along z
            np.testing.assert_allclose(np.abs(X[:3, 2]), [0, 1, 0], atol=1e-9)
        corners = shapes[6][1].reshape(-1, 3)
        radius = np.hypot(corners[:, 0], corners[:, 2]).max()
        assert radius == pytest.approx(0.3)
        assert corners[:, 1].max() == pytest.approx(0.25)


def test_obstacles_of_a_free_robot_are_in_the_world():
    with Simulation("rover", defer_images=True) as simulation:
        bodies = simulation.bodies
        fixed = [name for name in bodies if simulation.is_fixed(name)]
        X_WP = planning_pose(bodies["rover"], is_fixed=simulation.is_fixed("rover"))
        _, objects = Reader(scene_text("", obstacles(bodies, fixed, "rover"), X_WP)).scene()
    ((pose, shapes, _),) = objects.values()
    np.testing.assert_allclose(pose[:3, 3], [0.0, 0.0, -GAP])
    tops = [X[2, 3] + size[2] / 2.0 for kind, size, X, _ in shapes if kind == "box"]
    assert min(tops) == pytest.approx(0.0)  # the floor


def test_scenes_without_robot_or_obstacles_are_refused(world, tmp_path, capsys):
    world.write_text(world.read_text() + "  - {model: mount.urdf, name: other}\n")
    out = str(tmp_path / "x.scene")
    assert main(["scene", str(world), "-o", out]) == 2
    assert "--robot: crane, other" in capsys.readouterr().err
    assert main(["scene", str(world), "-o", out, "--robot", "nobody"]) == 2
    assert "no body 'nobody'. It is one of crane, other" in capsys.readouterr().err
    assert main(["scene", str(world), "-o", out, "--robot", "other"]) == 0
    empty = tmp_path / "empty.yaml"
    empty.write_text("bodies:\n  - {model: mount.urdf, fixed: true}\n")
    assert main(["scene", str(empty), "-o", out, "--force"]) == 2
    assert "no body" in capsys.readouterr().err
