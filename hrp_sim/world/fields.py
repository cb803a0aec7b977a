"""What several parts of a world file share: models, each loaded once; lists, names, rotations."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Mapping as AbstractMapping
from math import pi, radians
from pathlib import Path

from hrp_model import Body, Diagnostics, Link, ModelError, load_body
from hrp_model.body import JointType
from hrp_model.diagnostics import Span, did_you_mean_or_all
from hrp_model.files.model_file import split_model_name
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.readers.yaml.nodes import Mapping, Sequence
from hrp_model.rigid import Array, axis_angle_matrix, rpy_matrix, unit_vector

from .naming import simulated_body


def read_rotation(node: Mapping, default: Array) -> Array:
    """Return the rotation that ``rpy`` or ``rotation`` of a mapping gives, shape (3, 3)."""
    rpy = node.numbers("rpy", count=3, default=None)
    rotation = node.numbers("rotation", count=4, default=None)
    if rpy is not None:
        if rotation is not None:
            message = "give 'rpy' or 'rotation', not both"
            node.diagnostics.error("two-rotations", message, node.at("rotation"))
        _warn_degrees(node, "rpy", rpy)
        return rpy_matrix(*rpy)
    if rotation is None:
        return default
    axis = unit_vector(rotation[:3])
    if axis is None:
        message = "the axis of 'rotation: [x, y, z, angle]' has zero length"
        node.diagnostics.error("zero-axis", message, node.at("rotation"))
        return default
    _warn_degrees(node, "rotation", rotation[3:])
    return axis_angle_matrix(axis, rotation[3])


def _warn_degrees(node: Mapping, key: str, angles: Array) -> None:
    """Warn of a rotation by more than one turn, in [rad]."""
    for angle in angles:
        if abs(angle) > 2.0 * pi:
            turns = abs(angle) / (2.0 * pi)
            message = f"'{key}' has {angle:g} rad, which is {turns:.3g} turns; {_in_radians(angle)}"
            node.diagnostics.warn("maybe-degrees", message, node.at(key))
            return


def position_degrees_hint(link: Link, value: float) -> str:
    """Return a warning for a joint position that was probably meant in degrees, or "".

    Such a position exceeds half a turn and the joint's range, while the same number of degrees
    lies within the range.

    Args:
        link: Child link of the joint.
        value: As written, in [rad] or [m].
    """
    lower, upper = link.joint.position_limits
    if link.joint.type is not JointType.REVOLUTE or lower <= value <= upper:
        return ""
    if abs(value) <= pi or not lower <= radians(value) <= upper:
        return ""
    return (
        f"joint '{link.joint.name}' at {value:g} rad is outside its limits, {lower:.4g} to "
        f"{upper:.4g} rad; {_in_radians(value)}"
    )


def _in_radians(value: float) -> str:
    return f"if degrees were meant: {value:g} degrees are {radians(value):.5g} rad"


def report_unknown(node: Mapping, known: Collection[str], problem: str, code: str) -> None:
    """Report the keys of a mapping that are not known names.

    Args:
        node: The mapping, whose keys are names.
        known: The names that there are.
        problem: Start of the message, such as "the world has no body".
        code: Of the diagnostics.
    """
    for name, (key, _) in node.entries().items():
        if name not in known:
            hint = did_you_mean_or_all(name, known)
            node.diagnostics.error(code, f"{problem} '{name}'.{hint}", key.span)


def mappings(listed: Sequence | None, node: Mapping, problem: str) -> Iterator[Mapping]:
    """Yield the items of a list that are mappings; report others.

    Args:
        listed: The list; None if there is none.
        node: The mapping that has it.
        problem: Message about an item that is none.
    """
    for item in listed.items if listed else ():
        if isinstance(item, Mapping):
            yield item
        else:
            node.diagnostics.error("wrong-type", problem, item.span)


class ModelFiles:
    """The models of a world by file.

    Args:
        diagnostics: Receives all problems of references and models.
    """

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._bodies: dict[tuple[Path, tuple[tuple[str, str], ...]], Body | None] = {}

    def load(
        self, uri: str, folder: Path, at: Span, arguments: AbstractMapping[str, str] | None = None
    ) -> Body | None:
        """Return a model, or None after reporting errors.

        Args:
            uri: Path of the model file, or its ``file://`` or ``package://`` URI. Arguments of a
                xacro file may follow.
            folder: Base of relative paths.
            at: Location of the reference.
            arguments: Further arguments of a xacro file.
        """
        file, own = split_model_name(uri)
        given = {**own, **(arguments or {})}
        try:
            path = resolve(file, folder)
        except ResourceError as error:
            self._diagnostics.error("missing-model", str(error), at)
            return None
        key = path, tuple(sorted(given.items()))
        if key not in self._bodies:
            # Separate diagnostics, so that loading fails only for errors of this model.
            diagnostics = Diagnostics(listener=self._diagnostics.add)
            try:
                body = load_body(path, diagnostics, arguments=given)
                self._bodies[key] = simulated_body(body)
            except ModelError:  # the errors were reported
                self._bodies[key] = None
        return self._bodies[key]
