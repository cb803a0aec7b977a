"""Read values, noise and contact properties of SDF, also in <gazebo> blocks of URDF.

Values are text of elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from math import inf, isfinite, isnan, nan, radians

import numpy as np

from ..body import link_pair
from ..devices import NO_NOISE, AxisNoise, VectorNoise
from ..diagnostics import Diagnostics, Span, number_text, out_of_range
from ..geometry import Surface, SurfaceRule
from ..read_context import ReadContext
from ..rigid import Array, Pose, quaternion_matrix, rpy_matrix, unit_vector
from .xml_tree import NUMBER, Element

_TRUE = ("1", "true")
_FALSE = ("0", "false", "")
_GAUSSIAN = "gaussian"
_QUANTIZED = "gaussian_quantized"
_AXES = ("x", "y", "z")
# Why elements are not used; others are not simulated.
_REASONS = {
    "max_contacts": "the setting max_contacts of the world applies",
    "maxContacts": "the setting max_contacts of the world applies",
    "min_depth": "the setting surface_layer of the world applies",
    "minDepth": "the setting surface_layer of the world applies",
    "max_vel": "the setting max_correcting_velocity of the world applies",
    "maxVel": "the setting max_correcting_velocity of the world applies",
    "material": "colours are those of the robot's own materials",
}
_FRICTION, _CONTACT, _BOUNCE = ("friction", "ode"), ("contact", "ode"), ("bounce",)
# Elements of a <surface> by their path, of which all others are not used.
_USED = {
    (): {"friction", "contact", "bounce"},
    ("friction",): {"ode"},
    ("contact",): {"ode"},
    _FRICTION: {"mu", "mu2", "fdir1"},
    _CONTACT: {"kp", "kd"},
    _BOUNCE: {"restitution_coefficient", "threshold"},
}
_RANGES = {
    "friction": 1e6,
    "friction_across": 1e6,
    "stiffness": 1e20,
    "damping": 1e20,
    "restitution": 1.0,
    "bounce_speed": 1e20,
}
_DEFAULT_FRICTION, _DEFAULT_DAMPING = 1.0, 1.0  # of what SDF does not state


class SdfReader:
    """Reads values inside an element.

    Args:
        element: The element.
        diagnostics: Receives problems.
        lenient: Whether an invalid or empty value is ignored with a warning. Otherwise an
            invalid one is an error, and an empty one the default, as in SDF.
    """

    def __init__(
        self, element: Element, diagnostics: Diagnostics, *, lenient: bool = False
    ) -> None:
        self.element = element
        self._diagnostics = diagnostics
        self._lenient = lenient

    def inside(self, *path: str) -> SdfReader | None:
        """Return a reader of the element at a path of tags; None if it does not exist."""
        element: Element | None = self.element
        for tag in path:
            element = element.first(tag) if element is not None else None
        if element is None:
            return None
        return SdfReader(element, self._diagnostics, lenient=self._lenient)

    def of(self, element: Element) -> SdfReader:
        """Return a reader of another element of the same file."""
        return SdfReader(element, self._diagnostics, lenient=self._lenient)

    def text(self, *path: str) -> str:
        """Return the text at a path, or ""."""
        found = self.inside(*path)
        return "" if found is None else found.element.text

    def flag(self, *path: str) -> bool:
        """Return whether a boolean is present and true."""
        found = self.inside(*path)
        return found is not None and found._is_true("", found.element.text)

    def choice(self, *path: str) -> bool | None:
        """Return a boolean, or None if it is not present."""
        return None if self.inside(*path) is None else self.flag(*path)

    def number(self, *path: str, default: float, allow_infinite: bool = False) -> float:
        """Return a number; infinity only with ``allow_infinite``."""
        found = self._written(*path)
        if found is None:
            return default
        values = found._numbers(1)
        if values and (allow_infinite or isfinite(values[0])):
            return values[0]
        found._refuse("a number")
        return default

    def non_negative(self, *path: str, default: float = 0.0) -> float:
        """Return a number that is not below 0."""
        value = self.number(*path, default=default)
        return value if value >= 0.0 else self._refused(path, "a number from 0", default)

    def positive(self, *path: str, default: float) -> float:
        """Return a number above 0."""
        value = self.number(*path, default=default)
        return value if value > 0.0 else self._refused(path, "a number above 0", default)

    def positive_integer(self, *path: str, default: int) -> int:
        """Return a positive whole number."""
        value = self.number(*path, default=float(default))
        if 1.0 <= value < 2.0**31:
            return int(value)
        return int(self._refused(path, "a positive whole number", default))

    def pose(self, *path: str, link: str) -> Pose:
        """Return a pose in a link; the identity if there is none."""
        pose, frame = self.framed_pose(*path)
        if frame in ("", link):
            return pose
        found = self.inside(*path)
        assert found is not None
        found._report("<pose> must be in the frame of the link")
        return Pose()

    def framed_pose(self, *path: str) -> tuple[Pose, str]:
        """Return a pose, and the frame that it is relative to; "" for the default."""
        found = self.inside(*path)
        if found is None:
            return Pose(), ""
        attributes = found.element.attributes
        # "frame" is the attribute of SDF 1.6 and before.
        frame = attributes.get("relative_to", "") or attributes.get("frame", "")
        if not found.element.text:
            return Pose(), frame
        rotation_format = attributes.get("rotation_format", "euler_rpy")
        if rotation_format not in ("euler_rpy", "quat_xyzw"):
            needed = "rotation_format must be euler_rpy or quat_xyzw"
            found._report(f"{needed}, not '{rotation_format}'")
            return Pose(), frame
        is_quaternion = rotation_format == "quat_xyzw"
        values = found._numbers(7 if is_quaternion else 6)
        if not values or not all(map(isfinite, values)):
            found._refuse("seven numbers" if is_quaternion else "six numbers")
            return Pose(), frame
        p, rotation = np.array(values[:3]), values[3:]
        if is_quaternion:
            return Pose(quaternion_matrix(rotation), p), frame
        if found._is_true("degrees", attributes.get("degrees", "")):
            rotation = list(map(radians, rotation))
        return Pose(rpy_matrix(*rotation), p), frame

    def vector(self, *path: str, default: Array, count: int = 3) -> Array:
        """Return finite numbers, shape (count,)."""
        found = self._written(*path)
        if found is None:
            return default
        values = found._numbers(count)
        if values and all(map(isfinite, values)):
            return np.array(values)
        found._refuse(f"{count} numbers")
        return default

    def warn(self, code: str, message: str) -> None:
        """Warn about this element."""
        self._diagnostics.warn(code, message, self.element.span)

    def note(self, code: str, message: str) -> None:
        """Report a note about this element."""
        self._diagnostics.note(code, message, self.element.span)

    def _written(self, *path: str) -> SdfReader | None:
        """Return a reader of the element at a path; None if its value is the default."""
        found = self.inside(*path)
        is_default = found is None or not (found.element.text or self._lenient)
        return None if is_default else found

    def _numbers(self, count: int) -> list[float]:
        words = self.element.text.split()
        if len(words) != count or not all(map(NUMBER.fullmatch, words)):
            return []
        values = list(map(float, words))
        return [] if any(map(isnan, values)) else values

    def _is_true(self, attribute: str, text: str) -> bool:
        """Return whether a boolean is true: the text of the element, or of an attribute."""
        if text.lower() not in (*_TRUE, *_FALSE):
            name = attribute or f"<{self.element.tag}>"
            self._report(f"{name} must be true or false, not '{text}'")
        return text.lower() in _TRUE

    def _refused(self, path: tuple[str, ...], needed: str, default: float) -> float:
        """Refuse the value at a path, and return the default."""
        found = self.inside(*path)
        if found is not None:
            found._refuse(needed)
        return default

    def _refuse(self, needed: str) -> None:
        self._report(f"<{self.element.tag}> must be {needed}, not '{self.element.text}'")

    def _report(self, message: str) -> None:
        if self._lenient:
            self.warn("not-used", f"{message}; it is ignored")
        else:
            self._diagnostics.error("wrong-value", message, self.element.span)


def axis_noise(noise: SdfReader | None) -> AxisNoise:
    """Return the errors that a <noise> states; its type is an attribute or an element.

    The bias is drawn once for a run, and its slow variation is added to it.
    """
    if noise is None or not _is_gaussian(noise):
        return AxisNoise()
    walk = noise.non_negative("dynamic_bias_stddev")
    time = noise.non_negative("dynamic_bias_correlation_time")
    is_drifting = walk > 0.0 and time > 0.0
    if (walk > 0.0 or time > 0.0) and not is_drifting:
        message = "a dynamic bias needs a dynamic_bias_stddev and a dynamic_bias_correlation_time"
        noise.warn("not-used", f"{message} above 0; it is ignored")
    precision = noise.non_negative("precision")
    is_quantized = _kind(noise) == _QUANTIZED
    if precision > 0.0 and not is_quantized:
        noise.warn("not-used", f"<precision> needs the noise type {_QUANTIZED}; it is ignored")
    return AxisNoise(
        mean=noise.number("mean", default=0.0) + noise.number("bias_mean", default=0.0),
        mean_stdev=noise.non_negative("bias_stddev"),
        stdev=noise.non_negative("stddev"),
        walk=walk if is_drifting else 0.0,
        correlation_time=time if is_drifting else inf,
        precision=precision if is_quantized else 0.0,
    )


def steady_noise(noise: SdfReader | None) -> AxisNoise:
    """Return the errors of a sensor whose readings neither drift nor are rounded."""
    errors = axis_noise(noise)
    if noise is not None and (errors.walk > 0.0 or errors.precision > 0.0):
        message = "the drift and the precision of this sensor are not simulated, only the rest"
        noise.warn("not-used", f"{message} of its noise")
    return errors


def vector_noise(vector: SdfReader | None) -> VectorNoise:
    """Return the errors of the elements <x>, <y> and <z>, each with a <noise>."""
    if vector is None:
        return NO_NOISE
    x, y, z = (axis_noise(vector.inside(axis, "noise")) for axis in _AXES)
    return x, y, z


def same_noise(noise: SdfReader, part: str) -> VectorNoise:
    """Return the errors of all axes, of a <noise> as in SDF 1.4, with a <rate> and an <accel>."""
    values = noise.inside(part)
    if values is None or not _is_gaussian(noise):
        return NO_NOISE
    errors = AxisNoise(
        mean=values.number("mean", default=0.0) + values.number("bias_mean", default=0.0),
        mean_stdev=values.non_negative("bias_stddev"),
        stdev=values.non_negative("stddev"),
    )
    return errors, errors, errors


def _kind(noise: SdfReader) -> str:
    return noise.text("type") or noise.element.attributes.get("type", _GAUSSIAN)


def _is_gaussian(noise: SdfReader) -> bool:
    kind = _kind(noise)
    if kind not in ("none", _GAUSSIAN, _QUANTIZED):
        message = f"noise of type '{kind}' is not simulated, only {_GAUSSIAN} and {_QUANTIZED}"
        noise.warn("not-used", message)
    return kind in (_GAUSSIAN, _QUANTIZED)


class UnusedElements:
    """Reports elements without effect, each kind once in a file."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._reported: set[str] = set()

    def add(self, element: Element) -> None:
        """Report an element, unless one of its kind has been reported."""
        if element.tag in self._reported:
            return
        self._reported.add(element.tag)
        reason = _REASONS.get(element.tag, "the simulation has no such property")
        self._diagnostics.note("not-used", f"<{element.tag}> is not used: {reason}", element.span)

    def add_all(self, element: Element, *tags: str) -> None:
        """Report the children of an element that have these tags."""
        for child in element.all(*tags):
            self.add(child)

    def add_others(self, element: Element, used: set[str]) -> None:
        """Report the children of an element whose tags are not used."""
        for child in element.children:
            if child.tag not in used:
                self.add(child)


