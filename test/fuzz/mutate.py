"""Changes to texts and files that keep most of their structure: what byte flips cannot do."""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Callable, Sequence

_TOKEN = re.compile(
    rb"\s+|[A-Za-z_][\w.-]*|[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?|\"[^\"\n]*\"|.", re.DOTALL
)
_NUMBERS = (
    *(b"0", b"1", b"-1", b"2", b"3", b"1e308", b"-1e-308", b"nan", b"inf", b"2147483647"),
    *(b"-2147483648", b"4294967296", b"1e9", b"1000000000", b"0.1", b"99999999999999999999"),
)
_CLOSING = {b"{": b"}", b"[": b"]", b"<": b">", b"(": b")"}

Change = Callable[[list[bytes], random.Random], None]


def tokens_changed(data: bytes, words: Sequence[bytes], rng: random.Random) -> bytes:
    """Return a text with one to four changes to its words, numbers and brackets."""
    tokens = _TOKEN.findall(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not tokens:
            break
        rng.choice(_CHANGES)(tokens, rng)
        if tokens and rng.random() < 0.4:
            _replace(tokens, rng, words)
    return b"".join(tokens)


def lines_changed(data: bytes, insert: Callable[[], str], rng: random.Random) -> bytes:
    """Return an indented text with one block moved, copied, taken out, or a line put in."""
    lines = data.split(b"\n")
    start = rng.randrange(len(lines))
    depth = _indentation(lines[start])
    end = start + 1
    while end < len(lines) and (_indentation(lines[end]) > depth or not lines[end].strip()):
        end += 1
    block = lines[start:end]
    target = rng.randrange(len(lines))
    shift = _indentation(lines[target]) + rng.choice((0, 0, 0, 2, 4))
    action = rng.randrange(5)
    if action == 0:
        del lines[start:end]
    elif action == 1:
        lines[target:target] = [b" " * shift + line[depth:] for line in block]
    elif action == 2:
        lines.insert(target, b" " * shift + insert().encode())
    elif action == 3 and b":" in lines[start]:
        key, _, _ = lines[start].partition(b":")
        lines[start:end] = [key + b": " + insert().partition(": ")[2].encode()]
    else:
        lines[start] = b" " * rng.randrange(12) + lines[start].lstrip()
    return b"\n".join(lines)


def glb_changed(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Return a binary glTF file whose JSON part was changed, its lengths made to fit."""
    if len(data) < 20:
        return change(data)
    (length,) = struct.unpack_from("<I", data, 12)
    head = change(data[20 : 20 + length])
    head += b" " * (-len(head) % 4)
    rest = data[20 + length :]
    total = 20 + len(head) + len(rest)
    return struct.pack("<4sIII4s", b"glTF", 2, total, len(head), b"JSON") + head + rest


def minimal_glb() -> bytes:
    """Return a binary glTF file of one triangle."""
    corners = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) + struct.pack("<3H2x", 0, 1, 2)
    head = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": "N", "translation": [1, 0, 0], "children": [1]}, {"mesh": 0}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1]}}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "buffers": [{"byteLength": 44}],
        "bufferViews": [{"buffer": 0, "byteLength": 36},
                        {"buffer": 0, "byteOffset": 36, "byteLength": 6}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
        ],
    }  # fmt: skip
    tail = struct.pack("<I4s", len(corners), b"BIN\0") + corners
    empty = struct.pack("<4sIII4s", b"glTF", 2, 20, 0, b"JSON")
    return glb_changed(empty + tail, lambda _: json.dumps(head).encode())


def _indentation(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _replace(tokens: list[bytes], rng: random.Random, words: Sequence[bytes]) -> None:
    at = rng.randrange(len(tokens))
    for i in range(at, min(at + 20, len(tokens))):
        if tokens[i][:1].isalpha() or tokens[i][:1] == b'"':
            tokens[i] = rng.choice(words)
            return


def _other_number(tokens: list[bytes], rng: random.Random) -> None:
    numbers = [i for i, token in enumerate(tokens) if token[:1] in b"+-.0123456789" and token]
    if numbers:
        tokens[rng.choice(numbers)] = rng.choice(_NUMBERS)


def _take_out(tokens: list[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(tokens))
    del tokens[at : at + rng.choice((1, 1, 2, 5, 20))]


def _copy(tokens: list[bytes], rng: random.Random) -> None:
    at, to = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens[to:to] = tokens[at : at + rng.choice((1, 2, 4, 16, 64))]


def _copy_group(tokens: list[bytes], rng: random.Random) -> None:
    """Copy a bracketed group, with the word before it, to another place or over another group."""
    openings = [i for i, token in enumerate(tokens) if token in _CLOSING]
    if not openings:
        return
    start, end = _group(tokens, rng.choice(openings))
    to, to_end = _group(tokens, rng.choice(openings))
    tokens[to : to_end if rng.random() < 0.5 else to] = tokens[max(start - 2, 0) : end]


def _empty_group(tokens: list[bytes], rng: random.Random) -> None:
    openings = [i for i, token in enumerate(tokens) if token in _CLOSING]
    if openings:
        start, end = _group(tokens, rng.choice(openings))
        del tokens[start + 1 : end - 1]


def _group(tokens: list[bytes], start: int) -> tuple[int, int]:
    opening, closing = tokens[start], _CLOSING[tokens[start]]
    depth = 0
    for i in range(start, len(tokens)):
        depth += (tokens[i] == opening) - (tokens[i] == closing)
        if depth == 0:
            return start, i + 1
    return start, len(tokens)


_CHANGES: tuple[Change, ...] = (
    _other_number, _other_number, _take_out, _copy, _copy_group, _copy_group, _empty_group
)  # fmt: skip
