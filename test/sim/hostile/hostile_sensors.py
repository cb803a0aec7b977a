"""A program that simulates bodies whose sensors, lights and looks may be hostile.

Arguments: seed, count. It prints the number of each world before it begins. What is wrong with a
device is a warning, and of options a ValueError; numpy's warnings are errors here.
"""

import logging
import sys
import warnings
from contextlib import suppress
from dataclasses import fields, replace

import numpy as np
from sim.hostile.hostile_bodies import NUMBERS, Hostile
from sim.hostile.limits import bound
from sim.physics.scenes import FREE, REVOLUTE, X, at, child, floor, moving, placed, root

from hrp_model import Body, Diagnostics, devices
from hrp_model.geometry import Attribute, Box, Material, Mesh, Texture
from hrp_sim.engine.engine import PhysicsError
from hrp_sim.engine.snapshot import Snapshot
from hrp_sim.sensors import SensorSettings, instruments
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig

NAMES = ("a", "b", "a/b", "", ".", "~", "joint_states", "odometry", "腕", "x y", "a" * 300, "\n")
CODES = {
    *("unusable-device", "duplicate-sensor", "no-image", "no-fisheye", "no-encoder"),
    *("idle-force-sensor", "too-many-lights", "unreadable-texture", "undrawable-shape"),
    *("too-fast", "not-simulated", "no-wheels"),
    "no-renderer",  # on machines without OpenGL
}


