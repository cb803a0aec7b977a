"""Read a file in a separate process with limited memory and time."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import resource
import signal
import traceback
import warnings
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from unittest import mock

from paths import PYTHONPATH

# The fork server, which has loaded everything once; the processes of readers are its copies.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["bounded_reading_preload"])
_WALL_SECONDS = 100.0  # for what blocks without using time
_MIB = 2**20


@dataclass(frozen=True)
class Outcome:
    """The result of reading a file.

    Attributes:
        kind: "body", "refused" (a ModelError), or a text about any other result.
        codes: Of all diagnostics, in their order.
        links: Number of links of the body.
    """

    kind: str
    codes: list[str] = field(default_factory=list)
    links: int = 0


def outcome(path, *, memory_mib=400, cpu_seconds=6) -> Outcome:
    """Read a model, and report, dump and pickle the result, within limits.

    Args:
        path: The model.
        memory_mib: Address space it may take, on top of what an idle process has [MiB].
        cpu_seconds: Processor time it may take [s].
    """
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    arguments = (os.fspath(path), memory_mib, cpu_seconds, sender)
    process = _CONTEXT.Process(target=_read, args=arguments, daemon=True)
    with mock.patch.dict(os.environ, PYTHONPATH=PYTHONPATH):  # to where the server finds the above
        process.start()
    sender.close()
    try:
        if receiver.poll(_WALL_SECONDS):
            return receiver.recv()
        return Outcome("blocked")
    except EOFError:
        process.join()
        code = process.exitcode or 0
        return Outcome(signal.Signals(-code).name if code < 0 else f"exit status {code}")
    finally:
        process.kill()
        process.join()


def read_or_refused(path, **bounds) -> Outcome:
    """Return the outcome; fail unless it is a body or a ModelError."""
    result = outcome(path, **bounds)
    assert result.kind in ("body", "refused"), result.kind
    return result


def _read(path: str, memory_mib: int, cpu_seconds: int, sender: Connection) -> None:
    from hrp_model import Diagnostics, ModelError, load_body

    _bound(memory_mib, cpu_seconds)
    warnings.simplefilter("ignore")
    found = Diagnostics.silent()
    links = 0
    try:
        body = load_body(path, found)
        links = len(body.links)
        kind = "body"
        _write_out(body)
    except ModelError:
        kind = "refused"
    except BaseException:
        kind = "".join(traceback.format_exc()[-3000:])
    for diagnostic in found.found:
        str(diagnostic)
    sender.send(Outcome(kind, [d.code for d in found.found], links))


def _write_out(body) -> None:
    """Process a body as users do: no number in a file may cause an overflow later."""
    from hrp_model import body_to_urdf
    from hrp_model.cli.dump import dump_body

    json.dumps(dump_body(body))
    body_to_urdf(body)
    pickle.dumps(body)


def _bound(memory_mib: int, cpu_seconds: int) -> None:
    with open("/proc/self/statm", encoding="ascii") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory_mib * _MIB,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
