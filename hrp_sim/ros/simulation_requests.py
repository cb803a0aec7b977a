"""The standard simulation services as a table: from requests to ``WorldControl`` and back.

Distributions have different versions of simulation_interfaces, and it may be missing. Its types are
therefore looked up by name; instead of ``entity_resource`` or ``world_resource`` some versions have
the two fields of a Resource, which are the same on the wire.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Pose, Vector3

from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, matrix_quaternion
from hrp_msgs.convert.basic import set_header, set_quaternion, set_xyz

from ..run.requests.entities import FrameMotion, MoveRequest, SpawnRequest
from ..run.requests.resources import Resource, available_worlds, spawnables
from ..run.requests.standard import (
    Bounds,
    Code,
    EntityFilters,
    EntityInfo,
    RequestError,
    State,
    TagsFilter,
)
from ..run.requests.world_control import WorldControl

PACKAGE = "simulation_interfaces"
SPAWN_FORMATS = ("wrl", "body", "urdf")
# A message of the package, whose type depends on its version.
Fields = Any


def installed_type(kind: str, name: str) -> type[Any] | None:
    """Return a type of the package, or None if the installed version lacks it.

    Args:
        kind: "msg", "srv" or "action".
        name: Name of the type.
    """
    try:
        found: type | None = getattr(importlib.import_module(f"{PACKAGE}.{kind}"), name, None)
    except ImportError:
        return None
    return found


@dataclass(frozen=True)
class Row:
    """How the requests of one service are answered.

    Attributes:
        type_name: Type of the service, whose name is the same in snake case.
        answer: Called with the control, a request and the response to fill; returns a warning, if
            there is one, and may raise RequestError.
        features: Features of the simulator that need this type.
        is_slow: Returns whether a request reads files or creates worlds, which may take seconds.
    """

    type_name: str
    answer: Callable[[WorldControl, Fields, Fields], str | None]
    features: tuple[str, ...] = ()
    is_slow: Callable[[Fields], bool] = lambda _: False

    @property
    def name(self) -> str:
        """Name of the service."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.type_name).lower()


def respond(row: Row, control: WorldControl, request: Fields, response: Fields) -> None:
    """Fill the response to a request."""
    error, warning = None, None
    try:
        warning = row.answer(control, request, response)
    except RequestError as rejection:
        error = rejection
    if hasattr(response, "result"):
        set_result(response, error, warning or "")


def set_result(response: Fields, error: RequestError | None, warning: str = "") -> None:
    """Fill the result of a response.

    Args:
        response: A message with the field ``result``. Its type has the numbers of its own codes,
            that of the field those of all services.
        error: Why the request was rejected; None if it was not.
        warning: Message if it was not.
    """
    result = response.result
    if error is None:
        result.result, result.error_message = result.RESULT_OK, warning
        return
    name = error.code.name
    general = getattr(result, f"RESULT_{name}", result.RESULT_OPERATION_FAILED)
    result.result, result.error_message = getattr(response, name, general), str(error)


def features() -> list[int]:
    """Return the numbers of the supported features whose types are installed."""
    types = {("srv", row.type_name): row.features for row in ROWS} | STEPS
    names = [name for key, own in types.items() if installed_type(*key) for name in own]
    known = installed_type("msg", "SimulatorFeatures")
    return sorted(getattr(known, name) for name in names if hasattr(known, name))


def _get_features(_: WorldControl, _request: Fields, response: Fields) -> None:
    response.features.features = features()
    response.features.spawn_formats = list(SPAWN_FORMATS)
    response.features.custom_info = (
        "hrp_ros with ODE. Worlds are YAML files, or single models on a floor. Reference frames: "
        "the world frame, ENTITY for its root link, ENTITY/LINK. Accelerations cannot be set."
    )


def _get_state(control: WorldControl, _: Fields, response: Fields) -> None:
    response.state.state = int(control.state)


def _spawn_entity(control: WorldControl, request: Fields, response: Fields) -> None:
    response.entity_name = control.spawn(_spawn_request(request))


def _spawn_entities(control: WorldControl, request: Fields, response: Fields) -> None:
    results = control.spawn_all([_spawn_request(r) for r in request.spawn_requests])
    response.results = _messages("SpawnResult", len(results))
    for message, result in zip(response.results, results, strict=True):
        error = result if isinstance(result, RequestError) else None
        message.entity_name = "" if isinstance(result, RequestError) else result
        set_result(message, error)
    failed = sum(isinstance(result, RequestError) for result in results)
    if failed:
        problem = f"{failed} of {len(results)} entities were not spawned; see 'results'"
        raise RequestError(Code.ENTITIES_SPAWN_FAILED, problem)


def _get_entities(control: WorldControl, request: Fields, response: Fields) -> None:
    response.entities = control.names(_filters(request.filters))


