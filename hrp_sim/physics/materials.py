"""How surfaces touch: friction and restitution of every pair of contact materials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hrp_model.rigid import Array

# A link that names no material has this one, in either spelling.
DEFAULT = "Default"
_DEFAULT_SPELLINGS = ("", DEFAULT, "default")
NO_MATERIAL = 0
MAX_FRICTION = 1e6  # as ``friction`` of the world may be


@dataclass(frozen=True, slots=True)
class Material:
    """A surface, where nothing is said about a pair.

    Attributes:
        roughness: Coulomb coefficient; a pair has the geometric mean of both.
        viscosity: 1 minus its restitution; a pair has the geometric mean of both
            restitutions.

    Raises:
        ValueError: A number is negative or not finite.
    """

    roughness: float = 0.5
    viscosity: float = 1.0

    def __post_init__(self) -> None:
        _check("roughness", self.roughness, MAX_FRICTION)
        _check("viscosity", self.viscosity, MAX_FRICTION)


@dataclass(frozen=True, slots=True)
class ContactMaterial:
    """How two materials touch.

    Attributes:
        friction: Coulomb coefficient.
        restitution: Speed after an impact over the speed before, from 0 to 1.

    Raises:
        ValueError: A number is negative or not finite, or a restitution is above 1.
    """

    friction: float = 0.5
    restitution: float = 0.0

    def __post_init__(self) -> None:
        _check("friction", self.friction, MAX_FRICTION)
        _check("restitution", self.restitution, 1.0)


@dataclass(frozen=True)
class MaterialTable:
    """The materials of a world; the names are those of ``Link.contact_material``.

    A link without a material, or with one that the table does not know, has the material
    "Default"; where there is none, one with the world's ``friction`` and no restitution.

    Attributes:
        materials: By name.
        pairs: What is said about two materials, or about one against itself, by the
            ``material_pair`` of their names. It goes before the materials.
    """

    materials: Mapping[str, Material] = field(default_factory=dict)
    pairs: Mapping[frozenset[str], ContactMaterial] = field(default_factory=dict)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every material spoken of, in the order of its index; the first is "Default"."""
        named = [*self.materials, *(name for pair in self.pairs for name in sorted(pair))]
        return tuple(dict.fromkeys([DEFAULT, *map(canonical_name, named)]))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Return the row of a material in ``matrices``; NO_MATERIAL for an unknown one."""
        return self._index.get(canonical_name(name), NO_MATERIAL)

    def has(self, name: str) -> bool:
        """Whether the table says anything about a material."""
        return canonical_name(name) in self._index

    def matrices(self, friction: float) -> tuple[Array, Array]:
        """Return friction and restitution of every pair, each symmetric, shape (n, n).

        Args:
            friction: Coulomb coefficient of what has no material.
        """
        given = {canonical_name(name): m for name, m in self.materials.items()}
        # What only pairs speak of is otherwise as without a material.
        nothing = given.get(DEFAULT, Material(roughness=friction))
        surfaces = [given.get(name, nothing) for name in self.names]
        mu = np.array([m.roughness for m in surfaces])
        e = np.array([min(max(1.0 - m.viscosity, 0.0), 1.0) for m in surfaces])
        mu, e = np.sqrt(np.outer(mu, mu)), np.sqrt(np.outer(e, e))
        for pair, contact in self.pairs.items():
            rows = [self.index(name) for name in pair]
            i, j = rows[0], rows[-1]
            mu[i, j] = mu[j, i] = contact.friction
            e[i, j] = e[j, i] = contact.restitution
        return mu, e


def canonical_name(name: str) -> str:
    """Return a material's name in its one spelling."""
    return DEFAULT if name in _DEFAULT_SPELLINGS else name


def material_pair(a: str, b: str) -> frozenset[str]:
    """Return the key of an unordered pair of materials, which may be the same."""
    return frozenset((canonical_name(a), canonical_name(b)))


def _check(what: str, value: float, most: float) -> None:
    if not 0.0 <= value <= most:
        raise ValueError(f"{what} must lie between 0 and {most:g}, not {value:g}")
