"""Access to ODE's error handlers, for an engine that calls the same library in another way.

ODE aborts the process when it fails, unless an error handler jumps out of it; importing the
extension installs such handlers for the whole process.
"""

from ._core import (
    FAULT_CONTACTS,
    FAULT_DRIVE,
    FAULT_STATE,
    FAULT_SURFACE,
    FAULT_TRACK,
    FAULT_WRENCH,
    MAX_CONTACTS,
    OdeError,
    guarded,
    take_messages,
)

# Constraint rows of an island for dWorldStep, whose matrix takes 800 MB then.
MAX_ROWS = 10_000

__all__ = [
    "FAULT_CONTACTS",
    "FAULT_DRIVE",
    "FAULT_STATE",
    "FAULT_SURFACE",
    "FAULT_TRACK",
    "FAULT_WRENCH",
    "MAX_CONTACTS",
    "MAX_ROWS",
    "OdeError",
    "guarded",
    "take_messages",
]
