"""Read which pairs of links may collide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations, product
from math import isfinite
from typing import Any, NamedTuple

from ...body import Body, JointType, Link
from ...diagnostics import did_you_mean
from ...late_dataclass import dataclass
from ..yaml.tree import Mapping, Node, Scalar, Sequence
from .scope import Scope

Pairs = set[frozenset[str]]

# A short file can name more pairs than memory can hold. No published model comes near.
_MAX_PAIRS = 100_000
_MAX_STEPS = 10 * _MAX_PAIRS
_LEVEL = "disabled_link_chain_level"
_NEW = "collision_detection_rules"
_OLD = ("collisionDetection", "collision_detection")
RULE_KEYS = frozenset((_NEW, *_OLD))


@dataclass(frozen=True)
class Rule:
    """A rule that disables or enables collisions.

    Attributes:
        key: Key of the rule in ``collision_detection_rules``.
        level: Value of ``disabled_link_chain_level``.
        names: Links of any other rule.
    """

    key: str
    level: int = 0
    names: tuple[str, ...] = ()


class DisabledCollisions(NamedTuple):
    """The collisions that a body's rules disable, as in the fields of ``Body``."""

    pairs: frozenset[frozenset[str]]
    links: frozenset[str]


class _TooManyPairsError(Exception):
    """The rules exceed the limit of pairs or steps."""


class _Filter:
    """Applies rules in the order of the file; a later rule may override earlier ones.

    Attributes:
        excluded: Links that collide with nothing.
        disabled: Pairs that do not collide.
    """

    def __init__(self, links: tuple[Link, ...]) -> None:
        self._names = [link.name for link in links]
        self._steps = 0
        # A free joint does not connect links.
        self._neighbours: dict[str, list[str]] = {name: [] for name in self._names}
        for link in links:
            if link.parent is not None and link.joint.type is not JointType.FREE:
                self._neighbours[link.name].append(link.parent)
                self._neighbours[link.parent].append(link.name)
        self.excluded: set[str] = set()
        self.disabled: Pairs = set()

    def chain_level(self, level: int) -> None:
        """Disable pairs with at most ``level`` joints between them along the tree."""
        for name in self._names:
            near, edge = {name}, [name]
            for _ in range(min(level, len(self._names))):
                edge = [n for e in edge for n in self._neighbours[e] if n not in near]
                if not edge:
                    break
                self._disable(product((name,), edge))
                near.update(edge)

    def exclude(self, names: Iterable[str]) -> None:
        """Disable all collisions of links."""
        chosen = set(names)
        self._disable_all(chosen)
        self.excluded |= chosen

    def include(self, names: Iterable[str]) -> None:
        """Enable all collisions of links, except with excluded links."""
        chosen = set(names)
        self.excluded -= chosen
        self._take_steps(len(self.disabled))
        self.disabled = {pair for pair in self.disabled if not pair & chosen}

    def disable_group(self, names: Iterable[str]) -> None:
        """Disable every pair within a group."""
        self._disable(combinations(dict.fromkeys(names), 2))

    def enable_group(self, names: Iterable[str]) -> None:
        """Enable every pair within a group."""
        chosen = set(names)
        self.excluded -= chosen
        self._take_steps(len(self.disabled))
        self.disabled = {pair for pair in self.disabled if not pair <= chosen}

    def finish(self) -> None:
        """Disable pairs with excluded links again that rules for the other link have enabled."""
        self._disable_all(self.excluded)

    def _disable_all(self, chosen: set[str]) -> None:
        inside = [name for name in self._names if name in chosen]
        others = [name for name in self._names if name not in chosen]
        self._disable(chain(combinations(inside, 2), product(inside, others)))

    def _disable(self, pairs: Iterable[tuple[str, str]]) -> None:
        for pair in map(frozenset, pairs):  # as by link_pair
            self._steps += 1
            if self._steps > _MAX_STEPS or len(self.disabled) >= _MAX_PAIRS:
                raise _TooManyPairsError
            self.disabled.add(pair)

    def _take_steps(self, count: int) -> None:
        """Limit the total time of the rules."""
        self._steps += count
        if self._steps > _MAX_STEPS:
            raise _TooManyPairsError

    def apply(self, rule: Rule) -> None:
        """Apply a rule; unknown names are ignored."""
        if rule.key == _LEVEL:
            self.chain_level(rule.level)
        else:
            names = [name for name in rule.names if name in self._neighbours]
            _ACTIONS[rule.key](self, names)


_ACTIONS: dict[str, Callable[[_Filter, list[str]], None]] = {
    "disabled_links": _Filter.exclude,
    "enabled_links": _Filter.include,
    "disabled_link_group": _Filter.disable_group,
    "enabled_link_group": _Filter.enable_group,
}


