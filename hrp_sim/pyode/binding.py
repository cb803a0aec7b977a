"""What PyODE lacks or has wrong, by ctypes on the very library that it is linked with.

PyODE knows neither the random order's seed nor the weight of QUICK's over-relaxation; its
setters normalise quaternions, so that no state can be put back to the last bit; and its
numbers of joint parameters are those of an older ODE.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import ode
from numpy.typing import NDArray

from hrp_model.rigid import Array

from ..ode import guard
from ..physics.engine import PhysicsError

Indices = NDArray[np.int64]

# Of ODE 0.16; PyODE's own constants count otherwise.
LO_STOP, HI_STOP, VEL, FMAX, CFM = 0, 1, 2, 5, 8
SECOND_ROW, THIRD_ROW = 256, 512
BOUNCE, MU2, FDIR1, MOTION1, APPROX1 = 0x004, 0x001, 0x002, 0x020, 0x7000

_REAL_BYTES = 8
_ALL_DATA = 0xFFFFFFFF  # dAllocateMaskAll
# The state of a body: ODE's functions that tell where it lies.
_PLACES = ("Position", "Quaternion", "Rotation", "LinearVel", "AngularVel")

# Symbols of the libraries that a module is linked with can be found through the module.
_library = ctypes.PyDLL(ode.__file__)


def _function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    function = getattr(_library, name)
    function.restype, function.argtypes = result, arguments
    return function  # type: ignore[no-any-return]


get_random = _function("dRandGetSeed", ctypes.c_ulong)
set_random = _function("dRandSetSeed", None, ctypes.c_ulong)
allocate_thread_data = _function("dAllocateODEDataForThread", ctypes.c_int, ctypes.c_uint)
_body_of_geom = _function("dGeomGetBody", ctypes.c_void_p, ctypes.c_void_p)
_world_of_body = _function("dBodyGetWorld", ctypes.c_void_p, ctypes.c_void_p)
_set_over_relaxation = _function("dWorldSetQuickStepW", None, ctypes.c_void_p, ctypes.c_double)
_joint_of_body = _function("dBodyGetJoint", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
_set_feedback = _function("dJointSetFeedback", None, ctypes.c_void_p, ctypes.c_void_p)
_set_ball_anchor2 = _function("dJointSetBallAnchor2", None, ctypes.c_void_p, *[ctypes.c_double] * 3)
_from_axis_angle = _function(
    "dRFromAxisAndAngle", None, ctypes.POINTER(ctypes.c_double), *[ctypes.c_double] * 4
)
_has = _function("dCheckConfiguration", ctypes.c_int, ctypes.c_char_p)
_places = [_function(f"dBodyGet{n}", ctypes.c_void_p, ctypes.c_void_p) for n in _PLACES]


def check_library() -> None:
    """Check that PyODE's library is one that this package can share.

    Raises:
        PhysicsError: It computes in single precision, or is another copy than the one whose
            errors our extension catches.
    """
    if not _has(b"ODE_double_precision"):
        raise PhysicsError("PyODE is linked with an ODE of single precision; use --engine ode")
    ours = ctypes.PyDLL(guard.EXTENSION).dRandGetSeed
    if _address(ours) != _address(get_random):
        raise PhysicsError("PyODE is linked with an ODE of its own; use --engine ode")


def _address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


def prepare_thread() -> None:
    """Let ODE have its data for the calling thread."""
    allocate_thread_data(_ALL_DATA)


def _id_of(body: Any) -> int:
    """Return the dBodyID, which PyODE only tells of shapes: a body's shape knows its body."""
    probe = ode.GeomSphere(None, 1.0)
    probe.setBody(body)
    return int(_body_of_geom(probe._id()))


def set_over_relaxation(world: Any, value: float) -> None:
    """Set the over-relaxation of the QUICK solver."""
    body = ode.Body(world)  # PyODE does not tell of the world's own dWorldID either
    _set_over_relaxation(_world_of_body(_id_of(body)), value)


def set_second_anchor(first: Any, anchor: Sequence[float]) -> None:
    """Set the second body's anchor of the ball joint that was attached last.

    Args:
        first: The joint's first body, which ``identify`` knows.
        anchor: In the second body's frame, or in W.
    """
    # ODE puts a joint at the front of its bodies' lists.
    _set_ball_anchor2(_joint_of_body(first.ode_id, 0), *anchor)


def tell_feedback(first: Any, room: Array) -> None:
    """Let ODE write what the joint that was attached last exerts; PyODE would not zero it first.

    Args:
        first: The joint's first body, which ``identify`` knows.
        room: Force and torque on it, then on the second, shape (4, 4): three numbers each and
            one that is idle. Has to live as long as the joint.
    """
    _set_feedback(_joint_of_body(first.ode_id, 0), room.ctypes.data)


def axis_angle_rotation(axis: Sequence[float], angle: float) -> list[float]:
    """Return 9 numbers, row by row, as ODE computes them."""
    rows = (ctypes.c_double * 12)()
    _from_axis_angle(rows, *axis, angle)
    return [*rows[0:3], *rows[4:7], *rows[8:11]]


def identify(body: Any) -> None:
    """Let a body of PyODE, which takes attributes of any name, know its dBodyID."""
    body.ode_id = _id_of(body)


def state_addresses(body: Any) -> list[int]:
    """Return where p, the quaternion, R (rows of 4), v and w of a body lie, as long as it lives.

    Args:
        body: One that ``identify`` knows.
    """
    return [int(place(body.ode_id)) for place in _places]


def addresses_of(array: Array) -> Indices:
    """Return where the numbers of an array lie, of its shape, as long as it lives."""
    steps = np.array(array.strides, dtype=np.int64)
    offsets = np.tensordot(steps, np.indices(array.shape, dtype=np.int64), axes=1)
    return array.ctypes.data + offsets


class Memory:
    """ODE's own numbers, wherever they lie, as one array: read and written all at once.

    Args:
        addresses: Of float64 numbers in memory, any shape.

    Attributes:
        shape: Of ``addresses``.
    """

    def __init__(self, addresses: Indices) -> None:
        first = int(addresses.min(initial=2**62))
        count = (int(addresses.max(initial=first)) - first) // _REAL_BYTES + 1
        # Only the numbers at the addresses are ever touched, not what lies between them.
        span = (ctypes.c_double * count).from_address(first)
        self._numbers: Array = np.ctypeslib.as_array(span) if addresses.size else np.zeros(0)
        self._indices = (addresses - first) // _REAL_BYTES
        self._flat_indices = self._indices.ravel()  # numpy writes faster by these
        self.shape = addresses.shape

    def read(self, out: Array) -> None:
        """Copy the numbers into a contiguous array of the shape of the addresses."""
        self._numbers.take(self._indices, out=out, mode="clip")

    def write(self, values: Array) -> None:
        """Put numbers there, from a contiguous array of the same shape."""
        self._numbers[self._flat_indices] = values.ravel()
