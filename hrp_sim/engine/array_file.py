"""Files of named arrays (.npz), read without trusting them."""

from __future__ import annotations

import re
import struct
import sys
import zipfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from math import prod
from pathlib import Path

import numpy as np

from hrp_model.files.resources import read_file

from .engine import AnyArray

# Size limit of files, in [byte], far beyond any world.
MAX_SIZE = 1 << 28
_MAX_ARRAYS = 200_000
_MEMBER = b"PK\x01\x02"  # start of each entry in the directory of a zip file
_ORDER = "<" if sys.byteorder == "little" else ">"
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<type>\|b1|%s(?:f8|i8|i4|U[1-9][0-9]{0,7}))', "
    rb"'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:[0-9]{1,18},|[0-9]{1,18}(?:, [0-9]{1,18}){1,7})?)\), \} *\n"
    % _ORDER.encode(),
    re.DOTALL,
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
    header = _HEADER.match(data)
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
