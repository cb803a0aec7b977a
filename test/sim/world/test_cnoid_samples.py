"""Public projects of Choreonoid, against a second reading of their YAML by PyYAML and SciPy."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi, radians
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from each_case import mostly_slow
from numpy.testing import assert_allclose
from paths import SHARED
from scipy.spatial.transform import Rotation
from silent_diagnostics import silent

from hrp_model import ModelError, load_body
from hrp_sim import Simulation
from hrp_sim.world.load import load_world

FOLDER = SHARED / "models" / "choreonoid__choreonoid"
SHARE = FOLDER / "share"
PROJECTS = sorted((SHARED / "models").rglob("*.cnoid"))
STEPS = 100
SIMULATORS = ("AIST", "ODE", "PhysX", "MuJoCo", "AGX", "Bullet")

pytestmark = pytest.mark.skipif(not PROJECTS, reason="there are no public projects here")


@dataclass
class Expected:
    """What a project says of itself.

    Attributes:
        bodies: Those in the world: names, settings and paths of models.
        missing: Files that are not here.
        rate: Of the time bar, in [Hz].
        simulator: Settings of the first simulator.
        materials: Files, each replacing materials of those before it.
    """

    bodies: list[tuple[str, dict[str, Any], Path]]
    missing: list[Path]
    rate: float
    simulator: dict[str, Any]
    materials: list[Path]


def items(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("children") or []:
        yield from items(child)


def file_of(item: dict[str, Any], folder: Path) -> Path:
    data = item.get("data") or {}
    name = data.get("file") or data.get("modelFile") or ""
    path = folder / name.replace("${SHARE}", str(SHARE)).replace("${PROJECT_DIR}", str(folder))
    # A build copies these motions to share.
    source = name.replace("${SHARE}/motion", str(SHARE.parent / "sample" / "PoseSeq" / "motion"))
    return path if path.is_file() else folder / source


def read_again(path: Path) -> Expected:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    everything = list(items(document["items"]))
    worlds = [item for item in everything if item["class"] == "WorldItem"]
    inside = list(items(worlds[0])) if worlds else everything
    simulators = [x for x in inside if x["class"] in {f"{n}SimulatorItem" for n in SIMULATORS}]
    bodies = [
        (x["name"], x["data"], file_of(x, path.parent)) for x in inside if x["class"] == "BodyItem"
    ]
    motions = [file_of(x, path.parent) for x in inside if x["class"] == "PoseSeqItem"]
    tables = [file_of(x, path.parent) for x in inside if x["class"] == "MaterialTableItem"]
    return Expected(
        bodies=bodies,
        missing=[p for p in (*(body[2] for body in bodies), *motions) if not p.is_file()],
        rate=document.get("toolbars", {}).get("TimeBar", {}).get("frameRate", 1000),
        simulator=simulators[0].get("data", {}) if simulators else {},
        materials=[SHARE / "default" / "materials.yaml", *tables] if worlds else tables,
    )


def rotation(data: dict[str, Any], degrees: str, matrix: str) -> Any:
    if degrees in data:
        x, y, z, angle = data[degrees]
        axis = np.array([x, y, z]) / np.linalg.norm([x, y, z])
        return Rotation.from_rotvec(radians(angle) * axis).as_matrix()
    return np.reshape(data[matrix], (3, 3)) if matrix in data else None


def joint_positions(data: dict[str, Any], model: Any) -> dict[str, float]:
    """Return the initial positions by link; those that the project lacks are the model's."""
    found = {link.name: link.joint.initial for link in model.links if link.joint.moves}
    new = "joint_displacements" in data or "jointDisplacements" in data
    keys = (
        ["joint_displacements", "jointDisplacements", "initial_joint_displacements",
         "initialJointDisplacements"]
        if new
        else ["jointPositions", "initialJointPositions"]
    )  # fmt: skip
    for key in keys:
        for link in model.links:
            number = link.joint.id
            if link.name in found and number is not None and number < len(data.get(key, ())):
                found[link.name] = data[key][number] * (pi / 180 if new else 1)
    return found


def check_body(entry: Any, name: str, data: dict[str, Any], path: Path, played: bool) -> None:
    placement = entry.placement
    model = load_body(path, silent())
    assert placement.name == name
    if not played:
        p = data.get("initial_root_translation", data.get("initialRootPosition"))
        R = rotation(data, "initial_root_rotation", "initialRootAttitude")
        assert_allclose(placement.X_WL.p, p, atol=1e-12)
        assert_allclose(placement.X_WL.R, R, atol=2e-6)
        links = [link.name for link in placement.body.moving_links]
        expected = joint_positions(data, model)
        assert_allclose(placement.q, [expected[link] for link in links], atol=1e-12)
    if "fix_root" in data:
        assert placement.fixed is data["fix_root"]
    elif data.get("staticModel"):
        assert placement.fixed
    with_itself = data.get("self_collision_detection", data.get("selfCollisionDetection", False))
    pairs = placement.body.self_collision_disabled
    shaped = sum(bool(link.collision) for link in model.links)
    assert with_itself or len(pairs) == shaped * (shaped - 1) // 2


def materials_of(paths: list[Path]) -> dict[str, float]:
    found = {}
    for path in paths:
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
        found |= {m["name"]: m.get("roughness", 0.5) for m in table["materials"]}
    return found


def check_refusal(path: Path, expected: Expected) -> None:
    codes = {".pseq": "missing-motion"}
    wanted = sorted(codes.get(p.suffix, "missing-model") for p in expected.missing)
    with pytest.raises(ModelError) as caught:
        load_world(path, silent())
    found = caught.value.diagnostics
    assert sorted(d.code for d in found) == (wanted or ["no-bodies"])
    assert all(d.at is not None and d.at.source.path == path for d in found)


def name_of(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", mostly_slow(PROJECTS, 8), ids=name_of)
def test_a_project_is_read_as_it_says_and_runs_or_names_what_is_missing(path):
    expected = read_again(path)
    if expected.missing or not expected.bodies:
        check_refusal(path, expected)
        return
    world = load_world(path, silent())
    played = {entry.body for entry in world.controllers}
    assert len(world.bodies) == len(expected.bodies)
    for entry, (name, data, model) in zip(world.bodies, expected.bodies, strict=True):
        check_body(entry, name, data, model, name in played)
    simulator = expected.simulator
    steps = [simulator[k] for k in ("time_step", "timeStep", "timestep") if k in simulator]
    assert world.physics.time_step == (steps[0] if steps else 1 / expected.rate)
    assert world.physics.gravity == tuple(simulator.get("gravity", (0, 0, -9.80665)))
    table = world.physics.materials.materials
    assert {k: m.roughness for k, m in table.items()} == materials_of(expected.materials)
    with Simulation(world, defer_images=True, diagnostics=silent()) as simulation:
        for _ in range(STEPS):
            simulation.step()
        for body in simulation.bodies.values():
            assert np.isfinite(body.motion.p).all()
