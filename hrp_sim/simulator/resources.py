"""Model and world resources of requests: URIs, texts, and files found in folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import islice
from pathlib import Path

from hrp_model import Diagnostic, Diagnostics, ModelError, Severity
from hrp_model.files.model_file import format_suffix
from hrp_model.files.resources import (
    PACKAGE,
    ResourceError,
    package_folder,
    path_from_uri,
    share_folder,
)
from hrp_model.readers.file_kind import MODEL_SUFFIXES, YAML_SUFFIXES

from ..world.projects import PROJECT_SUFFIXES
from .entities import TagsFilter
from .errors import RequestError
from .results import Code, SpawnCode, WorldCode
from .shapes import Bounds

# Parsing a longer text would block other requests for too long.
MAX_TEXT_LENGTH = 8 << 20  # characters
_READABLE_SUFFIXES = {
    "model": (*YAML_SUFFIXES, *MODEL_SUFFIXES),
    "world": (*YAML_SUFFIXES, *MODEL_SUFFIXES, *PROJECT_SUFFIXES),
}
_SCHEMES = ("file", "package", "model")
_MISSING = frozenset(
    (
        *("missing-model", "missing-motion", "missing-project", "missing-resource"),
        *("unsourced-package", "unreadable-file"),
    )
)
_UNUSABLE = frozenset(("unreadable-resource", "unreadable-texture", "unsupported-texture"))
_UNSUPPORTED = frozenset(
    (
        *("foreign-controller", "foreign-item", "foreign-setting"),
        *("not-simulated", "unknown-key", "unknown-node"),
    )
)
_MAX_RESULTS = 2000  # models or worlds in one folder
_MAX_FILES = 100_000  # files of any kind in one folder
_MAX_BYTES = 1 << 20  # of a file searched for a word


@dataclass(frozen=True)
class Resource:
    """The URI of a file, or its content; the URI takes precedence."""

    uri: str = ""
    text: str = ""


@dataclass(frozen=True)
class WorldResource:
    """Name, source and description of a world."""

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
    """Query for available worlds.

    Attributes:
        sources: Folders to search besides the bundled worlds.
        tags: Required tags.
        continue_on_error: Whether unusable sources are no error as long as a world is found.
    """

    sources: Sequence[str] = ()
    tags: TagsFilter = field(default_factory=TagsFilter)
    continue_on_error: bool = False


def resource_file(
    resource: Resource, kind: str, codes: type[SpawnCode] | type[WorldCode]
) -> Path | None:
    """Return the file of a resource, or None if its text is to be read.

    Args:
        resource: As sent by a client.
        kind: Noun for messages: "model" or "world".
        codes: Result codes of the service.

    Raises:
        RequestError: The resource is empty, or the file does not exist or has a wrong suffix.
    """
    if not resource.uri:
        if not resource.text:
            raise RequestError(codes.NO_RESOURCE, "neither a uri nor a resource_string is given")
        if len(resource.text) > MAX_TEXT_LENGTH:
            message = (
                f"the resource_string has {len(resource.text) / 1e6:.1f} million characters, more "
                f"than {MAX_TEXT_LENGTH / 1e6:.1f}; write it to a file and give its uri"
            )
            raise RequestError(codes.RESOURCE_PARSE_ERROR, message)
        return None
    uri = resource.uri
    try:
        if "\0" in uri:
            raise ResourceError("a file name must not contain zero bytes")
        path = path_from_uri(uri)
    except (ResourceError, ValueError) as error:
        is_foreign = "://" in uri and uri.partition("://")[0] not in _SCHEMES
        code = codes.UNSUPPORTED_FORMAT if is_foreign else Code.NOT_FOUND
        raise RequestError(code, f"'{uri[:200]}': {error}") from None
    if format_suffix(path) not in _READABLE_SUFFIXES[kind]:
        suffixes = ", ".join(_READABLE_SUFFIXES[kind])
        message = f"'{uri}' is not a {kind} file; supported suffixes are {suffixes}"
        raise RequestError(codes.UNSUPPORTED_FORMAT, message)
    if not path.is_file():
        raise RequestError(Code.NOT_FOUND, f"there is no file '{uri}'")
    return path


def is_missing(error: ModelError) -> bool:
    """Return whether all errors are about missing files."""
    return all(d.code in _MISSING for d in error.diagnostics if d.severity is Severity.ERROR)


def check_assets(diagnostics: Diagnostics, missing: IntEnum, unusable: IntEnum) -> None:
    """Check that nothing was skipped because of a missing or unusable file.

    Raises:
        RequestError: Something was skipped; with the code ``missing`` or ``unusable``.
    """
    for codes, code in ((_MISSING, missing), (_UNUSABLE, unusable)):
        if found := [str(d) for d in diagnostics.found if d.code in codes]:
            raise RequestError(code, "\n".join(found))


def unsupported(diagnostics: Diagnostics) -> list[str]:
    """Return the diagnostics about unsupported parts of a file."""
    return [str(d) for d in diagnostics.found if d.code in _UNSUPPORTED]


class LenientDiagnostics(Diagnostics):
    """Diagnostics that report missing and unusable files as warnings."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        super().__init__(listener=diagnostics.add)

    def add(self, diagnostic: Diagnostic) -> None:
        """Record a diagnostic, one about a missing file as a warning."""
        if diagnostic.code in _MISSING | _UNUSABLE and diagnostic.severity is Severity.ERROR:
            message = f"{diagnostic.message}; the parts that need it are skipped"
            diagnostic = replace(diagnostic, severity=Severity.WARNING, message=message)
        super().add(diagnostic)


def bundled_models_uri() -> str:
    """Return the URI of the folder of bundled models."""
    return f"package://{PACKAGE}/models"


def files_in(source: str, suffixes: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield URI and path of each file below a folder that has one of these suffixes.

    Args:
        source: Path of a folder, or its ``file://`` or ``package://`` URI.
        suffixes: In lower case.

    Raises:
        ResourceError: The folder does not exist.
    """
    folder, prefix = _folder(source)
    if not folder.is_dir():
        raise ResourceError(f"no such folder: {folder}")
    all_files = (
        Path(parent) / name for parent, _, names in os.walk(folder) for name in sorted(names)
    )
    files = islice(all_files, _MAX_FILES)
    found = (path for path in files if path.name.lower().endswith(tuple(suffixes)))
    for path in sorted(islice(found, _MAX_RESULTS)):
        uri = f"{prefix}/{path.relative_to(folder).as_posix()}"
        # Messages cannot carry names that are not UTF-8; reading a pipe would block.
        if _is_text(uri) and path.is_file():
            yield uri, path


def file_contains(path: Path, word: bytes) -> bool:
    """Return whether a file is readable and contains a word in its first megabyte."""
    try:
        with path.open("rb") as file:
            return word in file.read(_MAX_BYTES)
    except OSError:
        return False


def _is_text(name: str) -> bool:
    """Return whether a file name is valid UTF-8, as messages require."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _folder(source: str) -> tuple[Path, str]:
    """Return a folder, and the URI prefix of the files in it."""
    if source.startswith("package://"):
        name, _, inside = source.removeprefix("package://").strip("/").partition("/")
        top = share_folder() if name == PACKAGE else package_folder(name)
        return top / inside, source.rstrip("/")
    path = Path(source.removeprefix("file://"))
    if "\0" in source or not path.is_absolute():
        raise ResourceError(f"'{source}' is neither an absolute path nor a URI of a folder")
    return path, f"file://{path}"
