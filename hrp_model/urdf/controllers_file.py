"""Read a parameter file of ros2_control, and choose the controllers of it that a robot can start.

A controller has its type in the parameters of the controller manager, as NAME.type, or among its
own parameters. Which interfaces it claims follows from the names of parameters that controllers
have in common.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise

from ..diagnostics import Diagnostics, Source, Span, did_you_mean_or_all, listed
from ..late_dataclass import dataclass
from ..readers.yaml.nodes import Mapping as YamlMapping
from ..readers.yaml.nodes import Node, Scalar
from ..readers.yaml.nodes import Sequence as YamlSequence
from ..readers.yaml.tree import parse
from .control_blocks import STATE_INTERFACES
from .topic_hardware import ControlledDescription

MAX_CONTROLLERS = 100
_MANAGER = "controller_manager"
_PARAMETERS = "ros__parameters"
_ALL_NODES = ("*", "**")  # as their names
_CODE = "controllers-file"
# Names of parameters that list joints which are commanded.
_JOINTS = re.compile(
    r"(command_)?joints?|dof_names|\w*(wheels?|joints?)_names|\w+(?<!state)_joint_name"
)
# Interfaces of the joints in parameters with such names, where no parameter states them.
_USUAL = {"left": "velocity", "right": "velocity", "traction": "velocity", "steering": "position"}
_INTERFACES = ("command_interfaces", "command_interface", "interface_name", "interface_names")
# Names of parameters with a sensor, and the beginning of those with one of its interfaces.
_OF_SENSORS = ("sensor_name", "pose_name")
_AXES = "interface_names."
# Names of parameters with a whole interface, such as the speed scaling of trajectories.
_WHOLE = re.compile(r"(\.(state|command)_interface|_interface_name)$")
_VARIABLE = re.compile(r"\$\(var\s+(\w+)\)")
_KEY = re.compile(r"^([^\s#\-%].*?):(?=\s)", re.MULTILINE)
_VISIBLE = re.compile(r"[^\n]")
_MAX_DEPTH = 10
_MAX_LISTED = 5


@dataclass(frozen=True)
class _Value:
    """A text among the parameters of a controller."""

    text: str
    at: Span


@dataclass(frozen=True)
class ListedController:
    """A controller in a file.

    Attributes:
        name: Its name.
        type: Its plugin.
        at: Where its type is.
        parameters: Texts by the full name of their parameter; those of a list in its order.
    """

    name: str
    type: str
    at: Span
    parameters: Mapping[str, tuple[_Value, ...]]

    @property
    def is_broadcaster(self) -> bool:
        """Whether it reads states only."""
        return self.type.endswith("Broadcaster")

    @property
    def states_wishes(self) -> bool:
        """Whether its parameters state what it wants; a JointStateBroadcaster may want all."""
        is_known = any(map(self.parameters.get, (*_OF_SENSORS, "interfaces")))
        return (
            is_known
            or self.type.endswith("/JointStateBroadcaster")
            or any(x.startswith(_AXES) for x in self.parameters)
            or any(self.joints())
        )

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return the texts of parameters."""
        return tuple(value.text for name in names for value in self.parameters.get(name, ()))

    def joints(self) -> Iterator[tuple[_Value, str]]:
        """Yield the joints that it names, each with the command interface, "" if not known."""
        stated = self.texts(*_INTERFACES)
        usual = next((x for x in STATE_INTERFACES if self.type.startswith(x)), "")
        for name, values in self.parameters.items():
            if not _JOINTS.fullmatch(name) or "_state_" in name:
                continue
            of_part = next((kind for part, kind in _USUAL.items() if part in name), "")
            kinds = stated or (usual or of_part,)
            yield from ((value, kind) for value in values for kind in kinds)
        for value in self.parameters.get("interfaces", ()) if not self.is_broadcaster else ():
            joint, _, kind = value.text.rpartition("/")  # of a passthrough controller
            yield _Value(joint, value.at), kind


@dataclass(frozen=True)
class ControllersFile:
    """A parameter file of a controller manager.

    Attributes:
        controllers: Its controllers by name, in the order of the file.
        update_rate: Of the manager, in [Hz].
        has_own_types: Whether a type is among a controller's own parameters, where only the
            spawner finds it.
    """

    controllers: Mapping[str, ListedController]
    update_rate: float
    has_own_types: bool


@dataclass(frozen=True)
class StartOrder:
    """Names of the controllers to start, those that others command before these.

    Attributes:
        active: They become active.
        inactive: They want joints of active ones, and are loaded only.
    """

    active: list[str]
    inactive: list[str]


