"""Command lines: wrong, enormous, or naming outputs that must not be written."""

from __future__ import annotations

from collections.abc import Iterator

from hostile_commands.case import Case, Fifo, Link
from hostile_commands.samples import FILES

_LONG = "n" * 5_000
_RUN = ("hrp-sim", "run", "world.yaml", "--duration", "0.002")
_SANE = {**FILES, "other.wrl": "keep me", "other.yaml": "keep me", "other.urdf": "keep me"}
# Each is a usage error.
_WRONG: tuple[tuple[str, ...], ...] = (
    ("hrp-model", "chekc", "sample.body"),
    ("hrp-model", "check"),
    ("hrp-model", "check", "sample.body", "--allow", "nowhere"),
    ("hrp-model", "check", "sample.body", "--format", "xml"),
    ("hrp-model", "dump", "sample.body", "--poses", "nowhere.json"),
    ("hrp-model", "dump", "sample.body", "--poses", "/dev/zero"),
    ("hrp-model", "dump", "sample.body", "--poses", "."),
    ("hrp-model", "dump", "sample.body", "--poses", "deep.json"),
    ("hrp-model", "dump", "sample.body", "--poses", "words.json"),
    ("hrp-model", "dump", "sample.body", "--poses", "world.yaml"),
    ("hrp-model", "urdf", "sample.body", "--base", "nothing"),
    ("hrp-model", "urdf", "sample.body", "other.urdf"),
    ("hrp-model", "rviz", "sample.body", "--namespace", "a b//c"),
    ("hrp-model", "tree", _LONG, _LONG),
    ("hrp-sim", "sample.body"),
    ("hrp-sim", "fly", "world.yaml"),
    ("hrp-sim", "run", "world.yaml", "--dt", "0.001"),
    (*_RUN, "--duration", "nan"),
    (*_RUN, "--duration", "-1"),
    (*_RUN, "--duration", "words"),
    (*_RUN, "--time-step", "1e300"),
    (*_RUN, "--time-step", "0"),
    (*_RUN, "--rtf", "-1"),
    (*_RUN, "--rtf", "inf"),
    (*_RUN, "--seed", "99999999999999999999"),
    (*_RUN, "--seed", "1.5"),
    (*_RUN, "--solver", "magic"),
    (*_RUN, "--engine", "magic"),
    (*_RUN, "--every", "1"),
    (*_RUN, "--listen"),
    (*_RUN, "--paused"),
    (*_RUN, "--sensor", "rate"),
    (*_RUN, "--sensor", "rate=words"),
    (*_RUN, "--sensor", f"{_LONG}={_LONG}"),
    (*_RUN, "--sensor", "=="),
    (*_RUN, f"--{_LONG}"),
    ("hrp-sim", "bench", "--duration", "0"),
    ("hrp-sim", "bench", "--scene", "nowhere"),
    ("hrp-sim", "rviz", "world.yaml", "--naming", "magic"),
)
# Each names an input that is not there, or cannot be used.
_MISSING: tuple[tuple[str, ...], ...] = (
    ("hrp-model", "check", _LONG),
    ("hrp-model", "check", "nowhere.body"),
    ("hrp-model", "check", "/dev/zero"),
    ("hrp-model", "check", "/proc/self/mem"),
    ("hrp-model", "check", "package://nobody/a.body"),
    ("hrp-model", "check", "http://127.0.0.1:9/a.body"),
    ("hrp-model", "check", "file://"),
    ("hrp-model", "tree", "a\0b.body".replace("\0", "%00")),
    ("hrp-model", "urdf", "~nobody-at-all/a.body"),
    ("hrp-model", "dump", ""),
    ("hrp-sim", "run", _LONG),
    ("hrp-sim", "run", "nowhere.yaml"),
    ("hrp-sim", "run", "/dev/zero"),
    ("hrp-sim", "run", "."),
    ("hrp-sim", "run", ""),
    ("hrp-sim", "run", "package://nobody/a.yaml"),
    ("hrp-sim", "sensors", "/proc/self/mem"),
    ("hrp-sim", "bench", "nowhere.body"),
    ("hrp-sim", "rviz", "-"),
    (*_RUN, "--sensor", "nobody.rate=5"),
    (*_RUN, "--restore", "nowhere.npz"),
)
# Each would write where it must not: over an input, another kind of file, a folder.
_REFUSED_OUTPUTS: tuple[tuple[str, ...], ...] = (
    (*_RUN, "--save", "world.yaml"),
    (*_RUN, "--save", "sample.body"),
    (*_RUN, "--save", "other.yaml"),
    (*_RUN, "--save", "."),
    (*_RUN, "--save", "sample.body/a.npz"),
    (*_RUN, "--save", "loop"),
    (*_RUN, "--save", _LONG),
    (*_RUN, "--trace", "sample.body"),
    (*_RUN, "--trace", "world.yaml"),
    (*_RUN, "--trace", "other.wrl"),
    (*_RUN, "--trace", "link.body"),
    (*_RUN, "--trace", "."),
    (*_RUN, "--trace", "loop"),
    (*_RUN, "--save", "a.npz", "--trace", "a.npz"),
    ("hrp-sim", "rviz", "world.yaml", "-o", "world.yaml"),
    ("hrp-sim", "rviz", "world.yaml", "-o", "other.wrl"),
    ("hrp-sim", "rviz", "world.yaml", "-o", "loop"),
    ("hrp-model", "rviz", "sample.body", "-o", "sample.body"),
    ("hrp-model", "rviz", "sample.body", "-o", "other.wrl"),
    ("hrp-model", "rviz", "sample.body", "-o", "."),
    ("hrp-model", "urdf", "sample.urdf", "-o", "sample.urdf"),
    ("hrp-model", "urdf", "sample.urdf", "-o", "link.urdf"),
    ("hrp-model", "urdf", "sample.body", "-o", "other.wrl"),
    ("hrp-model", "urdf", "sample.body", "-o", "out.urdf", "--srdf", "other.wrl"),
    ("hrp-model", "urdf", "sample.body", "-o", "out.urdf", "--srdf", "out.urdf"),
    ("hrp-model", "urdf", "sample.body", "-o", "loop"),
)


