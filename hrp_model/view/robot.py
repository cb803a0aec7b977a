"""One robot in the scene: layers of its links, and sizes of arrows that fit it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from ..body import Body, Link
from ..geometry import Mesh, Shape
from ..inertia import equivalent_box
from ..kinematics.kinematic_state import KinematicState
from ..late_dataclass import dataclass
from ..printable import printable
from ..rigid import Array, matrix_quaternion
from ..shapes.measure import BoundingBox, geometry_box, union
from .cameras import Subject
from .link_meshes import ShapeMeshes, outline
from .viewer import Viewer, quaternion_wxyz

if TYPE_CHECKING:
    from viser import FrameHandle, SceneNodeHandle

_GRAVITY = 9.81  # [m/s^2], of the weights that define the scale
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_LABEL = 60  # characters
_COLLISION_COLOR, _INERTIA_COLOR = (230, 120, 30), (40, 110, 220)
_MASS_COLOR, _TOTAL_MASS_COLOR = (200, 40, 160), (220, 30, 30)
_SELECTION_COLOR = (255, 170, 0)
_MIN_EDGE = 1e-3  # of the size of the robot, so that a flat box is visible


@dataclass(frozen=True)
class Scale:
    """Sizes of what is drawn.

    Attributes:
        length: Size of the largest movable body, in [m].
        weight: Of the heaviest movable body, in [N].
    """

    length: float = 1.0
    weight: float = 100.0

    @property
    def width(self) -> float:
        """Diameter of the shafts of arrows, in [m]."""
        return 0.012 * self.length

    @property
    def point(self) -> float:
        """Diameter of the points of scans and clouds, in [m]."""
        return 0.006 * self.length

    @property
    def per_force(self) -> float:
        """Length of arrows, in [m/N]: the weight is half as long as the body."""
        return 0.5 * self.length / self.weight

    @property
    def per_torque(self) -> float:
        """Length of arrows, in [m/(N m)]: the weight with a lever of a tenth of the body."""
        return 10.0 * self.per_force / self.length

    @property
    def per_acceleration(self) -> float:
        """Length of arrows, in [m/(m/s^2)]: gravity is a quarter as long as the body."""
        return 0.25 * self.length / _GRAVITY


def scale_of(bodies: Iterable[tuple[Body, float]]) -> Scale:
    """Return the scale of a scene.

    Args:
        bodies: Its bodies with their sizes, in [m].
    """
    movable = [(body.total_mass, size) for body, size in bodies if not body.is_static]
    weight = _GRAVITY * max((mass for mass, _ in movable), default=0.0)
    length = max((size for _, size in movable), default=0.0)
    return Scale(length or 1.0, weight or 100.0)


class Layer(Enum):
    """Something that can be shown of all links of a robot."""

    VISUAL = "visual shapes"
    COLLISION = "collision shapes"
    FRAMES = "link frames"
    INERTIA = "inertia boxes"
    CENTERS_OF_MASS = "centres of mass"


class RobotView:
    """Shows a robot in the scene of a viewer; all methods may be called from any thread.

    Layers are sent when they are first shown; at first that is ``Layer.VISUAL``. Poses that are
    not finite are ignored.

    Attributes:
        body: The robot.
        meshes: Makes its meshes; its ``notes`` state what is not drawn as in the model.
        size: Diagonal of the robot in the model's initial posture, in [m].
        frame_length: Of the axes of its links, in [m].

    Args:
        viewer: The page.
        name: Name of the robot in the scene, which no other one may have.
        body: The robot.
        on_select: Called with the name of a link that was clicked, in a thread of the server.
        outer_walls: As of ``ShapeMeshes``.
    """

    def __init__(
        self,
        viewer: Viewer,
        name: str,
        body: Body,
        on_select: Callable[[str], None] | None = None,
        outer_walls: Mapping[Shape, Array] | None = None,
    ) -> None:
        self.body = body
        self._outer_walls = outer_walls or {}
        self.meshes = ShapeMeshes(outer_walls=outer_walls)
        self._server, self._scene = viewer.server, viewer.server.scene
        self._on_select = on_select
        self._path = f"/{scene_name(name)}"
        self._lock = threading.RLock()
        self._nodes: dict[Layer, list[SceneNodeHandle]] = {}
        self._selected: tuple[str, SceneNodeHandle | None] | None = None
        state = KinematicState(body)  # in the initial posture
        self._p, self._R = state.p.copy(), state.R.copy()
        box = self.bounds()
        self.size = 1.0 if box is None else max(2.0 * box.radius, 1e-3)
        self._center = np.zeros(3) if box is None else box.center - self._p[0]  # from its root
        self.frame_length = 0.06 * self.size
        self._drawn_as = self._substitute()
        self._root = self._scene.add_frame(self._path, show_axes=False)
        self._links = [self._link_node(i) for i in range(len(body.links))]
        self.show(Layer.VISUAL, True)

    def node_of(self, link: str) -> str:
        """Return the path of a link's node in the scene, to which other things may be attached.

        Raises:
            KeyError: No link has this name.
        """
        return self._links[self.body.link_index(link)].name

    def bounds(self) -> BoundingBox | None:
        """Return the bounding box of the robot in the world; None if it has no finite extent."""
        boxes = []
        for link, p, R in zip(self.body.links, self._p, self._R, strict=True):
            T_WL = np.eye(4)
            T_WL[:3, :3], T_WL[:3, 3] = R, p
            boxes.append(BoundingBox(p, p))
            for shape in link.visual or link.collision:
                box = geometry_box(shape.geometry)
                if box is not None:
                    boxes.append(box.transformed(T_WL @ shape.T_FG))
        return union(box for box in boxes if np.isfinite(np.concatenate(box)).all())

    def subject(self) -> Subject:
        """Return the robot as cameras look at it: a ball that moves with its root."""
        heading = float(np.arctan2(self._R[0, 1, 0], self._R[0, 0, 0]))
        return Subject(self._p[0] + self._center, 0.5 * self.size, heading)

    def move(self, p: Array, R: Array) -> None:
        """Move the links to their poses in the world W; only changes are sent.

        Args:
            p: p_WL in [m], shape (links, 3).
            R: R_WL, shape (links, 3, 3).
        """
        with self._lock, self._server.atomic():
            is_finite = np.isfinite(p).all(axis=1) & np.isfinite(R).all(axis=(1, 2))
            moved = is_finite & (p != self._p).any(axis=1)
            turned = is_finite & (R != self._R).any(axis=(1, 2))
            self._p[moved], self._R[turned] = p[moved], R[turned]
            for i in np.flatnonzero(moved).tolist():
                self._links[i].position = self._p[i]
            for i in np.flatnonzero(turned).tolist():
                self._links[i].wxyz = quaternion_wxyz(matrix_quaternion(self._R[i]))
            if Layer.CENTERS_OF_MASS in self._nodes and (moved.any() or turned.any()):
                self._move_total_mass()

    def show(self, layer: Layer, on: bool) -> None:
        """Show or hide a layer."""
        with self._lock, self._server.atomic():
            if layer not in self._nodes:
                if not on:
                    return
                self._nodes[layer] = self._made(layer)
            for node in self._nodes[layer]:
                node.visible = on

    def select(self, link: str | None) -> None:
        """Highlight a link instead of the one that was selected before; None highlights none.

        Raises:
            KeyError: No link has this name.
        """
        with self._lock, self._server.atomic():
            if self._selected is not None:
                if self._selected[0] == link:
                    return
                if self._selected[1] is not None:
                    self._selected[1].remove()
            self._selected = None
            if link is not None:
                self._selected = link, self._highlight(link)

    def remove(self) -> None:
        """Remove the robot from the scene; nothing may be called afterwards."""
        with self._lock:
            self._root.remove()

    def _link_node(self, index: int) -> FrameHandle:
        name = scene_name(self.body.links[index].name)
        return self._scene.add_frame(
            f"{self._path}/{index}_{name}",
            show_axes=False,
            position=np.nan_to_num(self._p[index]),
            wxyz=quaternion_wxyz(matrix_quaternion(self._R[index])),
        )

    def _made(self, layer: Layer) -> list[SceneNodeHandle]:
        """Add the nodes of a layer."""
        make = {
            Layer.VISUAL: self._visual,
            Layer.COLLISION: self._collision,
            Layer.FRAMES: self._axes,
            Layer.INERTIA: self._inertia,
            Layer.CENTERS_OF_MASS: self._center_of_mass,
        }[layer]
        nodes = [
            node
            for link, frame in zip(self.body.links, self._links, strict=True)
            for node in make(link, f"{frame.name}/{layer.name.lower()}")
        ]
        if layer is Layer.CENTERS_OF_MASS:
            nodes += self._total_mass()
        return nodes

    def _substitute(self) -> str:
        """Return what is drawn for a robot without visual shapes: "" for nothing else."""
        links, name = self.body.links, printable(self.body.name)
        if self.body.is_static or any(link.visual for link in links):
            return ""
        if any(link.collision for link in links):
            self.meshes.notes.append(
                f"'{name}' has no visual shapes: its collision shapes are drawn"
            )
            return "collision"
        self.meshes.notes.append(f"'{name}' has no shapes: the frames of its links are drawn")
        return "frames"

    def _visual(self, link: Link, path: str) -> list[SceneNodeHandle]:
        if self._drawn_as == "frames":
            return self._axes(link, path)
        if self._drawn_as == "collision":
            link = replace(link, visual=link.collision)
        data = self.meshes.visual(link)
        if data is None:
            return []
        # Walls would shade what they surround, as they do not in films.
        casts = not any(shape in self._outer_walls for shape in link.visual)
        # Browsers let surfaces with two sides shade themselves all over.
        receives = not any(
            isinstance(x.geometry, Mesh) and not x.geometry.solid for x in link.visual
        )
        node = self._scene.add_glb(path, data, cast_shadow=casts, receive_shadow=receives)
        if self._on_select is not None:
            on_select = self._on_select
            node.on_click(lambda _: on_select(link.name))
        return [node]

    def _collision(self, link: Link, path: str) -> list[SceneNodeHandle]:
        mesh = self.meshes.collision(link)
        if mesh is None:
            return []
        return [
            self._scene.add_mesh_simple(
                path, *mesh, color=_COLLISION_COLOR, opacity=0.4, flat_shading=True, side="double",
                cast_shadow=False, receive_shadow=False,
            )
        ]  # fmt: skip

    def _axes(self, link: Link, path: str) -> list[SceneNodeHandle]:
        length = self.frame_length
        axes = self._scene.add_frame(path, axes_length=length, axes_radius=length / 25.0)
        self._scene.add_label(
            f"{path}/label", label_text(link.name), font_screen_scale=0.8, anchor="bottom-left"
        )
        return [axes]

    def _inertia(self, link: Link, path: str) -> list[SceneNodeHandle]:
        box = equivalent_box(link.mass, link.inertia)
        if box is None or not np.isfinite(link.center_of_mass).all():
            return []
        edges, R = box
        return [
            self._scene.add_box(
                path, color=_INERTIA_COLOR, opacity=0.4, cast_shadow=False, receive_shadow=False,
                dimensions=np.clip(edges, _MIN_EDGE * self.size, 1e3 * self.size),
                position=link.center_of_mass, wxyz=quaternion_wxyz(matrix_quaternion(R)),
            )
        ]  # fmt: skip

    def _center_of_mass(self, link: Link, path: str) -> list[SceneNodeHandle]:
        if not (link.mass > 0.0 and np.isfinite(link.center_of_mass).all()):
            return []
        # The volume is proportional to the mass.
        share = float(np.cbrt(link.mass / self.body.total_mass))
        radius = self.size * max(0.004, 0.025 * share)
        return [self._ball(path, radius, _MASS_COLOR, link.center_of_mass)]

    def _total_mass(self) -> list[SceneNodeHandle]:
        center = self._total_center()
        if center is None:
            return []
        path = f"{self._path}/center_of_mass"
        return [self._ball(path, 0.03 * self.size, _TOTAL_MASS_COLOR, center)]

    def _ball(
        self, path: str, radius: float, color: tuple[int, int, int], position: Array
    ) -> SceneNodeHandle:
        return self._scene.add_icosphere(
            path, radius, color, position=position, cast_shadow=False,
            receive_shadow=False,
        )  # fmt: skip

    def _total_center(self) -> Array | None:
        """Return the centre of mass of the robot in the world, in [m]; None without a mass."""
        masses = np.array([link.mass for link in self.body.links])
        centers = np.array([link.center_of_mass for link in self.body.links])
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            in_world = np.einsum("kij,kj->ki", self._R, centers) + self._p
            center: Array = masses @ in_world / masses.sum()
        return center if np.isfinite(center).all() else None

    def _move_total_mass(self) -> None:
        center = self._total_center()
        if center is not None:
            self._nodes[Layer.CENTERS_OF_MASS][-1].position = center

    def _highlight(self, name: str) -> SceneNodeHandle | None:
        link, frame = self.body.link(name), self._links[self.body.link_index(name)]
        path = f"{frame.name}/selection"
        mesh = outline(link)
        if mesh is None:
            length = 0.08 * self.size
            return self._scene.add_frame(
                path, axes_length=length, axes_radius=length / 20.0, origin_color=_SELECTION_COLOR
            )
        return self._scene.add_mesh_simple(
            path, *mesh, color=_SELECTION_COLOR, opacity=0.85, flat_shading=True, side="double",
            cast_shadow=False, receive_shadow=False,
        )  # fmt: skip


def scene_name(name: str) -> str:
    """Return a name without characters that have a meaning in the scene's paths."""
    return _UNSAFE.sub("_", name)[:_MAX_LABEL] or "_"


def label_text(name: str) -> str:
    """Return a name as a label of limited length without control characters."""
    text = printable(name)
    return text if len(text) <= _MAX_LABEL else f"{text[: _MAX_LABEL - 1]}…"
