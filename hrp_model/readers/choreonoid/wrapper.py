"""Read wrapper files, which refer to a model and add information to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...body import Body, Link
from ...diagnostics import did_you_mean
from ...geometry import Box, Geometry, Mesh, Shape
from ...reading import Reading
from ..file_kind import WRAPPER_KEYS
from ..yaml.tree import Mapping
from .geometries import divisions
from .scope import warn_misspelt_keys

_READ_KEYS = frozenset((*WRAPPER_KEYS, "link_info", "linkInfo", "geometry"))


def is_wrapper(top: Mapping) -> bool:
    """Whether a file is a wrapper: it refers to a model and has no ``format``."""
    return "format" not in top and any(key in top for key in WRAPPER_KEYS)


def read_wrapped(top: Mapping, reading: Reading) -> Body | None:
    """Read the model of a wrapper file, and add the wrapper's information."""
    at = top.at(*WRAPPER_KEYS)
    path = reading.resolve(top.text(*WRAPPER_KEYS, default=""), at, needed=True)
    body = reading.read_body(path, at) if path else None
    if body is None:
        return None
    entries = top.entries().items()
    info = {key: node.plain_value() for key, (_, node) in entries if key not in _READ_KEYS}
    links = _with_info(body.links, top.mapping("link_info", "linkInfo"), reading)
    settings = top.mapping("geometry")
    number = None
    if settings is not None:
        number = divisions(settings)
        settings.finish()
    if number is not None:
        links = tuple(_divided(link, number) for link in links)
    warn_misspelt_keys(top, _READ_KEYS)
    return replace(body, links=links, info={**body.info, **info})


def _with_info(
    links: tuple[Link, ...], per_link: Mapping | None, reading: Reading
) -> tuple[Link, ...]:
    """Return links with the wrapper's information about them."""
    named = {link.name: link for link in links}
    for key, node in per_link.items() if per_link else ():
        if key.text not in named:
            message = f"there is no link '{key.text}'.{did_you_mean(key.text, named)}"
            reading.diagnostics.warn("unknown-link", message, key.span)
        elif not isinstance(node, Mapping):
            message = f"expected keys for link '{key.text}'"
            reading.diagnostics.warn("wrong-type", message, node.span)
        else:
            link = named[key.text]
            named[key.text] = replace(link, info={**link.info, **node.plain_value()})
    return tuple(named.values())


def _divided(link: Link, number: int) -> Link:
    """Return a link with ``number`` segments for circles that do not specify them."""
    done: dict[int, Any] = {}

    def divided(geometry: Geometry) -> Geometry:
        if isinstance(geometry, Mesh | Box) or geometry.divisions is not None:
            return geometry
        return replace(geometry, divisions=number)

    def all_of(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        if id(shapes) not in done:
            done[id(shapes)] = tuple(replace(x, geometry=divided(x.geometry)) for x in shapes)
        same: tuple[Shape, ...] = done[id(shapes)]
        return same

    return replace(link, visual=all_of(link.visual), collision=all_of(link.collision))
