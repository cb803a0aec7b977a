"""Recordings of simulations, written by the tests themselves."""

from __future__ import annotations

import re
from pathlib import Path

from hrp_model.description.description import DescriptionOptions, describe
from hrp_model.diagnostics import Diagnostics
from hrp_model.rigid import matrix_quaternion
from hrp_msgs.convert.tf import tf_message, transform
from hrp_msgs.messages import String, TFMessage
from hrp_msgs.messages.definitions import serialize
from hrp_msgs.recording import Recorder
from hrp_sim.simulation import Simulation
from hrp_sim.world.load import load_world
from hrp_sim.world.naming import name_bodies

_FILE = re.compile(r'filename="(file://[^"]*)"')


def fail(error: Exception) -> None:
    """Fail: writing a recording had an error."""
    raise AssertionError(error)


class RunRecorder:
    """Records descriptions and transforms of the bodies of a simulation.

    Args:
        path: The recording.
        simulation: The simulation.
        meshes: Folder of the meshes, which are attached.
    """

    def __init__(self, path: Path, simulation: Simulation, meshes: Path) -> None:
        self._simulation = simulation
        self.recorder = Recorder(path, on_error=fail)
        bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
        self._namings = name_bodies(bodies)
        quiet = Diagnostics.silent()
        self._described = {
            name: describe(body, DescriptionOptions(), meshes / name, quiet)
            for name, body in bodies.items()
        }
        fixed = []
        for name, described in self._described.items():
            topic = f"/{self._namings[name].qualified('robot_description')}"
            self.write(topic, String(data=described.urdf), latched=True)
            for uri in dict.fromkeys(_FILE.findall(described.urdf)):
                data = Path(uri.removeprefix("file://")).read_bytes()
                self.recorder.attach(uri, "application/octet-stream", data)
            for frame in described.tree.fixed:
                names = (self._prefixed(name, x) for x in (frame.parent, frame.name))
                fixed.append(transform(0, *names, frame.pose.p, matrix_quaternion(frame.pose.R)))
            if simulation.is_fixed(name):
                fixed.append(self._root(name))
        self.write("/tf_static", tf_message(fixed), latched=True)

    def write(self, topic: str, message: object, *, latched: bool = False) -> None:
        """Record a message of the present time."""
        channel = self.recorder.channel(topic, type(message), latched=latched)
        channel.write(self._simulation.state.time_ns, serialize(message))

    def write_frames(self) -> None:
        """Record the present poses of all links."""
        self.write(
            "/tf", TFMessage(transforms=[t for x in self._described for t in self._moving(x)])
        )

    def close(self) -> None:
        """End the recording."""
        self.recorder.close()

    def _root(self, name: str):
        motion = self._simulation.bodies[name].motion
        frame = self._prefixed(name, self._described[name].frames.root)
        R = matrix_quaternion(motion.R[0])
        return transform(self._simulation.state.time_ns, "world", frame, motion.p[0], R)

    def _moving(self, name: str):
        simulated, described = self._simulation.bodies[name], self._described[name]
        if not self._simulation.is_fixed(name):
            yield self._root(name)
        names = [described.frames.joints[x.name] for x in simulated.body.moving_links]
        positions = dict(zip(names, simulated.motion.q.tolist(), strict=True))
        for frame in described.tree.moved(positions):
            pair = (self._prefixed(name, x) for x in (frame.parent, frame.name))
            yield transform(self._simulation.state.time_ns, *pair, frame.p, frame.xyzw)

    def _prefixed(self, name: str, frame: str) -> str:
        return f"{self._namings[name].frame_prefix}{frame}"


def record(
    path: Path, world: str, folder: Path, *, duration: float = 0.2, every: int = 10
) -> Simulation:
    """Record a world; return its simulation at the end.

    Args:
        path: The recording.
        world: As for ``load_world``.
        folder: For the meshes.
        duration: In [s].
        every: Steps between recorded transforms.
    """
    quiet = Diagnostics.silent()
    simulation = Simulation(load_world(world, quiet), defer_images=True, diagnostics=quiet)
    simulation.wanted = lambda _: False
    recorder = RunRecorder(path, simulation, folder)
    recorder.write_frames()
    steps = round(duration / simulation.engine.settings.time_step)
    for step in range(1, steps + 1):
        simulation.step()
        if step % every == 0:
            recorder.write_frames()
    recorder.close()
    return simulation
