"""Values of COLLADA: numbers, parameters and transforms, converted to SI units."""

from __future__ import annotations

from math import inf, isfinite, radians

import numpy as np

from ...diagnostics import Diagnostics
from ...rigid import IDENTITY_4, Array, Pose, axis_angle_matrix, is_rotation, unit_vector
from ..xml_tree import NUMBER, Element
from .references import References

_TRANSFORMS = {"translate": 3, "rotate": 4, "scale": 3, "matrix": 16}
_UNSUPPORTED = ("lookat", "skew")
_TOLERANCE = 1e-3  # of the elements of rotation matrices, which may have few digits


class Values:
    """Reads the values of a document.

    Attributes:
        unit: Length unit of the document, in [m].
    """

    def __init__(self, root: Element, references: References, diagnostics: Diagnostics) -> None:
        self._references = references
        self._diagnostics = diagnostics
        asset = root.first("asset")
        written = None if asset is None else asset.first("unit")
        self.unit = self._unit(written)
        for other in references.elements:
            if other.tag == "unit" and other is not written and "meter" in other.attributes:
                message = "this unit is not used: that of the file's <asset> is used everywhere"
                diagnostics.warn("not-used", message, other.at("meter"))

    def numbers(self, element: Element, *counts: int) -> list[float]:
        """Return the finite numbers of an element; none after reporting an error.

        Args:
            element: The element.
            counts: The allowed numbers of numbers.
        """
        words = element.text.split(None, max(counts) + 1)
        if len(words) in counts and all(map(NUMBER.fullmatch, words)):
            numbers = list(map(float, words))
            if all(map(isfinite, numbers)):
                return numbers
        needed = " or ".join(map(str, counts))
        noun = "number" if counts == (1,) else "numbers"
        message = f"<{element.tag}> needs {needed} finite {noun}, not '{element.text[:80]}'"
        self._diagnostics.error("wrong-value", message, element.span)
        return []

    def number(self, element: Element | None, default: float) -> float:
        """Return the number of an element, if it exists: its text, a <float> or a parameter."""
        inner = None if element is None else self._value(element)
        numbers = [] if inner is None else self.numbers(inner, 1)
        return numbers[0] if numbers else default

    def flag(self, element: Element | None, *, default: bool) -> bool:
        """Return the boolean of an element, if it exists: its text, a <bool> or a parameter."""
        if element is None:
            return default
        inner = self._value(element)
        if inner is None:
            return default
        if inner.text.lower() in ("true", "false", "1", "0"):
            return inner.text.lower() in ("true", "1")
        message = f"<{inner.tag}> must be true or false, not '{inner.text[:80]}'"
        self._diagnostics.error("wrong-value", message, inner.span)
        return default

    def transform(self, element: Element, left_out: frozenset[Element] = frozenset()) -> Array:
        """Return the product of the transforms in an element, in [m], shape (4, 4).

        Args:
            element: A node, link, attachment and so on.
            left_out: Transforms that count as identity, as those that joints move.
        """
        T: Array = IDENTITY_4
        for child in element.children:
            if child in left_out:
                continue
            if child.tag in _TRANSFORMS:
                T = T @ self._one_transform(child)
            elif child.tag in _UNSUPPORTED:
                message = f"<{child.tag}> is left out: write <translate>, <rotate> or <matrix>"
                self._diagnostics.warn("no-counterpart", message, child.span)
        return T

    def pose(self, element: Element) -> Pose:
        """Return the product of the transforms in an element, which must be rigid."""
        return self.rigid(self.transform(element), element)

    def rigid(self, T: Array, element: Element) -> Pose:
        """Return a transform as a pose; the identity after reporting that it is not rigid."""
        R, p = T[:3, :3], T[:3, 3]
        if T is IDENTITY_4 or (is_rotation(R, 1e-12) and np.isfinite(p).all()):
            return Pose(R, p)
        if not np.isfinite(T).all() or not is_rotation(R, _TOLERANCE):
            message = f"the transforms at <{element.tag}> must rotate and translate only"
            self._diagnostics.error("wrong-value", message, element.span)
            return Pose()
        U, _, V = np.linalg.svd(R)  # the nearest rotation
        return Pose(U @ V, p)

    def _value(self, element: Element) -> Element | None:
        """Return the element whose text is a value: a child, that of a parameter, or itself.

        None after reporting that there is no such parameter.
        """
        parameter = element.first("param", "SIDREF")
        if parameter is not None:
            found = self._references.target(element, element)
            if found is None:
                message = f"there is no parameter '{parameter.text}'; the default is used"
                self._diagnostics.warn("missing-element", message, parameter.span)
                return None
            element = found
        return element.first("float", "bool", "int") or element

    def _one_transform(self, element: Element) -> Array:
        T = np.eye(4)
        numbers = self.numbers(element, _TRANSFORMS[element.tag])
        if not numbers:
            return T
        if element.tag == "translate":
            T[:3, 3] = np.multiply(numbers, self.unit)
        elif element.tag == "scale":
            T[:3, :3] = np.diag(numbers)
        elif element.tag == "matrix":
            T = np.reshape(numbers, (4, 4))
            T[:3, 3] *= self.unit
        elif (axis := unit_vector(numbers[:3])) is not None:
            T[:3, :3] = axis_angle_matrix(axis, radians(numbers[3]))
        return T

    def _unit(self, written: Element | None) -> float:
        if written is None or "meter" not in written.attributes:
            return 1.0
        text = written.attributes["meter"].strip()
        unit = float(text) if NUMBER.fullmatch(text) else 0.0
        if 0.0 < unit < inf:
            return unit
        message = f"the length unit '{text[:80]}' is not a positive number; metres are used"
        self._diagnostics.warn("wrong-value", message, written.at("meter"))
        return 1.0
