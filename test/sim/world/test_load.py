"""From a file of any kind to a world: models alone, wrappers, our own worlds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from paths import MODELS, ROOT

from hrp_model import Diagnostics, ModelError
from hrp_sim.cli.main import main
from hrp_sim.run.requests.resources import Resource, read_world
from hrp_sim.world.load import load_world, load_world_text
from hrp_sim.world.projects import ProjectOptions
from hrp_sim.world.world_names import DEFAULT_WORLD, bundled_worlds, world_path

ARM = """\
format: ChoreonoidBody
format_version: 2.0
name: Arm
links:
  - { name: BASE, joint_type: fixed, translation: [ 0, 0, 1 ], mass: 1 }
  - { name: J1, parent: BASE, joint_type: revolute, joint_id: 0, joint_axis: Z, mass: 1,
      inertia: [1,0,0,0,1,0,0,0,1] }
"""


@pytest.mark.parametrize("name", ["nowhere.yaml", "nowhere.body", "loop.yaml", "loop.body"])
def test_a_file_that_cannot_be_read_is_an_error_and_no_crash(tmp_path, name):
    for loop in ("loop.yaml", "loop.body"):
        (tmp_path / loop).symlink_to(tmp_path / loop)
    with pytest.raises(ModelError, match=r"error: cannot read '.*': .* \[unreadable-file\]"):
        load_world(tmp_path / name, Diagnostics.silent())


def test_a_model_alone_is_put_on_a_floor(tmp_path, diagnostics):
    (tmp_path / "arm.body").write_text(ARM)
    floor, arm = (
        entry.placement for entry in load_world(tmp_path / "arm.body", diagnostics).bodies
    )
    assert (floor.name, floor.fixed, arm.name, arm.fixed) == ("floor", True, "Arm", True)
    assert arm.X_WL.p.tolist() == [0, 0, 1]
    assert floor.body.is_static


def test_a_robot_in_collada_is_put_on_a_floor(diagnostics):
    entries = load_world(ROOT / "test" / "data" / "collada" / "arm.dae", diagnostics).bodies
    assert [entry.placement.name for entry in entries] == ["floor", "ARM"]


@pytest.mark.parametrize(
    ("pedestal", "bob", "top"),
    [
        (0.4, 0.3, 0.0),  # above the floor
        (0.4, -0.6, -0.65),  # a pendulum that hangs lower than its pedestal
        (-0.8, -0.6, -0.85),  # both below: the floor is under all of it
        (-0.8, 0.3, 0.0),  # a pedestal that goes down into the floor, where nothing moves
    ],
)
def test_the_floor_lies_below_what_moves_on_a_fixed_root(tmp_path, diagnostics, pedestal, bob, top):
    (tmp_path / "p.body").write_text(f"""\
format: ChoreonoidBody
format_version: 2.0
name: P
links:
  - name: BASE
    joint_type: fixed
    mass: 1
    elements:
      - type: Shape
        translation: [ 0, 0, {pedestal} ]
        geometry: {{ type: Box, size: [ 0.1, 0.1, 0.1 ] }}
  - name: BOB
    parent: BASE
    joint_type: revolute
    joint_id: 0
    joint_axis: X
    mass: 1
    center_of_mass: [ 0, 0, {bob} ]
    inertia: [ 0.002, 0, 0, 0, 0.002, 0, 0, 0, 0.002 ]
    elements:
      - type: Shape
        translation: [ 0, 0, {bob} ]
        geometry: {{ type: Box, size: [ 0.1, 0.1, 0.1 ] }}
""")
    floor, body = (x.placement for x in load_world(tmp_path / "p.body", diagnostics).bodies)
    assert_allclose(floor.X_WL.p, [0, 0, top], atol=1e-12)
    assert_allclose(body.X_WL.p, [0, 0, 0])


@pytest.mark.parametrize(("height", "placed"), [(-3.0, 0.5), (0.2, 0.5), (2.0, 2.0)])
def test_a_free_model_is_lifted_out_of_the_floor_but_not_put_down(
    tmp_path, diagnostics, height, placed
):
    (tmp_path / "box.body").write_text(f"""\
format: ChoreonoidBody
format_version: 2.0
name: Box
links:
  - name: BOX
    joint_type: free
    translation: [ 3, 4, {height} ]
    rotation: [ 1, 0, 0, 90 ]
    mass: 1
    inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ]
    elements: [ {{ type: Shape, geometry: {{ type: Box, size: [ 2, 1, 4 ] }} }} ]
