"""hrp::Link and hrp::Sensor: views of one link or sensor of a state, by name or number.

An error lists the names or ids that exist.
"""

from __future__ import annotations

from enum import IntEnum
from operator import index

from numpy.typing import ArrayLike

from ..body import Body, JointType, Link
from ..devices import (
    AccelerationSensor,
    Camera,
    Device,
    ForceSensor,
    GenericDevice,
    Imu,
    PhotoInterrupter,
    RangeSensor,
    RateGyroSensor,
    TorqueSensor,
)
from ..diagnostics import did_you_mean_or_all
from ..rigid import ZERO_3, Array
from .arrays import StateArrays, cross, finite, rotations
from .tree import Tree

Values = float | Array


class SensorType(IntEnum):
    """Types of sensors, with the numbers of hrp::Sensor::SensorType."""

    FORCE = 1
    RATE_GYRO = 2
    ACCELERATION = 3
    PRESSURE = 4
    PHOTO_INTERRUPTER = 5
    VISION = 6
    TORQUE = 7
    RANGE = 8


def parse_sensor_type(which: SensorType | int | str) -> SensorType:
    """Return the sensor type of a name or number; raises ValueError."""
    try:
        return SensorType[which] if isinstance(which, str) else SensorType(which)
    except (KeyError, ValueError):
        types = ", ".join(f"{kind.name} ({kind.value})" for kind in SensorType)
        raise ValueError(f"there is no sensor type {which!r}; they are {types}") from None


_BY_CLASS: dict[type[Device], tuple[SensorType, ...]] = {
    ForceSensor: (SensorType.FORCE,),
    RateGyroSensor: (SensorType.RATE_GYRO,),
    AccelerationSensor: (SensorType.ACCELERATION,),
    Imu: (SensorType.RATE_GYRO, SensorType.ACCELERATION),
    Camera: (SensorType.VISION,),
    RangeSensor: (SensorType.RANGE,),
    PhotoInterrupter: (SensorType.PHOTO_INTERRUPTER,),
    TorqueSensor: (SensorType.TORQUE,),
}
_BY_NAME = {"PressureSensor": SensorType.PRESSURE}


def sensor_types(device: Device) -> tuple[SensorType, ...]:
    """Return the sensor types of a device: two for an IMU, none for a light."""
    if isinstance(device, GenericDevice):
        kind = _BY_NAME.get(device.type_name)
        return () if kind is None else (kind,)
    return _BY_CLASS.get(type(device), ())


def sensors_by_id(body: Body, kind: SensorType) -> dict[int, Device]:
    """Return the sensors of a type by id; the first of equal ids wins.

    A sensor of just that type takes precedence over an IMU.
    """
    found = [d for d in body.devices if kind in sensor_types(d) and d.id is not None and d.id >= 0]
    by_id: dict[int, Device] = {}
    for device in sorted(found, key=lambda d: isinstance(d, Imu)):
        assert device.id is not None
        by_id.setdefault(device.id, device)
    return by_id


def link_index(body: Body, which: int | str) -> int:
    """Return the index in ``body.links`` of a link given by name or index.

    Raises:
        IndexError: The index is out of range.
        KeyError: No link has that name.
        TypeError: ``which`` is neither a name nor an index.
    """
    if isinstance(which, str):
        try:
            return body.link_index(which)
        except KeyError:
            hint = did_you_mean_or_all(which, [link.name for link in body.links])
            raise KeyError(f"body '{body.name}' has no link '{which}'.{hint}") from None
    number = _integer(which, "a link is given by its name, its index or a LinkState")
    if not 0 <= number < len(body.links):
        last = len(body.links) - 1
        raise IndexError(f"body '{body.name}' has no link {number}; its links are 0 to {last}")
    return number


def joint_link(body: Body, joint_id: int) -> Link:
    """Return the link whose joint has this id; raises IndexError, TypeError."""
    number = _integer(joint_id, "a joint is given by its id; link(name) finds it by name")
    link = body.joints[number] if 0 <= number < len(body.joints) else None
    if link is None:
        ids = [i for i, found in enumerate(body.joints) if found is not None]
        raise IndexError(f"body '{body.name}' has no joint {number}; {_list_ids('joint', ids)}")
    return link


