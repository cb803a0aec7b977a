"""Pictures of a URDF that are independent of the model, and of the model beside them.

The URDF is rendered from itself and its glTF files alone, as other tools show it: read by yourdfpy
and trimesh, ray-traced by Embree, in RViz's colours. The model is rendered with OpenGL.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from enum import Enum
from math import radians, tan
from pathlib import Path
from urllib.parse import unquote, urlparse

import embreex.mesh_construction
import embreex.rtcore_scene
import numpy as np
import trimesh
import yourdfpy
from numpy.typing import NDArray
from PIL import Image

from hrp_model import Body, BodyState, Diagnostics, Pose, load_body
from hrp_model.geometry import Shape
from hrp_model.shapes.tessellate import shape_mesh
from hrp_model.urdf import convert
from hrp_sim.engine.state import LinkPoses
from hrp_sim.render import Parts, Pinhole, Renderer, Surroundings

Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]

SIZE = 400, 400
SKY = 0.93, 0.94, 0.96
TOLERANCE = 12  # of 255 in any channel: what a pixel may differ and count as equal
LIMIT = 0.01  # share of pixels that may differ
_FIELD_OF_VIEW = radians(30.0)
_AZIMUTH, _ELEVATION = radians(35.0), radians(20.0)

_SECTIONS = 256  # of a cylinder, so that its outline is round to a fraction of a pixel
_LAYERS = 8  # transparent surfaces that one ray may pass
_FACING = 0.4  # what a surface seen edge-on shows of its colour
_SKIP = 1e-5  # how far behind a surface a ray goes on, relative to the distance


class Rule(Enum):
    """How RViz colours the visuals of a link.

    MESHES_KEEP_THEIRS: Primitives have the <material> of the link's first visual, meshes their
    own with its opacity (rviz_default_plugins 14.3, robot_link.cpp). URDF_REPLACES: Meshes have
    that <material>, too, if there is one (ros2/rviz 1782). Without it primitives are red.
    """

    MESHES_KEEP_THEIRS = "meshes keep theirs"
    URDF_REPLACES = "URDF replaces"


_NO_MATERIAL = np.array([1.0, 0.0, 0.0, 1.0])  # RVIZ/ShadedRed


@dataclass(frozen=True)
class Look:
    """How a surface looks: glTF's base colour and what changes it.

    Attributes:
        color: RGBA in 0..1, shape (4,).
        emissive: RGB in 0..1, shape (3,).
        image: RGBA in 0..1, shape (height, width, 4), or None.
        repeat: Whether the image repeats along s and t.
        double_sided: Whether it is seen from behind, too.
        has_material: Whether its file has a material for it.
    """

    color: Array
    emissive: Array
    image: Array | None = None
    repeat: tuple[bool, bool] = (True, True)
    double_sided: bool = True
    has_material: bool = True


@dataclass(frozen=True)
class Surface:
    """Triangles of one look, in the world; corner values have shape (triangles, 3, *)."""

    vertices: Array
    normals: Array
    uv: Array
    colors: Array
    look: Look


def surfaces(path: Path, positions: dict[str, float], rule: Rule) -> list[Surface]:
    """Return the visible surfaces of a URDF in a posture, in the frame of its root link."""
    robot = yourdfpy.URDF.load(
        str(path), load_meshes=False, build_scene_graph=True, filename_handler=_file_of
    )
    robot.update_cfg({name: positions.get(name, 0.0) for name in robot.actuated_joint_names})
    materials = {m.name: m for m in robot.robot.materials}
    found = []
    for link in robot.robot.links:
        T_link = robot.get_transform(link.name)
        first = _color_of(link.visuals[0], materials) if link.visuals else None
        for visual in link.visuals:
            T = T_link if visual.origin is None else T_link @ visual.origin
            found += [_moved(_colored(s, first, rule), T) for s in _drawn(visual)]
    return found


def picture(
    shown: list[Surface], X_WC: Array, size: tuple[int, int], focal: float, sky: Array
) -> Pixels:
    """Return the image of a pinhole camera C that looks along -Z with +Y up.

    Args:
        shown: In the world.
        X_WC: Pose of the camera, shape (4, 4).
        size: Width and height, in pixels.
        focal: Focal length, in pixels.
        sky: RGB of the background, in 0..1.

    Returns:
        RGB, shape (height, width, 3).
    """
    width, height = size
    x = np.arange(width) + 0.5 - width / 2.0
    y = height / 2.0 - np.arange(height) - 0.5
    d_C = np.stack([*np.meshgrid(x / focal, y / focal), -np.ones((height, width))], axis=-1)
    directions = d_C.reshape(-1, 3) @ X_WC[:3, :3].T
    facing = [_facing(surface, X_WC[:3, 3]) for surface in shown]
    rgb = _traced(facing, X_WC, directions, sky).reshape(height, width, 3)
    return np.round(np.clip(rgb, 0.0, 1.0) * 255.0).astype(np.uint8)


def _facing(surface: Surface, eye: Array) -> Surface:
    """Return a surface without its back-facing triangles, unless it is double-sided."""
    if surface.look.double_sided:
        return surface
    a, b, c = np.moveaxis(surface.vertices, 1, 0)
    seen = np.einsum("ij,ij->i", eye - a, np.cross(b - a, c - a)) > 0.0
    corners = (surface.vertices, surface.normals, surface.uv, surface.colors)
    return Surface(*(values[seen] for values in corners), surface.look)


def _traced(shown: list[Surface], X_WC: Array, directions: Array, sky: Array) -> Array:
    """Trace rays from the camera through surfaces until they are opaque."""
    rgb = np.zeros_like(directions)
    left = np.ones(len(directions))
    if shown:
        scene = embreex.rtcore_scene.EmbreeScene()
        triangles = np.concatenate([s.vertices for s in shown])
        embreex.mesh_construction.TriangleMesh(scene, triangles.astype(np.float32))
        firsts = np.cumsum([0, *(len(s.vertices) for s in shown)])
        rays = np.arange(len(directions))
        starts = np.repeat(X_WC[None, :3, 3], len(directions), axis=0)
        for _ in range(_LAYERS):
            hit = scene.run(
                starts.astype(np.float32), directions[rays].astype(np.float32), query="INTERSECT"
            )
            met = hit >= 0
            rays, starts, hit = rays[met], starts[met], hit[met]
            color, depth = _seen(shown, firsts, hit, X_WC, directions[rays], starts)
            rgb[rays] += left[rays, None] * color[:, 3:] * color[:, :3]
            left[rays] *= 1.0 - color[:, 3]
            going = left[rays] > 1e-3
            ahead = depth * (1.0 + _SKIP) + _SKIP
            starts = (starts + ahead[:, None] * directions[rays])[going]
            rays = rays[going]
            if not len(rays):
                break
    return rgb + left[:, None] * sky


def _seen(
    shown: list[Surface], firsts: Array, hit: Array, X_WC: Array, d: Array, starts: Array
) -> tuple[Array, Array]:
    """Return colour and opacity, shape (rays, 4), where rays meet triangles, and how far off."""
    color, depth = np.zeros((len(hit), 4)), np.zeros(len(hit))
    which = np.searchsorted(firsts, hit, side="right") - 1
    for number in np.unique(which):
        mine = np.flatnonzero(which == number)
        surface, row = shown[number], hit[mine] - firsts[number]
        a, b, c = np.moveaxis(surface.vertices[row], 1, 0)
        flat = np.cross(b - a, c - a)
        depth[mine] = t = np.einsum("ij,ij->i", a - starts[mine], flat) / np.einsum(
            "ij,ij->i", d[mine], flat
        )
        point = starts[mine] + t[:, None] * d[mine]
        weights = _barycentric(point, a, b, c, flat)
        away = np.einsum("ij,ij->i", d[mine], flat) > 0.0
        color[mine] = _shaded(surface, row, weights, away, X_WC[:3, 2])
    return color, depth


def _barycentric(p: Array, a: Array, b: Array, c: Array, flat: Array) -> Array:
    square = np.einsum("ij,ij->i", flat, flat)
    u = np.einsum("ij,ij->i", np.cross(c - b, p - b), flat) / square
    v = np.einsum("ij,ij->i", np.cross(a - c, p - c), flat) / square
    return np.stack([u, v, 1.0 - u - v], axis=1)


def _shaded(surface: Surface, row: Array, weights: Array, away: Array, back: Array) -> Array:
    """Return RGBA under a headlight along the line of sight; ``back`` is the camera's +Z."""

    def at(corners: Array) -> Array:
        return np.asarray(np.einsum("ij,ijk->ik", weights, corners[row]))

    look = surface.look
    base = at(surface.colors) * look.color
    if look.image is not None:
        base = base * _texels(look.image, at(surface.uv), look.repeat)
    n = at(surface.normals)
    n = n / np.linalg.norm(n, axis=1, keepdims=True)
    lit = np.maximum(np.where(away, -1.0, 1.0) * (n @ back), 0.0)
    rgb = look.emissive + base[:, :3] * (_FACING + (1.0 - _FACING) * lit)[:, None]
    return np.column_stack([np.clip(rgb, 0.0, 1.0), base[:, 3]])


