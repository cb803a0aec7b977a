"""From a request to spawn something to a body that can be put into the world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hrp_model import Body, Diagnostics, ModelError, Pose
from hrp_model.load import load_body, load_body_text
from hrp_msgs.names import MAX_NAMESPACE_LENGTH, namespace_error, topic_token

from ..physics.engine import Placement
from ..simulation import Simulation
from ..world.config import BodyEntry
from ..world.naming import simulated_body
from .frames import frame_motion, pose_from
from .resources import Resource, check_assets, is_missing, resource_file
from .results import Code, RequestError, SpawnCode

# More would only fill the memory: a world of so many bodies makes no step in reasonable time.
MAX_ENTITIES = 1000


@dataclass(frozen=True, kw_only=True)
class SpawnRequest:
    """What is to be spawned, and where.

    Attributes:
        resource: The model.
        name: Of the new entity; empty for that of the model.
        allow_renaming: Whether it may get another name where its own is taken.
        namespace: Of its topics; empty for one like its name.
        position: Of its root link, in [m].
        quaternion: Its orientation (x, y, z, w).
        frame: In which the pose is told; empty for the world.
    """

    resource: Resource
    name: str = ""
    allow_renaming: bool = False
    namespace: str = ""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    frame: str = ""


@dataclass(frozen=True, eq=False)
class Checked:
    """A request whose model was read, and whatever does not depend on the world checked."""

    request: SpawnRequest
    body: Body
    pose: Pose


def check(request: SpawnRequest, diagnostics: Diagnostics) -> Checked:
    """Read the model of a request; this may take long.

    Raises:
        RequestError: It cannot be spawned in any world.
    """
    _check_name(request.name)
    if objection := namespace_error(request.namespace):
        raise RequestError(SpawnCode.NAMESPACE_INVALID, objection)
    pose = pose_from(request.position, request.quaternion, SpawnCode.INVALID_POSE)
    return Checked(request, read_model(request.resource, diagnostics), pose)


def read_model(resource: Resource, diagnostics: Diagnostics) -> Body:
    """Read a model from a file or a text.

    Raises:
        RequestError: It cannot be read, or not all of it.
    """
    heard = Diagnostics(listener=diagnostics.add)
    body = simulated_body(_read(resource, heard))
    check_assets(heard, SpawnCode.MISSING_ASSETS, SpawnCode.UNSUPPORTED_ASSETS)
    return body


def _read(resource: Resource, diagnostics: Diagnostics) -> Body:
    path = resource_file(resource, "model", SpawnCode)
    try:
        if path is None:
            return load_body_text(resource.text, diagnostics, name="resource_string")
        return load_body(path, diagnostics)
    except ModelError as error:
        raise _refused(error) from None


def entry_for(checked: Checked, simulation: Simulation, world: str) -> BodyEntry:
    """Return what puts a body into a world, under a name that is free there.

    Args:
        checked: The request.
        simulation: The world, which stands still meanwhile.
        world: Name of its frame.

    Raises:
        RequestError: It does not fit into this world.
    """
    request, bodies = checked.request, simulation.bodies
    if len(bodies) >= MAX_ENTITIES:
        words = f"there are {len(bodies)} entities; no world has more"
        raise RequestError(Code.OPERATION_FAILED, words)
    name = _free_name(request, checked.body.name, bodies)
    X_WF = frame_motion(simulation, request.frame, world, SpawnCode.INVALID_POSE).X_WF
    placement = Placement(
        name=name, body=checked.body, X_WL=X_WF @ checked.pose, fixed=checked.body.is_root_fixed
    )
    return BodyEntry(placement=placement, namespace=request.namespace or None)


def _check_name(name: str) -> None:
    """Check that an entity can have a name, of which its topics get theirs.

    Raises:
        RequestError: It cannot.
    """
    longest = MAX_NAMESPACE_LENGTH - len("_1000") - 1  # a number, and what stands before a digit
    if len(name) > longest or not name.isprintable() or "/" in name or name != name.strip():
        shown = name if len(name) <= longest else f"{name[:longest]}..."
        words = (
            f"{shown!r} is no name: up to {longest} characters that can be printed, "
            "without '/' and blanks around it"
        )
        raise RequestError(SpawnCode.NAME_INVALID, words)


def _free_name(request: SpawnRequest, of_model: str, bodies: Mapping[str, object]) -> str:
    """Return a name that nobody has, and whose topics nobody has either."""
    tokens = {topic_token(name): name for name in bodies}
    name = request.name or of_model
    if not name and not request.allow_renaming:
        words = "neither the request nor the model gives a name"
        raise RequestError(SpawnCode.NAME_INVALID, words)
    name = name or "entity"
    _check_name(name)  # that of a model may be anything
    other = tokens.get(topic_token(name))
    if other is None:
        return name
    if not request.allow_renaming:
        words = f"there is an entity '{other}' already"
        if other != name:
            words += f", and '{name}' would have the same topics"
        raise RequestError(SpawnCode.NAME_NOT_UNIQUE, f"{words}; allow_renaming is false")
    number = 1
    while topic_token(f"{name}_{number}") in tokens:
        number += 1
    return f"{name}_{number}"


def _refused(error: ModelError) -> RequestError:
    is_only_missing = is_missing(error)
    code = SpawnCode.MISSING_ASSETS if is_only_missing else SpawnCode.RESOURCE_PARSE_ERROR
    return RequestError(code, str(error))