def _cases() -> Iterator[Case]:
    poses = {"deep.json": "[" * 100_000, "words.json": '[{"q": {"ARM": "far"}}]'}
    for words in _WRONG:
        yield Case(_name(words), words, {**_SANE, **poses}, (2,))
    for words in _MISSING:
        yield Case(_name(words), words, _SANE, (1, 2))
    links = {
        "loop": Link("loop"),
        "link.body": Link("sample.body"),
        "link.urdf": Link("sample.urdf"),
    }
    for words in _REFUSED_OUTPUTS:
        yield Case(f"unwritten {_name(words)}", words, {**_SANE, **links}, (2,))
    yield from _good_outputs()


def _good_outputs() -> Iterator[Case]:
    for device in ("/dev/null", "/dev/full"):
        full = (2,) if device == "/dev/full" else (0,)
        for words in (
            (*_RUN, "--save", device),
            (*_RUN, "--trace", device),
            ("hrp-sim", "rviz", "world.yaml", "-o", device),
            ("hrp-model", "urdf", "sample.body", "-o", device),
        ):
            yield Case(_name(words), words, FILES, full)
    yield Case(
        "save through a link",
        (*_RUN, "--save", "link.npz"),
        {**FILES, "link.npz": Link("kept.npz")},
        (0,),
        outputs=("kept.npz",),
    )
    yield Case(
        "trace every 1e300 s",
        (*_RUN, "--trace", "t.jsonl", "--every", "1e300"),
        FILES,
        (0, 2),
        outputs=("t.jsonl",),
    )
    yield Case(
        "a pipe stays a pipe where nobody reads",
        ("hrp-model", "check", "sample.body"),
        {**FILES, "pipe.npz": Fifo()},
        (0,),
    )


def _name(words: tuple[str, ...]) -> str:
    return " ".join(word if len(word) < 60 else "(long)" for word in words)


CASES = tuple(_cases())
