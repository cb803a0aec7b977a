"""Friction and restitution of every pair of contact materials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hrp_model.diagnostics import out_of_range
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

# The material of a link that names none.
DEFAULT = "Default"
_DEFAULT_SPELLINGS = ("", DEFAULT, "default")
NO_MATERIAL = 0
NO_COLLISION = -1.0  # as the friction of a pair
MAX_FRICTION = 1e6  # as of the setting ``friction``
MAX_MATERIALS = 500  # of a file: the table has a row and a column for each


@dataclass(frozen=True, slots=True)
class Material:
    """A surface material, for pairs that the table does not specify.

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
    """Friction and restitution between two materials.

    Attributes:
        friction: Coulomb coefficient.
        restitution: Ratio of the speeds after and before an impact, from 0 to 1.

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
    """The materials of a world, by the names used in ``Link.contact_material``.

    A link without a material, or with one that is not in the table, has the material
    "Default"; if the table does not define that, it has the world's ``friction`` and no
    restitution.

    Attributes:
        materials: By name.
        pairs: Values of specific pairs, which may be of one material with itself, by the
            ``material_pair`` of their names. They override those of the materials.
        only_pairs: Whether two materials of the table collide only if ``pairs`` has them.
            The material "Default" collides with all.
    """

    materials: Mapping[str, Material] = field(default_factory=dict)
    pairs: Mapping[frozenset[str], ContactMaterial] = field(default_factory=dict)
    only_pairs: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All materials mentioned, ordered by index; the first is "Default"."""
        named = [*self.materials, *(name for pair in self.pairs for name in sorted(pair))]
        return tuple(dict.fromkeys([DEFAULT, *map(canonical_name, named)]))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Return the row of a material in ``matrices``; NO_MATERIAL for an unknown one."""
        return self._index.get(canonical_name(name), NO_MATERIAL)

    def has(self, name: str) -> bool:
        """Whether the table mentions a material."""
        return canonical_name(name) in self._index

    def collide(self, a: str, b: str) -> bool:
        """Whether links of two materials collide."""
        if not self.only_pairs or NO_MATERIAL in (self.index(a), self.index(b)):
            return True
        return material_pair(a, b) in self.pairs

    @property
    def prevailing(self) -> NDArray[np.int32]:
        """1 for each material whose pair with "Default" is specified, else 0, shape (n,).

        Such a pair prevails over the surfaces that models declare.
        """
        stated = [material_pair(DEFAULT, name) in self.pairs for name in self.names]
        return np.array(stated, dtype=np.int32)

    def matrices(self, friction: float) -> tuple[Array, Array]:
        """Return friction and restitution of every pair, each symmetric, shape (n, n).

        The friction of two materials that do not collide is NO_COLLISION.

        Args:
            friction: Coulomb coefficient of links without a material.
        """
        given = {canonical_name(name): m for name, m in self.materials.items()}
        # A material that only pairs mention is like the default one in other pairs.
        default = given.get(DEFAULT, Material(roughness=friction))
        surfaces = [given.get(name, default) for name in self.names]
        mu = np.array([m.roughness for m in surfaces])
        e = np.array([min(max(1.0 - m.viscosity, 0.0), 1.0) for m in surfaces])
        mu, e = np.sqrt(np.outer(mu, mu)), np.sqrt(np.outer(e, e))
        if self.only_pairs:
            mu[1:, 1:] = NO_COLLISION  # the first row and column are "Default"
        for pair, contact in self.pairs.items():
            rows = [self.index(name) for name in pair]
            i, j = rows[0], rows[-1]
            mu[i, j] = mu[j, i] = contact.friction
            e[i, j] = e[j, i] = contact.restitution
        return mu, e


def canonical_name(name: str) -> str:
    """Return a material's name; all spellings of "Default" become one."""
    return DEFAULT if name in _DEFAULT_SPELLINGS else name


def material_pair(a: str, b: str) -> frozenset[str]:
    """Return the key of an unordered pair of materials, which may be equal."""
    return frozenset((canonical_name(a), canonical_name(b)))


def _check(name: str, value: float, maximum: float) -> None:
    if not 0.0 <= value <= maximum:
        raise ValueError(f"{name} {out_of_range(value, 0.0, maximum)}")
