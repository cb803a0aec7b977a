"""Load models in the commands of ``hrp-model``."""

from __future__ import annotations

from ..body import Body
from ..diagnostics import Diagnostic, Diagnostics
from ..load import load_body
from ..program.command import GOOD, PROBLEMS, WRONG_USE, UsageError
from ..program.report import print_diagnostics
from ..program.working import working

__all__ = [
    "CHECK_ALL",
    "GOOD",
    "MODEL",
    "PROBLEMS",
    "WRONG_USE",
    "UsageError",
    "load_and_report",
]

CHECK_ALL = "'hrp-model check --all' shows them"
MODEL = "a model: .wrl, .body, .yaml, .urdf, .xacro, .sdf, .dae or MJCF file, or its package:// URI"


def load_and_report(name: str, *, strict: bool = False) -> tuple[Body, list[Diagnostic]]:
    """Read a model and print its problems; return the body and its diagnostics.

    Raises:
        ModelError: The model is invalid, or there is a warning and ``strict`` is set.
    """
    diagnostics = Diagnostics(strict=strict, listener=lambda _: None)
    try:
        with working(f"reading {name}"):
            return load_body(name, diagnostics), diagnostics.found
    finally:
        print_diagnostics(name, diagnostics.found, advice=CHECK_ALL)
