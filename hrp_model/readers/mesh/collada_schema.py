"""Rewrite COLLADA 1.5 as 1.4, the version that pycollada reads: geometries, images, effects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_NAMESPACE = "http://www.collada.org/2008/03/COLLADASchema"
_HEAD = 10_000  # [B], which contain the root element


def as_version_1_4(data: bytes, resolve: Callable[[str], Path | None]) -> bytes:
    """Return a document of COLLADA 1.5 with the elements of 1.4; any other one unchanged.

    Args:
        data: The document, without entities.
        resolve: Returns the file of an image, or None after reporting that it does not exist.
    """
    if _NAMESPACE.encode() not in data[:_HEAD]:
        return data
    root = ElementTree.fromstring(data)
    for mesh in root.iter(_tag("mesh")):
        _rewrite_mesh(mesh)
    images = dict(_rewrite_image(image) for image in root.iter(_tag("image")))
    for effect in root.iter(_tag("effect")):
        _rewrite_effect(effect, images, resolve)
    rewritten: bytes = ElementTree.tostring(root, encoding="utf-8")
    return rewritten


def _tag(name: str) -> str:
    return f"{{{_NAMESPACE}}}{name}"


def _rewrite_mesh(mesh: Element) -> None:
    """Name sources by their id alone, without that of the geometry, and drop empty ones."""
    for source in mesh.findall(_tag("source")):
        if not len(source):
            mesh.remove(source)
    for used in mesh.iter(_tag("input")):
        _, slash, name = used.get("source", "").rpartition("/")
        if slash:
            used.set("source", f"#{name}")


def _rewrite_image(image: Element) -> tuple[str, str]:
    """Write the path of an image into its <init_from>, and return its id and path."""
    start = image.find(_tag("init_from"))
    reference = None if start is None else start.find(_tag("ref"))
    if start is not None and reference is not None:
        start.text = reference.text
        start.remove(reference)
    path = "" if start is None else (start.text or "").strip()
    return image.get("id", ""), path


def _rewrite_effect(
    effect: Element, images: dict[str, str], resolve: Callable[[str], Path | None]
) -> None:
    """Give samplers the surfaces of 1.4; of a colour and a texture keep one.

    OpenHRP writes both. The texture replaces the colour, unless its file does not exist.
    """
    paths: dict[str, str] = {}
    for parent in list(effect.iter()):
        for param in parent.findall(_tag("newparam")):
            sampler = param.find(_tag("sampler2D"))
            image = None if sampler is None else sampler.find(_tag("instance_image"))
            if sampler is None or image is None:
                continue
            name, used = param.get("sid", ""), image.get("url", "").removeprefix("#")
            paths[name] = images.get(used, "")
            parent.insert(list(parent).index(param), _surface(f"{name}-surface", used))
            source = ElementTree.Element(_tag("source"))
            source.text = f"{name}-surface"
            sampler.insert(0, source)
    for value in list(effect.iter()):
        color, texture = value.find(_tag("color")), value.find(_tag("texture"))
        if color is not None and texture is not None:
            path = paths.get(texture.get("texture", ""))
            value.remove(color if path and resolve(path) else texture)


def _surface(name: str, image: str) -> Element:
    param = ElementTree.Element(_tag("newparam"), sid=name)
    surface = ElementTree.SubElement(param, _tag("surface"), type="2D")
    ElementTree.SubElement(surface, _tag("init_from")).text = image
    return param