def _texels(image: Array, uv: Array, repeat: tuple[bool, bool]) -> Array:
    """Sample an image between its four nearest pixels; uv has its origin at the bottom left."""
    height, width = image.shape[:2]
    x, y = uv[:, 0] * width - 0.5, (1.0 - uv[:, 1]) * height - 0.5
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = (x - x0)[:, None], (y - y0)[:, None]

    def pixel(i: Array, j: Array) -> Array:
        i = i % width if repeat[0] else np.clip(i, 0, width - 1)
        j = j % height if repeat[1] else np.clip(j, 0, height - 1)
        return np.asarray(image[j, i])

    top = pixel(x0, y0) * (1 - fx) + pixel(x0 + 1, y0) * fx
    bottom = pixel(x0, y0 + 1) * (1 - fx) + pixel(x0 + 1, y0 + 1) * fx
    return np.asarray(top * (1 - fy) + bottom * fy)


def _file_of(fname: str) -> str:
    return unquote(urlparse(fname).path) if fname.startswith("file://") else fname


def _drawn(visual: yourdfpy.Visual) -> list[Surface]:
    """Return the surfaces of a visual; those of primitives have no material."""
    geometry = visual.geometry
    if geometry.mesh is not None:
        scale = np.eye(4)
        scale[:3, :3] *= 1.0 if geometry.mesh.scale is None else geometry.mesh.scale
        loaded = trimesh.load_scene(_file_of(geometry.mesh.filename), process=False)
        return [
            _moved(_from_file(loaded.geometry[name]), scale @ T)
            for T, name in map(loaded.graph.get, loaded.graph.nodes_geometry)
        ]
    if geometry.box is not None:
        solid, round_part = trimesh.creation.box(geometry.box.size), None
    elif geometry.sphere is not None:
        solid = trimesh.creation.icosphere(5, geometry.sphere.radius)
        round_part = np.ones(len(solid.faces), bool), (1.0, 1.0, 1.0)
    else:
        solid = trimesh.creation.cylinder(
            geometry.cylinder.radius, geometry.cylinder.length, sections=_SECTIONS
        )
        round_part = np.abs(solid.face_normals[:, 2]) < 0.5, (1.0, 1.0, 0.0)
    corners = np.asarray(solid.triangles)
    normals = np.repeat(np.asarray(solid.face_normals)[:, None], 3, axis=1)
    if round_part is not None:
        normals[round_part[0]] = corners[round_part[0]] * round_part[1]
    look = Look(_NO_MATERIAL, np.zeros(3), double_sided=False, has_material=False)
    return [Surface(corners, normals, np.zeros((*corners.shape[:2], 2)), _white(corners), look)]


