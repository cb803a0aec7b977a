"""A program that runs world files whose every number may be hostile, and commands like them.

Arguments: seed, count. It prints the number of each world before it begins. A ModelError or a
PhysicsError, or a run that the physics ended and a reset brought back, is as it should be.
"""

import tempfile
from pathlib import Path

import numpy as np
from run_tools import OnStep
from sim.hostile.hostile_bodies import NUMBERS, Hostile, live_each

from hrp_model import Diagnostics, ModelError
from hrp_sim.control import JointCommand
from hrp_sim.engine.engine import PHYSICS_RANGES, PhysicsError
from hrp_sim.run.run import Run
from hrp_sim.simulation import Simulation
from hrp_sim.world.load import load_world

LINK = """
  - name: {name}
    {parent}
    joint_type: {kind}
    joint_id: {id}
    joint_axis: {axis}
    joint_range: {range}
    joint_velocity_range: {range}
    max_joint_effort: {effort}
    gear_ratio: {gear}
    rotor_inertia: {rotor}
    translation: {at}
    center_of_mass: {center}
    mass: {mass}
    inertia: {inertia}
    elements:
      - {{ type: Shape, geometry: {geometry} }}
      - {{ type: {device}, name: {name}_D, id: {id}, translation: {there}, {device_keys} }}
"""
DEVICES = {
    "ForceSensor": "max_force: {0}, max_torque: {0}",
    "RateGyroSensor": "max_angular_velocity: {0}",
    "AccelerationSensor": "max_acceleration: {0}",
    "RangeSensor": "scan_rate: {1}, yaw_range: {1}, yaw_step: {1}, min_distance: {2}, "
    "max_distance: {1}",
}
GEOMETRIES = (
    "{{ type: Box, size: {0} }}",
    "{{ type: Sphere, radius: {1} }}",
    "{{ type: Cylinder, radius: {1}, height: {2} }}",
    "{{ type: Capsule, radius: {1}, height: {2} }}",
    "{{ type: Cone, radius: {1}, height: {2} }}",
    "{{ type: IndexedFaceSet, coordinate: [ 0,0,0, {1},0,0, 0,{2},0, 0,0,0.1 ], "
    "coordIndex: [ 0,1,2,-1, 0,2,3,-1, 0,0,1,-1 ] }}",
)


class HostileFile(Hostile):
    """Texts instead of objects."""

    def text(self, usual):
        return ".nan" if np.isnan(x := self.number(usual)) else f"{x:.17g}"

    def texts(self, *usual):
        return f"[ {', '.join(map(self.text, usual))} ]"

    def link_text(self, k):
        device = self.pick(list(DEVICES))
        keys = DEVICES[device].format(self.texts(1e3, 1e3, 1e3), self.text(1.0), self.text(0.1))
        geometry = self.pick(GEOMETRIES)
        kinds = ("revolute", "prismatic", "fixed", "pseudo_continuous_track", "free")
        return LINK.format(
            name=f"L{k}",
            parent=f"parent: L{self.rng.integers(k)}" if k else "",
            kind=self.pick(kinds if k else ("free", "fixed")),
            id=k,
            axis=self.texts(*np.eye(3)[self.rng.integers(3)]),
            range=self.texts(-1.0, 1.0),
            effort=self.text(100.0),
            gear=self.text(10.0),
            rotor=self.text(1e-4),
            at=self.texts(*self.rng.normal(size=3) * 0.2),
            there=self.texts(0.0, 0.0, 0.1),
            center=self.texts(0.0, 0.0, 0.0),
            mass=self.text(1.0),
            inertia=self.texts(0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01),
            geometry=geometry.format(self.texts(0.1, 0.1, 0.1), self.text(0.1), self.text(0.1)),
            device=device,
            device_keys=keys,
        )

    def model(self):
        links = "".join(self.link_text(k) for k in range(self.rng.integers(1, 5)))
        return f"format: ChoreonoidBody\nformat_version: 2.0\nname: wild\nlinks:{links}"

    def physics(self):
        """Every key either usual, at an end of its range, or hostile."""
        keys = {"solver": self.pick(["world", "quick"]), "gravity": self.texts(0, 0, -9.8)}
        for name, ends in PHYSICS_RANGES.items():
            if name != "iterations" and self.rng.random() < 0.1:
                end = self.pick(ends)
                keys[name] = end if isinstance(end, int) else self.text(end)
        return ", ".join(f"{name}: {value}" for name, value in keys.items())

    def world(self):
        gains = self.pick(["hold", "none", "{mode: velocity}", "{kp: %s, kd: %s}"])
        gains = gains % (self.text(10.0), self.text(1.0)) if "%" in gains else gains
        body = f"model: wild.body, position: {self.texts(0, 0, 0.5)}, rpy: {self.texts(0, 0, 0)}"
        speed = f"{{linear: {self.texts(0, 0, 0)}, angular: {self.texts(0, 0, 0)}}}"
        return (
            f"physics: {{{self.physics()}}}\nbodies:\n"
            f"  - {{{body}, velocity: {speed}, control: {gains}}}\n"
            f"  - {{{body}, name: again}}\n"
        )

    def command(self, names):
        named = [self.pick([*names, "nobody", ""]) for _ in range(self.rng.integers(5))]
        columns = [
            [float(self.pick(NUMBERS)) for _ in range(self.pick([0, len(named), len(named) + 1]))]
            for _ in range(3)
        ]
        return JointCommand(named, *columns)


def live(seed):
    """Run a hostile world; reset it when it pauses; and look at it."""
    hostile = HostileFile(seed)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "wild.body").write_text(hostile.model(), encoding="utf-8")
        world = Path(folder, "world.yaml")
        world.write_text(hostile.world(), encoding="utf-8")
        config = load_world(world, Diagnostics.silent())
    quiet = Diagnostics.silent()
    simulation = Simulation(config, diagnostics=quiet)
    start = simulation.state_hash()
    for _ in range(3):
        for name, simulated in simulation.bodies.items():
            joints = [link.joint.name for link in simulated.body.moving_links]
            if not simulated.body.is_static:
                simulation.command(name, hostile.command(joints))
        steps = 10 * simulation.engine.settings.time_step
        runner = Run(simulation, [OnStep()], real_time_factor=0.0, duration=steps)
        runner.run()
        if runner.error is not None:
            assert "'" in str(runner.error) or "ODE" in str(runner.error), runner.error
            simulation.reset()
            assert simulation.state_hash() == start
    for sensor in simulation.sensors.values():
        sensor.read(simulation.state)
    simulation.close()


if __name__ == "__main__":
    live_each(live, (ModelError, PhysicsError))
