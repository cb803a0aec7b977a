"""<material> elements: each colour once, under a unique name."""

from __future__ import annotations

from collections.abc import Sequence

from urdf_parser_py import urdf

from ..frames import legal_name, unique_name
from ..geometry import Material, Mesh, Shape

Rgba = tuple[float, float, float, float]


class Materials:
    """Collects the colours of a robot's shapes."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, Rgba], str] = {}
        self._colors: dict[str, Rgba] = {}

    def reference(self, material: Material) -> urdf.LinkMaterial:
        """Return the reference of a visual to its material."""
        return urdf.LinkMaterial(name=self._name(material))

    def elements(self) -> list[urdf.Material]:
        """Return the definitions of all materials referred to, in order of first use."""
        return [
            urdf.Material(name=name, color=urdf.Color(list(rgba)))
            for name, rgba in self._colors.items()
        ]

    def _name(self, material: Material) -> str:
        rgba = rgba_of(material)
        key = (material.name, rgba)
        if key not in self._names:
            name = unique_name(legal_name(material.name, default="material"), self._colors)
            self._names[key] = name
            self._colors[name] = rgba
        return self._names[key]


def have_one_color(visual: Sequence[Shape]) -> bool:
    """Return whether one colour describes all visual shapes of a link.

    If not, each needs a mesh file with its own materials, and no <material>: RViz draws all
    primitives of a link in the <material> of its first visual, from June 2026 on its meshes
    too (ros2/rviz 1293, 1782).
    """
    return len({rgba_of(x.material) for x in visual}) <= 1 and not any(map(has_own_colors, visual))


def has_own_colors(shape: Shape) -> bool:
    """Return whether a shape has a texture, or colours of its vertices or faces."""
    geometry = shape.geometry
    has_colors = isinstance(geometry, Mesh) and geometry.colors is not None
    return has_colors or shape.material.texture is not None


def rgba_of(material: Material) -> Rgba:
    """Return the colour of a material for URDF, 0..1: the sum of diffuse and emissive."""
    r, g, b = (
        min(1.0, max(0.0, float(d) + float(e)))
        for d, e in zip(material.diffuse, material.emissive, strict=True)
    )
    return r, g, b, 1.0 - min(1.0, max(0.0, float(material.transparency)))
