"""What the launch files share: arguments of the nodes' parameters, files made at launch."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch import LaunchContext, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnShutdown
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from .dds_settings import fastdds_environment
from .parameters import Param, nearest_parameter

_FLAGS = {"true": True, "1": True, "false": False, "0": False}
FLAG_DOC = "'true' or 'false'."
_KINDS = {int: "a whole number", float: "a number"}
_CLOCK = "/clock"
RVIZ = "rviz2"
# Of an unknown argument to a known one, from which on it is taken for a slip of the keyboard.
_LIKENESS = 0.75


def share() -> Path:
    """Return where the launch files and all that belongs to them is installed."""
    return Path(get_package_share_directory("hrp_ros"))


class MissingPackagesError(RuntimeError):
    """Packages are not installed without which a launch file is of no use."""


def missing_packages(packages: Iterable[str]) -> list[str]:
    """Return those of some ROS packages that are not installed."""
    return [package for package in packages if not _is_installed(package)]


def require_packages(packages: Iterable[str], purpose: str) -> None:
    """Check that all packages are installed; to be called before the first node is started.

    An exception that comes later ends the launch, and leaves the nodes running.

    Args:
        packages: Their names.
        purpose: What needs them.

    Raises:
        MissingPackagesError: Some are not; the message names all of these.
    """
    if missing := missing_packages(packages):
        names = ", ".join(missing)
        raise MissingPackagesError(
            f"{purpose} needs packages that are not installed: {names}; {_advice(missing)}"
        )


def skipped(thing: str, package: str) -> LaunchDescriptionEntity | None:
    """Return a warning that an optional part is left out; None if its package is installed."""
    if not (missing := missing_packages([package])):
        return None
    reason = f"the package {package} is not installed"
    return LogInfo(msg=f"warning: starting without {thing}: {reason}; {_advice(missing)}")


def _is_installed(package: str) -> bool:
    try:
        get_package_share_directory(package)
    except PackageNotFoundError:
        return False
    return True


def _advice(missing: Iterable[str]) -> str:
    distro = os.environ.get("ROS_DISTRO", "$ROS_DISTRO")
    debs = " ".join(f"ros-{distro}-{package.replace('_', '-')}" for package in missing)
    return f"install with: sudo apt install {debs}"


@dataclass(frozen=True)
class Argument:
    """An argument of a launch file itself."""

    name: str
    default: str
    doc: str


# Of every launch file. RViz has one of its own, as what it shows differs.
COMMON = (
    Argument("namespace", "", "Put before every topic and service, as 'left'."),
    Argument(
        "frame_prefix",
        "auto",
        "Put before every TF frame name, as 'left/'; 'auto' = the namespace, so that several "
        "robots have frames of their own.",
    ),
    Argument(
        "params_file",
        "",
        "YAML file with parameters of the nodes. Arguments that are given come before those that "
        "it has below '/**'.",
    ),
    Argument(
        "log_level", "info", "What is told: 'debug', 'info', 'warn', 'error' or LOGGER:=LEVEL."
    ),
    Argument("rviz", "true", f"Whether to start RViz, if rviz2 is installed. {FLAG_DOC}"),
    Argument("rviz_config", "", "RViz configuration file; empty = one that fits is made."),
)
CLOCK = Argument(
    "clock_topic", _CLOCK, "Another topic for the clock, where another simulator has /clock."
)


class Arguments:
    """The arguments of a launch file: its own, and the parameters of a node.

    Args:
        own: Its own. One that has the name of a parameter takes its place.
        params: The parameters.
        defaults: Of parameters, where those of the node do not fit.
        left_out: Names of the parameters that are no arguments.
    """

    def __init__(
        self,
        own: Iterable[Argument],
        params: Iterable[Param],
        *,
        defaults: Mapping[str, str],
        left_out: Iterable[str] = (),
    ) -> None:
        self._own = tuple(own)
        self._defaults = dict(defaults)
        own_names = {argument.name for argument in self._own}
        shown = {p.name: p for p in params if p.name not in left_out}
        self._in_file = frozenset(shown)
        self._params = {name: p for name, p in shown.items() if name not in own_names}
        self._given: frozenset[str] = frozenset()

    def declared(self) -> list[LaunchDescriptionEntity]:
        """Return the actions that declare the arguments; what needs their values comes behind."""
        made = [_declared(a.name, a.default, a.doc) for a in self._own]
        for p in self._params.values():
            default = self._defaults.get(p.name, _text(p.default))
            made.append(_declared(p.name, default, documentation(p), p.choices))
        first, last = self._look, self._look_into_file
        return [OpaqueFunction(function=first), *made, OpaqueFunction(function=last)]

    def values(self, context: LaunchContext) -> dict[str, str]:
        """Return what the arguments are, by name; the prefix of frames is no longer 'auto'."""
        names = (*(argument.name for argument in self._own), *self._params)
        values = {name: str(context.launch_configurations[name]) for name in names}
        return {**values, "frame_prefix": prefix_of(values)}

    def parameters(self, values: Mapping[str, str], always: Mapping[str, Any]) -> list[Any]:
        """Return what a node gets, for ``Node(parameters=...)``: later ones win.

        Args:
            values: Of the arguments.
            always: Parameters that this launch file is about.

        Raises:
            ValueError: An argument is no value of its parameter.
        """
        typed = {name: typed_value(p, values[name]) for name, p in self._params.items()}
        changed = {n: v for n, v in typed.items() if n in self._defaults and n not in self._given}
        given = {name: value for name, value in typed.items() if name in self._given}
        file = [values["params_file"]] if values["params_file"] else []
        return [x for x in (_for_launch(changed), *file, _for_launch({**given, **always})) if x]

    def _look(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """Remember which arguments somebody gave: this is before they get their defaults.

        Returns:
            Warnings about names that are nearly right, which launch ignores. Other unknown names
            are those of launch files that include this one.
        """
        self._given = frozenset(context.launch_configurations)
        known = [*(argument.name for argument in self._own), *self._params]
        left = [name for name in known if name not in self._given]
        unknown = sorted(self._given.difference(known))
        return [
            LogInfo(msg=f"warning: there is no argument '{name}'. Did you mean '{near}'?")
            for name in unknown
            if (near := nearest_parameter(name, left, _LIKENESS))
        ]

    def _look_into_file(self, context: LaunchContext) -> None:
        """Let arguments that nobody gave be what the node will have by the file."""
        known = context.launch_configurations
        if (path := known["params_file"]) and not Path(path).is_file():
            raise ValueError(f"params_file: there is no file '{path}'")
        for name, value in _shared_parameters(known["params_file"]).items():
            if name in self._in_file and name not in self._given:
                known[name] = _text(value)


def documentation(param: Param) -> str:
    """Return what ``--show-args`` shows of a parameter, besides its default."""
    if isinstance(param.default, bool):
        return f"{param.doc} {FLAG_DOC}"
    return f"{param.doc} One of {param.alternatives}." if param.choices else param.doc


def typed_value(param: Param, text: str) -> Any:
    """Return the value of a parameter that a launch argument says.

    Raises:
        ValueError: It says none.
    """
    kind = type(param.default)
    if kind is str:
        value: Any = text
    elif kind is bool:
        value = flag(param.name, text)
    else:
        try:
            value = kind(text)
        except ValueError:
            raise ValueError(f"{param.name} is {_KINDS[kind]}, not '{text}'") from None
    if objection := param.objection(value):
        raise ValueError(objection)
    return value


def flag(name: str, text: str) -> bool:
    """Return what an argument that is true or false says.

    Raises:
        ValueError: It says neither.
    """
    if text.lower() not in _FLAGS:
        raise ValueError(f"{name} is true or false, not '{text}'")
    return _FLAGS[text.lower()]


class Scratch:
    """A folder for files that are made at launch. It goes when the launch ends."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def write(self, name: str, text: str) -> str:
        """Write a file and return its path."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="hrp_ros_launch_"))
        path = self._folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def removal(self) -> LaunchDescriptionEntity:
        """Return the action that sees to its end."""
        return RegisterEventHandler(OnShutdown(on_shutdown=self._remove))

    def _remove(self, *_: object) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def node(values: Mapping[str, str], *, package: str, executable: str, **options: Any) -> Node:
    """Return a node in the namespace, with the clock and the log level that are asked for."""
    clock = values.get("clock_topic", _CLOCK)
    options.setdefault("namespace", values["namespace"])
    return Node(
        package=package,
        executable=executable,
        output="screen",
        remappings=[*options.pop("remappings", ()), *([(_CLOCK, clock)] * (clock != _CLOCK))],
        ros_arguments=["--log-level", values["log_level"]],
        additional_env=fastdds_environment(share() / "config"),
        **options,
    )


def rviz(values: Mapping[str, str], config: str, *, use_sim_time: bool) -> Node:
    """Return RViz with the configuration that is asked for, or else with this one."""
    return node(
        values,
        package=RVIZ,
        executable="rviz2",
        namespace="",
        arguments=["-d", values["rviz_config"] or config],
        parameters=[{"use_sim_time": use_sim_time}],
    )


def prefix_of(values: Mapping[str, str]) -> str:
    """Return the prefix of frames that the arguments ask for."""
    if values["frame_prefix"] != "auto":
        return values["frame_prefix"]
    namespace = values["namespace"].strip("/")
    return f"{namespace}/" if namespace else ""


def _declared(
    name: str, default: str, doc: str, choices: tuple[str, ...] = ()
) -> LaunchDescriptionEntity:
    some = {"choices": list(choices)} if choices else {}
    return DeclareLaunchArgument(name, default_value=default, description=doc, **some)


def _shared_parameters(path: str) -> dict[str, Any]:
    """Return what a file of parameters, if any, has for all nodes; the node tells what is wrong."""
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8")) if path else {}
        return dict(content["/**"]["ros__parameters"])
    except (OSError, ValueError, LookupError, TypeError, yaml.YAMLError):
        return {}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _for_launch(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as launch takes them: it reads a text as YAML unless it is told not to."""
    return {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in values.items()
    }