def sensor_device(body: Body, kind: SensorType, sensor_id: int) -> Device:
    """Return the sensor of a type that has this id; raises IndexError, TypeError."""
    by_id = sensors_by_id(body, kind)
    number = _integer(sensor_id, "a sensor is given by its type and its id")
    if number not in by_id:
        ids = _list_ids(f"{kind.name} sensor", sorted(by_id))
        raise IndexError(f"body '{body.name}' has no {kind.name} sensor {number}; {ids}")
    return by_id[number]


def _integer(value: int, expected: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{expected}, got {value!r}") from None


def _list_ids(kind: str, ids: list[int]) -> str:
    return f"it has {', '.join(map(str, ids))}" if ids else f"no {kind} has an id"


class LinkState:
    """A view of one link that reads and writes the arrays of its BodyState.

    In a batch of m postures, values that depend on the posture have a leading axis of length m.
    Only the motion of the root can be assigned; that of the other links is computed.

    Attributes:
        body: The state that it is a view of.
        index: Row in the link arrays and index in ``Body.links``.
        model: The link in the model, with its shapes and the joint's motor.
        joint: Index of the joint in ``q``; None for a link without one.
    """

    __slots__ = ("body", "index", "joint", "model")

    def __init__(self, body: StateArrays, index: int) -> None:
        self.body = body
        self.index = index
        joint = int(Tree.of(body.body).link_joints[index])
        self.joint = None if joint < 0 else joint
        self.model: Link = body.body.links[index]

    @property
    def name(self) -> str:
        """Name of the link; by the formats' custom also that of its joint."""
        return self.model.name

    @property
    def parent(self) -> LinkState | None:
        """The link above; None for the root."""
        parent = self.body.body.parent_indices[self.index]
        return None if parent < 0 else LinkState(self.body, parent)

    @property
    def child(self) -> LinkState | None:
        """The first link below, whose ``sibling`` is the next one."""
        return self._first_below(self.index, 0)

    @property
    def sibling(self) -> LinkState | None:
        """The next link with the same parent."""
        parents = self.body.body.parent_indices
        return self._first_below(parents[self.index], self.index + 1) if self.index else None

    @property
    def sensors(self) -> tuple[Sensor, ...]:
        """The sensors on this link, in the order of the file."""
        return tuple(
            Sensor(self.body, device, kind)
            for device in self.body.body.devices
            for kind in sensor_types(device)
            if device.link == self.name
        )

    # The joint.

    @property
    def q(self) -> Values:
        """Joint position in [rad] or [m]; 0 for a link without a moving joint.

        Raises:
            ValueError: The link has no moving joint, or the assigned value is not finite or
                not one number for all postures or one for each.
        """
        return self._value(self.body.q)

    @q.setter
    def q(self, value: ArrayLike) -> None:
        self._set("q", self.body.q, value)

    @property
    def dq(self) -> Values:
        """Joint velocity in [rad/s] or [m/s], as ``q``."""
        return self._value(self.body.dq)

    @dq.setter
    def dq(self, value: ArrayLike) -> None:
        self._set("dq", self.body.dq, value)

    @property
    def ddq(self) -> Values:
        """Joint acceleration in [rad/s^2] or [m/s^2], as ``q``."""
        return self._value(self.body.ddq)

    @ddq.setter
    def ddq(self, value: ArrayLike) -> None:
        self._set("ddq", self.body.ddq, value)

    @property
    def u(self) -> Values:
        """Joint torque in [N m] or force in [N], as ``q``."""
        return self._value(self.body.u)

    @u.setter
    def u(self, value: ArrayLike) -> None:
        self._set("u", self.body.u, value)

    @property
    def joint_type(self) -> JointType:
        """Kind of the joint."""
        return self.model.joint.type

    @property
    def joint_id(self) -> int:
        """Id of the joint in the model; -1 without an id."""
        return -1 if self.model.joint.id is None else self.model.joint.id

    @property
    def a(self) -> Array:
        """Axis of a revolute joint in the link's frame, shape (3,); zero for another one."""
        return self.model.joint.axis if self.joint_type is JointType.REVOLUTE else ZERO_3

    @property
    def d(self) -> Array:
        """Direction of a prismatic joint in the link's frame, shape (3,); zero for another."""
        return self.model.joint.axis if self.joint_type is JointType.PRISMATIC else ZERO_3

    @property
    def llimit(self) -> float:
        """Lower limit of the joint position in [rad] or [m]; -inf for no limit."""
        return self.model.joint.position_limits.lower

    @property
    def ulimit(self) -> float:
        """Upper limit of the joint position in [rad] or [m]; inf for no limit."""
        return self.model.joint.position_limits.upper

    @property
    def lvlimit(self) -> float:
        """Lower limit of the joint velocity in [rad/s] or [m/s]; -inf for no limit."""
        return self.model.joint.velocity_limits.lower

    @property
    def uvlimit(self) -> float:
        """Upper limit of the joint velocity in [rad/s] or [m/s]; inf for no limit."""
        return self.model.joint.velocity_limits.upper

    @property
    def Jm2(self) -> float:  # noqa: N802
        """Equivalent rotor inertia in [kg m^2] or [kg]."""
        return self.model.joint.equivalent_rotor_inertia

    # The body fixed to the joint.

    @property
    def b(self) -> Array:
        """Position of the origin in the parent's frame at q = 0, in [m], shape (3,)."""
        return self.model.X_PL.p

    @property
    def Rb(self) -> Array:  # noqa: N802
        """Rotation in the parent's frame at q = 0, shape (3, 3)."""
        return self.model.X_PL.R

    @property
    def c(self) -> Array:
        """Centre of mass in the link's frame in [m], shape (3,)."""
        return self.model.center_of_mass

    @property
    def wc(self) -> Array:
        """Centre of mass in the world in [m], shape (3,) or (m, 3)."""
        return self.R @ self.c + self.p

    @property
    def m(self) -> float:
        """Mass in [kg]."""
        return self.model.mass

    @property
    def I(self) -> Array:  # noqa: E743, N802
        """Inertia about the centre of mass, in the link's axes, in [kg m^2], shape (3, 3)."""
        return self.model.inertia

    # The motion in world axes; only the root's can be assigned.

    @property
    def p(self) -> Array:
        """Position of the origin in [m], shape (3,) or (m, 3).

        Raises:
            AttributeError: The link is not the root, and so cannot be assigned.
            ValueError: The assigned value is not finite, or not of shape (), (3,) or (m, 3).
        """
        return self.body.p[..., self.index, :]

    @p.setter
    def p(self, value: ArrayLike) -> None:
        self._set_root("p", self.body.p[..., 0, :], value)

    @property
    def R(self) -> Array:  # noqa: N802
        """Rotation, shape (3, 3) or (m, 3, 3).

        Raises:
            AttributeError: The link is not the root, and so cannot be assigned.
            ValueError: The assigned value is not a rotation to 1e-6, or of another shape.
        """
        return self.body.R[..., self.index, :, :]

    @R.setter
    def R(self, value: ArrayLike) -> None:  # noqa: N802
        R = self.body.R[..., 0, :, :]
        R[...] = rotations(self._root_label("R"), value, (3, 3), R.shape)

    @property
    def v(self) -> Array:
        """Velocity of the origin in [m/s], shape (3,) or (m, 3); see ``p``."""
        return self.body.v[..., self.index, :]

    @v.setter
    def v(self, value: ArrayLike) -> None:
        self._set_root("v", self.body.v[..., 0, :], value)

    @property
    def w(self) -> Array:
        """Angular velocity in [rad/s], shape (3,) or (m, 3); see ``p``."""
        return self.body.w[..., self.index, :]

    @w.setter
    def w(self, value: ArrayLike) -> None:
        self._set_root("w", self.body.w[..., 0, :], value)

    @property
    def dv(self) -> Array:
        """Acceleration of the origin in [m/s^2], shape (3,) or (m, 3); see ``p``."""
        return self.body.dv[..., self.index, :]

    @dv.setter
    def dv(self, value: ArrayLike) -> None:
        self._set_root("dv", self.body.dv[..., 0, :], value)

    @property
    def dw(self) -> Array:
        """Angular acceleration in [rad/s^2], shape (3,) or (m, 3); see ``p``."""
        return self.body.dw[..., self.index, :]

    @dw.setter
    def dw(self, value: ArrayLike) -> None:
        self._set_root("dw", self.body.dw[..., 0, :], value)

    @property
    def vo(self) -> Array:
        """Velocity of the link's point at the world's origin: v - w x p, in [m/s].

        Assigning it to the root sets ``v``, from the current ``p`` and ``w``.
        """
        return self.v - cross(self.w, self.p)

    @vo.setter
    def vo(self, value: ArrayLike) -> None:
        v = self.body.v[..., 0, :]
        self._set_root("vo", v, value)
        v += cross(self.w, self.p)

    @property
    def dvo(self) -> Array:
        """Time derivative of ``vo``: dv - dw x p - w x v, in [m/s^2].

        Assigning it to the root sets ``dv``, from the current ``p``, ``v``, ``w`` and ``dw``.
        """
        return self.dv - cross(self.dw, self.p) - cross(self.w, self.v)

    @dvo.setter
    def dvo(self, value: ArrayLike) -> None:
        dv = self.body.dv[..., 0, :]
        self._set_root("dvo", dv, value)
        dv += cross(self.dw, self.p) + cross(self.w, self.v)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinkState):
            return NotImplemented
        return self.body is other.body and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.body), self.index))

    def __repr__(self) -> str:
        return f"<LinkState '{self.name}' of '{self.body.body.name}'>"

    def _first_below(self, parent: int, start: int) -> LinkState | None:
        parents = self.body.body.parent_indices
        index = next((i for i in range(start, len(parents)) if parents[i] == parent), None)
        return None if index is None else LinkState(self.body, index)

    def _value(self, vector: Array) -> Values:
        if self.joint is None:
            return 0.0
        return vector[..., self.joint] if vector.ndim == 2 else float(vector[self.joint])

    def _set(self, name: str, vector: Array, value: ArrayLike) -> None:
        if self.joint is None:
            kind = self.joint_type.value
            raise ValueError(f"link '{self.name}' has no {name}: its joint is {kind}")
        label = f"{name} of '{self.name}'"
        vector[..., self.joint] = finite(label, value, (), vector.shape[:-1])

    def _set_root(self, name: str, array: Array, value: ArrayLike) -> None:
        array[...] = finite(self._root_label(name), value, (), (3,), array.shape)

    def _root_label(self, name: str) -> str:
        """Return the name of a quantity of the root for messages; raise for another link."""
        if self.index:
            root = self.body.body.root.name
            raise AttributeError(
                f"{name} of link '{self.name}' is computed from the root's; assign that of '{root}'"
            )
        return f"{name} of '{self.name}'"


