"""Models and the files that they show: broken, endless, enormous, or leading elsewhere."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Iterator, Mapping
from itertools import pairwise

from hostile_commands.case import Case, Content, Fifo, Link, Sparse
from hostile_commands.samples import BODY, FILES, HEAD, URDF, WRL, one_link, shown, urdf_mesh

_RANDOM = random.Random(14)
_NOISE = _RANDOM.randbytes(5000)
_WORDS = "abcdefghij"
_ALIASES = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 8)}]\n" for old, new in pairwise(_WORDS)
)
_ENTITIES = "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in pairwise(_WORDS))
_DOUBLED = "DEF A0 Group { } " + "".join(
    f"DEF A{i + 1} Group {{ children [ USE A{i} USE A{i} ] }} " for i in range(40)
)
_PROTOS = "PROTO P0 [] { Group { } }\n" + "".join(
    f"PROTO P{i + 1} [] {{ Group {{ children [ P{i} {{ }} P{i} {{ }} ] }} }}\n" for i in range(40)
)


def _chain(count: int) -> str:
    links = "\n".join(
        f"  - {{ name: L{i}, parent: L{i - 1}, joint_type: revolute, mass: 1 }}"
        for i in range(1, count)
    )
    return f"{HEAD}links:\n  - {{ name: L0 }}\n{links}\n"


def _shapes(links: int, shapes: int) -> str:
    element = "{ type: Shape, geometry: { type: Box, size: [ 0.1, 0.1, 0.1 ] } }"
    elements = ", ".join([element] * shapes)
    rows = "\n".join(
        f"  - {{ name: L{i}{f', parent: L{i - 1}, joint_type: revolute' if i else ''}, "
        f"mass: 1, elements: [ {elements} ] }}"
        for i in range(links)
    )
    return f"{HEAD}links:\n{rows}\n"


def _urdf_chain(count: int) -> str:
    links = "".join(f'<link name="l{i}"/>' for i in range(count))
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="l{i - 1}"/><child link="l{i}"/></joint>'
        for i in range(1, count)
    )
    return f'<robot name="chain">{links}{joints}</robot>'


_ATTRIBUTES = " ".join(f'a{i}="{i}"' for i in range(30_000))
# By name: the suffix of the model, and the model.
MODELS: Mapping[str, tuple[str, str | bytes]] = {
    **{f"empty {suffix}": (suffix, "") for suffix in ("body", "wrl", "urdf", "yaml")},
    **{f"noise {suffix}": (suffix, _NOISE) for suffix in ("body", "wrl", "urdf", "yaml")},
    **{f"zeros {suffix}": (suffix, bytes(4000)) for suffix in ("body", "wrl", "urdf")},
    "utf-16 body": ("body", BODY.encode("utf-16")),
    "latin-1 urdf": ("urdf", URDF.replace("sample", "Bräter").encode("latin-1")),
    "lone surrogate": ("body", BODY.encode().replace(b"sample", b"\xed\xa0\x80")),
    "cut body": ("body", BODY[: len(BODY) // 2]),
    "cut wrl": ("wrl", WRL[: len(WRL) - 40]),
    "cut urdf": ("urdf", URDF[: len(URDF) // 2]),
    "html": ("body", "<!DOCTYPE html><html><body>404</body></html>"),
    "list of lists": ("body", "[" * 20_000 + "]" * 20_000),
    "deep mappings": ("body", "a: {" * 5_000),
    "deep wrl": ("wrl", "#VRML V2.0 utf8\n" + "Group { children [ " * 20_000),
    "deep urdf": ("urdf", "<robot name='x'>" + "<link>" * 20_000),
    "alias bomb": ("body", f"{_ALIASES}{HEAD}links: *j\n"),
    "alias of itself": ("body", f"{HEAD}links: &a [ *a ]\n"),
    "entity bomb": ("urdf", f'<!DOCTYPE r [<!ENTITY a "ha">{_ENTITIES}]><robot name="&j;"/>'),
    "entity of a file": (
        "urdf",
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
    ),
    "use bomb": ("wrl", f"#VRML V2.0 utf8\n{_DOUBLED}"),
    "proto bomb": ("wrl", f"#VRML V2.0 utf8\n{_PROTOS}P40 {{ }}\n"),
    "proto of itself": ("wrl", "#VRML V2.0 utf8\nPROTO P [] { P { } }\nP { }\n"),
    "inline of itself": ("wrl", '#VRML V2.0 utf8\nInline { url "model.wrl" }'),
    "sub-body of itself": ("body", f"{HEAD}links: [ {{ type: SubBody, uri: model.body }} ]\n"),
    "wrapper of itself": ("yaml", "modelFile: model.yaml\n"),
    "mass nan": ("body", BODY.replace("mass: 1.0", "mass: .nan")),
    "mass infinite": ("body", BODY.replace("mass: 1.0", "mass: 1e999")),
    "mass negative": ("body", BODY.replace("mass: 1.0", "mass: -1")),
    "mass of 5,000 digits": ("body", BODY.replace("mass: 1.0", f"mass: {'9' * 5000}")),
    "mass list": ("body", BODY.replace("mass: 1.0", "mass: [[1]]")),
    "tiny numbers": ("body", BODY.replace("0.01", "1e-320")),
    "huge numbers": ("body", BODY.replace("0.1", "1e300")),
    "numbers at the end of doubles": (
        "urdf",
        URDF.replace('"0.1 0.1 0.1"', '"1e308 1 1"').replace(
            'mass value="1"', 'mass value="1e308"'
        ),
    ),
    "binary id": ("body", BODY.replace("joint_id: 0", "joint_id: 999999999999999999999")),
    "negative id": ("body", BODY.replace("joint_id: 0", "joint_id: -5")),
    "empty range": ("body", BODY.replace("[ -90, 90 ]", "[ 90, -90 ]")),
    "no axis": ("body", BODY.replace("joint_axis: Y", "joint_axis: [ 0, 0, 0 ]")),
    "parent of itself": ("body", BODY.replace("parent: ROOT", "parent: ARM")),
    "parent unknown": ("body", BODY.replace("parent: ROOT", "parent: NOBODY")),
    "two roots": ("body", BODY.replace("    parent: ROOT\n", "")),
    "one name twice": ("body", BODY.replace("name: ARM", "name: ROOT")),
    "no name": ("body", BODY.replace("name: ARM", "name: ''")),
    "long name": ("body", BODY.replace("ARM", "A" * 50_000)),
    **{
        f"camera of {width} columns": (
            "body",
            one_link(
                f"elements: [ {{ type: Camera, format: COLOR, width: {width}, height: 16 }} ]"
            ),
        )
        for width in (0, 16, 2_000_000_000)
    },
    "200,000 equal keys": ("body", HEAD + "mass: 1\n" * 200_000 + "links: [ { name: A } ]\n"),
    "30,000 attributes": ("urdf", f'<robot name="r"><link name="a" {_ATTRIBUTES}/></robot>'),
    "9,999 links": ("body", _chain(9_999)),
    "9,999 urdf links": ("urdf", _urdf_chain(9_999)),
    "urdf cycle": (
        "urdf",
        URDF.replace(
            "</robot>",
            '<joint name="k" type="fixed"><parent link="arm"/><child link="base"/></joint></robot>',
        ),
    ),
    "urdf nan": ("urdf", URDF.replace('value="1"', 'value="nan"')),
    "urdf of words": ("urdf", URDF.replace("0.1", "many")),
    "wide sphere": ("wrl", WRL.replace("radius 0.1", "radius 1e38")),
    "negative box": ("wrl", WRL.replace("0.1 0.1 0.1", "-1 -1 -1")),
    "grid without end": (
        "wrl",
        WRL.replace("Sphere { radius 0.1 }", "ElevationGrid { xDimension 99999 zDimension 99999 }"),
    ),
    "faces beyond points": (
        "wrl",
        WRL.replace(
            "Sphere { radius 0.1 }",
            "IndexedFaceSet { coord Coordinate { point [ 0 0 0 ] } coordIndex [ 7 8 9 -1 ] }",
        ),
    ),
    "scan of any number of rays": (
        "body",
        one_link("elements: [ { type: RangeSensor, name: r, yaw_range: 360, yaw_step: 1e-9 } ]"),
    ),
    "material of words": ("body", one_link("elements: [ { type: Shape, appearance: 7 } ]")),
    "links no list": ("body", f"{HEAD}links: 3\n"),
    "root of a list": ("body", "- 1\n- 2\n"),
    "numbers as keys": ("body", f"{HEAD}1: 2\n[3]: 4\n{{a: b}}: c\nlinks: [ {{ name: A }} ]\n"),
}
_COMMANDS = (
    ("hrp-model", "dump"),
    ("hrp-model", "urdf"),
    ("hrp-model", "tree"),
    ("hrp-model", "rviz"),
    ("hrp-sim", "run", "--duration", "0.002"),
    ("hrp-sim", "sensors"),
)


def _model_cases() -> Iterator[Case]:
    for number, (name, (suffix, text)) in enumerate(MODELS.items()):
        files = {**FILES, f"model.{suffix}": text}
        for command in (("hrp-model", "check"), _COMMANDS[number % len(_COMMANDS)]):
            yield Case(
                f"{name}: {command[1]}",
                (*command, f"model.{suffix}"),
                files,
                (0, 1),
                data=command[1] in ("dump", "urdf"),
            )


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def _gltf(**changes: object) -> str:
    document: dict[str, object] = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36, "uri": "data:application/octet-stream;base64,AAAA"}],
        **changes,
    }
    return json.dumps(document)


def _accessor(**changes: object) -> str:
    accessor = {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", **changes}
    return _gltf(accessors=[accessor])


_PLY = "ply\nformat {} 1.0\nelement vertex {}\nproperty float x\nproperty float y\n"
_COLLADA = '<?xml version="1.0"?><COLLADA version="1.4.1">{}</COLLADA>'
# By the name of the mesh file: what is in it.
MESHES: Mapping[str, Content] = {
    "count.stl": b"\0" * 80 + struct.pack("<I", 2**32 - 1) + bytes(50),
    "cut.stl": b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0",
    "nan.stl": "solid a\nfacet normal 0 0 1\nouter loop\n" + "vertex nan inf 1e999\n" * 3,
    "noise.stl": _NOISE,
    "sparse.stl": Sparse(1 << 30, b"\0" * 80 + struct.pack("<I", 21_000_000)),
    "faces.obj": "v 0 0 0\nf 1 2 3\nf -7 1 1\nf 999999999999 1 1\n",
    "sparse.obj": Sparse(1 << 30, b"v 0 0 0\n"),
    "library.obj": "mtllib ../../../../../../etc/passwd\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "vertices.ply": _PLY.format("ascii", 10**12) + "property float z\nend_header\n0 0 0\n",
    "binary.ply": _PLY.format("binary_little_endian", 2**31) + "property float z\nend_header\n",
    "negative.ply": _PLY.format("ascii", -5) + "property float z\nend_header\n",
    "empty.dae": "",
    "hollow.dae": _COLLADA.format(""),
    "entities.dae": f'<!DOCTYPE r [<!ENTITY a "ha">{_ENTITIES}]>{_COLLADA.format("&j;")}',
    "sparse.dae": Sparse(1 << 30, b"<?xml version='1.0'?>"),
    "zip.dae": b"PK\x03\x04" + _NOISE,
    "negative.gltf": _accessor(count=-5),
    "count.gltf": _accessor(count=2**40),
    "stride.gltf": _gltf(bufferViews=[{"buffer": 0, "byteLength": 36, "byteStride": -1}]),
    "length.gltf": _gltf(buffers=[{"byteLength": 2**40, "uri": "data:;base64,AAAA"}]),
    "offset.gltf": _gltf(bufferViews=[{"buffer": 0, "byteOffset": -(2**40), "byteLength": 36}]),
    "instances.gltf": _gltf(
        nodes=[{"children": list(range(1, 100_001))}, *[{"mesh": 0}] * 100_000]
    ),
    "loop.gltf": _gltf(nodes=[{"children": [0]}]),
    "deep.gltf": '{"a":' * 50_000,
    "noise.glb": b"glTF" + _NOISE,
    "head.glb": b"glTF" + struct.pack("<III", 2, 2**31, 2**31) + b"JSON",
    "dangling.stl": Link("nowhere"),
    "loop.stl": Link("loop.stl"),
    "secret.stl": Link("/etc/passwd"),
    "pipe.stl": Fifo(),
    "device.stl": Link("/dev/zero"),
}
_REFERENCES = {
    "http": "http://127.0.0.1:9/a.stl",
    "password file": "file:///etc/passwd",
    "upward": "../../../../../../../../etc/passwd",
    "user's home": "~root/.bashrc",
    "nobody's home": "~nobody-at-all/a.stl",
    "variable": "${HRP_TEST_SECRET}/a.stl",
    "package upward": "package://../../etc/passwd",
    "package of dots": "package://..",
    "null byte": "a%00.stl",
    "long": "a" * 10_000,
    "device": "/dev/zero",
    "endless device": "/dev/urandom",
    "terminal": "/dev/tty",
    "process": "/proc/self/mem",
    "directory": ".",
    "empty": "",
}


def _mesh_cases() -> Iterator[Case]:
    for number, (name, content) in enumerate(MESHES.items()):
        files = {name: content, "model.body": shown(name), "model.urdf": urdf_mesh(name)}
        command = (("hrp-model", "check"), ("hrp-model", "urdf"), ("hrp-sim", "sensors"))[
            number % 3
        ]
        model = ("model.body", "model.urdf")[number % 2]
        yield Case(
            f"{name}: {command[1]}", (*command, model), files, (0, 1), data=command[1] == "urdf"
        )
    for picture in ((65_535, 65_535), (2**31 - 1, 1), (0, 0)):
        box = "geometry: { type: Box, size: [ 1, 1, 1 ] }"
        texture = "appearance: { texture: { url: picture.png } }"
        text = one_link(f"elements: [ {{ type: Shape, {box}, {texture} }} ]")
        name = "picture of {} x {}".format(*picture)
        files = {"picture.png": _png(*picture), "model.body": text}
        yield Case(name, ("hrp-model", "check", "model.body"), files, (0, 1))


def _reference_cases() -> Iterator[Case]:
    secret = {"HRP_TEST_SECRET": "/hush"}
    for name, uri in _REFERENCES.items():
        files = {"model.body": shown(uri), "model.urdf": urdf_mesh(uri)}
        yield Case(
            f"reference to {name}", ("hrp-model", "check", "model.body"), files, (0, 1),
            environment=secret,
        )  # fmt: skip
        yield Case(
            f"reference to {name} in a sandbox",
            ("hrp-model", "check", "--sandbox", "--format", "sarif", "model.urdf"),
            files,
            (0, 1),
            says=r"\A(?s:(?!.*hush).)*\Z",
            data=True,
            environment=secret,
        )


def _strange_files() -> Iterator[Case]:
    for name, content in {
        "pipe.body": Fifo(),
        "folder.body/inside": "",
        "loop.wrl": Link("loop.wrl"),
        "device.urdf": Link("/dev/zero"),
        "random.body": Link("/dev/urandom"),
        "sparse.body": Sparse(1 << 30),
        "sparse.wrl": Sparse(1 << 30, b"#VRML V2.0 utf8\n"),
        "sparse.urdf": Sparse(1 << 30, b"<robot>"),
        "large.body": Sparse((1 << 30) + 1),
    }.items():
        model = name.partition("/")[0]
        for command in (("hrp-model", "check"), ("hrp-sim", "run", "--duration", "0.002")):
            yield Case(f"{name}: {command[1]}", (*command, model), {name: content}, (0, 1))
    crowd = {"model.body": _shapes(1_000, 20), "world.yaml": (
        "physics: { self_collision: true }\nbodies: [ { model: model.body } ]\n"
    )}  # fmt: skip
    for command in (("hrp-model", "check", "model.body"), ("hrp-sim", "sensors", "world.yaml")):
        yield Case(f"20,000 shapes: {command[1]}", command, crowd, (0, 1))


CASES = (*_model_cases(), *_mesh_cases(), *_reference_cases(), *_strange_files())
