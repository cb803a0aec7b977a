"""Which pairs of links the file lets collide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from ..body import JointType, Link, link_pair
from ..diagnostics import did_you_mean
from ..yaml_tree import Mapping, Node, Scalar, Sequence
from .scope import Scope

Pairs = set[frozenset[str]]


class _Filter:
    """Rules applied so far: links that touch nothing, and pairs that do not touch."""

    def __init__(self, links: tuple[Link, ...], scope: Scope) -> None:
        self._links = links
        self._names = [link.name for link in links]
        self._scope = scope
        self.excluded: set[str] = set()
        self.disabled: Pairs = set()

    def chain_level(self, level: int) -> None:
        """Disable pairs with at most ``level`` joints between them along the tree.

        What floats freely is joined to nothing.
        """
        near: dict[str, dict[str, int]] = {}
        for link in self._links:  # parents first, so a parent's distances are known
            distances = {link.name: 0}
            parent = "" if link.joint.type is JointType.FREE else link.parent or ""
            for name, distance in list(near.get(parent, {}).items()):
                if distance < level:
                    distances[name] = distance + 1
                    near[name][link.name] = distance + 1
            near[link.name] = distances
        for name, distances in near.items():
            self.disabled |= {link_pair(name, other) for other in distances if other != name}

    def exclude(self, node: Node) -> None:
        """Disable links altogether: a list of them, or ``all``."""
        self.excluded |= set(self._chosen(node))

    def include(self, node: Node) -> None:
        """Take links back out of those disabled altogether."""
        self.excluded -= set(self._chosen(node))

    def disable_group(self, node: Node) -> None:
        """Disable every pair within a group."""
        self.disabled |= set(self._pairs(node))

    def enable_group(self, node: Node) -> None:
        """Enable every pair within a group."""
        self.disabled -= set(self._pairs(node))

    def result(self) -> frozenset[frozenset[str]]:
        excluded = (link_pair(a, b) for a in self.excluded for b in self._names if a != b)
        return frozenset(self.disabled.union(excluded))

    def _pairs(self, node: Node) -> Iterable[frozenset[str]]:
        return (link_pair(a, b) for a, b in combinations(set(self._chosen(node)), 2))

    def _chosen(self, node: Node) -> Iterator[str]:
        if isinstance(node, Scalar) and node.text == "all":
            yield from self._names
            return
        for item in node.items if isinstance(node, Sequence) else [node]:
            if not isinstance(item, Scalar):
                self._scope.diagnostics.error("wrong-type", "expected a link's name", item.span)
            elif item.text in self._names:
                yield item.text
            elif not item.is_null:
                message = f"there is no link '{item.text}'.{did_you_mean(item.text, self._names)}"
                self._scope.diagnostics.warn("unknown-link", message, item.span)


def self_collision_disabled(
    body: Mapping, links: tuple[Link, ...], scope: Scope
) -> frozenset[frozenset[str]]:
    """Return the pairs of links that never collide; ``links`` has parents first.

    Without a word about it, links joined to one another do not collide.
    """
    rules = body.sequence("collision_detection_rules")
    old = body.mapping("collisionDetection", "collision_detection")
    chosen = _Filter(links, scope)
    if rules is not None:
        for rule in rules.items:
            _apply(rule, chosen, scope)
    elif old is not None:
        _apply_old(old, chosen)
    else:
        chosen.chain_level(1)
    return chosen.result()


def _apply(rule: Node, chosen: _Filter, scope: Scope) -> None:
    if not isinstance(rule, Mapping):
        scope.diagnostics.error("wrong-type", "expected a rule (key: value)", rule.span)
        return
    level = rule.integer("disabled_link_chain_level", default=None)
    if level is not None:
        chosen.chain_level(level)
    for key, apply in (
        ("disabled_links", chosen.exclude),
        ("enabled_links", chosen.include),
        ("disabled_link_group", chosen.disable_group),
        ("enabled_link_group", chosen.enable_group),
    ):
        node = rule.get(key)
        if node is not None:
            apply(node)
    rule.finish()


def _apply_old(old: Mapping, chosen: _Filter) -> None:
    chosen.chain_level(old.integer("excludeTreeDepth", "exclude_tree_depth", default=1))
    links = old.get("excludeLinks", "exclude_links")
    if links is not None:
        chosen.exclude(links)
    groups = old.sequence("excludeLinkGroups", "exclude_link_groups")
    for group in groups.items if groups else ():
        members = group.get("links") if isinstance(group, Mapping) else group
        if members is not None:
            chosen.disable_group(members)
