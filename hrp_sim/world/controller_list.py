"""Read the list of controllers of a world file. Nothing of their code is executed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hrp_model import Diagnostics
from hrp_model.diagnostics import Span, did_you_mean_or_all
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.read_context import read_source
from hrp_model.readers.yaml.nodes import Mapping

from ..control.controllers.classes import ControllerEntry, class_name_problem, rate_problem
from .config import WorldConfig
from .fields import mappings

_CLASS = re.compile(r"^class +(\w+)", re.MULTILINE)


def read_controllers(
    root: Mapping, bodies: Collection[str] | None, folder: Path
) -> Iterator[ControllerEntry]:
    """Yield the controllers of a world.

    Args:
        root: The mapping with the key ``controllers``.
        bodies: Names of the bodies of the world; None if some of them could not be read.
        folder: Folder of the world file.
    """
    problem = "a controller must be a mapping with 'class: MODULE:CLASS' and 'body: NAME'"
    for item in mappings(root.sequence("controllers"), root, problem):
        entry = _read(item, bodies, folder)
        item.finish()
        if entry is not None:
            yield entry


def with_controllers(
    world: WorldConfig, given: Iterable[str], diagnostics: Diagnostics
) -> WorldConfig:
    """Return a world with further controllers.

    Args:
        world: The world.
        given: Each as BODY=MODULE:CLASS or BODY=FILE.py:CLASS, with a path relative to the
            working directory.
        diagnostics: Receives errors.
    """
    bodies = {entry.placement.name for entry in world.bodies}
    entries = [_parse(text, bodies, diagnostics) for text in given]
    return replace(world, controllers=(*world.controllers, *(x for x in entries if x is not None)))


def _parse(text: str, bodies: Collection[str], diagnostics: Diagnostics) -> ControllerEntry | None:
    body, separator, class_name = text.partition("=")
    if not (body and separator):
        message = f"a controller is written BODY=MODULE:CLASS or BODY=FILE.py:CLASS, not '{text}'"
        diagnostics.error("bad-controller", message)
        return None
    if not _is_body(body, bodies, diagnostics):
        return None
    entry = ControllerEntry(class_name=class_name, body=body, folder=Path.cwd())
    return _checked(entry, diagnostics)


def _is_body(
    body: str, bodies: Collection[str], diagnostics: Diagnostics, at: Span | None = None
) -> bool:
    """Return whether a world has a body; report an error if not."""
    if body in bodies:
        return True
    message = f"the world has no body '{body}'.{did_you_mean_or_all(body, bodies)}"
    diagnostics.error("bad-controller", message, at)
    return False


def _read(node: Mapping, bodies: Collection[str] | None, folder: Path) -> ControllerEntry | None:
    diagnostics = node.diagnostics
    class_name = node.text("class", default="")
    body = node.text("body", default="")
    rate = node.number("rate", default=None)
    args = node.mapping("args")
    values: dict[str, Any] = {} if args is None else dict(args.plain_value())
    for key in ("class", "body"):
        if key not in node:
            message = f"a controller needs '{key}'"
            diagnostics.error("bad-controller", message, node.at(key))
    if not (class_name and body):
        return None
    if bodies is not None and not _is_body(body, bodies, diagnostics, node.at("body")):
        return None
    if rate is not None and (problem := rate_problem(rate)):
        diagnostics.error("out-of-range", problem, node.at("rate"))
        return None
    entry = ControllerEntry(
        class_name=class_name,
        body=body,
        rate=rate,
        args=values,
        folder=folder,
        at=node.at("class"),
    )
    return _checked(entry, diagnostics)


def _checked(entry: ControllerEntry, diagnostics: Diagnostics) -> ControllerEntry | None:
    """Return an entry whose class may exist; None after reporting an error."""
    if problem := class_name_problem(entry.class_name):
        diagnostics.error("bad-controller", problem, entry.at)
        return None
    file, _, name = entry.class_name.rpartition(":")
    if not file.endswith(".py"):
        return entry
    try:
        text = read_source(resolve(file, entry.folder)).text
    except (ResourceError, OSError) as error:
        reason = str(error) if isinstance(error, ResourceError) else error.strerror or str(error)
        diagnostics.error("bad-controller", f"cannot read '{file}': {reason}", entry.at)
        return None
    if not re.search(rf"\b{name}\b", text):
        hint = did_you_mean_or_all(name, _CLASS.findall(text))
        diagnostics.error("bad-controller", f"'{file}' has no class '{name}'.{hint}", entry.at)
        return None
    return entry