class Sensor:
    """A sensor of a Body in a state: hrp::Sensor.

    Attributes:
        device: The device in the model.
        type: The type by which it was looked up, or the device's first type.
    """

    __slots__ = ("_state", "device", "type")

    def __init__(self, state: StateArrays, device: Device, type: SensorType) -> None:  # noqa: A002
        self._state = state
        self.device = device
        self.type = type

    @property
    def name(self) -> str:
        """Name of the sensor."""
        return self.device.name

    @property
    def id(self) -> int:
        """Number among the sensors of its type; -1 without an id."""
        return -1 if self.device.id is None else self.device.id

    @property
    def link(self) -> LinkState:
        """The link that carries it."""
        return LinkState(self._state, link_index(self._state.body, self.device.link))

    @property
    def local_pos(self) -> Array:
        """Position in the link's frame in [m], shape (3,): localPos."""
        return self.device.X_LS.p

    @property
    def local_R(self) -> Array:  # noqa: N802
        """Rotation in the link's frame, shape (3, 3): localR."""
        return self.device.X_LS.R

    @property
    def p(self) -> Array:
        """Position in the world in [m], shape (3,) or (m, 3)."""
        link = self.link
        return link.R @ self.local_pos + link.p

    @property
    def R(self) -> Array:  # noqa: N802
        """Rotation in the world, shape (3, 3) or (m, 3, 3)."""
        return self.link.R @ self.local_R

    def __repr__(self) -> str:
        return f"<Sensor '{self.name}': {self.type.name} {self.id} on '{self.device.link}'>"
