"""Handlers of the standard simulation services: from requests to responses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hrp_model.rigid import matrix_quaternion
from hrp_msgs.convert.converter import Message
from hrp_msgs.simulation import convert

from ..simulator.entities import EntityFilters, EntityInfo, EntityState, TagsFilter
from ..simulator.entity_manager import MoveRequest
from ..simulator.errors import RequestError
from ..simulator.resources import Resource, WorldQuery, WorldResource
from ..simulator.results import Code, Feature, State
from ..simulator.shapes import Bounds
from ..simulator.simulator import SPAWN_FORMATS, Simulator
from ..simulator.spawning import SpawnRequest
from ..simulator.worlds import available_worlds, spawnables

if TYPE_CHECKING:  # the package may be missing
    from simulation_interfaces.msg import EntityFilters as FiltersMessage
    from simulation_interfaces.msg import EntityState as StateMessage
    from simulation_interfaces.msg import Result, SpawnResult
    from simulation_interfaces.msg import SpawnEntity as SpawnMessage
    from simulation_interfaces.msg import TagsFilter as TagsMessage
    from simulation_interfaces.msg import WorldResource as WorldMessage
    from simulation_interfaces.srv import (
        DeleteEntity,
        GetAvailableWorlds,
        GetCurrentWorld,
        GetEntities,
        GetEntitiesStates,
        GetEntityBounds,
        GetEntityInfo,
        GetEntityState,
        GetNamedPoseBounds,
        GetNamedPoses,
        GetSimulationState,
        GetSimulatorFeatures,
        GetSpawnables,
        LoadWorld,
        ResetSimulation,
        SetEntityInfo,
        SetEntityState,
        SetSimulationState,
        SpawnEntities,
        SpawnEntity,
        UnloadWorld,
    )

# At least one of several entities was not spawned.
_ENTITIES_SPAWN_FAILED = 150


@dataclass(frozen=True)
class Handler:
    """Handler of one service.

    Attributes:
        type_name: Type of the service in simulation_interfaces.
        handle: Called with the simulator, the request and the response to fill; may raise
            RequestError.
        features: Features of the simulator that need this type.
        is_slow: Returns whether a request reads files or creates worlds, which may take seconds.
    """

    type_name: str
    handle: Callable[[Simulator, Message, Message], None]
    features: tuple[Feature, ...] = ()
    is_slow: Callable[[Message], bool] = lambda _: False


def _always(_: Message) -> bool:
    return True


def _stops(request: SetSimulationState.Request) -> bool:
    """Return whether the requested state may require to create the world again."""
    return bool(request.state.state == State.STOPPED)


def _get_simulator_features(
    simulator: Simulator, _: GetSimulatorFeatures.Request, response: GetSimulatorFeatures.Response
) -> None:
    features = response.features
    features.features = [int(feature) for feature in simulator.features]
    features.spawn_formats = list(SPAWN_FORMATS)
    features.custom_info = (
        "hrp_ros with ODE. Worlds are YAML files, or single models on a floor. Reference frames: "
        "the world frame, ENTITY for its root link, ENTITY/LINK. Accelerations cannot be set."
    )


def _get_simulation_state(
    simulator: Simulator, _: GetSimulationState.Request, response: GetSimulationState.Response
) -> None:
    response.state.state = int(simulator.state)
    _ok(response)


def _set_simulation_state(
    simulator: Simulator, request: SetSimulationState.Request, response: SetSimulationState.Response
) -> None:
    simulator.set_state(request.state.state)
    _ok(response)


def _reset_simulation(
    simulator: Simulator, request: ResetSimulation.Request, response: ResetSimulation.Response
) -> None:
    warning = simulator.reset(request.scope)
    convert.set_result(response.result, Code.OK, warning)


def _spawn_entity(
    simulator: Simulator, request: SpawnEntity.Request, response: SpawnEntity.Response
) -> None:
    _fill_spawned(response, simulator.entities.spawn_all([_spawn_request(request)])[0])


def _spawn_entities(
    simulator: Simulator, request: SpawnEntities.Request, response: SpawnEntities.Response
) -> None:
    from simulation_interfaces.msg import SpawnResult

    results = simulator.entities.spawn_all([_spawn_request(r) for r in request.spawn_requests])
    response.results = [SpawnResult() for _ in results]
    for spawned, result in zip(response.results, results, strict=True):
        _fill_spawned(spawned, result)
    failed = sum(isinstance(result, RequestError) for result in results)
    if failed:
        message = f"{failed} of {len(results)} entities were not spawned; see 'results'"
        convert.set_result(response.result, _ENTITIES_SPAWN_FAILED, message)
    else:
        _ok(response)


def _delete_entity(
    simulator: Simulator, request: DeleteEntity.Request, response: DeleteEntity.Response
) -> None:
    simulator.entities.delete(request.entity)
    _ok(response)


def _get_entities(
    simulator: Simulator, request: GetEntities.Request, response: GetEntities.Response
) -> None:
    response.entities = simulator.entities.names(_filters(request.filters))
    _ok(response)


def _get_entities_states(
    simulator: Simulator, request: GetEntitiesStates.Request, response: GetEntitiesStates.Response
) -> None:
    from simulation_interfaces.msg import EntityState as StateMessage

    states = simulator.entities.states(_filters(request.filters))
    response.entities = list(states)
    response.states = [StateMessage() for _ in states]
    for message, state in zip(response.states, states.values(), strict=True):
        _fill_state(message, state)
    _ok(response)


def _get_entity_state(
    simulator: Simulator, request: GetEntityState.Request, response: GetEntityState.Response
) -> None:
    _fill_state(response.state, simulator.entities.state(request.entity))
    _ok(response)


def _set_entity_state(
    simulator: Simulator, request: SetEntityState.Request, response: SetEntityState.Response
) -> None:
    state = request.state
    sets_pose, sets_twist, sets_acceleration = convert.requested_parts(request)
    position, quaternion = convert.pose(state.pose)
    accelerations = convert.xyz(state.acceleration.linear), convert.xyz(state.acceleration.angular)
    accelerates = sets_acceleration and any(map(any, accelerations))
    move = MoveRequest(
        frame=state.header.frame_id,
        position=position if sets_pose else None,
        quaternion=quaternion,
        linear=convert.xyz(state.twist.linear) if sets_twist else None,
        angular=convert.xyz(state.twist.angular),
        accelerates=accelerates,
    )
    simulator.entities.move(request.entity, move)
    warning = "the acceleration is ignored, because it cannot be set" if accelerates else ""
    convert.set_result(response.result, Code.OK, warning)


def _get_entity_info(
    simulator: Simulator, request: GetEntityInfo.Request, response: GetEntityInfo.Response
) -> None:
    info = simulator.entities.info(request.entity)
    response.info.category.category = int(info.category)
    response.info.description = info.description
    response.info.tags = list(info.tags)
    _ok(response)


def _set_entity_info(
    simulator: Simulator, request: SetEntityInfo.Request, response: SetEntityInfo.Response
) -> None:
    info = request.info
    new = EntityInfo(info.category.category, info.description, tuple(info.tags))
    simulator.entities.set_info(request.entity, new)
    _ok(response)


def _get_entity_bounds(
    simulator: Simulator, request: GetEntityBounds.Request, response: GetEntityBounds.Response
) -> None:
    bounds = simulator.entities.bounds(request.entity)
    convert.set_bounds(response.bounds, bounds.type, bounds.points)
    _ok(response)


def _get_spawnables(
    _: Simulator, request: GetSpawnables.Request, response: GetSpawnables.Response
) -> None:
    from simulation_interfaces.msg import Spawnable as SpawnableMessage

    found, problems = spawnables(list(request.sources))
    response.spawnables = [SpawnableMessage() for _ in found]
    for message, spawnable in zip(response.spawnables, found, strict=True):
        convert.set_resource(message, "entity_resource", spawnable.resource.uri)
        message.description = spawnable.description
        convert.set_bounds(message.spawn_bounds, spawnable.bounds.type, spawnable.bounds.points)
    convert.set_result(response.result, Code.OK, "; ".join(problems))


def _get_named_poses(
    simulator: Simulator, request: GetNamedPoses.Request, response: GetNamedPoses.Response
) -> None:
    from simulation_interfaces.msg import NamedPose as PoseMessage

    poses = simulator.named_poses(_tags(request.tags))
    response.poses = [PoseMessage() for _ in poses]
    for message, pose in zip(response.poses, poses, strict=True):
        message.name = pose.name
        message.description = pose.description
        message.tags = list(pose.tags)
        convert.set_pose(message.pose, pose.X_WP.p, matrix_quaternion(pose.X_WP.R))
    _ok(response)


def _get_named_pose_bounds(
    simulator: Simulator, request: GetNamedPoseBounds.Request, response: GetNamedPoseBounds.Response
) -> None:
    bounds = simulator.pose_bounds(request.name)
    convert.set_bounds(response.bounds, bounds.type, bounds.points)
    _ok(response)


def _load_world(
    simulator: Simulator, request: LoadWorld.Request, response: LoadWorld.Response
) -> None:
    world = simulator.load_world(
        Resource(*convert.resource(request, "world_resource")),
        strict=request.fail_on_unsupported_element,
        lenient=request.ignore_missing_or_unsupported_assets,
    )
    _fill_world(response.world, world)
    _ok(response)


def _unload_world(
    simulator: Simulator, _: UnloadWorld.Request, response: UnloadWorld.Response
) -> None:
    simulator.unload_world()
    _ok(response)


def _get_current_world(
    simulator: Simulator, _: GetCurrentWorld.Request, response: GetCurrentWorld.Response
) -> None:
    _fill_world(response.world, simulator.current_world)
    _ok(response)


def _get_available_worlds(
    _: Simulator, request: GetAvailableWorlds.Request, response: GetAvailableWorlds.Response
) -> None:
    from simulation_interfaces.msg import WorldResource as WorldMessage

    found, problems = available_worlds(
        WorldQuery(
            sources=list(request.additional_sources),
            tags=_tags(request.filter),
            continue_on_error=request.continue_on_error,
        )
    )
    response.worlds = [WorldMessage() for _ in found]
    for message, world in zip(response.worlds, found, strict=True):
        _fill_world(message, world)
    convert.set_result(response.result, Code.OK, "; ".join(problems))


class _Response(Protocol):
    result: Result


def _ok(response: _Response) -> None:
    convert.set_result(response.result, Code.OK)


def _spawn_request(message: SpawnMessage | SpawnEntity.Request) -> SpawnRequest:
    position, quaternion = convert.pose(message.initial_pose.pose)
    return SpawnRequest(
        resource=Resource(*convert.resource(message, "entity_resource")),
        name=message.name,
        allow_renaming=message.allow_renaming,
        namespace=message.entity_namespace,
        position=position,
        quaternion=quaternion,
        frame=message.initial_pose.header.frame_id,
    )


def _fill_spawned(message: SpawnResult | SpawnEntity.Response, result: str | RequestError) -> None:
    if isinstance(result, RequestError):
        convert.set_result(message.result, result.code, str(result))
        return
    message.entity_name = result
    convert.set_result(message.result, Code.OK)


def _filters(message: FiltersMessage) -> EntityFilters:
    return EntityFilters(
        name=message.filter,
        categories=convert.categories(message.categories),
        tags=_tags(message.tags),
        bounds=Bounds(message.bounds.type, convert.bounds_points(message.bounds)),
    )


def _tags(message: TagsMessage) -> TagsFilter:
    return TagsFilter(tuple(message.tags), all=message.filter_mode == message.FILTER_MODE_ALL)


def _fill_state(message: StateMessage, state: EntityState) -> None:
    X = state.X_FL
    motion = (X.p, matrix_quaternion(X.R), state.v, state.w, state.a, state.alpha)
    convert.set_entity_state(message, state.time_ns, state.frame, convert.Motion(*motion))


def _fill_world(message: WorldMessage, world: WorldResource) -> None:
    message.name = world.name
    convert.set_resource(message, "world_resource", world.resource.uri, world.resource.text)
    message.description = world.description
    message.tags = list(world.tags)


HANDLERS = {
    "get_simulator_features": Handler("GetSimulatorFeatures", _get_simulator_features),
    "get_simulation_state": Handler(
        "GetSimulationState", _get_simulation_state, (Feature.SIMULATION_STATE_GETTING,)
    ),
    "set_simulation_state": Handler(
        "SetSimulationState",
        _set_simulation_state,
        (Feature.SIMULATION_STATE_SETTING, Feature.SIMULATION_STATE_PAUSE),
        is_slow=_stops,
    ),
    "reset_simulation": Handler(
        "ResetSimulation",
        _reset_simulation,
        (
            Feature.SIMULATION_RESET,
            Feature.SIMULATION_RESET_TIME,
            Feature.SIMULATION_RESET_STATE,
            Feature.SIMULATION_RESET_SPAWNED,
        ),
        is_slow=_always,
    ),
    "spawn_entity": Handler(
        "SpawnEntity",
        _spawn_entity,
        (Feature.SPAWNING, Feature.SPAWNING_RESOURCE_STRING),
        is_slow=_always,
    ),
    "spawn_entities": Handler(
        "SpawnEntities", _spawn_entities, (Feature.SPAWNING_ENTITIES,), is_slow=_always
    ),
    "delete_entity": Handler("DeleteEntity", _delete_entity, (Feature.DELETING,)),
    "get_entities": Handler(
        "GetEntities",
        _get_entities,
        (
            Feature.ENTITY_TAGS,
            Feature.ENTITY_BOUNDS_BOX,
            Feature.ENTITY_BOUNDS_CONVEX,
            Feature.ENTITY_CATEGORIES,
        ),
    ),
    "get_entities_states": Handler("GetEntitiesStates", _get_entities_states),
    "get_entity_state": Handler(
        "GetEntityState", _get_entity_state, (Feature.ENTITY_STATE_GETTING,)
    ),
    "set_entity_state": Handler(
        "SetEntityState", _set_entity_state, (Feature.ENTITY_STATE_SETTING,)
    ),
    "get_entity_info": Handler("GetEntityInfo", _get_entity_info, (Feature.ENTITY_INFO_GETTING,)),
    "set_entity_info": Handler("SetEntityInfo", _set_entity_info, (Feature.ENTITY_INFO_SETTING,)),
    "get_entity_bounds": Handler("GetEntityBounds", _get_entity_bounds, (Feature.ENTITY_BOUNDS,)),
    "get_spawnables": Handler(
        "GetSpawnables", _get_spawnables, (Feature.SPAWNABLES,), is_slow=_always
    ),
    "get_named_poses": Handler("GetNamedPoses", _get_named_poses, (Feature.NAMED_POSES,)),
    "get_named_pose_bounds": Handler(
        "GetNamedPoseBounds", _get_named_pose_bounds, (Feature.POSE_BOUNDS,)
    ),
    "load_world": Handler(
        "LoadWorld",
        _load_world,
        (Feature.WORLD_LOADING, Feature.WORLD_RESOURCE_STRING),
        is_slow=_always,
    ),
    "unload_world": Handler(
        "UnloadWorld", _unload_world, (Feature.WORLD_UNLOADING,), is_slow=_always
    ),
    "get_current_world": Handler(
        "GetCurrentWorld", _get_current_world, (Feature.WORLD_INFO_GETTING,)
    ),
    "get_available_worlds": Handler(
        "GetAvailableWorlds", _get_available_worlds, (Feature.AVAILABLE_WORLDS,), is_slow=_always
    ),
}
