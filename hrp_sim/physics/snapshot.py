"""A saved world: arrays with names, what must fit when they come back, and files of them."""

from __future__ import annotations

import re
import struct
import sys
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from io import BytesIO
from math import prod
from pathlib import Path

import numpy as np

from hrp_model.files.resources import read_file
from hrp_model.files.writer import write_whole

from .engine import AnyArray, PhysicsError, PhysicsSettings

# Far beyond any world; what is larger would only fill the memory. In bytes.
MAX_SIZE = 1 << 28
# No state has a greater number; sensors may compute with such ones, whatever these are.
LARGEST = 1e30
_MAX_ARRAYS = 200_000
_MEMBER = b"PK\x01\x02"  # how each entry in the directory of a zip file begins
_ORDER = "<" if sys.byteorder == "little" else ">"
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<type>%s(?:f8|i8|i4|U[1-9][0-9]{0,7}))', "
    rb"'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:[0-9]{1,18},|[0-9]{1,18}(?:, [0-9]{1,18}){1,7})?)\), \} *\n"
    % _ORDER.encode(),
    re.DOTALL,
)
_FORMAT, _VERSION = "format", "hrp_ros world 1"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The whole state of a simulation. ``Simulation.save`` makes them.

    Attributes:
        arrays: By name: float64, int64, int32 or text. "physics/..." is what the engine
            keeps, "pushes/...", "drives/..." and "simulation/..." the rest.
    """

    arrays: Mapping[str, AnyArray]

    def part(self, name: str) -> dict[str, AnyArray]:
        """Return the arrays whose names begin with a word and a slash, without these."""
        return {
            key.removeprefix(f"{name}/"): array
            for key, array in self.arrays.items()
            if key.startswith(f"{name}/")
        }

    def to_file(self, path: Path) -> None:
        """Write a file that ``from_file`` and ``numpy.load`` read; it appears whole or not at all.

        Missing folders are made; a link is followed, and a device or pipe written to as it is.

        Raises:
            OSError: It cannot be written.
            PhysicsError: A body has a name that cannot be written.
        """
        for name in self.arrays:
            if "\0" in name or not name.isprintable():
                raise PhysicsError(f"'{path}': the name {name!r} cannot be written to a file")
        write_whole(path, _packed({_FORMAT: np.array(_VERSION), **self.arrays}))

    @classmethod
    def from_file(cls, path: Path) -> Snapshot:
        """Read a file that ``to_file`` has written. Nothing in a file is ever executed.

        Raises:
            OSError: It cannot be read.
            PhysicsError: It is no snapshot; the message names the file and what is wrong.
        """
        try:
            arrays = dict(_read(read_file(path, MAX_SIZE)))
        except _BROKEN as error:
            raise PhysicsError(f"'{path}' is no snapshot of a world: {error}") from None
        version = arrays.pop(_FORMAT, np.array(""))
        if version.shape != () or str(version) != _VERSION:
            raise PhysicsError(f"'{path}' is no snapshot of a world that this version can read")
        return cls(arrays)


# What zipfile and numpy raise on files that are broken, or made to break them.
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


def _packed(arrays: Mapping[str, AnyArray]) -> bytes:
    """Return the content of an .npz file."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            data = BytesIO()
            np.lib.format.write_array(data, array, (1, 0), allow_pickle=False)
            # Without the time of day: equal states make equal files.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data.getvalue())
    return file.getvalue()


def _read(data: bytes) -> Iterator[tuple[str, AnyArray]]:
    """Yield the arrays of an .npz file by name; only what ``_packed`` packs is taken."""
    if data.count(_MEMBER) > _MAX_ARRAYS:  # before each becomes an object of a kilobyte
        raise ValueError(f"it holds more than {_MAX_ARRAYS} arrays")
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = archive.infolist()
        if sum(m.file_size for m in members) > MAX_SIZE:
            raise ValueError(f"it holds more than {MAX_SIZE >> 20} MiB")
        if len({m.filename for m in members}) < len(members):
            raise ValueError("it holds two arrays of one name")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"'{name}' is compressed")
            yield name, _array(name, archive.read(member))


