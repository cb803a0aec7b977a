"""Snapshots of a world: named arrays, their files, and checks when they are restored."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path

import numpy as np

from hrp_model.files.writer import write_atomically

from .array_file import ArrayFileError, pack_arrays, read_arrays
from .engine import AnyArray, PhysicsError, PhysicsSettings
from .materials import MaterialTable

# Bound on every number: sensors can still compute with it without overflow.
MAX_NUMBER = 1e30
_FORMAT, _VERSION = "format", "hrp_ros world 1"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The whole state of a simulation, as ``Simulation.save`` returns it.

    Attributes:
        arrays: By name: float64, int64, int32 or text. "physics/..." belongs to the engine,
            "pushes/..." to external wrenches, "drives/..." to controllers and
            "simulation/..." to sensors.
    """

    arrays: Mapping[str, AnyArray]

    def part(self, name: str) -> dict[str, AnyArray]:
        """Return the arrays whose names start with "NAME/", without that prefix."""
        return {
            key.removeprefix(f"{name}/"): array
            for key, array in self.arrays.items()
            if key.startswith(f"{name}/")
        }

    def to_file(self, path: Path) -> None:
        """Write an .npz file atomically; ``from_file`` and ``numpy.load`` read it.

        Missing folders are created; links are followed; devices and pipes are written directly.

        Raises:
            OSError: The file cannot be written.
            PhysicsError: The name of a body cannot be written to a file.
        """
        for name in self.arrays:
            if "\0" in name or not name.isprintable():
                raise PhysicsError(f"'{path}': the name {name!r} cannot be written to a file")
        write_atomically(path, pack_arrays({_FORMAT: np.array(_VERSION), **self.arrays}))

    @classmethod
    def from_file(cls, path: Path) -> Snapshot:
        """Read a file that ``to_file`` has written. Nothing in it is executed.

        Raises:
            OSError: The file cannot be read.
            PhysicsError: It is not a snapshot; the message names the file and the problem.
        """
        try:
            arrays = read_arrays(path)
        except ArrayFileError as error:
            raise PhysicsError(f"'{path}' is not a snapshot of a world: {error}") from None
        version = arrays.pop(_FORMAT, np.array(""))
        if version.shape != () or str(version) != _VERSION:
            raise PhysicsError(f"'{path}' is not a snapshot of a world that this version can read")
        return cls(arrays)


def settings_lines(settings: PhysicsSettings) -> AnyArray:
    """Return settings as lines "name=value", with all digits."""
    lines = []
    for f in fields(settings):
        value = getattr(settings, f.name)
        lines.append(f"{f.name}={_setting_text(value)}")
    return np.array(lines, dtype=np.str_)


def _setting_text(value: object) -> str:
    """Return the value of a setting as text that is the same in every process."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, MaterialTable):
        # The order of the names in the repr of a frozenset depends on PYTHONHASHSEED.
        pairs = ", ".join(f"{sorted(pair)}: {value.pairs[pair]!r}" for pair in value.pairs)
        return (
            f"MaterialTable(materials={dict(value.materials)!r}, pairs={{{pairs}}}, "
            f"only_pairs={value.only_pairs!r})"
        )
    return repr(value)


def check_settings(arrays: Mapping[str, AnyArray], settings: PhysicsSettings) -> None:
    """Check that a world was saved with these settings.

    Raises:
        PhysicsError: Settings differ; the message names them.
    """
    saved, current = _texts(arrays, "settings"), settings_lines(settings).tolist()
    if saved != current:
        theirs = ", ".join(line for line in saved if line not in current)
        ours = ", ".join(line for line in current if line not in saved)
        raise PhysicsError(f"the snapshot has other settings: {theirs}; the world has {ours}")


def check_bodies(arrays: Mapping[str, AnyArray], fingerprints: Mapping[str, str]) -> list[str]:
    """Check that a saved world has the bodies of this one; return their names in its order.

    Args:
        arrays: Of an engine.
        fingerprints: Of the bodies of this world, by name.

    Raises:
        PhysicsError: A body is missing in either, or differs.
    """
    names = check_names(arrays, fingerprints)
    for name, fingerprint in fingerprints.items():
        if str(arrays.get(f"{name}/fingerprint")) != fingerprint:
            raise PhysicsError(
                f"body '{name}' differs from the one of the snapshot: its model or its initial "
                "pose has changed"
            )
    return names


def check_names(arrays: Mapping[str, AnyArray], bodies: Collection[str]) -> list[str]:
    """Check that a saved world has bodies of these names; return them in its order.

    Raises:
        PhysicsError: A body is missing in either.
    """
    names = _texts(arrays, "bodies")
    if len(set(names)) < len(names):
        raise PhysicsError("the snapshot has two bodies of the same name")
    missing = [f"'{name}'" for name in names if name not in bodies]
    if missing:
        raise PhysicsError(f"the world lacks bodies of the snapshot: {', '.join(missing)}")
    extra = [f"'{name}'" for name in bodies if name not in names]
    if extra:
        raise PhysicsError(f"the snapshot lacks bodies of the world: {', '.join(extra)}")
    return names


def check_arrays(given: Mapping[str, AnyArray], expected: Mapping[str, AnyArray]) -> None:
    """Check names, shapes and types, and that every number is within ``MAX_NUMBER``.

    Args:
        given: The arrays to check.
        expected: Arrays of the expected names, shapes and types.

    Raises:
        PhysicsError: An array does not match; the message names it.
    """
    for name in expected.keys() - given.keys():
        raise PhysicsError(f"the snapshot lacks '{name}'")
    for name in given.keys() - expected.keys():
        raise PhysicsError(f"the snapshot has an unknown part '{name}'")
    for name, like in expected.items():
        array = given[name]
        is_text = like.dtype.kind == "U"  # of any length
        if not isinstance(array, np.ndarray) or (
            array.dtype.kind != "U" if is_text else array.dtype != like.dtype
        ):
            raise PhysicsError(f"'{name}' of the snapshot is not of type {like.dtype}")
        if array.shape != like.shape:
            raise PhysicsError(
                f"'{name}' of the snapshot has the shape {array.shape}, not {like.shape}"
            )
        if like.dtype.kind == "f" and not np.all(np.abs(array) <= MAX_NUMBER):
            problem = f"contains a number that is not finite or beyond {MAX_NUMBER:g}"
            raise PhysicsError(f"'{name}' of the snapshot {problem}")


def _texts(arrays: Mapping[str, AnyArray], name: str) -> list[str]:
    array = arrays.get(name)
    if not isinstance(array, np.ndarray) or array.dtype.kind != "U" or array.ndim != 1:
        raise PhysicsError(f"the snapshot lacks '{name}'")
    return [str(text) for text in array]
