"""Shared parts of the launch files: arguments for node parameters, and generated files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch import LaunchContext, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnShutdown
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from .parameters import Param, Value, nearest_parameter
from .start import fastdds_environment

_FLAGS = {"true": True, "1": True, "false": False, "0": False}
FLAG_DOC = "'true' or 'false'."
_KINDS = {int: "an integer", float: "a number"}
_CLOCK = "/clock"
RVIZ = "rviz2"
# Minimum similarity of an unknown argument and a known one for a typo.
_LIKENESS = 0.75


def share() -> Path:
    """Return the share folder of the package."""
    return Path(get_package_share_directory("hrp_ros"))


class MissingPackagesError(RuntimeError):
    """Packages required by a launch file are not installed."""


def missing_packages(packages: Iterable[str]) -> list[str]:
    """Return the ROS packages that are not installed."""
    return [package for package in packages if not _is_installed(package)]


def require_packages(packages: Iterable[str], purpose: str) -> None:
    """Check that all packages are installed; to be called before the first node is started.

    A later exception would end the launch, but leave the nodes running.

    Args:
        packages: Names of the packages.
        purpose: What needs them, for the message.

    Raises:
        MissingPackagesError: Some are not installed; the message names all of them.
    """
    if missing := missing_packages(packages):
        names = ", ".join(missing)
        raise MissingPackagesError(
            f"{purpose} needs packages that are not installed: {names}; {_remedy(missing)}"
        )


def skipped_part(part: str, package: str) -> LaunchDescriptionEntity | None:
    """Return a warning that an optional part is skipped; None if its package is installed."""
    if not (missing := missing_packages([package])):
        return None
    reason = f"the package {package} is not installed"
    return LogInfo(msg=f"warning: starting without {part}: {reason}; {_remedy(missing)}")


def _is_installed(package: str) -> bool:
    try:
        get_package_share_directory(package)
    except PackageNotFoundError:
        return False
    return True


def _remedy(missing: Iterable[str]) -> str:
    distro = os.environ.get("ROS_DISTRO", "$ROS_DISTRO")
    debs = " ".join(f"ros-{distro}-{package.replace('_', '-')}" for package in missing)
    return f"install with: sudo apt install {debs}"


@dataclass(frozen=True)
class Argument:
    """An argument of a launch file itself."""

    name: str
    default: str
    doc: str


# Arguments of every launch file.
COMMON = (
    Argument("namespace", "", "Namespace of all topics and services, such as 'left'."),
    Argument(
        "frame_prefix",
        "auto",
        "Prefix of all TF frame names, such as 'left/'; 'auto' = the namespace, so that several "
        "robots have separate frames.",
    ),
    Argument(
        "params_file",
        "",
        "YAML file with parameters of the nodes. Explicit arguments override its parameters "
        "under '/**'.",
    ),
    Argument("log_level", "info", "'debug', 'info', 'warn', 'error' or LOGGER:=LEVEL."),
    Argument("rviz", "true", f"Start RViz, if rviz2 is installed. {FLAG_DOC}"),
    Argument("rviz_config", "", "RViz configuration file; empty = generate one."),
)
# Of the launch files that show robots.
VIEW = Argument(
    "view", "false", f"Start view_node, which shows robots and sensors in a browser. {FLAG_DOC}"
)
REMAPPINGS = Argument(
    "remappings", "", "Other names of topics and services, such as 'scan:=base_scan odom:=/odom'."
)
CLOCK = Argument(
    "clock_topic", _CLOCK, "Topic of the clock, if another simulator publishes /clock."
)


class Arguments:
    """The arguments of a launch file: its own, and the parameters of a node.

    Args:
        own: Its own arguments; one with the name of a parameter replaces it.
        params: Parameters of the node.
        defaults: Defaults of parameters that differ from those of the node.
        left_out: Names of parameters that are not arguments.
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
        """Return the actions that declare the arguments, to be followed by those that use them."""
        declared = [_declared(a.name, a.default, a.doc) for a in self._own]
        for p in self._params.values():
            default = self._defaults.get(p.name, _text(p.default))
            declared.append(_declared(p.name, default, documentation(p), p.choices))
        first, last = self._check_given, self._apply_file
        return [OpaqueFunction(function=first), *declared, OpaqueFunction(function=last)]

    def values(self, context: LaunchContext) -> dict[str, str]:
        """Return the values of the arguments by name, with the resolved frame prefix."""
        names = (*(argument.name for argument in self._own), *self._params)
        values = {name: str(context.launch_configurations[name]) for name in names}
        return {**values, "frame_prefix": resolved_frame_prefix(values)}

    def parameters(
        self, values: Mapping[str, str], always: Mapping[str, object]
    ) -> list[str | dict[str, object]]:
        """Return the parameters of a node for ``Node(parameters=...)``; later ones override.

        Args:
            values: Values of the arguments.
            always: Parameters set by the launch file itself.

        Raises:
            ValueError: An argument is not a valid value of its parameter.
        """
        typed = {name: typed_value(p, values[name]) for name, p in self._params.items()}
        changed = {n: v for n, v in typed.items() if n in self._defaults and n not in self._given}
        given = {name: value for name, value in typed.items() if name in self._given}
        file: list[str | dict[str, object]] = [values["params_file"]]
        parts = [_for_launch(changed), *file, _for_launch({**given, **always})]
        return [part for part in parts if part]

    def _check_given(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """Record which arguments were given, before defaults are set.

        Returns:
            Warnings about probable typos, which launch ignores. Other unknown names may be
            arguments of including launch files.
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

    def _apply_file(self, context: LaunchContext) -> None:
        """Set arguments that were not given to the values of the parameter file."""
        configurations = context.launch_configurations
        if (path := configurations["params_file"]) and not Path(path).is_file():
            raise ValueError(f"params_file: there is no file '{path}'")
        for name, value in _shared_parameters(configurations["params_file"]).items():
            if name in self._in_file and name not in self._given:
                configurations[name] = _text(value)


def documentation(param: Param) -> str:
    """Return the description of a parameter for ``--show-args``."""
    if isinstance(param.default, bool):
        return f"{param.doc} {FLAG_DOC}"
    return f"{param.doc} One of {param.alternatives}." if param.choices else param.doc


def typed_value(param: Param, text: str) -> Value:
    """Return the value of a parameter from the text of a launch argument.

    Raises:
        ValueError: The text is not a valid value.
    """
    kind = type(param.default)
    value: Value = text
    if kind is bool:
        value = flag(param.name, text)
    elif kind is not str:
        try:
            value = kind(text)
        except ValueError:
            raise ValueError(f"{param.name} must be {_KINDS[kind]}, not '{text}'") from None
    if objection := param.objection(value):
        raise ValueError(objection)
    return value


def flag(name: str, text: str) -> bool:
    """Return the value of a boolean argument.

    Raises:
        ValueError: The text is neither true nor false.
    """
    if text.lower() not in _FLAGS:
        raise ValueError(f"{name} must be true or false, not '{text}'")
    return _FLAGS[text.lower()]


def remapped(text: str) -> list[tuple[str, str]]:
    """Return the remappings of a text "FROM:=TO FROM:=TO".

    Raises:
        ValueError: A part is none.
    """
    found = [(part, *part.split(":=")) for part in text.split()]
    for part, *sides in found:
        if len(sides) != 2 or not all(sides):
            raise ValueError(f"remappings: '{part}' must be FROM:=TO, such as scan:=base_scan")
    return [(source, target) for _, source, target in found]


class LaunchFiles:
    """Temporary folder for files generated at launch, removed when the launch ends."""

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
        """Return the action that removes the folder at the end."""
        return RegisterEventHandler(OnShutdown(on_shutdown=self._remove))

    def _remove(self, *_: object) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def node(
    values: Mapping[str, str],
    *,
    package: str,
    executable: str,
    remappings: Iterable[tuple[str, str]] = (),
    **options: object,
) -> Node:
    """Return a node with the namespace, clock topic and log level of the arguments."""
    clock = values.get("clock_topic", _CLOCK)
    options.setdefault("namespace", values["namespace"])
    return Node(
        package=package,
        executable=executable,
        output="screen",
        remappings=[*remappings, *([(_CLOCK, clock)] * (clock != _CLOCK))],
        ros_arguments=["--log-level", values["log_level"]],
        additional_env=fastdds_environment(share() / "config"),
        **options,
    )


def rviz(values: Mapping[str, str], config: str, *, use_sim_time: bool) -> Node:
    """Return RViz with the configuration of the arguments, or else with this one."""
    return node(
        values,
        package=RVIZ,
        executable="rviz2",
        namespace="",
        arguments=["-d", values["rviz_config"] or config],
        parameters=[{"use_sim_time": use_sim_time}],
    )


def browser(values: Mapping[str, str]) -> list[Node]:
    """Return view_node if the arguments ask for it."""
    if not flag("view", values["view"]):
        return []
    return [node(values, package="hrp_ros", executable="view_node", namespace="")]


def resolved_frame_prefix(values: Mapping[str, str]) -> str:
    """Return the frame prefix of the arguments, where 'auto' is derived from the namespace."""
    if values["frame_prefix"] != "auto":
        return values["frame_prefix"]
    namespace = values["namespace"].strip("/")
    return f"{namespace}/" if namespace else ""


def _declared(
    name: str, default: str, doc: str, choices: tuple[str, ...] = ()
) -> LaunchDescriptionEntity:
    some = {"choices": list(choices)} if choices else {}
    return DeclareLaunchArgument(name, default_value=default, description=doc, **some)


def _shared_parameters(path: str) -> dict[str, object]:
    """Return the parameters for all nodes from a file; errors are left to the node."""
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8")) if path else {}
        return dict(content["/**"]["ros__parameters"])
    except (OSError, ValueError, LookupError, TypeError, yaml.YAMLError):
        return {}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _for_launch(values: Mapping[str, object]) -> dict[str, object]:
    """Return values for launch, which would parse plain strings as YAML."""
    return {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in values.items()
    }
