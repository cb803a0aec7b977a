"""Poses to TF messages. Pure functions: no node, no clock, no buffer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from geometry_msgs.msg import Transform, TransformStamped
from numpy.typing import NDArray
from tf2_msgs.msg import TFMessage

from .basic import header, quaternion, vector3

Array = NDArray[np.float64]


def transform(
    time_ns: int, parent: str, child: str, p: Sequence[float] | Array, xyzw: Sequence[float]
) -> TransformStamped:
    """Return the pose X_PC of a frame C in its parent P.

    Args:
        time_ns: When it holds, in [ns].
        parent: Frame P, with its prefix.
        child: Frame C, with its prefix.
        p: Position p_PC of C's origin, expressed in P, in [m], shape (3,).
        xyzw: Unit quaternion of the rotation R_PC.
    """
    return TransformStamped(
        header=header(time_ns, parent),
        child_frame_id=child,
        transform=Transform(translation=vector3(p), rotation=quaternion(xyzw)),
    )


def tf_message(transforms: Iterable[TransformStamped]) -> TFMessage:
    """Return the message that both ``/tf`` and ``/tf_static`` carry."""
    return TFMessage(transforms=list(transforms))
