"""Configuration of a controller, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hrp_model.diagnostics import Span

MIN_RATE, MAX_RATE = 1e-3, 1e6  # of ``ControllerEntry.rate``, in [Hz]
# Values of arguments, as YAML gives them.
ArgValue = object


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
    args: Mapping[str, ArgValue] = field(default_factory=dict)
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
    return f"the rate must be from {MIN_RATE:g} to {MAX_RATE:g} Hz, not {rate:g}"
