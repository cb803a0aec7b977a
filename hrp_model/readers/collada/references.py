"""References between the elements of a COLLADA document: URLs, SID addresses, parameters."""

from __future__ import annotations

from ..xml_tree import Element

_PARAMETERS = ("newparam", "setparam")
_MAX_STEPS = 100  # from parameter to parameter, or from instance to instance


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
