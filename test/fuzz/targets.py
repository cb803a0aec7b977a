"""What is fuzzed: a file of some kind, and the call that must read or refuse it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fuzz import mutate, seeds
from fuzz.vrml_grammar import VrmlGrammar
from fuzz.yaml_grammar import YamlGrammar
from hrp_model import Diagnostics, ModelError, body_to_urdf, load_body
from hrp_model.cli.dump import dump_body
from hrp_model.program.report import text_report
from hrp_sim.world.load import load_world

_WORD = re.compile(rb"[A-Za-z_][\w.-]*")
_HOLDER = "format: ChoreonoidBody\nformat_version: 2.0\nname: T\nlinks: [ {{ name: A, elements: [ \
{{ type: Resource, uri: {0} }}, {{ type: Resource, uri: {0}, node: N }} ] }} ]\n"
_WORDS = {
    ".urdf": b"capsule quat_xyzw planar floating mimic multiplier offset dynamics friction texture "
    b"gpu_lidar ray rgbd_camera depth_camera vertical resolution relative_to static nan inf CDATA",
    ".stl": b"solid facet normal outer loop vertex endloop endfacet endsolid nan",
    ".obj": b"v vn vt f usemtl mtllib g o s l 1/1/1 -1 1//1 m.obj",
    ".ply": b"ply format ascii binary_little_endian binary_big_endian 1.0 element vertex face list "
    b"property float double uchar int uint8 int32 x y z vertex_indices end_header comment nan",
    ".dae": b"triangles polylist polygons trifans tristrips lines input semantic VERTEX NORMAL "
    b"TEXCOORD COLOR source offset count stride instance_node instance_geometry "
    b"instance_controller lookat skew library_nodes library_controllers vcount p ph h contributor "
    b"attachment_start setparam bind symbol base_odometry lookat density",
    ".glb": b"translation rotation scale matrix mode uri NORMAL TEXCOORD_0 COLOR_0 sparse skins "
    b"KHR_draco_mesh_compression byteStride images textures data:application/octet-stream;base64,",
}


@dataclass(frozen=True)
class Target:
    """One kind of input.

    Attributes:
        suffix: Of the file that holds the input.
        share: Of the time, among all targets.
        read: Reads the file at a path; may raise ModelError and nothing else.
        generated: Makes an input from nothing, and one line to put into another.
    """

    name: str
    suffix: str
    share: float
    read: Callable[[Path], None]
    generated: Callable[[random.Random], tuple[str, str]] | None = None

    def seeds(self) -> list[bytes]:
        """Return files to begin with."""
        return seeds.files(self.suffix)

    def words(self) -> list[bytes]:
        """Return the words of the format, as far as seeds and grammar use them."""
        texts = [*self.seeds(), _WORDS.get(self.suffix, b"")]
        if self.generated is not None:
            rng = random.Random(0)
            texts += [text.encode() for _ in range(300) for text in self.generated(rng)]
        return sorted({word for text in texts for word in _WORD.findall(text)})


def _report(found: Diagnostics) -> None:
    for diagnostic in found.found:
        text_report(diagnostic)


def read_model(path: Path) -> None:
    """Load a model, report what was found, and write down all that became of it."""
    found = Diagnostics.silent()
    try:
        body = load_body(path, found)
    except ModelError as error:
        str(error)
        _report(found)
        return
    _report(found)
    json.dumps(dump_body(body))
    body_to_urdf(body)


def read_mesh(path: Path) -> None:
    """Load a model that shows a mesh file."""
    model = path.with_name("m.body")
    model.write_text(_HOLDER.format(path.name), encoding="utf-8")
    read_model(model)


def read_collada(path: Path) -> None:
    """Load a COLLADA file: a robot, or one that a model shows."""
    is_robot = b"<kinematics_model" in path.read_bytes()
    (read_model if is_robot else read_mesh)(path)


def read_world(path: Path) -> None:
    """Load a world file."""
    found = Diagnostics.silent()
    try:
        load_world(path, found)
    except ModelError as error:
        str(error)
    _report(found)


def _vrml(rng: random.Random) -> tuple[str, str]:
    grammar = VrmlGrammar(rng)
    return grammar.text(), grammar.node(None, 3)


def _body(rng: random.Random) -> tuple[str, str]:
    grammar = YamlGrammar(rng)
    return grammar.body(), rng.choice((grammar.entry, grammar.fragment))()


def _world(rng: random.Random) -> tuple[str, str]:
    grammar = YamlGrammar(rng)
    return grammar.world(), grammar.entry()


TARGETS = {
    target.name: target
    for target in (
        Target("vrml", ".wrl", 3.0, read_model, _vrml),
        Target("body", ".body", 3.0, read_model, _body),
        Target("urdf", ".urdf", 2.0, read_model),
        Target("world", ".yaml", 1.0, read_world, _world),
        Target("dae", ".dae", 1.0, read_collada),
        Target("stl", ".stl", 0.5, read_mesh),
        Target("obj", ".obj", 0.5, read_mesh),
        Target("glb", ".glb", 0.5, read_mesh),
        Target("ply", ".ply", 0.5, read_mesh),
    )
}


class Mutator:
    """Changes inputs of one target: as libFuzzer does, or along the structure of the format."""

    def __init__(self, target: Target, bytes_changed: Callable[[bytes, int], bytes]) -> None:
        self._target = target
        self._bytes_changed = bytes_changed
        self._words = target.words() or [b"x"]

    def __call__(self, data: bytes, max_size: int, seed: int) -> bytes:
        """Return another input of at most ``max_size`` bytes; the same for the same seed."""
        rng = random.Random(seed)
        return self._changed(data, max_size, rng)[:max_size]

    def _changed(self, data: bytes, max_size: int, rng: random.Random) -> bytes:
        dice = rng.random()
        generated = self._target.generated
        if generated is not None and dice < 0.15:
            return generated(rng)[0].encode()
        if dice < 0.4 or not data:
            return self._bytes_changed(data, max_size)
        if self._target.suffix == ".glb":
            return mutate.glb_changed(data, lambda head: self._tokens(head, rng))
        if generated is not None and dice < 0.65:
            if self._target.suffix != ".wrl":
                return mutate.lines_changed(data, lambda: generated(rng)[1], rng)
            at = rng.choice([i for i, byte in enumerate(data) if byte in b"{}[]"] or [0]) + 1
            return data[:at] + b" " + generated(rng)[1].encode() + b" " + data[at:]
        return self._tokens(data, rng)

    def _tokens(self, data: bytes, rng: random.Random) -> bytes:
        return mutate.tokens_changed(data, self._words, rng)