def _get_entities_states(control: WorldControl, request: Fields, response: Fields) -> None:
    states = control.states(_filters(request.filters))
    response.entities = list(states)
    response.states = _messages("EntityState", len(states))
    for message, state in zip(response.states, states.values(), strict=True):
        _set_state(message, state, control)


def _get_entity_state(control: WorldControl, request: Fields, response: Fields) -> None:
    _set_state(response.state, control.entity_state(request.entity), control)


def _set_entity_state(control: WorldControl, request: Fields, _: Fields) -> str:
    state = request.state
    # Versions without these flags set all three.
    flags = ("set_pose", "set_twist", "set_acceleration")
    pose, twist, acceleration = (getattr(request, flag, True) for flag in flags)
    accelerations = (*_xyz(state.acceleration.linear), *_xyz(state.acceleration.angular))
    move = MoveRequest(
        frame=state.header.frame_id,
        position=_xyz(state.pose.position) if pose else None,
        quaternion=_xyzw(state.pose),
        linear=_xyz(state.twist.linear) if twist else None,
        angular=_xyz(state.twist.angular),
        accelerates=acceleration and any(accelerations),
    )
    control.move(request.entity, move)
    return "the acceleration is ignored, because it cannot be set" if move.accelerates else ""


def _get_entity_info(control: WorldControl, request: Fields, response: Fields) -> None:
    info = control.info(request.entity)
    response.info.category.category = int(info.category)
    response.info.description = info.description
    response.info.tags = list(info.tags)


def _set_entity_info(control: WorldControl, request: Fields, _: Fields) -> None:
    info = request.info
    new = EntityInfo(info.category.category, info.description, tuple(info.tags))
    control.set_info(request.entity, new)


def _get_entity_bounds(control: WorldControl, request: Fields, response: Fields) -> None:
    _set_bounds(response.bounds, control.bounds(request.entity))


def _get_spawnables(_: WorldControl, request: Fields, response: Fields) -> str:
    found, problems = spawnables(list(request.sources))
    response.spawnables = _messages("Spawnable", len(found))
    for message, model in zip(response.spawnables, found, strict=True):
        set_resource(message, "entity_resource", model)
        message.description = f"{Path(model.uri).suffix[1:]} model {model.name}"
    return "; ".join(problems)


def _get_named_poses(control: WorldControl, request: Fields, response: Fields) -> None:
    poses = control.named_poses(_tags(request.tags))
    response.poses = _messages("NamedPose", len(poses))
    for message, pose in zip(response.poses, poses, strict=True):
        message.name = pose.name
        message.description = pose.description
        message.tags = list(pose.tags)
        _set_pose(message.pose, pose.X_WP.p, pose.X_WP.R)


def _get_named_pose_bounds(control: WorldControl, request: Fields, response: Fields) -> None:
    _set_bounds(response.bounds, control.pose_bounds(request.name))


def _load_world(control: WorldControl, request: Fields, response: Fields) -> None:
    control.load_world(
        resource(request, "world_resource"),
        strict=request.fail_on_unsupported_element,
        lenient=request.ignore_missing_or_unsupported_assets,
    )
    _set_world(response.world, control.current_world)


def _get_current_world(control: WorldControl, _: Fields, response: Fields) -> None:
    _set_world(response.world, control.current_world)


def _get_available_worlds(_: WorldControl, request: Fields, response: Fields) -> str:
    if request.filter.tags:
        raise RequestError(Code.FEATURE_UNSUPPORTED, "filtering worlds by tags is not supported")
    found, problems = available_worlds(
        list(request.additional_sources), continue_on_error=request.continue_on_error
    )
    response.worlds = _messages("WorldResource", len(found))
    for message, world in zip(response.worlds, found, strict=True):
        _set_world(message, world)
    return "; ".join(problems)


def _messages(name: str, count: int) -> list[Fields]:
    made = installed_type("msg", name)
    assert made is not None  # since the service has it
    return [made() for _ in range(count)]


def _spawn_request(message: Fields) -> SpawnRequest:
    pose = message.initial_pose.pose
    return SpawnRequest(
        resource=resource(message, "entity_resource"),
        name=message.name,
        allow_renaming=message.allow_renaming,
        namespace=message.entity_namespace,
        position=_xyz(pose.position),
        quaternion=_xyzw(pose),
        frame=message.initial_pose.header.frame_id,
    )


def _filters(message: Fields) -> EntityFilters:
    points = np.array([_xyz(point) for point in message.bounds.points], dtype=np.float64)
    return EntityFilters(
        name=message.filter,
        categories=[category.category for category in message.categories],
        tags=_tags(message.tags),
        bounds=Bounds(message.bounds.type, points.reshape(-1, 3)),
    )


def _tags(message: Fields) -> TagsFilter:
    return TagsFilter(tuple(message.tags), all=message.filter_mode == message.FILTER_MODE_ALL)