def with_variables(source: Source, values: Mapping[str, str], diagnostics: Diagnostics) -> Source:
    """Return a text in which each ``$(var NAME)`` is replaced, as launch does with parameter files.

    Args:
        source: The text.
        values: Values of the launch arguments.
        diagnostics: Receives an error for each argument without a value.
    """
    for match in _VARIABLE.finditer(source.text):
        if match[1] not in values:
            message = f"{match[0]} needs {match[1]}:=VALUE, of the launch or of the model"
            diagnostics.error(_CODE, message, Span(source, match.start(), match.end()))
    text = _VARIABLE.sub(lambda match: values.get(match[1], match[0]), source.text)
    return Source(source.name, text, source.path)


def read_controllers_file(
    source: Source, namespace: str, diagnostics: Diagnostics
) -> ControllersFile:
    """Return the controllers in a parameter file.

    Args:
        source: The text.
        namespace: Namespace of the controller manager; "" is the root.
        diagnostics: Receives warnings and errors.
    """
    given: list[tuple[str, dict[str, tuple[_Value, ...]]]] = []
    others: set[str] = set()
    parts = (_sections(parse(x, diagnostics), "", 0) for x in _parts(source))
    for path, node in chain.from_iterable(parts):
        space, _, name = path.rpartition("/")
        if _matches(f"{space}/**" if name == "**" else space, namespace.strip("/")):
            given.append((name, _flat(node, "")))
        else:
            others.add(space or "/")

    def parameters(node: str) -> dict[str, tuple[_Value, ...]]:
        """Return those of a node; later ones override."""
        parts = [part for name, part in given if name in (node, *_ALL_NODES)]
        return dict(chain.from_iterable(part.items() for part in parts))

    listed_types = parameters(_MANAGER)
    sections = {x: parameters(x) for x, _ in given if x not in (_MANAGER, *_ALL_NODES)}
    types = {
        key.removesuffix(".type"): x for key, x in listed_types.items() if key.endswith(".type")
    }
    own = {key: x["type"] for key, x in sections.items() if x.get("type")}
    found = {
        name: ListedController(name, values[0].text, values[0].at, parameters(name))
        for name, values in {**types, **own}.items()
        if values and "." not in name
    }
    if not found and not diagnostics.has_errors:
        message = "the file has no controller with a type"
        if others:
            message += (
                f" for the namespace '/{namespace.strip('/')}', but parameters for "
                f"{listed(sorted(others), _MAX_LISTED)}: set namespace, or write /**/NAME"
            )
        diagnostics.error(_CODE, message, Span(source, 0, 0))
    if len(found) > MAX_CONTROLLERS:
        message = f"{len(found)} controllers are more than {MAX_CONTROLLERS}"
        diagnostics.error("too-large", message, Span(source, 0, 0))
    rate = listed_types.get("update_rate", ())
    return ControllersFile(found, _number(rate, 100.0), bool(own))


def start_order(
    file: ControllersFile,
    robot: ControlledDescription,
    names: Sequence[str],
    diagnostics: Diagnostics,
    is_installed: Callable[[str], bool] = lambda _: True,
) -> StartOrder:
    """Return which controllers to start, and in which order.

    A joint that the robot does not have is an error. A controller that wants something else that
    is not there, or does not state what it wants, is left out with a warning; if it is named, the
    first is an error, and the second is started.

    Args:
        file: The controllers.
        robot: The robot.
        names: The controllers to start; empty for all.
        diagnostics: Receives warnings and errors.
        is_installed: Whether there is a package, by name; those of types are asked for.
    """
    for name in names:
        if name not in file.controllers:
            hint = did_you_mean_or_all(name, file.controllers)
            diagnostics.error(_CODE, f"the file has no controller '{name}'.{hint}")
    chosen = [file.controllers[x] for x in names or file.controllers if x in file.controllers]
    usable: list[ListedController] = []
    for controller in chosen:
        for joint, _ in controller.joints():
            _check_joint(controller, joint, robot, file.controllers, diagnostics)
        missing = list(dict.fromkeys(_missing(controller, robot)))
        package = controller.type.partition("/")[0]
        if missing:
            reason = f"the robot has no {listed(missing, _MAX_LISTED)}"
        elif not is_installed(package):
            reason = f"the package {package} is not installed"
        elif not (names or controller.states_wishes):
            reason = "which interfaces it wants is not stated; controller_names may name it"
        else:
            usable.append(controller)
            continue
        message = f"controller '{controller.name}' is not started: {reason}"
        (diagnostics.error if names else diagnostics.warn)(_CODE, message, controller.at)
    if not usable and not diagnostics.has_errors:
        diagnostics.error(_CODE, "this robot can start no controller of the file")
    return _ordered(usable, file.controllers, is_chosen=bool(names), diagnostics=diagnostics)


