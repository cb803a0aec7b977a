"""An RViz configuration that shows a world, and what its sensors see."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from math import isfinite

import numpy as np

from hrp_model import Diagnostics, Pose, rviz
from hrp_model.shapes.measure import BoundingBox, union
from hrp_msgs import names

from ..physics.state import SimulatedBody
from ..sensors import CameraSensor, Sensor
from ..simulation import Simulation
from ..world.load import load_world
from ..world.naming import BodyNaming, name_bodies
from .topics import device_topics

_COMMENT = """The bodies of a world, and what their sensors see, as simulation.launch.py shows them.
Sensors publish reliably; a reliable subscriber loses no image. RViz itself has no display for IMUs:
the package rviz_imu_plugin has one."""
# Depths farther than this look alike where the camera has no limit of its own, in [m].
_FARTHEST = 5.0
_GRAVITY = 9.81


@dataclass(frozen=True)
class RvizOptions:
    """Where the node that is looked at has its topics and frames.

    Attributes:
        namespace: Of the node.
        frame_prefix, world_frame, naming: Its parameters.
        contacts: Whether it publishes contacts, as with its parameter ``contact_rate``.
    """

    namespace: str = ""
    frame_prefix: str = ""
    world_frame: str = "world"
    naming: str = names.STANDARD
    contacts: bool = False


def world_rviz(
    world: str | os.PathLike[str],
    options: RvizOptions | None = None,
    diagnostics: Diagnostics | None = None,
) -> str:
    """Return the text of a configuration for a world file, or for a model alone.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        ValueError: RViz has no such prefix of frames, or ROS no such namespace.
        NameCollisionError: Two things would have the same topic.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    config = load_world(world, diagnostics)
    with closing(Simulation(config, defer_images=True, diagnostics=diagnostics)) as simulation:
        return rviz_config(simulation, options)


def rviz_config(simulation: Simulation, options: RvizOptions | None = None) -> str:
    """Return the text of a configuration for a world at its start.

    Only the first camera has its image and its points shown at once: each costs time to draw.

    Raises:
        ValueError: RViz has no such prefix of frames, or ROS no such namespace.
        NameCollisionError: Two things would have the same topic.
    """
    options = RvizOptions() if options is None else options
    bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
    wishes = {name: simulation.namespace(name) for name in bodies}
    naming = name_bodies(bodies, options.frame_prefix, wishes, options.naming)
    robots = [name for name, body in bodies.items() if not body.is_static]
    first = next((k for k, s in simulation.sensors.items() if isinstance(s, CameraSensor)), None)
    boxes = {name: _box(simulation.bodies[name]) for name in robots or bodies}
    displays: list[rviz.Display] = []
    for name in bodies:
        model = _robot(name, naming[name], options)
        size = rviz.view_radius(boxes[name]) if name in boxes else 1.0
        view = _SensorView(simulation, name, naming[name], options.namespace, size, first)
        shown = [model, *view.displays()]
        displays += [rviz.group(name, shown)] if len(robots) > 1 and len(shown) > 1 else shown
    if options.contacts:
        topic = rviz.absolute_topic(options.namespace, names.CONTACT_MARKERS)
        displays.append(rviz.markers("Contacts", topic))
    return rviz.document(
        displays,
        options.world_frame,
        union(boxes.values()),
        comment=_COMMENT,
        floor_height=0.0,
        frames_on=False,
    )


def _robot(name: str, naming: BodyNaming, options: RvizOptions) -> rviz.Display:
    topic = rviz.absolute_topic(options.namespace, naming.topic(names.ROBOT_DESCRIPTION))
    return rviz.robot_model(name, topic, rviz.tf_prefix(naming.frame_prefix))


def _box(simulated: SimulatedBody) -> BoundingBox:
    body, motion = simulated.body, simulated.motion
    poses = (Pose(R, p) for R, p in zip(motion.R, motion.p, strict=True))
    return rviz.body_box(body, dict(zip((k.name for k in body.links), poses, strict=True)))


@dataclass(frozen=True)
class _SensorView:
    """Shows the sensors of one body.

    Attributes:
        simulation: The world.
        body: Name of the body.
        naming: Where it has its topics.
        namespace: Above all topics.
        size: Of the body, in [m].
        first_camera: Name in the simulation of the camera that is shown at once.
    """

    simulation: Simulation
    body: str
    naming: BodyNaming
    namespace: str
    size: float
    first_camera: str | None

    def displays(self) -> list[rviz.Display]:
        """Return what shows the sensors, in their order."""
        sensors = self.simulation.sensors
        return [
            display
            for key, found in device_topics(self.simulation, self.body, self.naming).items()
            for spec, topic in found.of_sensor.items()
            for display in self._of(key, sensors[key], spec.name, topic)
        ]

    def _of(self, key: str, sensor: Sensor, meaning: str, topic: str) -> Iterator[rviz.Display]:
        """Yield what shows a topic, by its meaning: its name in ``hrp_msgs.names``."""
        name, topic = sensor.name, rviz.absolute_topic(self.namespace, topic)
        match meaning:
            case names.SCAN:
                yield rviz.scan(name, topic)
            case names.POINTS:
                yield rviz.point_cloud(name, topic, colored=False)
            case names.WRENCH:
                yield rviz.wrench(name, topic, self._force_scale, self._arrow_width)
            case names.ODOMETRY:
                yield rviz.odometry(name, topic, rviz.rounded(0.3 * self.size))
        if isinstance(sensor, CameraSensor):
            yield from self._of_camera(sensor, meaning, topic, on=key == self.first_camera)

    def _of_camera(
        self, camera: CameraSensor, meaning: str, topic: str, *, on: bool
    ) -> Iterator[rviz.Display]:
        match meaning:
            case names.IMAGE:
                yield rviz.camera_image(camera.name, topic, on=on)
            case names.DEPTH_IMAGE:
                farthest = camera.max_distance
                reach = farthest if isfinite(farthest) else _FARTHEST
                yield rviz.depth_image(f"{camera.name}, depths", topic, rviz.rounded(reach))
            case names.DEPTH_POINTS:
                colored = camera.image_type.has_color
                yield rviz.point_cloud(f"{camera.name}, points", topic, colored=colored, on=on)

    @property
    def _force_scale(self) -> float:
        """The length of a newton: the weight of the body is as long as half of it, in [m]."""
        mass = float(np.sum([link.mass for link in self.simulation.bodies[self.body].body.links]))
        return rviz.rounded(self.size / max(mass * _GRAVITY, 1e-3))

    @property
    def _arrow_width(self) -> float:
        return rviz.rounded(0.02 * self.size)
