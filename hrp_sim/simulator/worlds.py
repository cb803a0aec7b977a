"""List available worlds and models, and load the world of a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from hrp_model import Diagnostics, ModelError
from hrp_model.files.resources import ResourceError
from hrp_model.readers.file_kind import MODEL_SUFFIXES, YAML_SUFFIXES, FileKind, file_kind

from ..world.config import WorldConfig
from ..world.load import load_world, load_world_text
from ..world.projects import AS_IN_PROJECT, PROJECT_SUFFIXES, ProjectOptions
from .errors import RequestError
from .resources import (
    LenientDiagnostics,
    Resource,
    Spawnable,
    WorldQuery,
    WorldResource,
    bundled_models_uri,
    check_assets,
    file_contains,
    files_in,
    is_missing,
    resource_file,
    unsupported,
)
from .results import Code, WorldCode, WorldListCode
from .shapes import Bounds

_T = TypeVar("_T")
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
    try:
        config = _read(resource, recorded, project)
    except ModelError as error:
        code = WorldCode.RESOURCE_PARSE_ERROR
        if is_missing(error):
            code = WorldCode.MISSING_ASSETS
        elif any(
            d.code in ("not-a-world", "not-a-model", "not-a-project") for d in error.diagnostics
        ):
            code = WorldCode.UNSUPPORTED_FORMAT
        raise RequestError(code, str(error)) from None
    if not lenient:
        check_assets(recorded, WorldCode.MISSING_ASSETS, WorldCode.UNSUPPORTED_ASSETS)
    if strict and (found := unsupported(recorded)):
        raise RequestError(WorldCode.UNSUPPORTED_ELEMENTS, "\n".join(found))
    return config


def world_resource(resource: Resource) -> WorldResource:
    """Return name and source of a world loaded from a resource."""
    if not resource.uri:
        return WorldResource("resource_string", resource)
    return WorldResource(Path(resource.uri).stem, resource)


def available_worlds(query: WorldQuery) -> tuple[list[WorldResource], list[str]]:
    """Return the available worlds, and the unusable sources with the reasons.

    Raises:
        RequestError: Tags are requested, which worlds do not have; or a source cannot be used,
            and ``continue_on_error`` is not set.
    """
    if query.tags.tags:
        raise RequestError(Code.FEATURE_UNSUPPORTED, "filtering worlds by tags is not supported")
    found, problems = _collect(query.sources, _worlds_in)
    if problems and not (query.continue_on_error and found):
        is_own = problems[0].startswith(f"'{bundled_models_uri()}'")
        code = WorldListCode.DEFAULT_SOURCES_FAILED if is_own else Code.OPERATION_FAILED
        raise RequestError(code, "; ".join(problems))
    return found, problems


def spawnables(sources: Sequence[str]) -> tuple[list[Spawnable], list[str]]:
    """Return the available models, and the unusable sources with the reasons."""
    return _collect(sources, _models_in)


def _read(resource: Resource, diagnostics: Diagnostics, project: ProjectOptions) -> WorldConfig:
    path = resource_file(resource, "world", WorldCode)
    if path is None:
        return load_world_text(resource.text, diagnostics, project=project)
    return load_world(path, diagnostics, project=project)


def _collect(
    sources: Sequence[str], search: Callable[[str], Iterator[_T]]
) -> tuple[list[_T], list[str]]:
    found: list[_T] = []
    problems: list[str] = []
    for source in dict.fromkeys((bundled_models_uri(), *sources)):
        try:
            found += search(source)
        except (ResourceError, OSError) as error:  # noqa: PERF203 - the next one may work
            problems.append(f"'{source[:200]}': {error}")
    return found, problems


def _worlds_in(source: str) -> Iterator[WorldResource]:
    for uri, path in files_in(source, (*YAML_SUFFIXES, ".sdf")):
        if file_kind(path) is FileKind.WORLD:
            yield WorldResource(path.stem, Resource(uri))
    for uri, path in files_in(source, PROJECT_SUFFIXES):
        yield WorldResource(path.stem, Resource(uri))


def _models_in(source: str) -> Iterator[Spawnable]:
    for uri, path in files_in(source, MODEL_SUFFIXES):
        is_model = path.suffix.lower() != ".sdf" or file_kind(path) is FileKind.MODEL
        if is_model and file_contains(path, _ROBOT_KEYWORDS[path.suffix.lower()]):
            yield Spawnable(Resource(uri), f"{path.suffix[1:]} model {path.stem}", Bounds())
