"""A robot on a floor in Drake, from the URDF that this package exports.

Time step, gravity, floor, friction, masses, rotors, limits, servos and pairs of links are those of
our world; contacts are points, solved by Drake's default.
"""

from __future__ import annotations

import logging
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import trimesh

from hrp_model.frames import BodyFrames
from hrp_sim.engine.engine import Placement
from hrp_sim.engine.state import JointDrive, SimulatedBody
from hrp_sim.world.config import WorldConfig

from .mujoco_twin import (
    TwinError,
    export,
    floor_height,
    library,
    only_moving,
    pairs_apart,
    plain,
)


class DrakeTwin:
    """The only moving body of a world, in Drake.

    Args:
        world: One body that moves, and a floor.
        simulated: That body in our engine: its drive, constant, is a servo for each joint with
            gains.

    Raises:
        TwinError: Drake is not installed, or cannot simulate the same.
    """

    def __init__(self, world: WorldConfig, simulated: SimulatedBody) -> None:
        drake = library("pydrake.all", "Drake")
        logging.getLogger("drake").setLevel(logging.ERROR)
        placement, physics = only_moving(world), world.physics
        builder = drake.DiagramBuilder()
        plant, scene_graph = drake.AddMultibodyPlantSceneGraph(builder, physics.time_step)
        surface = drake.DefaultProximityProperties(
            compliance_type="undefined",
            dynamic_friction=physics.friction,
            static_friction=physics.friction,
        )
        scene_graph.set_config(drake.SceneGraphConfig(default_proximity_properties=surface))
        with tempfile.TemporaryDirectory(prefix="drake-twin-") as folder:
            urdf, frames = export(plain(placement.body), Path(folder))
            _make_meshes_readable(urdf)
            try:
                (robot,) = drake.Parser(plant).AddModels(str(urdf))
            except RuntimeError as error:
                raise TwinError(f"Drake cannot load the URDF: {error}") from None
        plant.mutable_gravity_field().set_gravity_vector(physics.gravity)
        root = plant.get_body(plant.GetBodyIndices(robot)[0])
        pose = drake.RigidTransform(drake.RotationMatrix(placement.X_WL.R), placement.X_WL.p)
        if placement.fixed:
            plant.WeldFrames(plant.world_frame(), root.body_frame(), pose)
        else:
            plant.SetDefaultFloatingBaseBodyPose(root, pose)
        if (floor := floor_height(world)) is not None:
            friction = drake.CoulombFriction(physics.friction, physics.friction)
            at = drake.RigidTransform([0.0, 0.0, floor])
            plant.RegisterCollisionGeometry(
                plant.world_body(), at, drake.HalfSpace(), "floor", friction
            )
        targets = _add_rotors_and_servos(drake, plant, placement, frames, simulated.drive)
        plant.Finalize()
        if targets:
            desired = np.zeros(2 * len(targets))
            desired[: len(targets)] = targets
            source = builder.AddSystem(drake.ConstantVectorSource(desired))
            builder.Connect(source.get_output_port(), plant.get_desired_state_input_port(robot))
        apart = pairs_apart(placement, physics, simulated.overlapping)
        self._exclude(drake, plant, scene_graph, [[frames.links[x] for x in p] for p in apart])
        diagram = builder.Build()
        self._simulator = drake.Simulator(diagram)
        self._time_step, self._steps = physics.time_step, 0
        self._plant = plant
        self._context = plant.GetMyContextFromRoot(self._simulator.get_mutable_context())
        self._simulator.Initialize()

    @staticmethod
    def _exclude(drake: Any, plant: Any, scene_graph: Any, pairs: list[list[str]]) -> None:
        """Let pairs of links never collide."""
        manager = scene_graph.collision_filter_manager()
        for pair in pairs:
            one, other = (
                drake.GeometrySet(plant.GetCollisionGeometriesForBody(plant.GetBodyByName(name)))
                for name in pair
            )
            manager.Apply(drake.CollisionFilterDeclaration().ExcludeBetween(one, other))

    def advance(self, steps: int) -> float:
        """Take steps, one a call; return their CPU time, in [s]."""
        advance, step = self._simulator.AdvanceTo, self._time_step
        start = time.thread_time()
        for number in range(self._steps + 1, self._steps + steps + 1):
            advance(number * step)
        self._steps += steps
        return time.thread_time() - start

    @property
    def contacts(self) -> int:
        """Number of contact points in the last step."""
        return int(self._results().num_point_pair_contacts())

    def depth(self) -> float:
        """Return the depth of the deepest contact of the last step, in [m]."""
        results = self._results()
        pairs = map(results.point_pair_contact_info, range(results.num_point_pair_contacts()))
        return max((float(pair.point_pair().depth) for pair in pairs), default=0.0)

    def _results(self) -> Any:
        return self._plant.get_contact_results_output_port().Eval(self._context)

    def close(self) -> None:
        """Free nothing: Drake's objects are garbage-collected."""


def _make_meshes_readable(urdf: Path) -> None:
    """Replace the STL files of a URDF, which Drake does not collide, by OBJ files."""
    for path in urdf.parent.glob("meshes/*.stl"):
        trimesh.load_mesh(path).export(path.with_suffix(".obj"))
    urdf.write_text(urdf.read_text(encoding="utf-8").replace(".stl", ".obj"), encoding="utf-8")


def _add_rotors_and_servos(
    drake: Any, plant: Any, placement: Placement, frames: BodyFrames, drive: JointDrive
) -> list[float]:
    """Give joints rotors, and all the same kind of servo; return the targets of the servos."""
    targets = []
    for link, q, kp, kd in zip(
        placement.body.moving_links, placement.initial_q, drive.kp, drive.kd, strict=True
    ):
        joint = plant.GetJointByName(frames.joints[link.name])
        joint.set_default_positions([q])
        lower, upper = link.joint.effort_limits
        limit = upper if lower < upper else np.inf
        motor = plant.AddJointActuator(f"servo of {link.name}", joint, limit)
        motor.set_default_rotor_inertia(link.joint.equivalent_rotor_inertia)
        motor.set_default_gear_ratio(1.0)
        if kp > 0.0:
            motor.set_controller_gains(drake.PdControllerGains(p=kp, d=kd))
            targets.append(float(q))
    return targets