def _color_of(visual: yourdfpy.Visual, materials: dict[str, yourdfpy.Material]) -> Array | None:
    """Return the RGBA of the <material> of a visual; None without one."""
    material = visual.material
    if material is not None and material.color is None:
        material = materials.get(material.name)
    if material is None or material.color is None:
        return None
    return np.asarray(material.color.rgba, dtype=np.float64)


def _colored(surface: Surface, first: Array | None, rule: Rule) -> Surface:
    """Return a surface in the colours of RViz, given the <material> of the link's first visual."""
    look, alpha = surface.look, 1.0 if first is None else first[3]
    if first is not None and (rule is Rule.URDF_REPLACES or not look.has_material):
        look = replace(look, color=first, emissive=np.zeros(3), image=None)
        return replace(surface, colors=_white(surface.vertices), look=look)
    return replace(surface, look=replace(look, color=np.array([*look.color[:3], alpha])))


def _white(corners: Array) -> Array:
    return np.ones((*corners.shape[:2], 4))


def _from_file(mesh: trimesh.Trimesh) -> Surface:
    corners = np.asarray(mesh.vertices[mesh.faces], dtype=np.float64)
    normals = np.asarray(mesh.vertex_normals[mesh.faces], dtype=np.float64)
    uv, colors = np.zeros((*corners.shape[:2], 2)), _white(corners)
    visual = mesh.visual
    material = getattr(visual, "material", None)
    if material is None:  # colours of vertices
        colors = np.asarray(visual.vertex_colors, dtype=np.float64)[mesh.faces] / 255.0
        return Surface(corners, normals, uv, colors, Look(np.ones(4), np.zeros(3)))
    if getattr(visual, "uv", None) is not None:
        uv = np.asarray(visual.uv, dtype=np.float64)[mesh.faces]
    if (own := visual.vertex_attributes.get("color")) is not None:
        colors = np.asarray(own, dtype=np.float64)[mesh.faces] / 255.0
    return Surface(corners, normals, uv, colors, _look(material))