def resource(message: Fields, field: str) -> Resource:
    """Return the resource of a message, from a field of this name or from its two fields."""
    holder: Fields = getattr(message, field, message)
    return Resource(holder.uri, holder.resource_string)


def set_resource(message: Fields, field: str, given: Resource) -> None:
    """Fill the resource of a message, without the text if it has no field for it."""
    holder: Fields = getattr(message, field, message)
    holder.uri = given.uri
    if hasattr(holder, "resource_string"):
        holder.resource_string = given.text


def _set_world(message: Fields, world: Resource) -> None:
    message.name = world.name
    set_resource(message, "world_resource", world)


def _set_state(message: Fields, state: FrameMotion, control: WorldControl) -> None:
    set_header(message.header, state.time_ns, control.options.world_frame)
    _set_pose(message.pose, state.X_WF.p, state.X_WF.R)
    set_xyz(message.twist.linear, state.v)
    set_xyz(message.twist.angular, state.w)
    set_xyz(message.acceleration.linear, state.a)
    set_xyz(message.acceleration.angular, state.alpha)


def _set_pose(message: Pose, p: Array, R: Array) -> None:
    set_xyz(message.position, p)
    set_quaternion(message.orientation, matrix_quaternion(R))


def _set_bounds(message: Fields, bounds: Bounds) -> None:
    message.type = int(bounds.type)
    message.points = [Vector3(x=x, y=y, z=z) for x, y, z in bounds.points.tolist()]


def _xyz(message: Point | Vector3) -> tuple[float, float, float]:
    return message.x, message.y, message.z


def _xyzw(message: Pose) -> tuple[float, float, float, float]:
    q = message.orientation
    return q.x, q.y, q.z, q.w


def _always(_: Fields) -> bool:
    return True


ROWS = (
    Row("GetSimulatorFeatures", _get_features),
    Row("GetSimulationState", _get_state, ("SIMULATION_STATE_GETTING",)),
    Row(
        "SetSimulationState",
        lambda control, request, _: control.set_state(request.state.state),
        ("SIMULATION_STATE_SETTING", "SIMULATION_STATE_PAUSE"),
        is_slow=lambda request: request.state.state == State.STOPPED,  # may create the world again
    ),
    Row(
        "ResetSimulation",
        lambda control, request, _: control.reset(request.scope),
        (
            "SIMULATION_RESET",
            "SIMULATION_RESET_TIME",
            "SIMULATION_RESET_STATE",
            "SIMULATION_RESET_SPAWNED",
        ),
        is_slow=_always,
    ),
    Row("SpawnEntity", _spawn_entity, ("SPAWNING", "SPAWNING_RESOURCE_STRING"), is_slow=_always),
    Row("SpawnEntities", _spawn_entities, ("SPAWNING_ENTITIES",), is_slow=_always),
    Row("DeleteEntity", lambda control, request, _: control.delete(request.entity), ("DELETING",)),
    Row(
        "GetEntities",
        _get_entities,
        ("ENTITY_TAGS", "ENTITY_BOUNDS_BOX", "ENTITY_BOUNDS_CONVEX", "ENTITY_CATEGORIES"),
    ),
    Row("GetEntitiesStates", _get_entities_states),
    Row("GetEntityState", _get_entity_state, ("ENTITY_STATE_GETTING",)),
    Row("SetEntityState", _set_entity_state, ("ENTITY_STATE_SETTING",)),
    Row("GetEntityInfo", _get_entity_info, ("ENTITY_INFO_GETTING",)),
    Row("SetEntityInfo", _set_entity_info, ("ENTITY_INFO_SETTING",)),
    Row("GetEntityBounds", _get_entity_bounds, ("ENTITY_BOUNDS",)),
    Row("GetSpawnables", _get_spawnables, ("SPAWNABLES",), is_slow=_always),
    Row("GetNamedPoses", _get_named_poses, ("NAMED_POSES",)),
    Row("GetNamedPoseBounds", _get_named_pose_bounds, ("POSE_BOUNDS",)),
    Row("LoadWorld", _load_world, ("WORLD_LOADING", "WORLD_RESOURCE_STRING"), is_slow=_always),
    Row(
        "UnloadWorld",
        lambda control, *_: control.unload_world(),
        ("WORLD_UNLOADING",),
        is_slow=_always,
    ),
    Row("GetCurrentWorld", _get_current_world, ("WORLD_INFO_GETTING",)),
    Row("GetAvailableWorlds", _get_available_worlds, ("AVAILABLE_WORLDS",), is_slow=_always),
)
# Features of the service and the action for steps, which end long after their requests.
STEPS = {
    ("srv", "StepSimulation"): ("STEP_SIMULATION_SINGLE", "STEP_SIMULATION_MULTIPLE"),
    ("action", "SimulateSteps"): ("STEP_SIMULATION_ACTION",),
}
