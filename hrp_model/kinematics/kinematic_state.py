"""Forward kinematics of a Body, and its links, joints and sensors by name or number."""

from __future__ import annotations

from ..body import Body
from .arrays import StateArrays
from .dynamics import write_motions, write_poses
from .link_state import (
    LinkState,
    Sensor,
    SensorType,
    joint_link,
    link_index,
    parse_sensor_type,
    sensor_device,
    sensors_by_id,
)
from .tree import Tree


class KinematicState(StateArrays):
    """The part of BodyState that joint paths need: links, joints, sensors and their poses.

    Args:
        body: The model.
        fix_root: Whether the root is fixed to the world; None to take it from the model.
        batch: Number of postures; None for one, without a leading axis.

    Raises:
        TypeError: ``body`` is not a Body.
        ValueError: ``batch`` is less than one.
    """

    __slots__ = ("_tree", "fix_root")

    def __init__(
        self, body: Body, *, fix_root: bool | None = None, batch: int | None = None
    ) -> None:
        if not isinstance(body, Body):
            raise TypeError(f"body must be a Body, got {body!r}; load_body reads one from a file")
        super().__init__(body, batch)
        self.fix_root = body.is_root_fixed if fix_root is None else fix_root
        self._tree = Tree.of(body)
        self.calc_forward_kinematics()

    @property
    def name(self) -> str:
        """Name of the body."""
        return self.body.name

    @property
    def num_joints(self) -> int:
        """Number of joints with an id; ``joints`` has all that move, with an id or not."""
        return sum(link.joint.id is not None for link in self.body.links)

    @property
    def joints(self) -> tuple[LinkState, ...]:
        """The links whose joints move them, in the order of ``q``: those with an id come first."""
        return tuple(self.link(link.name) for link in self.body.moving_links)

    @property
    def links(self) -> tuple[LinkState, ...]:
        """All links, in the order of ``body.links``: parents before children."""
        return tuple(self.link(i) for i in range(self.num_links))

    @property
    def num_links(self) -> int:
        """Number of links, k."""
        return len(self.body.links)

    @property
    def root_link(self) -> LinkState:
        """The root, whose motion is input."""
        return self.link(0)

    @property
    def total_mass(self) -> float:
        """Sum of the links' masses in [kg]."""
        return self._tree.total_mass

    def joint(self, joint_id: int) -> LinkState:
        """Return the link whose joint has this id; of equal ids the first link's.

        Raises:
            IndexError: No joint has this id; the message lists the ids that exist.
            TypeError: The id is not an integer.
        """
        return self.link(joint_link(self.body, joint_id).name)

    def link(self, which: int | str | LinkState) -> LinkState:
        """Return a link by its index in ``body.links`` or its name.

        Raises:
            IndexError: The index is out of range.
            KeyError: No link has that name; the message suggests a similar one.
            ValueError: It is a link of another body.
            TypeError: It is none of these.
        """
        if isinstance(which, LinkState):
            if which.body.body is not self.body:
                raise ValueError(f"{which!r} is a link of another body than {self!r}")
            which = which.index
        return LinkState(self, link_index(self.body, which))

    def sensor(self, sensor_type: SensorType | int | str, sensor_id: int) -> Sensor:
        """Return the sensor of a type that has this id; of equal ids the first one.

        An IMU counts as both a rate gyro and an acceleration sensor, after dedicated ones.

        Args:
            sensor_type: The type or its name or number: SensorType.FORCE, "FORCE" or 1.
            sensor_id: Number among the sensors of that type.

        Raises:
            ValueError: The type is unknown; the message lists the types.
            IndexError: No sensor has that id; the message lists the ids that exist.
        """
        kind = parse_sensor_type(sensor_type)
        return Sensor(self, sensor_device(self.body, kind, sensor_id), kind)

    def num_sensors(self, sensor_type: SensorType | int | str) -> int:
        """Return the largest id of the sensors of a type plus one, as hrp::Body counts.

        Raises:
            ValueError: The type is unknown.
        """
        return max(sensors_by_id(self.body, parse_sensor_type(sensor_type)), default=-1) + 1

    def calc_forward_kinematics(self, velocity: bool = False, acceleration: bool = False) -> None:
        """Compute ``p`` and ``R`` of every link from ``q`` and the root's.

        Args:
            velocity: Also compute ``v`` and ``w``, and so ``vo``, from ``dq`` and the root's.
            acceleration: Also compute ``dv`` and ``dw``, and so ``dvo``, from ``ddq`` and the
                root's, and the velocities, which they depend on.
        """
        a, tree = self._arrays, self._tree
        write_poses(tree, a.q, a.p, a.R)
        if velocity or acceleration:
            write_motions(tree, a, acceleration)
