"""Read materials and textures from appearance nodes."""

from __future__ import annotations

from dataclasses import replace
from math import atan2

import numpy as np

from ...geometry import Color, Material, Texture
from ..yaml.tree import Mapping, Scalar, Sequence
from .scope import Scope, flag, rotation

# Choreonoid's defaults.
_DEFAULT_EXPONENT = 25.0
DEFAULT_MATERIAL = Material(diffuse=(1.0, 1.0, 1.0), ambient=1.0, shininess=25.0 / 128.0)


def read_appearance(owner: Mapping, scope: Scope) -> Material | None:
    """Read the ``appearance`` of a Shape; None without one.

    Reading the same node again returns the same object. Wrong values are only warnings.
    """
    written = owner.get("appearance")
    key = "appearance", id(written)
    if written is not None and key not in scope.cache:
        with scope.diagnostics.as_warnings("wrong-type", "wrong-count", "zero-axis"):
            mapping = owner.mapping("appearance")
            if not mapping:
                return None
            scope.cache[key] = _appearance(mapping, scope)
    material: Material | None = scope.cache.get(key)
    return material


def _appearance(mapping: Mapping, scope: Scope) -> Material:
    written = mapping.mapping("material")
    material = DEFAULT_MATERIAL if written is None else _material(written)
    texture = _texture(mapping, scope)
    mapping.get("name")
    mapping.finish(ignore=("type",))
    return replace(material, texture=texture) if texture else material


def _material(mapping: Mapping) -> Material:
    exponent = mapping.number("specular_exponent", "specularExponent", default=None)
    shininess = mapping.number("shininess", default=None)
    if exponent is None:
        exponent = _DEFAULT_EXPONENT
        if shininess is not None:
            exponent = 127.0 * min(max(shininess, 0.0), 1.0) + 1.0
    material = Material(
        name=mapping.text("name", default=""),
        ambient=mapping.number("ambient", "ambientIntensity", default=1.0),
        diffuse=_color(mapping, (1.0, 1.0, 1.0), "diffuse", "diffuseColor"),
        emissive=_color(mapping, (0.0, 0.0, 0.0), "emissive", "emissiveColor"),
        specular=_color(mapping, (0.0, 0.0, 0.0), "specular", "specularColor"),
        shininess=exponent / 128.0,
        transparency=mapping.number("transparency", default=0.0),
    )
    mapping.finish(ignore=("type",))
    return material


def _color(mapping: Mapping, default: Color, *spellings: str) -> Color:
    numbers = mapping.numbers(*spellings, count=3, default=None, shown=np.array(default))
    if numbers is None:
        return default
    r, g, b = numbers.tolist()
    return r, g, b


def _texture(mapping: Mapping, scope: Scope) -> Texture | None:
    written = mapping.mapping("texture")
    transform = mapping.mapping("texture_transform", "textureTransform", "texture_Transform")
    if written is None:
        return None
    uri = written.text("uri", "url", default="")
    at = written.at("uri", "url")
    repeat = _repeat(written)
    written.finish(ignore=("type", "name"))
    path = scope.reading.resolve(uri, at) if uri else None
    if path is None:
        return None
    texture = Texture(path, repeat)
    if transform is None:
        return texture
    texture = replace(
        texture,
        center=_pair(transform, "center", 0.0),
        rotation=_texture_angle(transform, scope),
        scale=_pair(transform, "scale", 1.0),
        translation=_pair(transform, "translation", 0.0),
    )
    transform.finish(ignore=("type",))
    return texture


def _texture_angle(mapping: Mapping, scope: Scope) -> float:
    """Read an angle or, as some files have it, an axis and an angle, in [rad]."""
    node = mapping.get("rotation")
    if isinstance(node, Sequence) and node.count == 4:
        R = rotation(scope, mapping)
        return atan2(R[1, 0], R[0, 0])
    return mapping.number("rotation", default=0.0) * scope.angle


def _repeat(mapping: Mapping) -> tuple[bool, bool]:
    both = mapping.get("repeat")
    s = t = True
    if isinstance(both, Sequence):
        words = [item.boolean() if isinstance(item, Scalar) else None for item in both.items]
        s, t = (word is not False for word in [*words, True, True][:2])
    elif both is not None:
        s = t = flag(mapping, "repeat", default=True)
    return (
        flag(mapping, "repeat_s", "repeatS", default=s),
        flag(mapping, "repeat_t", "repeatT", default=t),
    )


def _pair(mapping: Mapping, key: str, default: float) -> tuple[float, float]:
    x, y = mapping.numbers(key, count=2, default=np.full(2, default)).tolist()
    return x, y
