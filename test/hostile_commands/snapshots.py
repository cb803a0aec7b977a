"""Files for ``--restore``: of other worlds, broken, or larger than they look."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator, Mapping
from io import BytesIO

import numpy as np

from hostile_commands.case import Case, Content, Fifo, Link, Sparse
from hostile_commands.samples import FILES

_RESTORE = ("hrp-sim", "run", "world.yaml", "--duration", "0.002", "--restore", "state.npz")


def _archive(compression: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    data = BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return data.getvalue()


def _npy(kind: str, shape: str, data: bytes = b"", fortran: str = "False") -> bytes:
    header = f"{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def _saved(**arrays: np.ndarray) -> bytes:
    data = BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


_FORMAT = _npy("<U16", "()", "hrp_ros world 1".ljust(16, "\0").encode("utf-32-le"))
_OBJECT = BytesIO()
np.save(_OBJECT, np.array([{"a": 1}], dtype=object), allow_pickle=True)
SNAPSHOTS: Mapping[str, Content] = {
    "empty": b"",
    "text": "not a snapshot",
    "noise": bytes(range(256)) * 50,
    "of nothing": _archive(),
    "of another program": _saved(a=np.zeros(3)),
    "of another version": _saved(format=np.array("hrp_ros world 99")),
    "of the right format only": _archive(format=_FORMAT),
    "of text without length": _archive(format=_npy("<U0", "(100000000000000000,)")),
    "of numbers without end": _archive(format=_FORMAT, a=_npy("<f8", "(100000000000000000,)")),
    "of many dimensions": _archive(format=_FORMAT, a=_npy("<f8", "(9, 9, 9, 9, 9, 9, 9, 9, 9)")),
    "of dimensions of zero": _archive(format=_FORMAT, a=_npy("<f8", "(0, 999999999999999999)")),
    "of negative dimensions": _archive(format=_FORMAT, a=_npy("<f8", "(-1,)")),
    "of objects": _archive(format=_FORMAT, a=_OBJECT.getvalue()),
    "of commands": _archive(
        format=_FORMAT, a=_npy("<f8", "(__import__('os').system('touch owned'),)")
    ),
    "of other byte order": _archive(format=_FORMAT, a=_npy(">f8", "(1,)", bytes(8))),
    "of wrong characters": _archive(format=_FORMAT, a=_npy("<U1", "(1,)", b"\xff\xff\xff\xff")),
    "compressed": _archive(zipfile.ZIP_DEFLATED, format=_FORMAT, a=bytes(1 << 26)),
    "of a name upward": _archive(**{"format": _FORMAT, "../../owned": _npy("<f8", "()", bytes(8))}),
    "of 70,000 arrays": _archive(format=_FORMAT, **{f"a{i}": b"" for i in range(70_000)}),
    "of steering names": _archive(
        **{"format": _FORMAT, "\x1b[2J\u202e": _npy("<f8", "()", bytes(8))}
    ),
    "cut": _archive(format=_FORMAT)[:-30],
    "sparse": Sparse(1 << 30, b"PK\x03\x04"),
    "pipe": Fifo(),
    "device": Link("/dev/zero"),
    "loop": Link("state.npz"),
    "folder": Link("."),
}


def _cases() -> Iterator[Case]:
    for name, content in SNAPSHOTS.items():
        yield Case(name, _RESTORE, {**FILES, "state.npz": content}, (1, 2), says="state.npz")


CASES = tuple(_cases())
