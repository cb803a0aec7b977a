"""The classes of controllers and force hooks: what users derive from, and how worlds name them."""

from __future__ import annotations

import ast
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from hashlib import sha256
from importlib import import_module
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING

from hrp_model.diagnostics import Span, did_you_mean_or_all, out_of_range
from hrp_model.files.resources import ResourceError, read_file, resolve
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

if TYPE_CHECKING:
    from .io import ControllerIO, ForceState


class Plugin:
    """Base of controllers and force hooks: runs inside of a simulation, for one body.

    Those of world files are created without arguments; ``initialize`` receives those of the user.
    """

    def initialize(self, io: ControllerIO) -> None:
        """Prepare to run: keep ``io``, select joints and sensors. Called once.

        Args:
            io: The inputs and outputs, valid as long as the simulation.
        """

    def start(self) -> None:
        """Begin in the present state of the world.

        Called once after ``initialize`` and after each reset of the world, and after the restore
        of a saved state from which this object cannot continue.
        """

    def stop(self) -> None:
        """Clean up after ``control`` has returned False, before a reset, or at the end.

        Called too when a saved state is restored in which this object has ended, or from which it
        cannot continue.
        """

    def save(self) -> Mapping[str, Array] | None:
        """Return the internal state as arrays of numbers for ``restore``.

        None, the default, means that it cannot continue from a saved state: it is started again
        when one is restored. One without internal state returns {}.
        """
        return None

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go back to a state that ``save`` has returned; replaces ``start``."""


class Controller(Plugin, ABC):
    """Controls a body: a class in the shape of Choreonoid's SimpleController.

    Example::

        class Hold(Controller):
            def initialize(self, io):
                self.io = io
                io.drive("effort")

            def start(self):
                self.goal = self.io.q.copy()

            def control(self):
                io = self.io
                io.effort_target = 400.0 * (self.goal - io.q) - 40.0 * io.dq
                return True
    """

    @abstractmethod
    def control(self) -> bool:
        """Compute the targets of the joints for the next control period.

        Called before the step that begins at the present time, so that its targets act from
        there on, and once before the first step.

        Returns:
            True to go on; False ends the controller.
        """


class ForceHook(Plugin, ABC):
    """Adds forces and torques to every step of the physics, such as those of a spring.

    A class may be a Controller as well.
    """

    @abstractmethod
    def apply(self, state: ForceState, dt: float) -> None:
        """Add forces and torques, which act constantly over the next step.

        Args:
            state: State of the body before the step; its efforts, forces and torques are zero.
            dt: Length of the step, in [s].
        """


MIN_RATE, MAX_RATE = 1e-3, 1e6  # of ``ControllerEntry.rate``, in [Hz]
MAX_SIZE = 1 << 24  # of a source file, in [byte]


@dataclass(frozen=True, kw_only=True)
class ControllerEntry:
    """A controller of a world. Its code is imported when the simulation is created, not before.

    Attributes:
        class_name: "MODULE:CLASS", or "FILE.py:CLASS" with the path of a file.
        body: Name of the body in the world.
        rate: Calls of ``control`` per second of simulation time, in [Hz]; None means each step.
        args: Arguments of the user, ``ControllerIO.args``.
        folder: Folder to which paths are relative, of the class and those in ``args``.
        at: Its place in the world file, for messages.
    """

    class_name: str
    body: str
    rate: float | None = None
    args: Mapping[str, object] = field(default_factory=dict)
    folder: Path = Path()
    at: Span | None = field(default=None, compare=False, repr=False)


def class_name_problem(text: str) -> str:
    """Return why a text is no ``ControllerEntry.class_name``; "" if it is one."""
    module, _, name = text.rpartition(":")
    words = [name] if module.endswith(".py") else [name, *module.split(".")]
    if module and all(word.isidentifier() for word in words):
        return ""
    return f"the class of a controller is written MODULE:CLASS or FILE.py:CLASS, not '{text}'"


def rate_problem(rate: float) -> str:
    """Return why a number is no ``ControllerEntry.rate``; "" if it is one."""
    if MIN_RATE <= rate <= MAX_RATE:
        return ""
    return f"the rate {out_of_range(rate, MIN_RATE, MAX_RATE, 'Hz')}"


class ControllerClassError(ValueError):
    """A name is not that of a controller class."""


def load_class(entry: ControllerEntry) -> type[Plugin]:
    """Import the class of a controller, which runs the code of its module.

    A file is read each time, so that changes take effect when a world is loaded again. Modules
    beside it can be imported.

    Raises:
        ControllerClassError: The name is malformed, or that of something else.
        Exception: Whatever the import of the module raises.
    """
    if problem := class_name_problem(entry.class_name):
        raise ControllerClassError(problem)
    module_name, _, name = entry.class_name.rpartition(":")
    if module_name.endswith(".py"):
        module = _module_of(resolve(module_name, entry.folder))
    else:
        module = import_module(module_name)
    found = getattr(module, name, None)
    classes = [k for k, v in vars(module).items() if _is_plugin(v)]
    if found is None:
        hint = did_you_mean_or_all(name, classes)
        raise ControllerClassError(f"'{module_name}' has no class '{name}'.{hint}")
    if not _is_plugin(found):
        message = "is not a class derived from hrp_sim.Controller or hrp_sim.ForceHook"
        raise ControllerClassError(f"'{entry.class_name}' {message}")
    if missing := sorted(found.__abstractmethods__):
        raise ControllerClassError(f"'{entry.class_name}' lacks the method '{missing[0]}'")
    plugin: type[Plugin] = found
    return plugin


def _is_plugin(thing: object) -> bool:
    is_class = isinstance(thing, type) and issubclass(thing, Controller | ForceHook)
    return is_class and thing not in (Controller, ForceHook)


def _module_of(path: Path) -> ModuleType:
    """Run a source file as a module of its own."""
    # Dataclasses and pickles need the module to be found by its name.
    module = ModuleType(f"controller_{sha256(str(path).encode()).hexdigest()[:16]}")
    module.__file__ = str(path)
    code = compile(read_file(path, MAX_SIZE), str(path), "exec")
    sys.modules[module.__name__] = module
    with _importing_from(path.parent):
        exec(code, vars(module))
    return module


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """Let modules in a folder be imported within a ``with`` block."""
    text = str(folder.resolve())
    sys.path.insert(0, text)
    try:
        yield
    finally:
        sys.path.remove(text)


def read_sources(entry: ControllerEntry) -> dict[str, bytes]:
    """Return the contents of the source files of a controller by name, without executing them.

    These are its file and the modules below its folder that it imports, itself or by others of
    them, at their tops or in functions; not those whose names are computed.

    Args:
        entry: Of the controller. If its class is named by a module, there are no files.

    Returns:
        Contents by paths as the class of the entry names its file. Files that cannot be read are
        missing, as creating the simulation will report.
    """
    name = entry.class_name.rpartition(":")[0]
    if not name.endswith(".py"):
        return {}
    try:
        file = resolve(name, entry.folder)
    except ResourceError:
        return {}
    found: dict[str, bytes] = {}
    modules = [(Path(file.name), Path())]  # files and their packages, relative to the folder
    while modules:
        path, package = modules.pop()
        key = str(PurePosixPath(name).parent / path.as_posix())
        if key in found:
            continue
        try:
            found[key] = read_file(file.parent / path, MAX_SIZE)
            tree = ast.parse(found[key])
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for imported in _imported(tree, package.parts):
            modules += _modules(file.parent, imported)
    return found


def _imported(tree: ast.AST, package: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the names of all modules that a module of a package may import, as their parts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base = (*base, *(node.module or "").split(".")) if node.module else base
            yield from ((*base, alias.name) for alias in node.names)


def _modules(folder: Path, name: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Yield file and package of a module and of the packages that contain it, if they exist."""
    for count in range(1, len(name) + 1):
        path = Path(*name[:count])
        for file, package in ((path / "__init__.py", path), (path.with_suffix(".py"), path.parent)):
            if os.path.isfile(folder / file):
                yield file, package
                break
