"""Decompose meshes into convex parts by V-HACD or CoACD in worker processes.

Worker processes allow a time limit, and survive meshes over which these libraries crash. The parts
are kept in a cache on disk.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from queue import LifoQueue
from threading import Lock, Timer
from typing import IO, Any, TypeAlias

import numpy as np

from ..diagnostics import MissingLibraryError
from ..files.writer import write_atomically
from ..geometry import Mesh

_FORMAT = 1  # version of the files; a new number invalidates old ones
# Called a few times a second with the number of meshes done and their total number.
Progress: TypeAlias = Callable[[int, int], None]
_PROGRESS_PERIOD = 0.2  # [s]
_MAX_PARTS = 8
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "vhacdx": {
        "maxConvexHulls": _MAX_PARTS,
        "resolution": 100_000,
        "minimumVolumePercentErrorAllowed": 5.0,
    },
    # Coarser than the defaults, which take minutes for a single mesh.
    "coacd": {
        "threshold": 0.05,
        "max_convex_hull": _MAX_PARTS,
        "preprocess_resolution": 40,
        "resolution": 500,
        "mcts_nodes": 10,
        "mcts_iterations": 20,
        "mcts_max_depth": 2,
        "seed": 1,
    },
}
# The empty entry of sys.path would import modules from the current folder.
_START = (
    "import sys; sys.path[:] = filter(None, sys.path); "
    f"from {__name__} import _main; _main(sys.argv[1])"
)
# Vertices and triangles of each part.
_Parts = Sequence[tuple[Any, Any]]


class PartsCache:
    """Stores the parts of meshes in files named after a hash of all that the parts depend on.

    Several processes may share a folder: files are written atomically. Missing, unreadable and
    damaged files are replaced by the next ``save``.

    Args:
        folder: Folder of the files, created when needed; None disables the cache.
        maker: Everything that the parts depend on besides the mesh: library, version and
            settings, as values that JSON can represent.
    """

    def __init__(self, folder: Path | None, maker: Sequence[object]) -> None:
        self._folder = folder
        self._maker = json.dumps([_FORMAT, *maker], sort_keys=True).encode()

    def key(self, mesh: Mesh) -> str:
        """Return a hash of a mesh and of everything else that its parts depend on."""
        digest = blake2b(self._maker, digest_size=16)
        for array in (mesh.vertices, mesh.triangles):
            digest.update(np.int64(len(array)).tobytes())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def load(self, key: str) -> list[Mesh] | None:
        """Return the parts of a mesh by its key; None if they are not in the cache."""
        if self._folder is None:
            return None
        try:
            with np.load(self._path(key), allow_pickle=False) as file:
                vertices, triangles = file["vertices"], file["triangles"]
                ends = np.cumsum(file["counts"], axis=0)[:-1]
            pairs = zip(
                np.split(vertices, ends[:, 0]), np.split(triangles, ends[:, 1]), strict=True
            )
            parts = [Mesh(*pair) for pair in pairs]
        except Exception:  # damaged files raise many kinds of errors
            return None
        return parts if all(map(_is_valid, parts)) else None

    def save(self, key: str, parts: Sequence[Mesh]) -> None:
        """Store the parts of a mesh; failures are ignored."""
        if self._folder is None:
            return
        content = BytesIO()
        np.savez(
            content,
            vertices=np.concatenate([part.vertices for part in parts]),
            triangles=np.concatenate([part.triangles for part in parts]),
            counts=[(len(part.vertices), len(part.triangles)) for part in parts],
        )
        with suppress(OSError):  # the parts are then computed again next time
            write_atomically(self._path(key), content.getvalue())

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{key}.npz"


def _is_valid(part: Mesh) -> bool:
    """Return whether a part from a file is a valid mesh."""
    count, triangles = len(part.vertices), part.triangles
    return bool(
        triangles.size
        and np.isfinite(part.vertices).all()
        and triangles.min() >= 0
        and triangles.max() < count
    )


class Decomposer:
    """Decomposes meshes in parallel, one worker process per core; a context manager.

    Args:
        time_limit: For each mesh, in [s].
        cache: Folder in which parts are cached; None for no cache.
        progress: Called while meshes are being decomposed.

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
        self._idle: LifoQueue[_Worker] = LifoQueue()  # prefers workers that are already running
        for worker in self._workers:
            self._idle.put(worker)

    def __enter__(self) -> Decomposer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the worker processes."""
        for worker in self._workers:
            worker.close()

    def decomposed(self, meshes: Sequence[Mesh]) -> list[list[Mesh] | None]:
        """Return for each mesh at most 8 convex parts that approximate it.

        None for a mesh over which the library failed or exceeded the time limit.
        """
        keys = [self._cache.key(mesh) for mesh in meshes]
        parts = {key: self._cache.load(key) for key in keys}
        missing = {k: mesh for k, mesh in zip(keys, meshes, strict=True) if parts[k] is None}
        if missing:
            parts.update(self._split_all(missing))
        return [parts[key] for key in keys]

    def _split_all(self, meshes: Mapping[str, Mesh]) -> dict[str, list[Mesh] | None]:
        # The largest first, so that no core works alone on a large mesh in the end.
        order = sorted(meshes, key=lambda key: -len(meshes[key].triangles))
        with ThreadPoolExecutor(min(len(self._workers), len(meshes))) as pool:
            futures = {key: pool.submit(self._split, key, meshes[key]) for key in order}
            try:
                self._wait_for(futures.values())
            except BaseException:  # such as Ctrl-C: do not wait for pending meshes
                pool.shutdown(wait=False, cancel_futures=True)
                for worker in self._workers:
                    worker.stop()
                raise
        return {key: future.result() for key, future in futures.items()}

    def _wait_for(self, futures: Collection[Future[Any]]) -> None:
        pending, total = set(futures), len(futures)
        while pending:
            _, pending = wait(pending, _PROGRESS_PERIOD, FIRST_COMPLETED)
            self._progress(total - len(pending), total)

    def _split(self, key: str, mesh: Mesh) -> list[Mesh] | None:
        """Decompose a mesh in an idle worker process."""
        worker = self._idle.get()
        try:
            parts = worker.parts(mesh)
        finally:
            self._idle.put(worker)
        if parts:
            self._cache.save(key, parts)
        return parts or None


class _Worker:
    """A process that decomposes one mesh after the other; started on first use."""

    def __init__(self, library: str, time_limit: float) -> None:
        self._library = library
        self._time_limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False
        self._lock = Lock()  # guards starting against ``stop`` from another thread

    def close(self) -> None:
        """Stop the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def stop(self) -> None:
        """Abort the current mesh and prevent restarts; may be called from another thread."""
        with self._lock:
            self._is_stopped = True
            process = self._process  # its own thread may reset the attribute meanwhile
        if process is not None:
            process.kill()

    def parts(self, mesh: Mesh) -> list[Mesh] | None:
        """Return the parts of a mesh; None if the process failed or exceeded the time limit."""
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
    """Return the number of cores that this process may use."""
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
    faces = np.insert(triangles, 0, 3, axis=1).astype(np.uint32)  # each face starts with its size
    parts: _Parts = vhacdx.compute_vhacd(vertices, faces.ravel(), **_SETTINGS["vhacdx"])
    return parts


def _by_coacd(vertices: Any, triangles: Any) -> _Parts:
    coacd: Any = import_module("coacd")
    coacd.set_log_level("off")
    parts: _Parts = coacd.run_coacd(coacd.Mesh(vertices, triangles), **_SETTINGS["coacd"])
    return parts


# In order of preference: CoACD finds better cuts, but takes many times as long, and minutes
# for meshes with holes, which most robots have.
_LIBRARIES: dict[str, Callable[[Any, Any], _Parts]] = {"vhacdx": _by_vhacd, "coacd": _by_coacd}


def _serve(library: str, requests: IO[bytes], answers: IO[bytes]) -> None:
    """Send the parts of each requested mesh until the input ends."""
    split = _LIBRARIES[library]
    while True:
        try:
            mesh = pickle.load(requests)
        except EOFError:
            return
        parts = [(np.asarray(v, np.float64), np.asarray(f)) for v, f in split(*mesh)]
        _send(answers, parts)


def _main(library: str) -> None:
    """Run the worker process."""
    # The libraries print to stdout: redirect that, and keep the pipe for answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(KeyboardInterrupt, BrokenPipeError):
        _serve(library, sys.stdin.buffer, answers)
