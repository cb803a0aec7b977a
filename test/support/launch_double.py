"""A small double of ``launch`` and ``launch_ros``, which are not on PyPI.

It implements the few classes that our launch files use: arguments get their values, functions are
called, included files are read, nodes are put down with the parameters that they would get, and
handlers of events wait for ``Launched.exit`` and ``Launched.shut_down``. Keywords that the real
classes do not have are errors, as they are there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml
from package_tools import loaded
from paths import ROOT


class PackageNotFoundError(KeyError):
    pass


class LaunchContext:
    def __init__(self, arguments: Mapping[str, str]) -> None:
        self.launch_configurations = dict(arguments)


class LaunchDescriptionEntity:
    pass


@dataclass
class LaunchDescription(LaunchDescriptionEntity):
    entities: list[Any] = field(default_factory=list)


@dataclass
class DeclareLaunchArgument(LaunchDescriptionEntity):
    name: str
    default_value: str = field(kw_only=True)
    description: str = field(kw_only=True)
    choices: list[str] = field(default_factory=list, kw_only=True)


@dataclass
class OpaqueFunction(LaunchDescriptionEntity):
    function: Callable[[LaunchContext], Sequence[Any] | None] = field(kw_only=True)


@dataclass
class IncludeLaunchDescription(LaunchDescriptionEntity):
    source: PythonLaunchDescriptionSource
    launch_arguments: Iterable[tuple[str, str | LaunchConfiguration]] = field(
        default=(), kw_only=True
    )


@dataclass
class PythonLaunchDescriptionSource:
    location: str


@dataclass
class LaunchConfiguration:
    name: str


@dataclass
class LogInfo(LaunchDescriptionEntity):
    msg: str = field(kw_only=True)


@dataclass
class Shutdown(LaunchDescriptionEntity):
    reason: str = field(default="", kw_only=True)


@dataclass
class RegisterEventHandler(LaunchDescriptionEntity):
    event_handler: Any


@dataclass(kw_only=True)
class OnProcessStart:
    target_action: Node
    on_start: Any


@dataclass(kw_only=True)
class OnProcessExit:
    target_action: Node
    on_exit: Any


@dataclass(kw_only=True)
class OnShutdown:
    on_shutdown: Any


@dataclass(kw_only=True)
class ProcessExited:
    returncode: int


@dataclass
class ParameterValue:
    value: Any
    value_type: type = field(kw_only=True)


@dataclass(kw_only=True, eq=False)
class Node(LaunchDescriptionEntity):
    package: str
    executable: str
    namespace: str = ""
    output: str = "log"
    parameters: Sequence[Any] = ()
    remappings: Sequence[tuple[str, str]] = ()
    arguments: Sequence[str] = ()
    ros_arguments: Sequence[str] = ()
    additional_env: Mapping[str, str] = field(default_factory=dict)
    on_exit: Any = None

    @property
    def values(self) -> dict[str, Any]:
        """Parameters with their values; later ones override."""
        found: dict[str, Any] = {}
        for part in self.parameters:
            if isinstance(part, str):
                loaded = yaml.safe_load(Path(part).read_text(encoding="utf-8"))
                found.update(loaded.get("/**", {}).get("ros__parameters", {}))
            else:
                found.update({name: _evaluated(value) for name, value in part.items()})
        return found


def _evaluated(value: Any) -> Any:
    if isinstance(value, ParameterValue):
        assert type(value.value) is value.value_type
        return value.value
    # The real one reads texts as YAML: "1" becomes a number.
    return yaml.safe_load(value) if isinstance(value, str) else value


CLASSES = {
    "launch": (LaunchContext, LaunchDescription, LaunchDescriptionEntity),
    "launch.actions": (
        DeclareLaunchArgument, IncludeLaunchDescription, LogInfo, OpaqueFunction,
        RegisterEventHandler, Shutdown,
    ),
    "launch.event_handlers": (OnProcessExit, OnProcessStart, OnShutdown),
    "launch.launch_description_sources": (PythonLaunchDescriptionSource,),
    "launch.substitutions": (LaunchConfiguration,),
    "launch_ros": (),
    "launch_ros.actions": (Node,),
    "launch_ros.parameter_descriptions": (ParameterValue,),
}  # fmt: skip
_OURS = "hrp_msgs.node.launching"
# Packages that ros2_control.launch.py needs.
CONTROL = (
    "controller_manager", "joint_state_topic_hardware_interface", "joint_state_broadcaster",
    "joint_trajectory_controller", "forward_command_controller",
)  # fmt: skip


@contextmanager
def in_place(packages: Iterable[str] = ()):
    """Replace ``launch`` by the double, with these packages and this one installed."""
    modules = {name: ModuleType(name) for name in CLASSES}
    for name, classes in CLASSES.items():
        for one in classes:
            setattr(modules[name], one.__name__, one)
    index = ModuleType("ament_index_python.packages")
    index.PackageNotFoundError = PackageNotFoundError
    index.get_package_share_directory = lambda name: _share(name, {"hrp_ros", *packages})
    modules["ament_index_python.packages"] = index
    former = {name: sys.modules.get(name) for name in (*modules, _OURS)}
    sys.modules.pop(_OURS, None)
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in former.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def _share(name: str, installed: set[str]) -> str:
    if name not in installed:
        raise PackageNotFoundError(name)
    return str(ROOT)


@contextmanager
def launching():
    """Yield a function that runs a launch file with arguments and installed packages; end all.

    RViz is installed, unless a test lists it in ``without``.
    """
    launched = []

    def run(
        name: str, installed: Iterable[str] = (), without: Iterable[str] = (), **arguments: str
    ) -> Launched:
        with in_place({"rviz2", *installed} - {*without}):
            launched.append(Launched(arguments))
            launched[-1].run(ROOT / "launch" / name)
        return launched[-1]

    run.launched = launched
    yield run
    for one in launched:
        one.shut_down()


class Launched:
    """State of a running launch file.

    Attributes:
        arguments: Declared, by name, those of included files too.
        nodes: Started, in this order.
        logged: Messages that were logged.
        ended: Whether the launch was shut down.
    """

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self.arguments: dict[str, DeclareLaunchArgument] = {}
        self.nodes: list[Node] = []
        self.logged: list[str] = []
        self.ended = False
        self._context = LaunchContext(arguments)
        self._handlers: list[Any] = []

    def run(self, path: Path) -> None:
        """Run a launch file; an exception ends it, as in ``launch``."""
        self._visit(loaded(path).generate_launch_description())

    def node(self, executable: str) -> Node:
        """Return the only node of an executable."""
        (found,) = (node for node in self.nodes if node.executable == executable)
        return found

    def exit(self, node: Node, returncode: int) -> None:
        """End the process of a node."""
        for handler in self._handlers:
            if isinstance(handler, OnProcessExit) and handler.target_action is node:
                self._act(handler.on_exit, ProcessExited(returncode=returncode))
        if node.on_exit is not None:
            self._visit(node.on_exit)

    def shut_down(self) -> None:
        """End the launch."""
        self.ended = True
        for handler in self._handlers:
            if isinstance(handler, OnShutdown):
                self._act(handler.on_shutdown, None)

    def _visit(self, entity: Any) -> None:
        match entity:
            case LaunchDescription():
                self._visit_all(entity.entities)
            case DeclareLaunchArgument():
                self._declare(entity)
            case OpaqueFunction():
                self._visit_all(entity.function(self._context))
            case IncludeLaunchDescription():
                for name, value in entity.launch_arguments:
                    self._set(name, value)
                self._visit(loaded(Path(entity.source.location)).generate_launch_description())
            case LogInfo():
                self.logged.append(entity.msg)
            case RegisterEventHandler():
                self._handlers.append(entity.event_handler)
            case Node():
                self._start(entity)
            case Shutdown():
                self.shut_down()
            case _:
                raise TypeError(f"{entity!r} is nothing to launch")

    def _visit_all(self, entities: Iterable[Any] | None) -> None:
        for entity in entities or ():
            self._visit(entity)

    def _set(self, name: str, value: str | LaunchConfiguration) -> None:
        known = self._context.launch_configurations
        is_text = isinstance(value, str)
        known[name] = value if is_text else known[value.name]

    def _declare(self, argument: DeclareLaunchArgument) -> None:
        self.arguments.setdefault(argument.name, argument)  # as ``--show-args`` shows them
        known = self._context.launch_configurations
        value = known.setdefault(argument.name, argument.default_value)
        if argument.choices and value not in argument.choices:
            raise RuntimeError(f"{argument.name} is one of {argument.choices}, not '{value}'")

    def _start(self, node: Node) -> None:
        self.nodes.append(node)
        for handler in list(self._handlers):
            if isinstance(handler, OnProcessStart) and handler.target_action is node:
                self._act(handler.on_start, None)

    def _act(self, action: Any, event: Any) -> None:
        self._visit_all(action(event, self._context) if callable(action) else action)