def _array(name: str, data: bytes) -> AnyArray:
    """Return an array of the .npy format 1.0, from a header such as numpy writes it.

    Numpy's own reader evaluates the header, and makes an array of any size that it says.
    """
    header = _HEADER.match(data)
    if header is None or header.end() != 10 + int.from_bytes(data[8:10], "little"):
        raise ValueError(f"'{name}' is no array of numbers or text")
    dtype = np.dtype(header["type"].decode())
    shape = tuple(int(n) for n in header["shape"].replace(b",", b" ").split())
    values = data[header.end() :]
    if prod(shape) * dtype.itemsize != len(values):
        raise ValueError(f"'{name}' has another size than its header says")
    if dtype.kind == "U" and any(code > 0x10FFFF for code in memoryview(values).cast("I")):
        raise ValueError(f"'{name}' holds characters that there are not")
    array: AnyArray = np.ndarray(shape, dtype, values)
    return array.copy()


def settings_lines(settings: PhysicsSettings) -> AnyArray:
    """Return settings as lines "name=value", exact to the last digit."""
    lines = []
    for f in fields(settings):
        value = getattr(settings, f.name)
        lines.append(f"{f.name}={value.value if isinstance(value, Enum) else value!r}")
    return np.array(lines, dtype=np.str_)


def check_settings(arrays: Mapping[str, AnyArray], settings: PhysicsSettings) -> None:
    """Check that a world was saved with these settings.

    Raises:
        PhysicsError: It was not; the message names those that differ.
    """
    saved, here = _texts(arrays, "settings"), settings_lines(settings).tolist()
    if saved != here:
        there = ", ".join(line for line in saved if line not in here)
        own = ", ".join(line for line in here if line not in saved)
        raise PhysicsError(f"the snapshot was taken with other settings: {there}; here: {own}")


def check_bodies(arrays: Mapping[str, AnyArray], fingerprints: Mapping[str, str]) -> list[str]:
    """Check that a saved world has the bodies of this one; return their names in its order.

    Args:
        arrays: Of an engine.
        fingerprints: Of the bodies there are, by name.

    Raises:
        PhysicsError: A body is missing here or there, or is another.
    """
    names = check_names(arrays, fingerprints)
    for name, fingerprint in fingerprints.items():
        if str(arrays.get(f"{name}/fingerprint")) != fingerprint:
            raise PhysicsError(
                f"body '{name}' is not the one of the snapshot: its model or the place where "
                "it starts has changed"
            )
    return names


def check_names(arrays: Mapping[str, AnyArray], bodies: Collection[str]) -> list[str]:
    """Check that a saved world has bodies of these names; return them in its order.

    Raises:
        PhysicsError: One is missing here or there.
    """
    names = _texts(arrays, "bodies")
    if len(set(names)) < len(names):
        raise PhysicsError("the snapshot names a body twice")
    missing = [f"'{name}'" for name in names if name not in bodies]
    if missing:
        raise PhysicsError(f"the snapshot has bodies that are not here: {', '.join(missing)}")
    extra = [f"'{name}'" for name in bodies if name not in names]
    if extra:
        raise PhysicsError(f"the snapshot lacks bodies that are here: {', '.join(extra)}")
    return names


def check_arrays(given: Mapping[str, AnyArray], expected: Mapping[str, AnyArray]) -> None:
    """Check names, shapes, types, and that every number is finite and not beyond ``LARGEST``.

    Args:
        given: To be checked.
        expected: Examples of what they must be like.

    Raises:
        PhysicsError: One does not fit; the message names it.
    """
    for name in expected.keys() - given.keys():
        raise PhysicsError(f"the snapshot lacks '{name}'")
    for name in given.keys() - expected.keys():
        raise PhysicsError(f"the snapshot has '{name}', which means nothing here")
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
        if like.dtype.kind == "f" and not np.all(np.abs(array) <= LARGEST):
            problem = "holds a number that is not finite, or absurd"
            raise PhysicsError(f"'{name}' of the snapshot {problem}")


def _texts(arrays: Mapping[str, AnyArray], name: str) -> list[str]:
    array = arrays.get(name)
    if not isinstance(array, np.ndarray) or array.dtype.kind != "U" or array.ndim != 1:
        raise PhysicsError(f"the snapshot lacks '{name}'")
    return [str(text) for text in array]
