"""One robot in the scene: meshes and layers of its links, and sizes of arrows that fit it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from ..body import Body, Link
from ..geometry import Attribute, Box, Color, IntArray, Material, Mesh, Shape, Texture
from ..inertia import equivalent_box
from ..kinematics.kinematic_state import KinematicState
from ..printable import printable
from ..rigid import Array, matrix_quaternion
from ..shapes.light import albedo, emission
from ..shapes.measure import BoundingBox, geometry_box, union
from ..shapes.tessellate import shape_mesh
from ..urdf.glb import (
    EncodedImage,
    GlbFile,
    add_mesh,
    encoded_image,
    face_normals,
    select_triangles,
)
from .viewer import Subject, Viewer, quaternion_wxyz

if TYPE_CHECKING:
    from viser import FrameHandle, SceneNodeHandle

MAX_TRIANGLES = 1_000_000  # of one robot; browsers without a GPU become slow at less
MAX_IMAGE_BYTES = 1 << 26  # of all textures of one robot
_MAX_NOTES = 100
_NOTHING = Mesh(np.empty((0, 3)), np.empty((0, 3), dtype=np.int32))
_GRAVITY = 9.81  # [m/s^2], of the weights that define the scale
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_LABEL = 60  # characters
_COLLISION_COLOR, _INERTIA_COLOR = (230, 120, 30), (40, 110, 220)
_MASS_COLOR, _TOTAL_MASS_COLOR = (200, 40, 160), (220, 30, 30)
_SELECTION_COLOR = (255, 170, 0)
_MIN_FACING = 0.9  # cosine of the angle between a direction and the faces towards it
_MIN_EDGE = 1e-3  # of the size of the robot, so that a flat box is visible


class ShapeMeshes:
    """Makes the meshes of the links of one robot.

    A shape beyond the limits is drawn as its bounding box, a texture beyond them or unreadable
    is left out.

    Attributes:
        notes: What is not drawn as in the model, as sentences.

    Args:
        max_triangles: Limit of the triangles of visual, and of collision shapes.
        outer_walls: Shapes whose faces towards a direction in their link are not drawn, so that
            they hide nothing from a viewer on that side; from ``Extents.outer_walls``.
    """

    def __init__(
        self, max_triangles: int = MAX_TRIANGLES, outer_walls: Mapping[Shape, Array] | None = None
    ) -> None:
        self.notes: list[str] = []
        self._outer_walls = outer_walls or {}
        self._max_triangles = max_triangles
        self._left = {False: max_triangles, True: max_triangles}
        self._image_bytes_left = MAX_IMAGE_BYTES
        self._images: dict[Texture, EncodedImage | None] = {}

    def visual(self, link: Link) -> bytes | None:
        """Return the visual shapes of a link with their materials as GLB; None for no area."""
        file, is_drawn = GlbFile(), False
        for mesh, material in self._meshes(link, link.visual, solid=False):
            image = None
            if material.texture is not None and mesh.tex_coords is not None:
                image = self._image(link, material.texture)
            is_drawn |= add_mesh(file, _mesh_in_light(mesh), _material_in_light(material), image)
        return file.content() if is_drawn else None

    def collision(self, link: Link) -> tuple[Array, IntArray] | None:
        """Return vertices and triangles of the collision shapes of a link; None for no area."""
        return _joined([mesh for mesh, _ in self._meshes(link, link.collision, solid=True)])

    def _meshes(
        self, link: Link, shapes: tuple[Shape, ...], *, solid: bool
    ) -> Iterator[tuple[Mesh, Material]]:
        """Yield the shapes as meshes in the link's frame, with their materials."""
        for shape in shapes:
            yield self._mesh(link, shape, solid), shape.material

    def _mesh(self, link: Link, shape: Shape, solid: bool) -> Mesh:
        mesh = shape.geometry
        if isinstance(mesh, Mesh) and not _has_valid_indices(mesh):
            self._note(f"link '{link.name}': a mesh with invalid indices is not drawn")
            return _NOTHING
        if self._left[solid] <= 0:
            self._note(f"shapes beyond {self._max_triangles} triangles are not drawn")
            return _NOTHING
        if isinstance(mesh, Mesh) and len(mesh.triangles) > self._left[solid]:
            self._note(
                f"link '{link.name}': a mesh of {len(mesh.triangles)} triangles is drawn as a "
                f"box, as a page shows at most {self._max_triangles}"
            )
            shape = _bounding_shape(shape)
        made = shape_mesh(shape, solid=solid)
        self._left[solid] -= len(made.triangles)
        outward = None if solid else self._outer_walls.get(shape)
        return made if outward is None else _without_faces(made, outward)

    def _image(self, link: Link, texture: Texture) -> EncodedImage | None:
        where = f"link '{link.name}': texture '{texture.name}' is left out"
        if texture not in self._images:
            self._images[texture] = None
            try:
                self._images[texture] = encoded_image(texture)
            except OSError as error:
                self._note(f"{where}: {error}")
        image = self._images[texture]
        # An image that several shapes use is sent with each of them.
        if image is not None and len(image.data) > self._image_bytes_left:
            self._note(f"{where}, as a page has at most {MAX_IMAGE_BYTES >> 20} MiB of images")
            return None
        self._image_bytes_left -= 0 if image is None else len(image.data)
        return image

    def _note(self, note: str) -> None:
        if note not in self.notes and len(self.notes) < _MAX_NOTES:
            self.notes.append(note)