def _look(material: trimesh.visual.material.PBRMaterial) -> Look:
    factor, emissive = material.baseColorFactor, material.emissiveFactor
    image = material.baseColorTexture
    return Look(
        np.ones(4) if factor is None else np.asarray(factor) / 255.0,
        np.zeros(3) if emissive is None else np.asarray(emissive, dtype=np.float64),
        None if image is None else _rgba(image),
        double_sided=bool(material.doubleSided),
    )


def _rgba(image: Image.Image) -> Array:
    return np.asarray(image.convert("RGBA"), dtype=np.float64) / 255.0


def _moved(surface: Surface, T: Array) -> Surface:
    normals = surface.normals @ np.linalg.inv(T[:3, :3])
    return Surface(
        surface.vertices @ T[:3, :3].T + T[:3, 3],
        normals,
        surface.uv,
        surface.colors,
        surface.look,
    )


@dataclass(frozen=True)
class Comparison:
    """A model and its URDF, rendered from the same viewpoint.

    Attributes:
        name: Of the model.
        model, urdf: Images, shape (height, width, 3).
        differing: Share of all pixels that differ.
        differing_of_robot: The same pixels, as a share of those that show the robot.
    """

    name: str
    model: Pixels
    urdf: Pixels
    differing: float
    differing_of_robot: float

    @property
    def sheet(self) -> Image.Image:
        """The model, the URDF, and the difference of the two in black on white."""
        off = np.abs(self.model.astype(int) - self.urdf).max(axis=2)
        marks = np.repeat((255 - np.minimum(off * 4, 255)).astype(np.uint8)[..., None], 3, axis=2)
        return Image.fromarray(np.concatenate([self.model, self.urdf, marks], axis=1))