def read_surface(surface: SdfReader, unused: UnusedElements) -> Surface:
    """Return a ``<surface>``, its direction of friction in the frame of the collision."""
    for path, used in _USED.items():
        part = surface.inside(*path)
        if part is not None:
            unused.add_others(part.element, used)
    return surface_of(
        surface,
        friction=(*_FRICTION, "mu"),
        friction_across=(*_FRICTION, "mu2"),
        direction=(*_FRICTION, "fdir1"),
        stiffness=(*_CONTACT, "kp"),
        damping=(*_CONTACT, "kd"),
        restitution=(*_BOUNCE, "restitution_coefficient"),
        bounce_speed=(*_BOUNCE, "threshold"),
    )


def surface_of(reader: SdfReader, **paths: tuple[str, ...]) -> Surface:
    """Return a surface whose properties are at these paths, with the defaults of SDF.

    One coefficient of friction applies in all directions unless a direction is stated.
    """
    stated = {
        name: _amount(reader, name, paths[name]) if name in paths else None for name in _RANGES
    }
    direction = None
    if (found := reader.inside(*paths["direction"])) is not None:
        _warn_of_other_frame(found)
        written = unit_vector(reader.vector(*paths["direction"], default=np.zeros(3)))
        direction = None if written is None else _numbers(written)
    friction, across = stated["friction"], stated["friction_across"]
    if friction is not None or across is not None:
        other = None if direction is None else _DEFAULT_FRICTION
        friction, across = (
            _first(friction, other, across),
            _first(across, other, friction),
        )
    return Surface(
        rule=SurfaceRule.GAZEBO,
        friction=friction,
        friction_across=across,
        direction=direction,
        stiffness=stated["stiffness"] or None,
        damping=_first(stated["damping"], _DEFAULT_DAMPING) or 0.0,
        restitution=stated["restitution"],
        bounce_speed=stated["bounce_speed"] or 0.0,
    )