def disabled_collisions(
    body: Mapping, links: tuple[Link, ...], included: list[Rule] | None, scope: Scope
) -> DisabledCollisions:
    """Return the disabled collisions of a body.

    If the file has no rules, those of included bodies apply; without any rules, links connected
    by a joint do not collide.

    Args:
        body: The top of the file.
        links: Links, parents before their children.
        included: Rules of included bodies, or None.
        scope: The file.
    """
    new = body.sequence(_NEW)
    old = body.mapping(*_OLD)
    collisions = _Filter(links)
    reader = _RuleReader([link.name for link in links], scope)
    rules: Iterable[Rule] = [Rule(_LEVEL, 1)] if included is None else included
    if new is not None:
        rules = reader.rules(new)
    elif old is not None:
        rules = reader.old_rules(old)
    try:
        for rule in rules:
            collisions.apply(rule)
        collisions.finish()
    except _TooManyPairsError:
        message = (
            "too many pairs of links with disabled collisions; only "
            f"{len(collisions.disabled)} are used"
        )
        at = next(node for node in (new, old, body) if node is not None)
        scope.diagnostics.warn("too-large", message, at.span)
    return DisabledCollisions(frozenset(collisions.disabled), frozenset(collisions.excluded))


class _RuleReader:
    """Reads rules from nodes."""

    def __init__(self, names: list[str], scope: Scope) -> None:
        self._names = names
        self._known = set(names)
        self._scope = scope

    def rules(self, rules: Sequence) -> Iterator[Rule]:
        for rule in rules.items:
            if not isinstance(rule, Mapping):
                message = "expected a rule (key: value)"
                self._scope.diagnostics.error("wrong-type", message, rule.span)
                continue
            level = rule.integer(_LEVEL, default=None)
            if level is not None:
                yield Rule(_LEVEL, level)
            for key in _ACTIONS:
                node = rule.get(key)
                if node is not None:
                    yield Rule(key, names=tuple(self._link_names(node)))
            rule.finish()

    def old_rules(self, old: Mapping) -> Iterator[Rule]:
        yield Rule(_LEVEL, old.integer("excludeTreeDepth", "exclude_tree_depth", default=1))
        links = old.get("excludeLinks", "exclude_links")
        if links is not None:
            yield Rule("disabled_links", names=tuple(self._link_names(links)))
        groups = old.sequence("excludeLinkGroups", "exclude_link_groups")
        for group in groups.items if groups else ():
            members = group.get("links") if isinstance(group, Mapping) else group
            if members is not None:
                yield Rule("disabled_link_group", names=tuple(self._link_names(members)))

    def _link_names(self, node: Node) -> Iterator[str]:
        if isinstance(node, Scalar) and node.text == "all":
            yield from self._names
            return
        for item in node.items if isinstance(node, Sequence) else [node]:
            if not isinstance(item, Scalar):
                self._scope.diagnostics.error("wrong-type", "expected a link's name", item.span)
            elif item.text in self._known:
                yield item.text
            elif not item.is_null:
                message = f"there is no link '{item.text}'.{did_you_mean(item.text, self._names)}"
                self._scope.diagnostics.warn("unknown-link", message, item.span)


def included_rules(body: Body, rename: Callable[[str], str]) -> list[Rule] | None:
    """Return the rules of an included body, with the new names of its links.

    None if it has no rules. Their problems were reported when the body was read.
    """
    new = body.info.get(_NEW)
    old = next((body.info[key] for key in _OLD if key in body.info), None)

    def renamed(value: Any) -> tuple[str, ...]:
        if value == "all":
            return tuple(rename(link.name) for link in body.links)
        return tuple(rename(str(name)) for name in _listed(value))

    if isinstance(new, list):
        entries = [entry for rule in new if isinstance(rule, dict) for entry in rule.items()]
        return [
            Rule(key, _whole(value, 0)) if key == _LEVEL else Rule(key, names=renamed(value))
            for key, value in entries
            if key == _LEVEL or key in _ACTIONS
        ]
    if not isinstance(old, dict):
        return None
    level = _whole(old.get("excludeTreeDepth", old.get("exclude_tree_depth")), 1)
    links = old.get("excludeLinks", old.get("exclude_links"))
    groups = _listed(old.get("excludeLinkGroups", old.get("exclude_link_groups")))
    members = [group.get("links") if isinstance(group, dict) else group for group in groups]
    return [
        Rule(_LEVEL, level),
        Rule("disabled_links", names=renamed(links)),
        *(Rule("disabled_link_group", names=renamed(group)) for group in members),
    ]


def rules_info(rules: Iterable[Rule]) -> dict[str, Any]:
    """Return rules as ``Body.info`` of a file that contains them."""
    return {_NEW: [{r.key: r.level if r.key == _LEVEL else list(r.names)} for r in rules]}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _whole(value: Any, default: int) -> int:
    return int(value) if isinstance(value, (int, float)) and isfinite(value) else default