def compare(
    path: Path, size: tuple[int, int] = SIZE, rule: Rule = Rule.MESHES_KEEP_THEIRS
) -> Comparison:
    """Render a model and its URDF in the model's initial posture."""
    silent = Diagnostics.silent()
    body = load_body(path, silent)
    state = BodyState(body)
    lens, X_WC = _camera(body, state, (2 * size[0], 2 * size[1]))
    renderer = Renderer({"robot": _with_urdf_looks(body)})
    poses = {"robot": LinkPoses(state.p, state.R)}
    own = renderer.render(
        lens,
        X_WC,
        poses,
        parts=Parts(color=True, depth=False),
        surroundings=Surroundings(background=SKY),
    ).color
    with tempfile.TemporaryDirectory() as scratch:
        conversion = convert(body, Path(scratch) / "meshes", diagnostics=silent)
        urdf = Path(scratch) / "robot.urdf"
        urdf.write_text(conversion.urdf, encoding="utf-8")
        joints = conversion.frames.joints
        positions = {
            joints[link.name]: float(q)
            for link, q in zip(body.moving_links, state.q, strict=True)
            if link.name in joints
        }
        # The URDF is placed by its root; the model has a pose of its own.
        X_RC = Pose(state.R[0], state.p[0]).inverse() @ X_WC
        shown = surfaces(urdf, positions, rule)
        sky = np.array(SKY)
        other = picture(shown, X_RC.matrix(), (lens.width, lens.height), lens.focal_length, sky)
    own, other = _halved(own), _halved(other)
    off = np.abs(own.astype(int) - other).max(axis=2) > TOLERANCE
    sky = np.round(sky * 255.0)
    robot = (own != sky).any(axis=2) | (other != sky).any(axis=2)
    share = float(off.sum() / max(robot.sum(), 1))
    return Comparison(body.name or path.stem, own, other, float(off.mean()), share)


def _halved(pixels: Pixels) -> Pixels:
    """Return an image of half the size with antialiased edges."""
    height, width, _ = pixels.shape
    squares = pixels.reshape(height // 2, 2, width // 2, 2, 3)
    return np.round(squares.mean(axis=(1, 3))).astype(np.uint8)


def _camera(body: Body, state: BodyState, size: tuple[int, int]) -> tuple[Pinhole, Pose]:
    """Return a camera that has the whole body in view."""
    points = np.concatenate(
        [
            shape_mesh(shape).vertices @ R.T + p
            for link, p, R in zip(body.links, state.p, state.R, strict=True)
            for shape in link.visual
            if len(shape_mesh(shape).vertices)
        ]
    )
    center = (points.min(axis=0) + points.max(axis=0)) / 2.0
    radius = float(np.linalg.norm(points - center, axis=1).max())
    back = np.array(
        [
            np.cos(_ELEVATION) * np.cos(_AZIMUTH),
            np.cos(_ELEVATION) * np.sin(_AZIMUTH),
            np.sin(_ELEVATION),
        ]
    )
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    distance = 1.05 * radius / tan(_FIELD_OF_VIEW / 2.0)
    R = np.column_stack([right, np.cross(back, right), back])
    lens = Pinhole(*size, _FIELD_OF_VIEW, 0.01 * radius, distance + 2.0 * radius)
    return lens, Pose(R, center + distance * back)


def _with_urdf_looks(body: Body) -> Body:
    """Return a body without the specular reflection that glTF cannot represent."""

    def plain(shape: Shape) -> Shape:
        material = replace(shape.material, specular=(0.0, 0.0, 0.0))
        return replace(shape, material=material)

    links = tuple(replace(link, visual=tuple(map(plain, link.visual))) for link in body.links)
    return replace(body, links=links)
