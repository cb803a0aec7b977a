"""Changes of MoveIt's planning scene, from plain numbers. Needs the package moveit_msgs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import Point, Pose
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, ObjectColor, PlanningScene
from numpy.typing import NDArray
from shape_msgs.msg import Mesh, MeshTriangle, SolidPrimitive
from std_msgs.msg import ColorRGBA

from ..convert.basic import header, set_quaternion, set_xyz
from ..readings import Array

# Position in [m], and unit quaternion (x, y, z, w).
Placed = tuple[Array, Sequence[float]]
# The numbers of each kind of primitive in the order of its message.
_SOLIDS = {
    "box": (SolidPrimitive.BOX, (0, 1, 2)),
    "sphere": (SolidPrimitive.SPHERE, (0,)),
    "cylinder": (SolidPrimitive.CYLINDER, (1, 0)),  # its height is first
}


class SceneShape(NamedTuple):
    """A shape of an object: a primitive, or else a mesh.

    Attributes:
        kind: "box", "sphere", "cylinder" (along z), or "mesh".
        size: Of a box along x, y, z, else radius and height, in [m].
        vertices: In [m], shape (n, 3).
        triangles: Rows of ``vertices``, shape (m, 3).
    """

    kind: str
    size: Sequence[float]
    vertices: Array
    triangles: NDArray[np.int32]


class SceneChanges:
    """Changes of a planning scene, which one message makes together.

    Args:
        time_ns: Simulation time, in [ns].
        frame_id: Frame of the poses of objects.
    """

    def __init__(self, time_ns: int, frame_id: str) -> None:
        self._time_ns, self._frame_id = time_ns, frame_id
        self._scene = PlanningScene(is_diff=True)
        self._scene.robot_state.is_diff = True
        # MoveIt takes this for the time when the robot has moved last.
        self._scene.robot_state.joint_state.header = header(time_ns, "")

    message_type = PlanningScene

    def message(self) -> PlanningScene | None:
        """Return the message, or None if nothing changes."""
        scene = self._scene
        is_empty = not (
            scene.world.collision_objects or scene.robot_state.attached_collision_objects
        )
        return None if is_empty else scene

    def add(
        self,
        name: str,
        pose: Placed,
        shapes: Iterable[tuple[SceneShape, Placed]],
        frames: Mapping[str, Placed],
        color: Sequence[float] | None,
    ) -> None:
        """Add an object, or replace it.

        Args:
            name: Its name.
            pose: Of its frame.
            shapes: Shapes with their poses in this frame, primitives first.
            frames: Poses of its subframes, by name.
            color: RGB and opacity; None for that of MoveIt.
        """
        added = self._object(name, pose, CollisionObject.ADD)
        _fill(added, shapes, frames)
        self._scene.world.collision_objects.append(added)
        if color is not None:
            rgba = ColorRGBA(**dict(zip("rgba", map(float, color), strict=True)))
            self._scene.object_colors.append(ObjectColor(id=name, color=rgba))

    def move(
        self, name: str, pose: Placed, shapes: Iterable[tuple[SceneShape, Placed]] = ()
    ) -> None:
        """Move an object.

        Args:
            name: Its name.
            pose: Of its frame.
            shapes: All its shapes with new poses, if these change.
        """
        moved = self._object(name, pose, CollisionObject.MOVE)
        _fill(moved, shapes, {}, with_shapes=False)
        self._scene.world.collision_objects.append(moved)

    def remove(self, name: str) -> None:
        """Remove an object."""
        self._scene.world.collision_objects.append(
            CollisionObject(id=name, operation=CollisionObject.REMOVE)
        )

    def attach(
        self,
        name: str,
        link: str,
        touched: Sequence[str],
        pose: Placed,
        shapes: Iterable[tuple[SceneShape, Placed]],
        frames: Mapping[str, Placed],
    ) -> None:
        """Attach an object to a link of the robot; MoveIt takes it out of the world.

        Args:
            name: Name of the object.
            link: Name of the link.
            touched: Names of the links that may touch the object.
            pose: Of the object in the link.
            shapes: See ``add``.
            frames: See ``add``.
        """
        held = self._object(name, pose, CollisionObject.ADD)
        held.header.frame_id = link
        _fill(held, shapes, frames)
        self._scene.robot_state.attached_collision_objects.append(
            AttachedCollisionObject(link_name=link, object=held, touch_links=list(touched))
        )

    def detach(self, name: str) -> None:
        """Return an attached object to the world, where it is."""
        let_go = CollisionObject(id=name, operation=CollisionObject.REMOVE)
        self._scene.robot_state.attached_collision_objects.append(
            AttachedCollisionObject(object=let_go)
        )

    def _object(self, name: str, pose: Placed, operation: bytes) -> CollisionObject:
        return CollisionObject(
            header=header(self._time_ns, self._frame_id),
            id=name,
            pose=_pose(pose),
            operation=operation,
        )


def _fill(
    target: CollisionObject,
    shapes: Iterable[tuple[SceneShape, Placed]],
    frames: Mapping[str, Placed],
    *,
    with_shapes: bool = True,
) -> None:
    """Fill in the shapes, or only their poses, and the subframes of an object."""
    for shape, placed in shapes:
        pose = _pose(placed)
        if shape.kind == "mesh":
            target.mesh_poses.append(pose)
            if with_shapes:
                target.meshes.append(_mesh(shape))
        else:
            target.primitive_poses.append(pose)
            if with_shapes:
                kind, order = _SOLIDS[shape.kind]
                size = [float(shape.size[i]) for i in order]
                target.primitives.append(SolidPrimitive(type=kind, dimensions=size))
    target.subframe_names = list(frames)
    target.subframe_poses = [_pose(placed) for placed in frames.values()]


def _mesh(shape: SceneShape) -> Mesh:
    return Mesh(
        vertices=[Point(x=x, y=y, z=z) for x, y, z in shape.vertices.tolist()],
        triangles=[MeshTriangle(vertex_indices=row) for row in shape.triangles.tolist()],
    )


def _pose(placed: Placed) -> Pose:
    pose = Pose()
    set_xyz(pose.position, placed[0])
    set_quaternion(pose.orientation, placed[1])
    return pose
