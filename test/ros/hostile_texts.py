"""Texts that are no model, for whoever is asked to spawn or load them."""

import math
import struct

from controlled_run import BOX
from paths import MODELS

BOMB = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{c}: &{c} [{', '.join([f'*{b}'] * 8)}]\n"
    for b, c in zip("abcdefghi", "bcdefghij", strict=True)
)
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {c} "{f"&{b};" * 10}">' for b, c in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + ']><robot name="&i;"><link name="a"/></robot>'
)
TEXTS = {
    "bytes": b"\x7fELF\0\xff\xfe" + bytes(range(256)) * 10,
    "floats": struct.pack("<100d", *[math.nan] * 100),
    "yaml bomb": f"{BOMB}format: ChoreonoidBody\nformat_version: 2.0\nlinks: *j\n".encode(),
    "xml bomb": LAUGHS.encode(),
    "deep yaml": b"links: " + b"[" * 5000,
    "deep vrml": b"#VRML V2.0 utf8\n" + b"Group { children [ " * 5000,
    "deep urdf": b"<robot name='x'>" + b"<link>" * 5000,
    "cut": (MODELS / "arm" / "arm.body").read_bytes()[:1000],
    "entity": b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="x">&x;</robot>',
    "endless links": b"<robot name='x'><link name='a'/><link name='b'/>"
    b"<joint name='j' type='fixed'>"
    b"<parent link='a'/><child link='b'/></joint><joint name='k' type='fixed'>"
    b"<parent link='b'/><child link='a'/></joint></robot>",
    "mesh missing": b"<robot name='x'><link name='a'><visual><geometry>"
    b"<mesh filename='package://nobody/../../etc/passwd'/></geometry></visual></link></robot>",
    "mass": BOX.replace("mass: 1", "mass: .nan").encode(),
    "negative": BOX.replace("mass: 1", "mass: -1").encode(),
    "no links": b"format: ChoreonoidBody\nformat_version: 2.0\nname: T\nlinks: []\n",
}
