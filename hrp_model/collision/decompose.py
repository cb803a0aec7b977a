"""Meshes to convex parts, by V-HACD or CoACD in processes of their own.

Both libraries take their time, which no caller could bound otherwise, and end the process
that calls them over some meshes.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from queue import LifoQueue
from threading import Lock, Timer
from typing import IO, Any, TypeAlias

import numpy as np

from ..diagnostics import MissingLibraryError
from ..geometry import Mesh
from .parts_cache import PartsCache

# Called a few times a second with how many meshes are done, and how many there are.
Progress: TypeAlias = Callable[[int, int], None]

_HEARTBEAT = 0.2  # [s]; the longest time between two calls of that
_MOST_PARTS = 8
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "vhacdx": {
        "maxConvexHulls": _MOST_PARTS,
        "resolution": 100_000,
        "minimumVolumePercentErrorAllowed": 5.0,
    },
    # Coarser than its defaults, which take minutes for a single mesh of a robot.
    "coacd": {
        "threshold": 0.05,
        "max_convex_hull": _MOST_PARTS,
        "preprocess_resolution": 40,
        "resolution": 500,
        "mcts_nodes": 10,
        "mcts_iterations": 20,
        "mcts_max_depth": 2,
        "seed": 1,
    },
}
# Modules come from where ours do, not from the current folder.
_START = (
    "import sys; sys.path[:] = filter(None, sys.path); "
    f"from {__name__} import _main; _main(sys.argv[1])"
)

# Points and triangles of each part.
_Parts = Sequence[tuple[Any, Any]]


class Decomposer:
    """Splits meshes, as many at a time as there are cores; to be used in a ``with`` block.

    Args:
        time_limit: For each mesh, in [s].
        cache: Folder that keeps parts for the next time; None keeps none.
        progress: Called while meshes are being split.

    Raises:
        MissingLibraryError: Neither vhacdx nor coacd is installed.
    """

    def __init__(
        self, time_limit: float, cache: Path | None = None, progress: Progress | None = None
    ) -> None:
        library = next((name for name in _LIBRARIES if find_spec(name)), None)
        if library is None:
            message = "convex parts need vhacdx or coacd: pip install 'hrp_ros[decompose]'"
            raise MissingLibraryError(message)
        self._cache = PartsCache(cache, [library, _version(library), _SETTINGS[library]])
        self._progress = progress or (lambda *_: None)
        self._workers = [_Worker(library, time_limit) for _ in range(_core_count())]
        self._idle: LifoQueue[_Worker] = LifoQueue()  # one that has been started is first
        for worker in self._workers:
            self._idle.put(worker)

    def __enter__(self) -> Decomposer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.close()

    def decomposed(self, meshes: Sequence[Mesh]) -> list[list[Mesh] | None]:
        """Return for each mesh at most 8 convex parts that together are about the mesh.

        None when the library failed or did not come to an end in time.
        """
        keys = [self._cache.key(mesh) for mesh in meshes]
        found = {key: self._cache.load(key) for key in keys}
        missing = {k: mesh for k, mesh in zip(keys, meshes, strict=True) if found[k] is None}
        if missing:
            found.update(self._split_all(missing))
        return [found[key] for key in keys]

    def _split_all(self, meshes: Mapping[str, Mesh]) -> dict[str, list[Mesh] | None]:
        # The largest first, lest one of them be the last, with all other cores idle.
        order = sorted(meshes, key=lambda key: -len(meshes[key].triangles))
        with ThreadPoolExecutor(min(len(self._workers), len(meshes))) as pool:
            futures = {key: pool.submit(self._split, key, meshes[key]) for key in order}
            try:
                self._wait_for(futures.values())
            except BaseException:  # such as Ctrl-C: do not wait for what nobody wants
                pool.shutdown(wait=False, cancel_futures=True)
                for worker in self._workers:
                    worker.stop()
                raise
        return {key: future.result() for key, future in futures.items()}

    def _wait_for(self, futures: Collection[Future[Any]]) -> None:
        pending, total = set(futures), len(futures)
        while pending:
            _, pending = wait(pending, _HEARTBEAT, FIRST_COMPLETED)
            self._progress(total - len(pending), total)

    def _split(self, key: str, mesh: Mesh) -> list[Mesh] | None:
        """Split a mesh, in whatever process is idle."""
        worker = self._idle.get()
        try:
            parts = worker.parts(mesh)
        finally:
            self._idle.put(worker)
        if parts:
            self._cache.save(key, parts)
        return parts or None


class _Worker:
    """A process that splits one mesh after the other, and is started when it is needed."""

    def __init__(self, library: str, time_limit: float) -> None:
        self._library = library
        self._time_limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False
        self._lock = Lock()  # between starting and stopping, which another thread may do

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def stop(self) -> None:
        """Give up what is being done, and start nothing anew; from another thread."""
        with self._lock:
            self._is_stopped = True
            process = self._process  # which its own thread may be done with
        if process is not None:
            process.kill()

    def parts(self, mesh: Mesh) -> list[Mesh] | None:
        """Return the parts of a mesh, None when that failed or took too long."""
        if self._process is not None and self._process.poll() is not None:
            self.close()
        process = self._process or self._started()
        if process is None:
            return None
        assert process.stdin is not None
        assert process.stdout is not None
        timer = Timer(self._time_limit, process.kill)
        timer.start()
        try:
            _send(process.stdin, (mesh.vertices, mesh.triangles))
            parts: _Parts = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.close()
            return None
        finally:
            timer.cancel()
        return [Mesh(vertices, triangles) for vertices, triangles in parts]

    def _started(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._is_stopped:
                return None
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, self._library],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            return self._process


def _core_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(library: str) -> str:
    with suppress(PackageNotFoundError):
        return version(library)
    return ""


def _send(stream: IO[bytes], message: object) -> None:
    pickle.dump(message, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()


def _by_vhacd(vertices: Any, triangles: Any) -> _Parts:
    vhacdx: Any = import_module("vhacdx")
    faces = np.insert(triangles, 0, 3, axis=1).astype(np.uint32)  # each begins with its size
    parts: _Parts = vhacdx.compute_vhacd(vertices, faces.ravel(), **_SETTINGS["vhacdx"])
    return parts


def _by_coacd(vertices: Any, triangles: Any) -> _Parts:
    coacd: Any = import_module("coacd")
    coacd.set_log_level("off")
    parts: _Parts = coacd.run_coacd(coacd.Mesh(vertices, triangles), **_SETTINGS["coacd"])
    return parts


# In order of preference: CoACD finds better cuts, but takes many times as long, and minutes
# for a mesh with holes, as those of most robots are.
_LIBRARIES: dict[str, Callable[[Any, Any], _Parts]] = {"vhacdx": _by_vhacd, "coacd": _by_coacd}


def _serve(library: str, requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer meshes with their parts until the requests end."""
    split = _LIBRARIES[library]
    while True:
        try:
            mesh = pickle.load(requests)
        except EOFError:
            return
        parts = [(np.asarray(v, np.float64), np.asarray(f)) for v, f in split(*mesh)]
        _send(answers, parts)


def _main(library: str) -> None:
    """Run the process."""
    # The libraries print; only answers may come out where the answers are read.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(KeyboardInterrupt, BrokenPipeError):
        _serve(library, sys.stdin.buffer, answers)
