"""Known node types, from declarations in VRML files of this package."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from ...diagnostics import Diagnostics, Source
from .nodes import Proto
from .parser import Parser


@cache
def known_types() -> Mapping[str, Proto]:
    """Return the nodes of VRML97 and those that OpenHRP adds, by name."""
    openhrp = _declared("openhrp.wrl", known=standard_types())
    return MappingProxyType({**standard_types(), **scenery_types(), **openhrp})


@cache
def standard_types() -> Mapping[str, Proto]:
    """Return the nodes of VRML97 that make up shapes, by name."""
    return MappingProxyType(_declared("builtin.wrl"))


@cache
def scenery_types() -> Mapping[str, Proto]:
    """Return the nodes that are not part of a robot and are ignored, by name."""
    return MappingProxyType(_declared("scenery.wrl"))


def _declared(file: str, known: Mapping[str, Proto] = MappingProxyType({})) -> dict[str, Proto]:
    diagnostics = Diagnostics()
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    parser = Parser(Source(file, text), diagnostics, known)
    parser.document()
    diagnostics.raise_errors()
    return parser.protos
