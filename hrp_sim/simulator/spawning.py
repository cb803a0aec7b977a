"""Validate spawn requests and convert them to world entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hrp_model import Body, Diagnostics, ModelError, Pose
from hrp_model.files.model_file import split_model_name
from hrp_model.load import load_body, load_body_text
from hrp_msgs.names import MAX_NAMESPACE_LENGTH, namespace_error, topic_token

from ..engine.engine import Placement
from ..simulation import Simulation
from ..world.config import BodyEntry
from ..world.naming import simulated_body
from .errors import RequestError
from .frames import frame_motion, pose_from
from .resources import Resource, check_assets, is_missing, resource_file
from .results import Code, SpawnCode

MAX_ENTITIES = 1000  # a larger world cannot be stepped in reasonable time


@dataclass(frozen=True, kw_only=True)
class SpawnRequest:
    """Request to spawn an entity.

    Attributes:
        resource: The model.
        name: Name of the new entity; empty for the name of the model.
        allow_renaming: Whether another name may be chosen if the requested one is taken.
        namespace: Namespace of its topics; empty for one like its name.
        position: Position of its root link, in [m].
        quaternion: Orientation (x, y, z, w).
        frame: Reference frame of the pose; empty for the world.
    """

    resource: Resource
    name: str = ""
    allow_renaming: bool = False
    namespace: str = ""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    frame: str = ""


@dataclass(frozen=True, eq=False)
class CheckedRequest:
    """A request with its loaded model, validated as far as it does not depend on the world."""

    request: SpawnRequest
    body: Body
    pose: Pose


def check(request: SpawnRequest, diagnostics: Diagnostics) -> CheckedRequest:
    """Validate a request and load its model, which may take seconds.

    Raises:
        RequestError: It cannot be spawned in any world.
    """
    _check_name(request.name)
    if problem := namespace_error(request.namespace):
        raise RequestError(SpawnCode.NAMESPACE_INVALID, problem)
    pose = pose_from(request.position, request.quaternion, SpawnCode.INVALID_POSE)
    return CheckedRequest(request, read_model(request.resource, diagnostics), pose)


def read_model(resource: Resource, diagnostics: Diagnostics) -> Body:
    """Read a model from a file or a text.

    Raises:
        RequestError: It cannot be read completely.
    """
    recorded = Diagnostics(listener=diagnostics.add)
    body = simulated_body(_read(resource, recorded))
    check_assets(recorded, SpawnCode.MISSING_ASSETS, SpawnCode.UNSUPPORTED_ASSETS)
    return body


def _read(resource: Resource, diagnostics: Diagnostics) -> Body:
    path = resource_file(resource, "model", SpawnCode)
    try:
        if path is None:
            return load_body_text(resource.text, diagnostics, name="resource_string")
        _, arguments = split_model_name(resource.uri)
        return load_body(path, diagnostics, arguments=arguments)
    except ModelError as error:
        code = SpawnCode.MISSING_ASSETS if is_missing(error) else SpawnCode.RESOURCE_PARSE_ERROR
        raise RequestError(code, str(error)) from None


def entry_for(checked: CheckedRequest, simulation: Simulation, world: str) -> BodyEntry:
    """Return the world entry of a new body, with a name that is not taken.

    Args:
        checked: The request.
        simulation: The world; must not be stepped meanwhile.
        world: Name of the world frame.

    Raises:
        RequestError: The body cannot be added to this world.
    """
    request, bodies = checked.request, simulation.bodies
    if len(bodies) >= MAX_ENTITIES:
        message = f"the world already has the maximum of {MAX_ENTITIES} entities"
        raise RequestError(Code.OPERATION_FAILED, message)
    name = _free_name(request, checked.body.name, bodies)
    X_WF = frame_motion(simulation, request.frame, world, SpawnCode.INVALID_POSE).X_WF
    placement = Placement(
        name=name, body=checked.body, X_WL=X_WF @ checked.pose, fixed=checked.body.is_root_fixed
    )
    return BodyEntry(placement=placement, namespace=request.namespace or None)


def _check_name(name: str) -> None:
    """Check that an entity, and the topics named after it, can have this name.

    Raises:
        RequestError: The name is invalid.
    """
    longest = MAX_NAMESPACE_LENGTH - len("_1000") - 1  # a number, and "n" before a leading digit
    if len(name) > longest or not name.isprintable() or "/" in name or name != name.strip():
        shown = name if len(name) <= longest else f"{name[:longest]}..."
        message = (
            f"{shown!r} is not a valid name: use up to {longest} printable characters without '/' "
            "and without leading or trailing blanks"
        )
        raise RequestError(SpawnCode.NAME_INVALID, message)


def _free_name(request: SpawnRequest, model_name: str, bodies: Mapping[str, object]) -> str:
    """Return a name that is not taken, and whose topics are not taken either."""
    tokens = {topic_token(name): name for name in bodies}
    name = request.name or model_name
    if not name and not request.allow_renaming:
        message = "neither the request nor the model has a name"
        raise RequestError(SpawnCode.NAME_INVALID, message)
    name = name or "entity"
    _check_name(name)  # the name of a model may be invalid
    other = tokens.get(topic_token(name))
    if other is None:
        return name
    if not request.allow_renaming:
        message = f"the entity '{other}' already exists"
        if other != name:
            message += f", and '{name}' would have the same topics"
        raise RequestError(SpawnCode.NAME_NOT_UNIQUE, f"{message}; allow_renaming is false")
    number = 1
    while topic_token(f"{name}_{number}") in tokens:
        number += 1
    return f"{name}_{number}"
