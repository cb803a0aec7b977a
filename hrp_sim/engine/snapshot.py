"""Snapshots of a world: named arrays, their files (.npz), and checks when they are restored."""

from __future__ import annotations

import re
import struct
import sys
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from enum import Enum
from io import BytesIO
from math import prod
from pathlib import Path

import numpy as np

from hrp_model.files.resources import read_file
from hrp_model.files.writer import write_atomically
from hrp_model.late_dataclass import dataclass

from .engine import AnyArray, PhysicsError, PhysicsSettings
from .materials import MaterialTable

# Bound on every number: sensors can still compute with it without overflow.
MAX_NUMBER = 1e30
_FORMAT, _VERSION = "format", "hrp_ros world 1"
# Size limit of files, in [byte], far beyond any world.
MAX_SIZE = 1 << 28
_MAX_ARRAYS = 200_000
_MEMBER = b"PK\x01\x02"  # start of each entry in the directory of a zip file
_ORDER = "<" if sys.byteorder == "little" else ">"
_HEADER = (
    rb"(?s)\x93NUMPY\x01\x00..\{'descr': '(?P<type>\|b1|%s(?:f8|i8|i4|U[1-9][0-9]{0,7}))', "
    rb"'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:[0-9]{1,18},|[0-9]{1,18}(?:, [0-9]{1,18}){1,7})?)\), \} *\n"
    % _ORDER.encode()
)
# Exceptions of zipfile and numpy on broken or malicious files.
_BROKEN = (
    zipfile.BadZipFile,
    ValueError,
    KeyError,
    EOFError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    OverflowError,
)


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


class ArrayFileError(ValueError):
    """A file is not one that ``pack_arrays`` has packed; the message names the problem."""


def pack_arrays(arrays: Mapping[str, AnyArray]) -> bytes:
    """Return the content of an .npz file of float64, int64, int32, bool or text arrays."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            data = BytesIO()
            np.lib.format.write_array(data, array, (1, 0), allow_pickle=False)
            # Without the modification time, so that equal states give equal files.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data.getvalue())
    return file.getvalue()


def read_arrays(path: Path) -> dict[str, AnyArray]:
    """Return the arrays of a file that ``pack_arrays`` has packed. Nothing in it is executed.

    Raises:
        OSError: The file cannot be read.
        ArrayFileError: It is something else.
    """
    try:
        return dict(_read(read_file(path, MAX_SIZE)))
    except _BROKEN as error:
        raise ArrayFileError(str(error)) from None


def _read(data: bytes) -> Iterator[tuple[str, AnyArray]]:
    """Yield the arrays of an .npz file by name; only the format of ``pack_arrays``."""
    if data.count(_MEMBER) > _MAX_ARRAYS:  # checked first: zipfile takes a kilobyte for each
        raise ValueError(f"it contains more than {_MAX_ARRAYS} arrays")
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = archive.infolist()
        if sum(m.file_size for m in members) > MAX_SIZE:
            raise ValueError(f"it contains more than {MAX_SIZE >> 20} MiB")
        if len({m.filename for m in members}) < len(members):
            raise ValueError("it contains two arrays of the same name")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"'{name}' is compressed")
            yield name, _array(name, archive.read(member))


def _array(name: str, data: bytes) -> AnyArray:
    """Return an array from the .npy format 1.0, with a header exactly as numpy writes it.

    Numpy's own reader evaluates the header as Python and trusts the size in it.
    """
    header = re.match(_HEADER, data)
    if header is None or header.end() != 10 + int.from_bytes(data[8:10], "little"):
        raise ValueError(f"'{name}' is not an array of numbers or text")
    dtype = np.dtype(header["type"].decode())
    shape = tuple(int(n) for n in header["shape"].replace(b",", b" ").split())
    values = data[header.end() :]
    if prod(shape) * dtype.itemsize != len(values):
        raise ValueError(f"the size of '{name}' differs from that in its header")
    if dtype.kind == "U" and any(code > 0x10FFFF for code in memoryview(values).cast("I")):
        raise ValueError(f"'{name}' contains invalid characters")
    array: AnyArray = np.ndarray(shape, dtype, values)
    return array.copy()
