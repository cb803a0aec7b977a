"""Postures of a Body, read from a JSON file, and its initial posture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..body import Body
from ..files.resources import read_file
from ..frames import joint_pose
from ..rigid import Array, Pose, frozen_array, is_rotation

_MAX_FILE_SIZE = 1 << 24  # in [B]: some hundred thousand numbers


class PostureError(ValueError):
    """A file of postures is invalid; the message names the file and the reason."""


@dataclass(frozen=True)
class Posture:
    """A posture of a body.

    Attributes:
        q: Positions by joint name, in [rad] or [m]; other joints keep their initial positions.
        root_p: Position of the root in [m], shape (3,); None for the model's.
        root_R: Rotation of the root, shape (3, 3); None for the model's.
    """

    q: Mapping[str, float] = field(default_factory=dict)
    root_p: Array | None = None
    root_R: Array | None = None


def initial_poses(body: Body) -> dict[str, Pose]:
    """Return X_WL of each link in the model's initial posture, by name."""
    poses = {body.root.name: body.root.X_PL}
    for link in body.links[1:]:
        assert link.parent is not None
        poses[link.name] = poses[link.parent] @ joint_pose(link, link.joint.initial)
    return poses


def read_postures(path: Path) -> list[Posture]:
    """Read postures from a JSON file: a list of {"root_p", "root_R", "q": {joint: value}}.

    Raises:
        PostureError: The file cannot be read or is invalid.
    """
    try:
        rows = json.loads(read_file(path, _MAX_FILE_SIZE).decode("utf-8"))
    except OSError as error:
        raise PostureError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise PostureError(f"{path} is not JSON: {error}") from None
    except RecursionError:
        raise PostureError(f"{path} is not a list of postures: it is nested too deep") from None
    if not isinstance(rows, list):
        raise PostureError(f"{path} must contain a list of postures")
    return [_posture(row, f"{path}, posture {i}") for i, row in enumerate(rows)]


def _posture(row: Any, where: str) -> Posture:
    keys = {"name", "root_p", "root_R", "q"}
    if not isinstance(row, dict) or not row.keys() <= keys:
        raise PostureError(f'{where} must be an object with "root_p", "root_R" and "q"')
    if not isinstance(row.get("q", {}), dict):
        raise PostureError(f'{where}: "q" must map joint names to positions')
    try:
        q = {str(name): float(value) for name, value in row.get("q", {}).items()}
        root_p, root_R = (
            None if key not in row else frozen_array(row[key], shape, key)
            for key, shape in (("root_p", (3,)), ("root_R", (3, 3)))
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise PostureError(f"{where}: {error}") from None
    numbers = [*q.values(), *(x for a in (root_p, root_R) if a is not None for x in a.ravel())]
    if not np.isfinite(numbers).all():
        raise PostureError(f"{where} has a number that is not finite")
    if root_R is not None and not is_rotation(root_R):
        raise PostureError(f"{where}: root_R is not a rotation matrix")
    return Posture(q, root_p, root_R)
