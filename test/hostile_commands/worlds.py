"""World files: wrong in every key, endless, enormous, or leading elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hostile_commands.case import Case, Content, Fifo, Link, Sparse
from hostile_commands.samples import FILES, WORLD


def _entry(keys: str) -> str:
    """Return a world of one body with further keys."""
    return f"bodies: [ {{ name: one, model: sample.body, {keys} }} ]\n"


def _physics(keys: str) -> str:
    """Return a world with settings of the physics."""
    return f"physics: {{ {keys} }}\n{WORLD}"


_MANY = "bodies:\n" + "".join(
    f"  - {{ name: b{i}, model: sample.body, position: [ {i}, 0, 1 ] }}\n" for i in range(1_000)
)
WORLDS: Mapping[str, Content] = {
    "empty": "",
    "noise": bytes(range(256)) * 20,
    "list": "- 1\n",
    "text": "bodies",
    "no bodies": "bodies: []\n",
    "bodies of numbers": "bodies: [ 1, 2, null ]\n",
    "bodies a number": "bodies: 7\n",
    "no model": "bodies: [ { name: a } ]\n",
    "model missing": "bodies: [ { model: nobody.body } ]\n",
    "model is the world": "bodies: [ { model: world.yaml } ]\n",
    "model is a folder": "bodies: [ { model: . } ]\n",
    "model is a device": "bodies: [ { model: /dev/zero } ]\n",
    "model of a web page": "bodies: [ { model: 'http://127.0.0.1:9/a.body' } ]\n",
    "model upward": "bodies: [ { model: ../../../../../../etc/passwd } ]\n",
    "model a list": "bodies: [ { model: [ sample.body ] } ]\n",
    "two of a name": WORLD + "  - { name: one, model: sample.body }\n",
    "unknown keys": WORLD + "bodeis: []\nphysisc: {}\n",
    "position nan": _entry("position: [ .nan, 0, 0 ]"),
    "position far": _entry("position: [ 1e300, 0, 0 ]"),
    "position short": _entry("position: [ 0 ]"),
    "position of words": _entry("position: [ a, b, c ]"),
    "rotation of no axis": _entry("rotation: [ 0, 0, 0, 1 ]"),
    "rotation infinite": _entry("rpy: [ .inf, 0, 0 ]"),
    "joints unknown": _entry("joints: { NOBODY: 1 }"),
    "joints infinite": _entry("joints: { ARM: .inf }"),
    "joints in degrees": _entry("joints: { ARM: 90 }"),
    "joints a list": _entry("joints: [ 1 ]"),
    "speed infinite": _entry("joint_velocities: { ARM: 1e308 }"),
    "velocity absurd": _entry("velocity: { linear: [ 1e200, 0, 0 ] }"),
    "control unknown": _entry("control: fly"),
    "gain negative": _entry("control: { mode: position, kp: -1 }"),
    "gain infinite": _entry("control: { mode: position, kp: .inf, kd: 1e308 }"),
    "timeout nan": _entry("control: { mode: position, timeout: .nan }"),
    "namespace of slashes": _entry("namespace: '///a b//'"),
    "namespace long": _entry(f"namespace: {'a' * 5_000}"),
    "sensor option unknown": _entry("sensors: { imu: { ratte: 3 } }"),
    "sensor rate endless": _entry("sensors: { imu: { rate: 1e300 } }"),
    "step zero": _physics("time_step: 0"),
    "step negative": _physics("time_step: -1"),
    "step tiny": _physics("time_step: 1e-300"),
    "step nan": _physics("time_step: .nan"),
    "gravity absurd": _physics("gravity: [ 0, 0, -1e300 ]"),
    "gravity short": _physics("gravity: [ 0 ]"),
    "solver unknown": _physics("solver: magic"),
    "iterations endless": _physics("iterations: 2000000000"),
    "seed negative": _physics("seed: -1"),
    "erp absurd": _physics("erp: 1e9, cfm: -1"),
    "materials missing": _physics("materials: nobody.yaml"),
    "materials a device": _physics("materials: /dev/zero"),
    "materials the world": _physics("materials: world.yaml"),
    "alias of itself": "bodies: &a [ *a ]\n",
    "aliases": "a: &a [ 1, 1 ]\n"
    + "".join(
        f"a{i}: &a{i} [ *a{i - 1 if i else ''}, *a{i - 1 if i else ''} ]\n" for i in range(40)
    )
    + "bodies: *a39\n",
    "deep": "bodies: " + "[" * 30_000,
    "100,000 bodies of nothing": "bodies: [" + "{}," * 100_000 + "]\n",
    "1,000 bodies": _MANY,
    "200,000 equal keys": "seed: 1\n" * 200_000 + WORLD,
    "tags": "bodies: !!python/object/apply:os.system [ 'touch owned' ]\n",
    "two documents": WORLD + "---\n" + WORLD,
    "pipe": Fifo(),
    "loop": Link("world.yaml"),
    "device": Link("/dev/zero"),
    "sparse": Sparse(1 << 30, b"bodies:\n"),
}
_COMMANDS = (
    ("hrp-sim", "run", "--duration", "0.002", "world.yaml"),
    ("hrp-sim", "sensors", "world.yaml"),
    ("hrp-sim", "rviz", "world.yaml"),
)


def _cases() -> Iterator[Case]:
    for number, (name, content) in enumerate(WORLDS.items()):
        command = _COMMANDS[0] if number % 2 == 0 else _COMMANDS[number // 2 % 3]
        files = {**FILES, "world.yaml": content}
        yield Case(name, command, files, (0, 1), data=command[1] == "rviz")


CASES = tuple(_cases())
