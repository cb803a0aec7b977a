"""A process that has imported the programs once, and forks one child for each command.

Starting Python and importing takes most of the time of a short command. ``forked_programs`` makes
a folder with commands of the same names, which have this process run them: with their arguments,
environment, folder and streams, and with their exit status. They pass on Ctrl-C. A file named after
the number of such a process has that of the child.
"""

from __future__ import annotations

import gc
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

PROGRAMS = ("hrp-model", "hrp-sim", "model_node", "sim_node")
_MAX_REQUEST = 1 << 20  # [B]
_COMMAND = """\
#!{python} -IS
import json, os, signal, socket, sys
child, early = 0, []
def pass_on(number, _):
    if not child:
        early.append(number)
        return
    try:
        os.kill(child, number)
    except ProcessLookupError:  # it has just ended
        pass
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, pass_on)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect("{folder}/server")
    words = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
    request = json.dumps([words, os.getcwd(), dict(os.environ)])
    socket.send_fds(server, [request.encode()], [0, 1, 2])
    child = int(server.recv(64))
    for number in early:
        pass_on(number, None)
    with open(f"{folder}/{{os.getpid()}}", "w") as number:
        number.write(str(child))
    status = int(server.recv(64))
sys.exit(status if status >= 0 else 128 - status)
"""


@contextmanager
def forked_programs(folder: Path, *modules: str) -> Iterator[Path]:
    """Give a folder of commands that a server runs; it ends with the block.

    Args:
        folder: An empty folder.
        modules: Further modules that the server imports.
    """
    address = str(folder / "server")
    for name in PROGRAMS:
        (folder / name).write_text(_COMMAND.format(python=sys.executable, folder=folder))
        (folder / name).chmod(0o755)
    command = [sys.executable, __file__, address, *modules]
    # Apart from signals to the tests, such as Ctrl-C: with its input it ends all children first.
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield folder
    finally:
        server.communicate()  # it ends with its input


def import_programs() -> None:
    """Import what commands import late, too, so that no child has to."""
    import trimesh  # noqa: F401

    import hrp_ros.programs  # noqa: F401
    import hrp_sim.cli.main
    import hrp_sim.cli.run
    import hrp_sim.cli.worlds
    import hrp_sim.engine.ode  # noqa: F401

    # The garbage collector of a child would copy the pages of everything that it looks at.
    gc.collect()
    gc.freeze()


def become(command: Sequence[str]) -> NoReturn:
    """Be the program of a command from now on; its streams are the files 0, 1 and 2."""
    import hrp_ros.programs

    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    for name, number in (("stdout", 1), ("stderr", 2)):
        raw = open(number, "wb", closefd=False)  # noqa: SIM115
        policy = "backslashreplace" if name == "stderr" else errors or "strict"
        by_line = raw.isatty() or "PYTHONUNBUFFERED" in os.environ
        stream = io.TextIOWrapper(raw, encoding, policy, line_buffering=by_line)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv = [*command]
    raise SystemExit(getattr(hrp_ros.programs, command[0].replace("-", "_"))())


def _serve(address: str) -> None:
    """Run commands until the input ends."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen()
    with suppress(BrokenPipeError):  # whoever started this has ended already
        print("ready", flush=True)
    children: dict[int, tuple[int, socket.socket]] = {}  # by what becomes readable at their end
    while True:
        clients = {client: end for end, (_, client) in children.items()}
        ready, _, _ = select.select([0, listener, *children, *clients], [], [])
        for source in ready:
            if source == 0:  # whoever started this has ended, maybe by a signal
                for child, _ in children.values():
                    os.kill(child, signal.SIGKILL)
                return
            if source is listener:
                client = listener.accept()[0]
                child = _fork(client)
                if not child:  # the client was killed before it had asked for anything
                    client.close()
                    continue
                _tell(client, child)
                children[os.pidfd_open(child)] = child, client
            elif source in clients:  # the client was killed, or its child has ended, too
                os.kill(children[clients[source]][0], signal.SIGKILL)
                clients.pop(source)
        for end in children.keys() & set(ready):
            child, client = children.pop(end)
            _, status = os.waitpid(child, 0)
            _tell(client, os.waitstatus_to_exitcode(status))
            client.close()
            os.close(end)


def _tell(client: socket.socket, number: int) -> None:
    with suppress(BrokenPipeError):  # it was killed
        client.send(str(number).encode(), socket.MSG_NOSIGNAL)


def _fork(client: socket.socket) -> int:
    """Return the number of a child that runs what a client asks for; 0 if it asks for nothing."""
    data, streams, _, _ = socket.recv_fds(client, _MAX_REQUEST, 3)
    if not data:
        return 0
    command, folder, environment = json.loads(data)
    child = os.fork()
    if child:
        for stream in streams:
            os.close(stream)
        return child
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    become(command)


if __name__ == "__main__":
    del sys.path[0]  # this folder
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
    import_programs()
    for module in sys.argv[2:]:
        import_module(module)
    _serve(sys.argv[1])
