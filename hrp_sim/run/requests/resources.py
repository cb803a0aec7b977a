"""Models and worlds of requests: read from URIs or texts, and found in folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from hrp_model import Body, Diagnostic, Diagnostics, ModelError, Severity
from hrp_model.files.model_file import format_suffix, split_model_name
from hrp_model.files.resources import (
    PACKAGE,
    ResourceError,
    package_folder,
    path_from_uri,
    share_folder,
)
from hrp_model.late_dataclass import dataclass
from hrp_model.load import load_body, load_body_text
from hrp_model.readers.file_kind import MODEL_SUFFIXES, YAML_SUFFIXES, FileKind, file_kind

from ...world.config import WorldConfig
from ...world.load import load_world, load_world_text
from ...world.naming import simulated_body
from ...world.projects import AS_IN_PROJECT, PROJECT_SUFFIXES, ProjectOptions
from .standard import Code, RequestError

# Parsing a longer text would block other requests for too long.
_MAX_TEXT_LENGTH = 8 << 20  # characters
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
_NOT_A_WORLD = frozenset(("not-a-world", "not-a-model", "not-a-project"))
_BUNDLED = f"package://{PACKAGE}/models"
_MAX_RESULTS = 2000  # models or worlds in one folder
_MAX_FILES = 100_000  # files of any kind in one folder
_MAX_BYTES = 1 << 20  # of a file searched for a word
# Words that distinguish robots from mere shapes, such as furniture in a .wrl.
_ROBOT_KEYWORDS = {
    ".wrl": b"Humanoid",
    ".dae": b"<kinematics_model",
    ".mjcf": b"<mujoco",
    ".sdf": b"<model",
    ".urdf": b"<robot",
    ".xacro": b"<robot",
    ".body": b"links",
}


@dataclass(frozen=True)
class Resource:
    """The URI of a file, or its content; the URI takes precedence."""

    uri: str = ""
    text: str = ""

    @property
    def name(self) -> str:
        """Name for a world or model that is read from it."""
        return Path(self.uri).stem if self.uri else "resource_string"


def read_model(resource: Resource, diagnostics: Diagnostics) -> Body:
    """Read a model from a file or a text.

    Raises:
        RequestError: It cannot be read completely.
    """
    recorded = Diagnostics(listener=diagnostics.add)
    path = _file(resource, "model")
    try:
        if path is None:
            body = load_body_text(resource.text, recorded, name="resource_string")
        else:
            _, arguments = split_model_name(resource.uri)
            body = load_body(path, recorded, arguments=arguments)
    except ModelError as error:
        code = Code.MISSING_ASSETS if _is_missing(error) else Code.RESOURCE_PARSE_ERROR
        raise RequestError(code, str(error)) from None
    _check_assets(recorded)
    return simulated_body(body)


def read_world(
    resource: Resource,
    diagnostics: Diagnostics,
    *,
    strict: bool,
    lenient: bool,
    project: ProjectOptions = AS_IN_PROJECT,
) -> WorldConfig:
    """Read a world from a file or a text.

    Args:
        resource: A world file, a model to be placed on a floor, or the text of a world file.
        diagnostics: Receives notes and warnings.
        strict: Whether unsupported parts are an error.
        lenient: Whether parts that need missing or unusable files are skipped.
        project: How a project is read.

    Raises:
        RequestError: The world cannot be used.
    """
    recorded = LenientDiagnostics(diagnostics) if lenient else Diagnostics(listener=diagnostics.add)
    path = _file(resource, "world")
    try:
        if path is None:
            config = load_world_text(resource.text, recorded, project=project)
        else:
            config = load_world(path, recorded, project=project)
    except ModelError as error:
        code = Code.RESOURCE_PARSE_ERROR
        if _is_missing(error):
            code = Code.MISSING_ASSETS
        elif any(d.code in _NOT_A_WORLD for d in error.diagnostics):
            code = Code.UNSUPPORTED_FORMAT
        raise RequestError(code, str(error)) from None
    if not lenient:
        _check_assets(recorded)
    if strict:
        _check_absence(recorded, _UNSUPPORTED, Code.UNSUPPORTED_ELEMENTS)
    return config


def _file(resource: Resource, kind: str) -> Path | None:
    """Return the file of a resource, or None if its text is to be read.

    Args:
        resource: As sent by a client.
        kind: "model" or "world".

    Raises:
        RequestError: The resource is empty, or the file does not exist or has a wrong suffix.
    """
    uri = resource.uri
    if not uri:
        if not resource.text:
            raise RequestError(Code.NO_RESOURCE, "neither a uri nor a resource_string is given")
        if len(resource.text) > _MAX_TEXT_LENGTH:
            message = (
                f"the resource_string has {len(resource.text) / 1e6:.1f} million characters, more "
                f"than {_MAX_TEXT_LENGTH / 1e6:.1f}; write it to a file and give its uri"
            )
            raise RequestError(Code.RESOURCE_PARSE_ERROR, message)
        return None
    try:
        if "\0" in uri:
            raise ResourceError("a file name must not contain zero bytes")
        path = path_from_uri(uri)
    except (ResourceError, ValueError) as error:
        is_foreign = "://" in uri and uri.partition("://")[0] not in _SCHEMES
        code = Code.UNSUPPORTED_FORMAT if is_foreign else Code.NOT_FOUND
        raise RequestError(code, f"'{uri[:200]}': {error}") from None
    if format_suffix(path) not in _READABLE_SUFFIXES[kind]:
        suffixes = ", ".join(_READABLE_SUFFIXES[kind])
        message = f"'{uri}' is not a {kind} file; supported suffixes are {suffixes}"
        raise RequestError(Code.UNSUPPORTED_FORMAT, message)
    if not path.is_file():
        raise RequestError(Code.NOT_FOUND, f"there is no file '{uri}'")
    return path


def _is_missing(error: ModelError) -> bool:
    """Return whether all errors are about missing files."""
    return all(d.code in _MISSING for d in error.diagnostics if d.severity is Severity.ERROR)


def _check_assets(diagnostics: Diagnostics) -> None:
    """Raise RequestError if something was skipped because of a missing or unusable file."""
    _check_absence(diagnostics, _MISSING, Code.MISSING_ASSETS)
    _check_absence(diagnostics, _UNUSABLE, Code.UNSUPPORTED_ASSETS)


def _check_absence(diagnostics: Diagnostics, codes: frozenset[str], code: Code) -> None:
    if found := [str(d) for d in diagnostics.found if d.code in codes]:
        raise RequestError(code, "\n".join(found))


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


def available_worlds(
    sources: Sequence[str] = (), *, continue_on_error: bool = False
) -> tuple[list[Resource], list[str]]:
    """Return the available worlds, and the unusable sources with the reasons.

    Args:
        sources: Folders to search besides the bundled worlds.
        continue_on_error: Whether unusable sources are no error as long as a world is found.

    Raises:
        RequestError: A source cannot be used.
    """
    found, problems = _collect(sources, _worlds_in)
    if problems and not (continue_on_error and found):
        is_own = problems[0].startswith(f"'{_BUNDLED}'")
        code = Code.DEFAULT_SOURCES_FAILED if is_own else Code.OPERATION_FAILED
        raise RequestError(code, "; ".join(problems))
    return found, problems


def spawnables(sources: Sequence[str]) -> tuple[list[Resource], list[str]]:
    """Return the available models, and the unusable sources with the reasons."""
    return _collect(sources, _models_in)


def _collect(
    sources: Sequence[str], search: Callable[[str], Iterator[Resource]]
) -> tuple[list[Resource], list[str]]:
    found: list[Resource] = []
    problems: list[str] = []
    for source in dict.fromkeys((_BUNDLED, *sources)):
        try:
            found += search(source)
        except (ResourceError, OSError) as error:  # noqa: PERF203 - the next one may work
            problems.append(f"'{source[:200]}': {error}")
    return found, problems


def _worlds_in(source: str) -> Iterator[Resource]:
    for uri, path in _files_in(source, (*YAML_SUFFIXES, ".sdf")):
        if file_kind(path) is FileKind.WORLD:
            yield Resource(uri)
    for uri, _ in _files_in(source, PROJECT_SUFFIXES):
        yield Resource(uri)


def _models_in(source: str) -> Iterator[Resource]:
    for uri, path in _files_in(source, MODEL_SUFFIXES):
        is_model = path.suffix.lower() != ".sdf" or file_kind(path) is FileKind.MODEL
        if is_model and _contains(path, _ROBOT_KEYWORDS[path.suffix.lower()]):
            yield Resource(uri)


def _files_in(source: str, suffixes: Sequence[str]) -> Iterator[tuple[str, Path]]:
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


def _contains(path: Path, word: bytes) -> bool:
    """Return whether a file is readable and contains a word in its first megabyte."""
    try:
        with path.open("rb") as file:
            return word in file.read(_MAX_BYTES)
    except OSError:
        return False


def _is_text(name: str) -> bool:
    """Return whether a file name is valid UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