""")
    # Turned over, its 1 m stand upright: its lowest point is 0.5 m below its origin.
    box = load_world(tmp_path / "box.body", diagnostics).bodies[1].placement
    assert_allclose(box.X_WL.p, [3, 4, placed], atol=1e-12)


def test_the_ground_gives_way_to_a_model_called_floor(tmp_path, diagnostics):
    (tmp_path / "m.body").write_text(ARM.replace("name: Arm", "name: floor"))
    bodies = load_world(tmp_path / "m.body", diagnostics).bodies
    assert [entry.placement.name for entry in bodies] == ["ground", "floor"]


def test_a_wrapper_of_a_model_is_a_model(tmp_path, diagnostics):
    (tmp_path / "arm.body").write_text(ARM)
    (tmp_path / "wrapper.yaml").write_text("modelFile: arm.body\n")
    bodies = load_world(tmp_path / "wrapper.yaml", diagnostics).bodies
    assert [entry.placement.body.name for entry in bodies] == ["Floor", "Arm"]


@pytest.mark.parametrize("path", sorted((MODELS / "worlds").glob("*.yaml")), ids=lambda p: p.stem)
def test_our_own_worlds_read_without_a_word(path, diagnostics):
    config = load_world(path, diagnostics)
    assert len({entry.placement.name for entry in config.bodies}) == len(config.bodies) >= 2
    for entry in config.bodies:
        assert np.isfinite(entry.placement.initial_q).all()


def test_a_world_may_be_named_relative_to_where_one_is(monkeypatch, diagnostics):
    monkeypatch.chdir(ROOT)
    assert load_world("models/worlds/arm.yaml", diagnostics).bodies


@pytest.mark.parametrize("name", ["gate.yaml", "gate.yml", "gate"])
@pytest.mark.parametrize(
    "written", [ARM, "modelFile: arm.body\n", "model_file: arm.body\nlink_info: { J1: { a: 1 } }\n"]
)
def test_a_model_in_yaml_is_put_on_a_floor_wherever_a_world_is_taken(
    tmp_path, monkeypatch, diagnostics, name, written
):
    (tmp_path / "arm.body").write_text(ARM)
    file = tmp_path / name
    file.write_text(written)
    monkeypatch.chdir(tmp_path)
    configs = [load_world_text(written, diagnostics)]
    if file.suffix:
        configs.append(load_world(name, diagnostics))
        resource = Resource(str(file))
    if file.suffix == ".yaml":
        configs.append(read_world(resource, diagnostics, strict=True, lenient=False))
    for config in configs:
        assert [entry.placement.body.name for entry in config.bodies] == ["Floor", "Arm"]


def test_a_problem_at_the_top_of_a_model_in_yaml_is_reported_once(tmp_path):
    (tmp_path / "arm.yaml").write_text(ARM.replace("name: Arm\n", "name: Arm\nname: Arm\n"))
    diagnostics = Diagnostics.silent()
    load_world(tmp_path / "arm.yaml", diagnostics)
    assert len({str(d) for d in diagnostics.found}) == len(diagnostics.found) > 0


@pytest.mark.parametrize("text", ["", "robots: []", "- bodies", "name: x\nphysics: {}"])
def test_what_is_neither_world_nor_model_is_refused(text):
    with pytest.raises(ModelError, match="a world file needs a list 'bodies'"):
        load_world_text(text, Diagnostics.silent())


# Names of bundled worlds, and the files that hide them.


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bodies(world):
    found = load_world(world, Diagnostics.silent()).bodies
    return [entry.placement.name for entry in found]


def error_of(world):
    with pytest.raises(ModelError) as caught:
        load_world(world, Diagnostics.silent())
    [found] = caught.value.diagnostics
    return found.code, found.message


def test_worlds_of_this_package_are_taken_by_name_anywhere(elsewhere):
    assert DEFAULT_WORLD in bundled_worlds()
    for name, path in bundled_worlds().items():
        assert world_path(name) == path
    assert bodies("rover") == ["Room", "rover"]


def test_a_file_of_the_working_directory_goes_first_and_a_folder_does_not(elsewhere):
    (elsewhere / "rover").mkdir()
    assert bodies("rover") == ["Room", "rover"]
    (elsewhere / "rover").rmdir()
    (elsewhere / "model.yaml").write_text(ARM)
    (elsewhere / "rover").write_text("bodies: [ { model: model.yaml } ]")
    assert bodies("rover") == ["Arm"]
    (elsewhere / "rover").unlink()
    (elsewhere / "rover").symlink_to("gone")
    assert error_of("rover") == (
        "unreadable-file",
        "cannot read 'rover': No such file or directory",
    )


@pytest.mark.parametrize("name", ["models", "./models", "models/worlds"])
def test_a_folder_is_no_world(elsewhere, name):
    (elsewhere / "models" / "worlds").mkdir(parents=True)
    message = f"'{name}' is a folder; give a world or model file in it"
    assert error_of(name) == ("unreadable-file", message)


def test_a_wrong_name_is_answered_with_those_there_are(elsewhere):
    code, message = error_of("rovr")
    assert code == "missing-world"
    assert "Did you mean 'rover'?" in message
    assert all(name in message for name in bundled_worlds())
    code, message = error_of("zzz")
    assert "Did you mean" not in message
    assert "humanoid_in_room" in message


def test_a_missing_file_called_as_a_world_of_this_package_names_that(elsewhere):
    assert error_of("rover.yaml") == (
        "unreadable-file",
        "cannot read 'rover.yaml': No such file or directory. Did you mean 'rover'?",
    )
    assert "Did you mean" not in error_of("./sub/none.yaml")[1]


@pytest.mark.parametrize("name", ["", ".", "..", "sub/rover", "/rover"])
def test_paths_are_no_names(elsewhere, name):
    assert str(world_path(name)) in (name, ".")


def test_masses_of_what_moves_are_estimated_on_request(tmp_path, capsys):
    (tmp_path / "box.urdf").write_text(
        '<robot name="box"><link name="base"><collision><geometry><box size="0.2 0.2 0.1"/>'
        "</geometry></collision></link></robot>"
    )
    path = str(tmp_path / "box.urdf")
    (tmp_path / "two.yaml").write_text(
        f"bodies: [{{name: a, model: {path}}}, {{name: b, model: {path}, position: [1, 0, 0]}}]"
    )
    found = Diagnostics.silent()
    world = load_world(tmp_path / "two.yaml", found, project=ProjectOptions(density=500.0))
    assert [entry.placement.body.total_mass for entry in world.bodies] == pytest.approx([2.0] * 2)
    assert "estimated-mass" in {x.code for x in found.found}
    command = ["run", path, "--duration", "0.01"]
    assert main(command) == 1
    assert "--estimate-masses" in capsys.readouterr().err
    assert main([*command, "--estimate-masses", "500"]) == 0
    err = capsys.readouterr().err
    assert "estimated as 2 kg" in err
    assert "FLOOR" not in err  # it cannot move