def _warn_of_other_frame(direction: SdfReader) -> None:
    """Warn of a direction of friction in a frame that does not turn with the link."""
    for key, frame in direction.element.attributes.items():
        if key.rpartition(":")[2] == "expressed_in":
            message = f"'{key}' is not used: the direction turns with the link, not with '{frame}'"
            direction.warn("not-used", message)


def turned(surface: Surface | None, R_LC: Array) -> Surface | None:
    """Return a surface whose direction was in C, with the direction in L; None declares nothing."""
    if surface is None or (surface.friction, surface.stiffness, surface.restitution) == (None,) * 3:
        return None
    if surface.direction is None:
        return surface
    return replace(surface, direction=_numbers(R_LC @ np.array(surface.direction)))


def never_colliding(
    choices: Mapping[str, bool | None], of_model: bool | None, context: ReadContext, at: Span | None
) -> frozenset[frozenset[str]]:
    """Return the pairs of links of a model that do not collide: neither may by ``self_collide``.

    Args:
        choices: The value of each link; None if it has none of its own.
        of_model: That of the model, which links without a value have; None permits collisions.
        context: Counts the pairs.
        at: Place of the model.
    """
    names = [x for x, own in choices.items() if (of_model if own is None else own) is False]
    context.count("pairs of links that never collide", len(names) * (len(names) - 1) // 2, at)
    return frozenset(link_pair(a, b) for a, b in combinations(names, 2))


def _amount(reader: SdfReader, name: str, path: tuple[str, ...]) -> float | None:
    """Return a number within its range, or None if there is none."""
    found = reader.inside(*path)
    value = reader.number(*path, default=nan, allow_infinite=True)
    if found is None or isnan(value):
        return None
    clipped = min(max(value, 0.0), _RANGES[name])
    if clipped != value:
        problem = out_of_range(value, 0.0, _RANGES[name])
        message = f"<{path[-1]}> {problem}; {number_text(clipped)} is used"
        found.warn("surface-out-of-range", message)
    return clipped


def _numbers(vector: Array) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
