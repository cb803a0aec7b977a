"""RViz configuration for a world and the data of its sensors."""

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
from ..publishing.device_topics import device_topics
from ..sensors import CameraSensor, Sensor
from ..simulation import Simulation
from ..world.load import load_world
from ..world.naming import BodyNaming, name_bodies
from ..world.projects import AS_IN_PROJECT, ProjectOptions

_COMMENT = """The bodies of a world and the data of their sensors, as in simulation.launch.py.
Sensors publish reliably; a reliable subscriber loses no image. RViz itself has no display for IMUs:
the package rviz_imu_plugin has one."""
# Upper end of the depth scale if the camera has no limit of its own, in [m].
_MAX_DEPTH = 5.0
_GRAVITY = 9.81


@dataclass(frozen=True)
class RvizOptions:
    """Settings of the simulation node that is displayed.

    Attributes:
        namespace: Namespace of the node.
        frame_prefix, world_frame, naming: Its parameters.
        contacts: Whether it publishes contacts.
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
    project: ProjectOptions = AS_IN_PROJECT,
) -> str:
    """Return the text of a configuration for a world, as of ``load_world``.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        ValueError: The frame prefix or the namespace is invalid.
        NameCollisionError: Two bodies or devices would have the same topic.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    config = load_world(world, diagnostics, project=project)
    with closing(
        Simulation(config, defer_images=True, run_controllers=False, diagnostics=diagnostics)
    ) as simulation:
        return rviz_config(simulation, options)


def rviz_config(simulation: Simulation, options: RvizOptions | None = None) -> str:
    """Return the text of a configuration for a world in its initial state.

    Image and points of the first camera only are enabled, because rendering takes time.

    Raises:
        ValueError: The frame prefix or the namespace is invalid.
        NameCollisionError: Two bodies or devices would have the same topic.
    """
    options = RvizOptions() if options is None else options
    bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
    namespaces = {name: simulation.namespace(name) for name in bodies}
    naming = name_bodies(bodies, options.frame_prefix, namespaces, options.naming)
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
    """Displays of the sensors of one body.

    Attributes:
        simulation: The simulation.
        body: Name of the body.
        naming: Naming of its topics.
        namespace: Namespace of the node.
        size: Size of the body, in [m].
        first_camera: Name in the simulation of the camera whose displays are enabled.
    """

    simulation: Simulation
    body: str
    naming: BodyNaming
    namespace: str
    size: float
    first_camera: str | None

    def displays(self) -> list[rviz.Display]:
        """Return the displays in the order of the sensors."""
        sensors = self.simulation.sensors
        return [
            display
            for key, found in device_topics(self.simulation, self.body, self.naming).items()
            for spec, topic in found.of_sensor.items()
            for display in self._of(key, sensors[key], spec.name, topic)
        ]

    def _of(self, key: str, sensor: Sensor, meaning: str, topic: str) -> Iterator[rviz.Display]:
        """Yield the displays of a topic, given its meaning, a name of ``hrp_msgs.names``."""
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
                reach = farthest if isfinite(farthest) else _MAX_DEPTH
                yield rviz.depth_image(f"{camera.name}, depths", topic, rviz.rounded(reach))
            case names.DEPTH_POINTS:
                colored = camera.image_type.has_color
                yield rviz.point_cloud(f"{camera.name}, points", topic, colored=colored, on=on)

    @property
    def _force_scale(self) -> float:
        """Arrow length per force, in [m/N]; the weight of the body gives half its size."""
        mass = float(np.sum([link.mass for link in self.simulation.bodies[self.body].body.links]))
        return rviz.rounded(self.size / max(mass * _GRAVITY, 1e-3))

    @property
    def _arrow_width(self) -> float:
        return rviz.rounded(0.02 * self.size)