class HostileDevices(Hostile):
    """Bodies with devices and looks."""

    def device(self, links):
        kind = self.pick(
            [
                devices.AccelerationSensor,
                devices.RateGyroSensor,
                devices.Imu,
                devices.ForceSensor,
                devices.Camera,
                devices.RangeSensor,
                devices.DirectionalLight,
                devices.PointLight,
                devices.SpotLight,
            ]
        )
        usual = kind(name=self.pick(NAMES), link=self.pick(links).name)
        if kind is devices.Camera:
            usual = replace(
                usual,
                width=int(self.pick([64, 64, 1, 7, 0, -5, 10**6, 8192 if self.rate > 0.2 else 33])),
                height=int(self.pick([48, 48, 1, 10**6, 31])),
                image_type=self.pick(list(devices.ImageType)),
                lens_type=self.pick(list(devices.LensType)),
                frame_rate=500.0,
                max_distance=10.0,
            )
        if kind is devices.RangeSensor:
            pitch = self.pick([0.0, 0.5])
            usual = replace(usual, scan_rate=200.0, pitch_range=pitch, pitch_step=0.1)
        return replace(
            usual, X_LS=self.pose(), on=bool(self.rng.random() < 0.8), **self.twisted(usual)
        )

    def twisted(self, device):
        """Return the numbers of a device, some of them hostile."""
        values = {}
        for f in fields(device):
            value = getattr(device, f.name)
            if isinstance(value, float):
                values[f.name] = self.number(value)
            elif isinstance(value, tuple) and f.name in ("color", "attenuation"):
                values[f.name] = tuple(self.number(x) for x in value)
            elif isinstance(value, np.ndarray):
                values[f.name] = self.array(value)
        return values

    def material(self):
        rgb = lambda: tuple(self.number(x) for x in self.rng.random(3))  # noqa: E731
        texture = None
        if self.rng.random() < 0.4:
            pixels = self.rng.integers(0, 256, (4, 4, self.rng.integers(1, 5)), np.uint8)
            texture = Texture(
                image=pixels,
                rotation=self.number(0.0),
                scale=(self.number(1.0), 1.0),
                translation=(self.number(0.0), 0.0),
            )
        return Material(
            diffuse=rgb(),
            ambient=self.number(0.2),
            emissive=rgb(),
            specular=rgb(),
            shininess=self.number(0.2),
            transparency=self.number(self.pick([0.0, 0.4, 1.0])),
            texture=texture,
        )

    def visual(self):
        shape = replace(self.shape(), material=self.material())
        mesh = shape.geometry
        if isinstance(mesh, Mesh) and self.rng.random() < 0.5:
            corners = self.rng.integers(0, 3, mesh.triangles.shape).astype(np.int32)
            mesh = replace(
                mesh,
                colors=Attribute(self.array(self.rng.random((3, 3))), corners),
                normals=Attribute(self.array(np.eye(3)), corners),
                tex_coords=Attribute(self.array(self.rng.random((3, 2))), corners),
            )
        return replace(shape, geometry=mesh)

    def body(self):
        box = placed(Box(np.full(3, 0.1)))
        arm = child("A", "ROOT", REVOLUTE, X, X_PL=at(z=0.2), visual=self.visuals())
        links = [
            root("ROOT", free=True, collision=(box,), visual=self.visuals()),
            replace(arm, joint=replace(arm.joint, encoder_pulse=self.number(1000.0))),
            child("B", "A", FREE, X_PL=at(z=0.4), visual=self.visuals()),
        ]
        found = tuple(self.device(links) for _ in range(self.rng.integers(1, 12)))
        return Body(name="wild", links=tuple(links), devices=found)

    def visuals(self):
        return tuple(self.visual() for _ in range(self.rng.integers(4)))

    def options(self):
        """Return what is said of one sensor; every option usual, at an end, or hostile."""
        said = {}
        for option in fields(SensorSettings):
            rules = option.metadata
            if self.rng.random() >= 0.3:
                continue
            if "choices" in rules:
                said[option.name] = self.pick(rules["choices"])
            elif isinstance(option.default, bool):
                said[option.name] = bool(self.rng.integers(2))
            elif isinstance(option.default, float):
                ends = [rules.get("minimum", -1e300), rules.get("maximum", 1e300), 1.0]
                said[option.name] = self.number(float(self.pick(ends)))
        return said

    def damaged(self, snapshot):
        """Return a snapshot in which something that sensors remember is hostile."""
        arrays = dict(snapshot.arrays)
        words = "/memory/", "/origin_ns"
        for name in [n for n in arrays if any(word in n for word in words)]:
            if self.rng.random() < 0.7:
                continue
            dtype = arrays[name].dtype
            if dtype.kind == "i":
                ends = [-1, 0, 1, np.iinfo(dtype).min, np.iinfo(dtype).max, 2**52, -(2**52)]
                arrays[name] = np.full_like(arrays[name], self.pick(ends))
            elif dtype.kind == "f":
                arrays[name] = np.full_like(arrays[name], self.pick(NUMBERS))
        return Snapshot(arrays)

    def sane_options(self):
        said = {}
        for name, value in self.options().items():
            try:
                SensorSettings().with_values({name: value})
            except ValueError:
                continue
            said[name] = value
        return said

    def world(self):
        body = self.body()
        entries = [BodyEntry(placement=floor())]
        for name in ("wild", "again")[: self.rng.integers(1, 3)]:
            place = at(*(self.rng.normal(size=3) * self.pick([1.0, 1.0, 1e5])))
            speed = self.rng.normal(size=3) * self.pick([0.0, 1.0, 1e4])
            placement = replace(moving(body, place, w=speed), name=name)
            own = {s: self.sane_options() for s in instruments(body) if self.rng.random() < 0.5}
            entries.append(BodyEntry(placement=placement, sensors=own))
        return WorldConfig(
            sensors=SensorSettings().with_values(
                {k: v for k, v in self.sane_options().items() if k != "rate"}
            ),
            bodies=tuple(entries),
        )


def live(seed):
    """Run a hostile world, and look at all that its sensors tell."""
    hostile = HostileDevices(seed)
    found = Diagnostics.silent()
    simulation = Simulation(hostile.world(), diagnostics=found)
    assert {d.code for d in found.found} <= CODES, {d.code for d in found.found}
    names = [*simulation.sensors, *simulation.lights]
    count = 0
    for _ in range(20):
        if names and hostile.rng.random() < 0.3:
            simulation.set_enabled(hostile.pick(names), bool(hostile.rng.integers(2)))
        count += len(simulation.step())
    for sensor in simulation.sensors.values():
        sensor.read(simulation.state)
    saved = simulation.save()
    simulation.step()
    simulation.restore(saved)
    with suppress(PhysicsError):
        simulation.restore(hostile.damaged(saved))
    for _ in range(5):
        simulation.step()
    simulation.reset()
    simulation.step()
    simulation.close()
    return count


def main(first, count):
    bound(memory_mib=4000, cpu_seconds=100)
    logging.disable()
    warnings.simplefilter("error")
    lived = readings = 0
    for seed in range(first, first + count):
        print(f"world {seed}", flush=True)
        try:
            readings += live(seed)
            lived += 1
        except PhysicsError:
            pass
    print(lived, readings)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