def _ordered(
    usable: Iterable[ListedController],
    all_controllers: Collection[str],
    *,
    is_chosen: bool,
    diagnostics: Diagnostics,
) -> StartOrder:
    by_name = {controller.name: controller for controller in usable}
    graph = {
        name: [
            first
            for joint, _ in controller.joints()
            if (first := _commanded(joint.text, all_controllers)) in by_name and first != name
        ]
        for name, controller in by_name.items()
    }
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        diagnostics.error(_CODE, f"controllers command each other in a circle: {circle}")
        return StartOrder([], [])
    active, inactive = list[str](), list[str]()
    taken: set[str] = set()
    for name in order if any(graph.values()) else by_name:
        controller = by_name[name]
        claimed = (
            set() if controller.is_broadcaster else {joint.text for joint, _ in controller.joints()}
        )
        if claimed & taken and not is_chosen:
            inactive.append(name)
        else:
            taken |= claimed
            active.append(name)
    return StartOrder(active, inactive)


def _commanded(joint: str, controllers: Collection[str]) -> str:
    """Return the controller whose reference "CONTROLLER/JOINT" is; "" for a plain joint."""
    first, _, rest = joint.partition("/")
    return first if rest and first in controllers else ""


def _check_joint(
    controller: ListedController,
    joint: _Value,
    robot: ControlledDescription,
    controllers: Collection[str],
    diagnostics: Diagnostics,
) -> None:
    if joint.text in robot.joints or _commanded(joint.text, controllers):
        return
    hint = did_you_mean_or_all(joint.text, robot.joints)
    message = f"controller '{controller.name}': no moving joint is called '{joint.text}'.{hint}"
    diagnostics.error("unknown-joint", message, joint.at)


def _missing(controller: ListedController, robot: ControlledDescription) -> Iterator[str]:
    """Yield what a controller wants of a robot that is not there."""
    yield from (f"gpio '{name}'" for name in controller.texts("gpios"))
    of_sensors = (*_OF_SENSORS, *(x for x in controller.parameters if x.startswith(_AXES)))
    for text in controller.texts(*of_sensors):
        name, _, kind = text.partition("/")
        if name not in robot.states or (kind and kind not in robot.states[name]):
            yield f"interface '{text}' of a sensor" if kind else f"sensor '{name}'"
    for text in controller.texts(*filter(_WHOLE.search, controller.parameters)):
        name, slash, kind = text.rpartition("/")
        if slash and kind not in (*robot.states.get(name, ()), *robot.commands.get(name, ())):
            yield f"interface '{text}'"
    states = controller.texts("interfaces" if controller.is_broadcaster else "state_interfaces")
    for joint, kind in controller.joints():
        name = joint.text
        if name not in robot.joints:  # reported, or the reference of another controller
            continue
        if not controller.is_broadcaster and (
            kind not in robot.commands.get(name, ()) if kind else not robot.commands.get(name)
        ):
            yield f"command interface '{name}/{kind}'" if kind else f"command to '{name}'"
        for state in states:
            if state not in robot.states.get(name, ()):
                yield f"state interface '{name}/{state}'"


def _parts(source: Source) -> Iterator[Source]:
    """Yield a text, in parts if keys at its beginning are repeated, which rcl accepts.

    Each part has blanks in place of the others, so that places are those in the file.
    """
    text = source.text
    keys = list(_KEY.finditer(text))
    if len({key[1] for key in keys}) == len(keys) or len(keys) > MAX_CONTROLLERS:
        yield source
        return
    starts = [0, *(key.start() for key in keys[1:]), len(text)]
    for start, end in pairwise(starts):
        yield Source(source.name, _VISIBLE.sub(" ", text[:start]) + text[start:end], source.path)


def _sections(node: Node | None, path: str, depth: int) -> Iterator[tuple[str, YamlMapping]]:
    """Yield the parameters of each node in a parameter file, with the full name of the node."""
    if not isinstance(node, YamlMapping) or depth > _MAX_DEPTH:
        return
    for key, value in node.items():
        if key.text == _PARAMETERS and isinstance(value, YamlMapping):
            yield path, value
        else:
            yield from _sections(value, f"{path}/{key.text.strip('/')}", depth + 1)


def _matches(pattern: str, namespace: str) -> bool:
    """Return whether the namespace in a parameter file, which may have wildcards, is this one."""
    parts = [p for p in pattern.split("/") if p]
    text = "".join(
        "(?:/[^/]+)*" if part == "**" else "/[^/]+" if part == "*" else f"/{re.escape(part)}"
        for part in parts
    )
    return re.fullmatch(text, f"/{namespace}" if namespace else "") is not None


def _flat(node: YamlMapping, start: str) -> dict[str, tuple[_Value, ...]]:
    """Return the texts of parameters by their full names."""
    found: dict[str, tuple[_Value, ...]] = {}
    for key, value in node.items():
        name = f"{start}{key.text}"
        if isinstance(value, YamlMapping):
            found |= _flat(value, f"{name}.")
        elif isinstance(value, YamlSequence):
            items = (x for x in value.items if isinstance(x, Scalar))
            found[name] = tuple(_Value(x.text, x.span) for x in items)
        else:
            found[name] = (_Value(value.text, value.span),)
    return found


def _number(values: Sequence[_Value], default: float) -> float:
    try:
        return float(values[0].text) if values else default
    except ValueError:
        return default
