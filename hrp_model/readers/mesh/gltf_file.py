"""Read glTF 2.0 files, ``.gltf`` and ``.glb``, as scenes with materials and textures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...files.resources import MAX_FILE_SIZE, MAX_TEXT_SIZE, read_file
from ...geometry import GREY, Attribute, Color, IntArray, Material, Mesh, SceneNode, Shape, Texture
from ...late_dataclass import dataclass
from ...read_context import ReadContext
from ...rigid import Array, quaternion_matrix
from ...shapes.meshing import unit
from ...shapes.triangulate import fan_corners, strip_corners
from .gltf_arrays import BROKEN, GltfArrays, Json, data_uri
from .mesh_resources import LostParts, MeshResources, are_inside, are_usable

_WHITE = (1.0, 1.0, 1.0, 1.0)
_TRANSFORM = "KHR_texture_transform"
# Extensions with the same image in another format.
_IMAGE_EXTENSIONS = ("EXT_texture_webp", "MSFT_texture_dds")
_CLAMP = 33071
# Extensions that change nothing but how surfaces look; all of KHR_materials_* do.
_APPEARANCE = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "MSFT_texture_", "KHR_lights_")
_SUPPORTED = ("KHR_mesh_quantization", "KHR_xmp", "KHR_xmp_json_ld", "KHR_animation_pointer")
_COMPRESSED = "KHR_draco_mesh_compression"
# Far beyond any model:
_MAX_PRIMITIVES = 20_000  # each becomes a mesh
_MAX_NODES = 50_000  # each is an instance of a mesh
_MAX_DEPTH = 200
_TRIANGLES, _STRIP, _FAN = 4, 5, 6
_WITHOUT_SURFACE = (0, 1, 2, 3)  # points and lines


@dataclass(frozen=True, slots=True, eq=False)
class GltfMaterial:
    """A material as the reader uses it.

    Attributes:
        material: The material.
        double_sided: Whether both sides of faces are visible.
        tex_coords: Attribute of primitives with the coordinates of its texture.
        transform: Map of these coordinates, shape (2, 3), or None.
    """

    material: Material = GREY
    double_sided: bool = False
    tex_coords: str = "TEXCOORD_0"
    transform: Array | None = None


class GltfMaterials:
    """Converts the materials of one file, each once."""

    def __init__(self, arrays: GltfArrays, resources: MeshResources, lost: LostParts) -> None:
        self._arrays = arrays
        self._resources = resources
        self._lost = lost
        self._materials: dict[object, GltfMaterial] = {}

    def material(self, index: object) -> GltfMaterial:
        """Return a material; the default one after recording that it is broken."""
        key = repr(index)
        if key not in self._materials:
            try:
                made = self._converted(self._arrays.item("materials", index))
            except BROKEN as error:
                self._lost.add(("material", key), f"a material: {error}")
                made = GltfMaterial()
            self._materials[key] = made
        return self._materials[key]

    def _converted(self, written: Json) -> GltfMaterial:
        shading = written.get("pbrMetallicRoughness", {})
        base, texture = shading.get("baseColorFactor", _WHITE), shading.get("baseColorTexture")
        glossy = written.get("extensions", {}).get("KHR_materials_pbrSpecularGlossiness")
        if glossy and "pbrMetallicRoughness" not in written:
            base, texture = glossy.get("diffuseFactor", _WHITE), glossy.get("diffuseTexture")
        r, g, b, a = self._factors(base, _WHITE)
        emissive = self._factors(written.get("emissiveFactor", (0.0, 0.0, 0.0)), (0.0, 0.0, 0.0))
        is_opaque = str(written.get("alphaMode", "OPAQUE")).upper() == "OPAQUE"
        made = GltfMaterial(
            replace(
                GREY,
                name=str(written.get("name") or ""),
                diffuse=(r, g, b),
                emissive=(emissive[0], emissive[1], emissive[2]),
                transparency=1.0 - a,
            ),
            double_sided=written.get("doubleSided") is True,
        )
        if texture is None:
            return made
        try:
            return self._textured(made, texture, is_opaque)
        except BROKEN as error:
            self._lost.add(("texture", repr(texture)), f"a texture: {error}")
            return made

    def _factors(self, written: Any, default: tuple[float, ...]) -> tuple[float, ...]:
        values = [float(value) for value in written]
        if len(values) == len(default) and all(map(isfinite, values)):
            return tuple(min(max(value, 0.0), 1.0) for value in values)
        message = f"'{self._lost.name}' has a colour that is invalid; the default is used"
        self._lost.warn("wrong-value", message)
        return default

    def _textured(self, made: GltfMaterial, reference: Json, is_opaque: bool) -> GltfMaterial:
        texture = self._arrays.item("textures", reference["index"])
        sources = [texture.get("source")]
        sources += [
            texture.get("extensions", {}).get(x, {}).get("source") for x in _IMAGE_EXTENSIONS
        ]
        source = next((x for x in sources if x is not None), None)
        if source is None:
            raise ValueError("it has no image of a supported format")
        image = self._image(self._arrays.item("images", source), is_opaque, made.material.diffuse)
        if image is None:
            return made
        if "sampler" in texture:
            sampler = self._arrays.item("samplers", texture["sampler"])
            wraps = [sampler.get(key) != _CLAMP for key in ("wrapS", "wrapT")]
            image = replace(image, repeat=(wraps[0], wraps[1]))
        transform = reference.get("extensions", {}).get(_TRANSFORM)
        number = reference.get("texCoord", 0)
        if transform is not None:
            number = transform.get("texCoord", number)
        return replace(
            made,
            material=replace(made.material, texture=image),
            tex_coords=f"TEXCOORD_{number}",
            transform=None if transform is None else _transform(transform),
        )

    def _image(self, written: Json, is_opaque: bool, factor: Color) -> Texture | None:
        """Return the texture of an image; None after reporting why there is none.

        Args:
            written: The image.
            is_opaque: Whether to ignore its alpha channel.
            factor: Colour to multiply it with; only the diffuse colour multiplies a grey image.
        """
        from ...shapes import images  # imports Pillow, which few models need

        source: Any
        if "bufferView" in written:
            content: bytes | None = self._arrays.view(written["bufferView"])
        else:
            content = data_uri(written["uri"])
        if content is None:
            source = self._resources.resolve(written["uri"])
            if source is None or (not is_opaque and factor == (1.0, 1.0, 1.0)):
                return None if source is None else Texture(source)
        try:
            with warnings.catch_warnings():  # about large images; the limit applies on decoding
                warnings.simplefilter("ignore")
                if content is not None:
                    source = images.opened_image(content)
                decoded = images.decoded(source)
        except Exception as error:  # Pillow's plugins raise any kind of error for broken data
            shown = "" if content is not None else f" '{Path(source).name}'"
            message = f"a texture{shown} of '{self._lost.name}' is left out: {error}"
            self._lost.warn("unreadable-texture", message)
            return None
        if is_opaque and decoded.mode in ("LA", "RGBA"):
            decoded = decoded.convert(decoded.mode[:-1])
        pixels = images.pixels_of(decoded)
        self._arrays.take(pixels.nbytes // 8)  # an image of a few bytes may decode to any size
        if pixels.shape[2] >= 3 and factor != (1.0, 1.0, 1.0):
            pixels = pixels.copy()
            pixels[:, :, :3] = np.round(pixels[:, :, :3] * np.array(factor)).astype(np.uint8)
        return Texture(image=pixels)


def _transform(written: Json) -> Array:
    """Return the map of KHR_texture_transform: scale, then rotation, then offset, shape (2, 3)."""
    u, v = (float(x) for x in written.get("offset", (0.0, 0.0)))
    width, height = (float(x) for x in written.get("scale", (1.0, 1.0)))
    angle = float(written.get("rotation", 0.0))
    c, s = np.cos(angle), np.sin(angle)
    T = np.array([[c * width, s * height, u], [-s * width, c * height, v]])
    if not np.isfinite(T).all():
        raise ValueError(f"{_TRANSFORM} is not finite")
    return T


def read_gltf(path: Path, context: ReadContext) -> SceneNode:
    """Read the scene of a glTF file, in [m].

    Parts that cannot be used are left out with a warning.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not glTF 2.0, requires an extension that is not supported, or has no
            triangles.
    """
    limit = MAX_TEXT_SIZE if path.suffix.lower() == ".gltf" else MAX_FILE_SIZE
    resources = MeshResources(path, context)
    arrays = GltfArrays(read_file(path, limit), resources)
    lost = LostParts(path.name, context.diagnostics, context.reference_span)
    try:
        _check_extensions(arrays.header)
        file = _File(arrays, resources, lost)
        scene = file.scene()
    except MemoryError as error:
        raise ValueError(str(error)) from None
    except BROKEN as error:
        raise ValueError(str(error)) from error
    lost.report()
    if not file.has_shapes:
        raise ValueError("it contains no triangle")
    return scene


def _check_extensions(header: Json) -> None:
    """Raise ValueError if a required extension is not supported."""
    required = [str(name) for name in header.get("extensionsRequired", [])]
    unknown = [x for x in required if x not in _SUPPORTED and not x.startswith(_APPEARANCE)]
    if unknown:
        names = ", ".join(f"'{name[:80]}'" for name in unknown[:5])
        raise ValueError(f"it requires the extension {names}, which is not supported")


class _File:
    """Converts the nodes and meshes of one file, each mesh once."""

    def __init__(self, arrays: GltfArrays, resources: MeshResources, lost: LostParts) -> None:
        self._arrays = arrays
        self._lost = lost
        self._materials = GltfMaterials(arrays, resources, lost)
        self._shapes: dict[object, tuple[Shape, ...]] = {}
        self._count = 0
        self._primitives = 0
        self._lost_faces = 0
        self._open: list[int] = []
        self.has_shapes = False

    def scene(self) -> SceneNode:
        """Return the scene that the file chooses; without one, all nodes."""
        header = self._arrays.header
        scenes = header.get("scenes")
        if scenes:
            roots = self._arrays.item("scenes", header.get("scene", 0)).get("nodes", [])
        else:
            nodes = header.get("nodes", [])
            inner = {child for node in nodes for child in node.get("children", [])}
            roots = [i for i in range(len(nodes)) if i not in inner]
        children = tuple(self._nodes(roots))
        self._lost.report_faces(self._lost_faces)
        return SceneNode(children=children)

    def _nodes(self, indices: list[Any]) -> Iterator[SceneNode]:
        for index in indices:
            if len(self._open) >= _MAX_DEPTH:
                raise ValueError(f"its nodes are nested more than {_MAX_DEPTH} levels deep")
            try:
                node = self._arrays.item("nodes", index)
            except ValueError as error:
                self._lost.add(("node", repr(index)), str(error))
                continue
            if index in self._open:
                self._lost.add(("node", index), f"node {index} contains itself")
                continue
            self._count += 1
            if self._count > _MAX_NODES:
                raise ValueError(f"it has more than {_MAX_NODES} nodes")
            self._open.append(index)
            yield self._node(index, node)
            self._open.pop()

    def _node(self, index: int, node: Json) -> SceneNode:
        T_PN = np.eye(4)
        try:
            T_PN = _pose(node)
        except BROKEN:
            self._lost.add(("pose", index), f"the pose of node {index} is invalid")
        shapes: tuple[Shape, ...] = ()
        if "mesh" in node:
            key = repr(node["mesh"]), repr(node.get("weights"))
            if key not in self._shapes:
                self._shapes[key] = tuple(self._mesh_shapes(node["mesh"], node.get("weights")))
            shapes = self._shapes[key]
            self.has_shapes = self.has_shapes or bool(shapes)
        children = tuple(self._nodes(node.get("children", [])))
        return SceneNode(str(node.get("name") or ""), T_PN, shapes, children)

    def _mesh_shapes(self, index: object, weights: Any) -> Iterator[Shape]:
        try:
            mesh = self._arrays.item("meshes", index)
            primitives = mesh["primitives"]
            weights = mesh.get("weights", []) if weights is None else weights
        except BROKEN as error:
            self._lost.add(("mesh", repr(index)), str(error))
            return
        for number, primitive in enumerate(primitives):
            self._primitives += 1
            if self._primitives > _MAX_PRIMITIVES:
                raise ValueError(f"it has more than {_MAX_PRIMITIVES} primitives")
            try:
                shape = self._shape(primitive, weights)
            except BROKEN as error:
                reason = f"a primitive of meshes[{index}]: {error}"
                self._lost.add(("primitive", repr(index), number), reason)
                continue
            if shape is not None:
                yield shape

    def _shape(self, primitive: Json, weights: list[float]) -> Shape | None:
        """Return the triangles of a primitive, or None if it has none; raises errors of BROKEN."""
        mode = primitive.get("mode", _TRIANGLES)
        if mode in _WITHOUT_SURFACE:
            return None
        attributes = primitive["attributes"]
        points = self._points(primitive, weights)
        if "indices" in primitive:
            index = self._arrays.array(primitive["indices"])[:, 0].astype(np.int64)
        else:
            index = np.arange(len(points))
        self._arrays.take(24 * len(index))
        corners = _corners(mode, index)
        if mode == _TRIANGLES and len(index) % 3:
            self._lost.add(id(primitive), "the last triangle has fewer than three corners")
        usable = are_usable(points)
        good = are_inside(corners, usable).all(axis=1)
        self._lost_faces += int(np.count_nonzero(~good))
        triangles = corners[good].astype(np.int32)
        if not len(triangles):
            return None
        bound = GltfMaterial()
        if "material" in primitive:
            bound = self._materials.material(primitive["material"])
        normals = self._attribute(attributes, "NORMAL", len(points), 3)
        colors = self._attribute(attributes, "COLOR_0", len(points), 3)
        tex_coords = None
        if bound.material.texture is not None:
            tex_coords = self._attribute(attributes, bound.tex_coords, len(points), 2)
        if tex_coords is not None:
            if bound.transform is not None:
                tex_coords = tex_coords @ bound.transform[:, :2].T + bound.transform[:, 2]
            tex_coords = np.column_stack((tex_coords[:, 0], 1.0 - tex_coords[:, 1]))
        if colors is not None:
            colors = np.clip(colors, 0.0, 1.0)
            if "material" in primitive:  # whose colour they multiply
                colors = colors * np.array(bound.material.diffuse)
        mesh = Mesh(
            np.where(usable[:, None], points, 0.0),
            triangles,
            normals=_per_vertex(None if normals is None else unit(normals), triangles),
            colors=_per_vertex(colors, triangles),
            tex_coords=_per_vertex(tex_coords, triangles),
            solid=not bound.double_sided,
        )
        return Shape(mesh, material=bound.material)

    def _points(self, primitive: Json, weights: list[float]) -> Array:
        """Return the points of a primitive, moved by its morph targets."""
        given = primitive["attributes"]["POSITION"]
        try:
            points = self._arrays.array(given)
        except BROKEN as error:
            if _COMPRESSED in primitive.get("extensions", {}):
                raise ValueError(f"its data needs {_COMPRESSED}, which is not supported") from error
            raise
        if points.shape[1] != 3:
            raise ValueError("its points do not have three coordinates each")
        self._arrays.take(points.nbytes)
        for target, weight in zip(primitive.get("targets", []), weights, strict=False):
            if weight and "POSITION" in target:
                points = points + float(weight) * self._arrays.array(target["POSITION"])
        return points

    def _attribute(self, attributes: Json, name: str, count: int, width: int) -> Array | None:
        """Return an attribute of the points; None without it, or if it is broken."""
        if name not in attributes:
            return None
        try:
            values = self._arrays.array(attributes[name])
        except BROKEN as error:
            self._lost.add((name, repr(attributes[name])), f"{name}: {error}")
            return None
        if len(values) != count or values.shape[1] < width or not np.isfinite(values).all():
            self._lost.add((name, repr(attributes[name])), f"{name} does not fit the points")
            return None
        return values[:, :width]


def _per_vertex(values: Array | None, triangles: IntArray) -> Attribute | None:
    return None if values is None else Attribute(values, triangles)


def _corners(mode: object, index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the triangles of a list of corners, shape (m, 3)."""
    if mode == _TRIANGLES:
        return index[: len(index) // 3 * 3].reshape(-1, 3)
    if mode == _STRIP:
        return index[strip_corners(len(index))]
    if mode == _FAN:
        return index[fan_corners(len(index))]
    raise ValueError(f"mode {mode} is unknown")


def _pose(node: Json) -> Array:
    """Return the pose of a node in its parent, shape (4, 4)."""
    if "matrix" in node:
        T = np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T  # column by column
    else:
        T = np.eye(4)
        rotation = np.array(node.get("rotation", (0.0, 0.0, 0.0, 1.0)), dtype=np.float64)
        scale = np.array(node.get("scale", (1.0, 1.0, 1.0)), dtype=np.float64)
        T[:3, :3] = quaternion_matrix(rotation) * scale
        T[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    if not np.isfinite(T).all():
        raise ValueError("it is not finite")
    return T
