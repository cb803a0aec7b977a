"""Access to ODE's error handlers, for an engine that calls the same library by other ways.

ODE ends the process when it fails, unless an error handler leaves for somewhere else; the
extension installs such handlers when it is imported, for the whole process.
"""

from ._core import (
    FAULT_CONTACTS,
    FAULT_DRIVE,
    FAULT_ROWS,
    FAULT_STATE,
    FAULT_TRACK,
    FAULT_WRENCH,
    MAX_CONTACTS,
    MAX_ROWS,
    OdeError,
    guarded,
    take_messages,
)

__all__ = [
    "FAULT_CONTACTS",
    "FAULT_DRIVE",
    "FAULT_ROWS",
    "FAULT_STATE",
    "FAULT_TRACK",
    "FAULT_WRENCH",
    "MAX_CONTACTS",
    "MAX_ROWS",
    "OdeError",
    "guarded",
    "take_messages",
]
