"""What a request names by a URI or holds as text: models and worlds, and where they lie."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import islice
from pathlib import Path

from hrp_model import Diagnostic, Diagnostics, ModelError, Severity
from hrp_model.files.resources import (
    PACKAGE,
    ResourceError,
    named_path,
    package_folder,
    share_folder,
)
from hrp_model.readers.file_kind import MODEL_SUFFIXES, YAML_SUFFIXES

from .entities import Bounds, TagsFilter
from .results import Code, RequestError, SpawnCode, WorldCode

# What is longer is a mistake, and would stop everybody else for as long as it is read.
MAX_TEXT_LENGTH = 8 << 20  # characters
_READABLE_SUFFIXES = (*YAML_SUFFIXES, *MODEL_SUFFIXES)
_SCHEMES = ("file", "package", "model")
_MISSING = frozenset(("missing-model", "missing-resource", "unreadable-file"))
_UNUSABLE = frozenset(("unreadable-resource", "unreadable-texture", "unsupported-texture"))
# Words of a format that mean nothing here.
_UNSUPPORTED = frozenset(("foreign-setting", "not-simulated", "unknown-key", "unknown-node"))
_MOST_FILES = 2000  # of models or worlds in one folder
_MOST_LOOKED_AT = 100_000  # of any files there
_MOST_READ = 1 << 20  # bytes of a file that is looked into


@dataclass(frozen=True)
class Resource:
    """A file by its URI, or what would be in it; the URI goes first."""

    uri: str = ""
    text: str = ""


@dataclass(frozen=True)
class WorldResource:
    """A world: what it is called, where it comes from, and what is said of it."""

    name: str
    resource: Resource
    description: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spawnable:
    """A model that can be spawned."""

    resource: Resource
    description: str
    bounds: Bounds


@dataclass(frozen=True)
class WorldQuery:
    """Which worlds are asked for.

    Attributes:
        sources: Where to look besides the usual places.
        tags: Which tags they must have.
        go_on: Whether it is no error if some source cannot be used, as long as there are worlds.
    """

    sources: Sequence[str] = ()
    tags: TagsFilter = field(default_factory=TagsFilter)
    go_on: bool = False


def resource_file(
    resource: Resource, what: str, codes: type[SpawnCode] | type[WorldCode]
) -> Path | None:
    """Return the file of a resource, or None where its text is to be read.

    Args:
        resource: As a client sent it.
        what: Noun for messages: "model" or "world".
        codes: Those of the service.

    Raises:
        RequestError: It has neither, there is no such file, or it cannot be one of this kind.
    """
    if not resource.uri:
        if not resource.text:
            raise RequestError(codes.NO_RESOURCE, "neither a uri nor a resource_string is given")
        if len(resource.text) > MAX_TEXT_LENGTH:
            words = (
                f"the resource_string has {len(resource.text) / 1e6:.1f} million characters, more "
                f"than {MAX_TEXT_LENGTH / 1e6:.1f}; write it to a file and give its uri"
            )
            raise RequestError(codes.RESOURCE_PARSE_ERROR, words)
        return None
    uri = resource.uri
    try:
        if "\0" in uri:
            raise ResourceError("a file name contains no zero bytes")
        path = named_path(uri)
    except (ResourceError, ValueError) as error:
        is_foreign = "://" in uri and uri.partition("://")[0] not in _SCHEMES
        code = codes.UNSUPPORTED_FORMAT if is_foreign else Code.NOT_FOUND
        raise RequestError(code, f"'{uri[:200]}': {error}") from None
    if path.suffix.lower() not in _READABLE_SUFFIXES:
        words = f"'{uri}' is no {what} that can be read: {', '.join(_READABLE_SUFFIXES)}"
        raise RequestError(codes.UNSUPPORTED_FORMAT, words)
    if not path.is_file():
        raise RequestError(Code.NOT_FOUND, f"there is no file '{uri}'")
    return path


def is_missing(error: ModelError) -> bool:
    """Tell whether all that is wrong is that other files are not there."""
    return all(d.code in _MISSING for d in error.diagnostics if d.severity is Severity.ERROR)


def check_assets(diagnostics: Diagnostics, missing: IntEnum, unusable: IntEnum) -> None:
    """Check that nothing was left out since a file is not there, or is of no use.

    Raises:
        RequestError: Something was, with one of these codes.
    """
    for codes, code in ((_MISSING, missing), (_UNUSABLE, unusable)):
        if found := [str(d) for d in diagnostics.found if d.code in codes]:
            raise RequestError(code, "\n".join(found))


def unsupported(diagnostics: Diagnostics) -> list[str]:
    """Return what was said of parts of a file that mean nothing here."""
    return [str(d) for d in diagnostics.found if d.code in _UNSUPPORTED]


class LenientDiagnostics(Diagnostics):
    """Takes it for a warning that a file is not there: what would be in it is left out."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        super().__init__(listener=diagnostics.add)

    def add(self, diagnostic: Diagnostic) -> None:
        """Record a diagnostic, one about a missing file as a warning."""
        if diagnostic.code in _MISSING | _UNUSABLE and diagnostic.severity is Severity.ERROR:
            message = f"{diagnostic.message}; what needs it is left out"
            diagnostic = replace(diagnostic, severity=Severity.WARNING, message=message)
        super().add(diagnostic)


def bundled_models_uri() -> str:
    """Return the URI of the models that come with this package."""
    return f"package://{PACKAGE}/models"


def files_in(source: str, suffixes: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield URI and path of each file below a folder that has one of these endings.

    Args:
        source: Path of a folder, or its ``file://`` or ``package://`` URI.
        suffixes: In lower case.

    Raises:
        ResourceError: There is no such folder.
    """
    folder, prefix = _folder(source)
    if not folder.is_dir():
        raise ResourceError(f"no such folder: {folder}")
    all_files = (
        Path(parent) / name for parent, _, names in os.walk(folder) for name in sorted(names)
    )
    looked_at = islice(all_files, _MOST_LOOKED_AT)
    found = (path for path in looked_at if path.name.lower().endswith(tuple(suffixes)))
    for path in sorted(islice(found, _MOST_FILES)):
        uri = f"{prefix}/{path.relative_to(folder).as_posix()}"
        # A name that is no text cannot be told, and a pipe would be waited for.
        if _is_text(uri) and path.is_file():
            yield uri, path


def holds(path: Path, word: bytes) -> bool:
    """Tell whether a word is somewhere in the first megabyte of a file that can be read."""
    try:
        with path.open("rb") as file:
            return word in file.read(_MOST_READ)
    except OSError:
        return False


def _is_text(name: str) -> bool:
    """Tell whether the name of a file is UTF-8, as messages are."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _folder(source: str) -> tuple[Path, str]:
    """Return a folder, and what the URIs of the files in it begin with."""
    if source.startswith("package://"):
        name, _, inside = source.removeprefix("package://").strip("/").partition("/")
        top = share_folder() if name == PACKAGE else package_folder(name)
        return top / inside, source.rstrip("/")
    path = Path(source.removeprefix("file://"))
    if "\0" in source or not path.is_absolute():
        raise ResourceError(f"'{source}' is no absolute path and no URI of a folder")
    return path, f"file://{path}"
