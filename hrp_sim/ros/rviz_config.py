"""RViz configuration for a world and the data of its sensors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from math import isfinite

import numpy as np

from hrp_model import Body, Diagnostics, Pose, rviz
from hrp_model.frames import Base, Frame, FrameOptions, body_frames
from hrp_model.kinematics.vehicle import rolling_wheels, track_drive
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_model.shapes.measure import BoundingBox, union
from hrp_msgs import names

from ..engine.state import SimulatedBody
from ..sensors import CameraSensor, ForceSensor, Sensor, TorqueSensor
from ..simulation import Simulation
from ..topics.devices import device_topics
from ..world.load import load_world
from ..world.naming import BodyNaming, name_bodies, robots
from ..world.projects import AS_IN_PROJECT, ProjectOptions

_COMMENT = """The bodies of a world and the data of their sensors, as in simulation.launch.py.
Sensors publish reliably; a reliable subscriber loses no image. RViz itself has no display for IMUs:
the package rviz_imu_plugin has one."""
# Upper end of the depth scale if the camera has no limit of its own, in [m].
_MAX_DEPTH = 5.0
_GRAVITY = 9.81
# Of the size of a body: what is higher than its lowest point by less is a foot.
_FLOOR_TOLERANCE = 0.05
# Of the mass of a body: what a force sensor carries at least, such as one in a light gripper.
_MIN_LOAD = 0.02


@dataclass(frozen=True)
class RvizOptions:
    """Settings of the simulation node that is displayed.

    Attributes:
        namespace: Namespace of the node.
        frame_prefix, world_frame, naming, base: Its parameters.
        contacts: Whether it publishes contacts.
    """

    namespace: str = ""
    frame_prefix: str = ""
    world_frame: str = "world"
    naming: str = names.STANDARD
    contacts: bool = False
    base: str = Base.AUTO.value


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
    found = robots(bodies)
    first = next((k for k, s in simulation.sensors.items() if isinstance(s, CameraSensor)), None)
    boxes = {name: _box(simulation.bodies[name]) for name in found or bodies}
    displays: list[rviz.Display] = []
    for name in bodies:
        size = rviz.view_radius(boxes[name]) if name in boxes else 1.0
        view = _SensorView(simulation, name, naming[name], options.namespace, size, first)
        data = view.displays()
        has_wrenches = any(display["Class"].endswith("/Wrench") for display in data)
        # Arrows are in the robot, and walls may stand between the robots and the eye.
        translucent = has_wrenches or (name not in boxes and bodies[name].is_static)
        shown = [_robot(name, naming[name], options, translucent=translucent), *data]
        displays += [rviz.group(name, shown)] if len(found) > 1 and len(shown) > 1 else shown
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
        followed=_vehicle_frame(simulation.bodies[found[0]], naming[found[0]], options)
        if len(found) == 1
        else None,
        namespace=options.namespace,
        is_simulation=True,
    )


def _robot(
    name: str, naming: BodyNaming, options: RvizOptions, *, translucent: bool
) -> rviz.Display:
    topic = rviz.absolute_topic(options.namespace, naming.topic(names.ROBOT_DESCRIPTION))
    prefix = rviz.tf_prefix(naming.frame_prefix)
    return rviz.robot_model(name, topic, prefix, translucent=translucent)


def _vehicle_frame(
    simulated: SimulatedBody, naming: BodyNaming, options: RvizOptions
) -> Frame | None:
    """Return the topmost frame of a vehicle in the world, which the view follows."""
    body, motion = simulated.body, simulated.motion
    if track_drive(body) is None and not rolling_wheels(body):
        return None
    quiet = Diagnostics.silent()
    root = body_frames(body, quiet, FrameOptions(base=Base(options.base))).root
    name = names.frame(root, naming.frame_prefix)
    return Frame(name, options.world_frame, Pose(motion.R[0], motion.p[0]))


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
        """Return the displays in the order of the sensors; disabled images are a group."""
        sensors = self.simulation.sensors
        found = [
            display
            for key, found in device_topics(self.simulation, self.body, self.naming).items()
            for spec, topic in found.of_sensor.items()
            for display in self._of(key, sensors[key], spec.name, topic)
        ]
        hidden = [x for x in found if x["Class"].endswith("/Image") and not x["Enabled"]]
        groups = [rviz.group("Other images", hidden, on=False)] if hidden else []
        return [*(x for x in found if x not in hidden), *groups]

    def _of(self, key: str, sensor: Sensor, meaning: str, topic: str) -> Iterator[rviz.Display]:
        """Yield the displays of a topic, given its meaning, a name of ``hrp_msgs.names``."""
        name, topic = sensor.name, rviz.absolute_topic(self.namespace, topic)
        match meaning:
            case names.SCAN:
                yield rviz.scan(name, topic)
            case names.POINTS:
                yield rviz.point_cloud(name, topic, colored=False)
            case names.WRENCH if isinstance(sensor, ForceSensor | TorqueSensor):
                length = 2.0 / 3.0 * self.size  # a third of the robot
                scale = length / self._static_load(self._link(sensor))
                yield rviz.wrench(name, topic, rviz.rounded(scale), length)
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
                yield rviz.point_cloud(f"{camera.name}, points", topic, colored=colored, on=False)

    def _link(self, sensor: ForceSensor | TorqueSensor) -> int:
        """Return the index of the link whose joint a sensor measures."""
        if isinstance(sensor, ForceSensor):
            return sensor.link
        body = self.simulation.bodies[self.body].body
        return body.link_index(body.moving_links[sensor.joint].name)

    def _static_load(self, link: int) -> float:
        """Return the force in [N] at the joint of a link while the body stands.

        A sensor in a foot carries its share of the body above, others what is below the joint.
        """
        simulated = self.simulation.bodies[self.body]
        masses = np.array([x.mass for x in simulated.body.links])
        below = _subtree(simulated.body, link)
        mass = masses[below].sum()
        if not self.simulation.is_fixed(self.body):
            sensors = self.simulation.sensors.values()
            own = [s for s in sensors if isinstance(s, ForceSensor) and s.body == self.body]
            heights = _lowest_points(simulated)
            floor = heights.min() + _FLOOR_TOLERANCE * self.size
            feet = {s.link for s in own if heights[_subtree(simulated.body, s.link)].min() < floor}
            if link in feet:
                mass = (masses.sum() - mass) / len(feet)
        return float(max(mass, _MIN_LOAD * masses.sum())) * _GRAVITY or 1.0


def _subtree(body: Body, link: int) -> list[int]:
    """Return the indices of a link and all links below it."""
    found = {link}
    for i, parent in enumerate(body.parent_indices):
        if parent in found:
            found.add(i)
    return sorted(found)


def _lowest_points(simulated: SimulatedBody) -> Array:
    """Return the height of the lowest point of each link in the world, in [m]."""
    motion = simulated.motion
    poses = (Pose(R, p) for R, p in zip(motion.R, motion.p, strict=True))
    links = zip(simulated.body.links, poses, strict=True)
    return np.array([rviz.link_box(link, pose).low[2] for link, pose in links])
