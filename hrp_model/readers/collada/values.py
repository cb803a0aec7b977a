"""Values of COLLADA, converted to SI units, and references between its elements.

References are URLs, SID addresses and parameters.
"""

from __future__ import annotations

from math import inf, isfinite, radians

import numpy as np

from ...diagnostics import Diagnostics
from ...rigid import IDENTITY_4, Array, Pose, axis_angle_matrix, is_rotation, unit_vector
from ..xml_tree import NUMBER, Element

_PARAMETERS = ("newparam", "setparam")
_MAX_STEPS = 100  # from parameter to parameter, or from instance to instance
_TRANSFORMS = {"translate": 3, "rotate": 4, "scale": 3, "matrix": 16}
_UNSUPPORTED = ("lookat", "skew")
_TOLERANCE = 1e-3  # of the elements of rotation matrices, which may have few digits


class References:
    """Finds the elements that others refer to.

    Args:
        root: The ``<COLLADA>``.
    """

    def __init__(self, root: Element) -> None:
        self._ids: dict[str, Element] = {}
        self._symbols: dict[str, Element] = {}
        self._parameters: dict[Element, dict[str, Element]] = {}
        self._parents: dict[Element, Element] = {}
        self._sids: dict[Element, dict[str, Element]] = {}
        self.elements: list[Element] = [root]
        for element in self.elements:  # grows
            for child in element.children:
                self._parents[child] = element
                self.elements.append(child)
                if child.tag in _PARAMETERS:
                    own = self._parameters.setdefault(element, {})
                    own.setdefault(child.attributes.get("sid", ""), child)
            if "id" in element.attributes:
                self._ids.setdefault(element.attributes["id"], element)
            if element.tag == "bind":
                self._symbols.setdefault(element.attributes.get("symbol", ""), element)

    def parent(self, element: Element) -> Element | None:
        """Return the element around another, or None for the root."""
        return self._parents.get(element)

    def ancestors(self, element: Element) -> list[Element]:
        """Return the elements around an element, the root first."""
        found: list[Element] = []
        above = self.parent(element)
        while above is not None:
            found.append(above)
            above = self.parent(above)
        return found[::-1]

    def by_url(self, element: Element | None, attribute: str = "url") -> Element | None:
        """Return the element that a URL of an element names: "#" and the id of an element."""
        url = "" if element is None else element.attributes.get(attribute, "")
        return self._ids.get(url[1:]) if url.startswith("#") else None

    def by_address(self, address: str, scope: Element) -> Element | None:
        """Return the element at an address: an id and SIDs of elements inside it, as in "a/b/c".

        Args:
            address: Its first part may also be "." for the nearest element with an id around
                ``scope``, or an SID inside ``scope``.
            scope: The element that has the reference, or that the address is relative to.
        """
        first, *rest = address.strip().split("/")
        found: Element | None
        if first == ".":
            around = [*self.ancestors(scope), scope]
            found = next((x for x in reversed(around) if "id" in x.attributes), scope)
        else:
            found = self._ids.get(first) or self._inside(scope, first)
        for sid in rest:
            found = None if found is None else self._inside(found, sid)
        return found

    def target(self, reference: Element | None, scope: Element) -> Element | None:
        """Return what a reference in an element is about, through any number of parameters.

        Args:
            reference: Has a <param> or <SIDREF>.
            scope: Where its parameters are defined.
        """
        for _ in range(_MAX_STEPS):
            written = None if reference is None else reference.first("SIDREF", "param")
            if written is None:
                return None
            address = written.text or written.attributes.get("ref", "")
            found = (
                self._parameter(address, scope)
                or self.by_address(address, scope)
                or self._symbols.get(address)
            )
            if found is None or found.tag not in (*_PARAMETERS, "bind"):
                return found
            if found.first("SIDREF", "param") is None:
                return found
            # A parameter of an instance is about what that instantiates.
            reference, scope = found, self.by_url(self.parent(found)) or found
        return None

    def node(self, element: Element | None) -> Element | None:
        """Return a node, or the one that an ``<instance_node>`` instantiates."""
        is_instance = element is not None and element.tag == "instance_node"
        return self.by_url(element) if is_instance else element

    def _parameter(self, name: str, scope: Element) -> Element | None:
        """Return the parameter that an element, or the nearest one around it, defines."""
        element: Element | None = scope
        while element is not None:
            own = self._parameters.get(element, {})
            if name in own:
                return own[name]
            element = self.parent(element)
        return None

    def _inside(self, element: Element, sid: str) -> Element | None:
        """Return the element with an SID inside of another, or of that which it instantiates."""
        inner: Element | None = element
        for _ in range(_MAX_STEPS):
            if inner is None:
                return None
            if inner not in self._sids:
                self._sids[inner] = self._by_sid(inner)
            if sid in self._sids[inner]:
                return self._sids[inner][sid]
            inner = self.by_url(inner)
        return None

    def _by_sid(self, element: Element) -> dict[str, Element]:
        """Return the descendants of an element by SID; of equal ones the least deep and first.

        Those of an instantiated node are descendants, too.
        """
        found: dict[str, Element] = {}
        pending = element.children[:]
        instantiated: set[Element] = set()
        for child in pending:  # grows
            if "sid" in child.attributes:
                found.setdefault(child.attributes["sid"], child)
            pending += child.children
            node = self.node(child)
            if node is not None and node is not child and node not in instantiated:
                instantiated.add(node)
                pending += node.children
        return found


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
