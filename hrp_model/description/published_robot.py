"""A robot as others publish it: its URDF, its files, and the TF frames of its links."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote
from xml.sax.saxutils import escape

import numpy as np

from hrp_msgs.names import ROBOT_DESCRIPTION

from ..body import Body
from ..diagnostics import Diagnostics
from ..frames import joint_pose, unique_name
from ..load import load_body_text
from ..rigid import Array, Pose

# Size of all copies together, in [B].
MAX_SIZE = 1 << 29


def read_with_files(
    urdf: str, name: str, files: Mapping[str, Path], diagnostics: Diagnostics
) -> Body:
    """Read a robot; files without a copy are read from where the URDF says.

    Args:
        urdf: Text of the URDF.
        name: Name of the text in messages.
        files: Copies of files, by the URI with which the URDF refers to them.
        diagnostics: Receives notes and warnings.

    Raises:
        ModelError: The URDF cannot be used; lists every problem with its place.
    """
    for uri, path in files.items():
        for quote in "\"'":
            written = f"{quote}{escape(uri, {quote: '&quot;'})}{quote}"
            urdf = urdf.replace(written, f'"{escape(path.as_uri())}"')
    return load_body_text(urdf, diagnostics, kind="urdf", name=name)


def copy_files(contents: Mapping[str, bytes], folder: Path) -> dict[str, Path]:
    """Write files into a folder, so that references between them still work.

    The path of a URI is repeated inside the folder, never left by "..". Files that cannot be
    written are left out, and so are all from the first one beyond ``MAX_SIZE``.

    Args:
        contents: Contents by URI; other names are left out.
        folder: An empty folder.

    Returns:
        The copies by URI.
    """
    copies: dict[str, Path] = {}
    size = 0
    for uri in contents:
        scheme, separator, rest = uri.partition("://")
        if not separator or not scheme.isalnum():
            continue
        data = contents[uri]
        size += len(data)
        if size > MAX_SIZE:
            break
        inside = posixpath.normpath(f"/{unquote(rest)}").lstrip("/")
        path = folder / scheme / inside
        with suppress(OSError, ValueError):  # a name that is too long, is a folder, or has a NUL
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            copies[uri] = path
    return copies


def namespace(topic: str) -> str | None:
    """Return the namespace of a topic with a robot's URDF; None for other topics."""
    above, _, name = topic.rpartition("/")
    return above.strip("/") if name == ROBOT_DESCRIPTION else None


def body_names(robots: Mapping[str, Body]) -> dict[str, str]:
    """Return a unique name of each robot by namespace: its namespace, or the model's name.

    Args:
        robots: Bodies by namespace.
    """
    return {
        space: space or unique_name(body.name or "robot", robots) for space, body in robots.items()
    }


def frame_prefixes(robots: Mapping[str, Body], frames: Iterable[str]) -> dict[str, str]:
    """Return the prefix of the TF frames of each robot, by namespace.

    A prefix is found by the frames that exist: it is the one with which most links of the robot
    have a frame, preferably one like the namespace. No two robots have the same one. Robots
    without any frame are left out.

    Args:
        robots: Bodies by namespace.
        frames: Names of all frames.
    """
    found: Counter[tuple[str, str]] = Counter()
    spaces: dict[str, list[str]] = {}
    for space, body in robots.items():
        for link in body.links:
            spaces.setdefault(link.name, []).append(space)
    for frame in frames:
        for i in range(len(frame)):
            for space in spaces.get(frame[i:], ()):
                found[space, frame[:i]] += 1

    def rank(pair: tuple[str, str]) -> tuple[bool, float, int, str]:
        space, prefix = pair
        share = found[pair] / len(robots[space].links)
        return not _is_alike(space, prefix), -share, len(prefix), prefix

    prefixes: dict[str, str] = {}
    taken: set[str] = set()
    for space, prefix in sorted(found, key=rank):
        if space not in prefixes and prefix not in taken:
            prefixes[space] = prefix
            taken.add(prefix)
    return prefixes


def has_frame_of(body: Body, prefix: str | None, frames: Container[str]) -> bool:
    """Return whether any link of a robot has one of these frames; prefix as in ``link_poses``."""
    return prefix is not None and any(prefix + link.name in frames for link in body.links)


def _is_alike(space: str, prefix: str) -> bool:
    return space.rpartition("/")[2] == prefix.strip("/").rpartition("/")[2]


def link_poses(body: Body, poses: Mapping[str, Pose], prefix: str | None) -> tuple[Array, Array]:
    """Return the poses of all links in the world.

    A link without a frame has its initial pose relative to its parent; such a root that of the
    model.

    Args:
        body: The robot.
        poses: Poses of TF frames in the world, by name.
        prefix: Prefix of its frames; None if it has no frames.

    Returns:
        p_WL of shape (links, 3) and R_WL of shape (links, 3, 3).
    """
    p, R = np.empty((len(body.links), 3)), np.empty((len(body.links), 3, 3))
    for i, (link, parent) in enumerate(zip(body.links, body.parent_indices, strict=True)):
        pose = None if prefix is None else poses.get(prefix + link.name)
        if pose is not None:
            p[i], R[i] = pose.p, pose.R
        elif parent < 0:
            p[i], R[i] = link.X_PL.p, link.X_PL.R
        else:
            X_PL = joint_pose(link, link.joint.initial)
            p[i], R[i] = p[parent] + R[parent] @ X_PL.p, R[parent] @ X_PL.R
    return p, R
