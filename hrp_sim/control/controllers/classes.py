"""Import of the classes that configurations name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType

from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.files.resources import read_file, resolve

from .base import Controller, ForceHook, Plugin
from .entry import ControllerEntry, class_name_problem

MAX_SIZE = 1 << 24  # of a source file, in [byte]


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