def _without_faces(mesh: Mesh, outward: Array) -> Mesh:
    """Return a mesh without the triangles that face a direction, of which the rest is solid."""
    facing = face_normals(mesh) @ outward
    return replace(select_triangles(mesh, facing < _MIN_FACING), solid=True)


def outline(link: Link) -> tuple[Array, IntArray] | None:
    """Return vertices and triangles of a link's visual, else collision, shapes, as drawn."""
    meshes = ShapeMeshes()
    shapes = link.visual or link.collision
    return _joined([mesh for mesh, _ in meshes._meshes(link, shapes, solid=not link.visual)])


def _has_valid_indices(mesh: Mesh) -> bool:
    triangles = mesh.triangles
    return not triangles.size or (
        int(triangles.min()) >= 0 and int(triangles.max()) < len(mesh.vertices)
    )


def _bounding_shape(shape: Shape) -> Shape:
    box = geometry_box(shape.geometry)
    assert box is not None  # it has triangles
    T_FG = shape.T_FG.copy()
    T_FG[:3, 3] += T_FG[:3, :3] @ box.center
    return Shape(Box(2.0 * box.half), T_FG, replace(shape.material, texture=None), shape.name)


def _joined(meshes: list[Mesh]) -> tuple[Array, IntArray] | None:
    """Return vertices and triangles of all meshes, without those that have no area."""
    vertices: list[Array] = []
    triangles: list[IntArray] = []
    start = 0
    for mesh in meshes:
        valid = np.any(face_normals(mesh), axis=1)
        if valid.any():
            vertices.append(np.where(np.isfinite(mesh.vertices), mesh.vertices, 0.0))
            triangles.append(mesh.triangles[valid] + np.int32(start))
            start += len(mesh.vertices)
    if not vertices:
        return None
    return np.concatenate(vertices), np.concatenate(triangles)


def _mesh_in_light(mesh: Mesh) -> Mesh:
    if mesh.colors is None:
        return mesh
    return replace(mesh, colors=Attribute(albedo(mesh.colors.values), mesh.colors.indices))


def _material_in_light(material: Material) -> Material:
    """Return a material with the colours that the light of pages needs; they are linear."""

    def color(rgb: Array) -> Color:
        r, g, b = rgb.tolist()
        return r, g, b

    return replace(
        material,
        diffuse=color(albedo(np.array(material.diffuse))),
        specular=color(np.clip(np.nan_to_num(np.array(material.specular)), 0.0, 1.0)),
        emissive=color(emission(np.array(material.emissive))),
    )


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
        return 0.012 * self.length

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

    def _visual(self, link: Link, path: str) -> list[SceneNodeHandle]:
        data = self.meshes.visual(link)
        if data is None:
            return []
        # Walls would shade what they surround, as they do not in films.
        casts = not any(shape in self._outer_walls for shape in link.visual)
        node = self._scene.add_glb(path, data, cast_shadow=casts)
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
