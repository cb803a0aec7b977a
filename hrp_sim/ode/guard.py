"""What the extension has for an engine that calls ODE by other ways, in the same library.

ODE ends the process when it fails, unless an error handler leaves for somewhere else; the
extension installs such handlers when it is imported, for the whole process.
"""

from . import _core
from ._core import (
    FAULT_CONTACTS,
    FAULT_DRIVE,
    FAULT_ROWS,
    FAULT_SOLVER,
    FAULT_STATE,
    FAULT_TRACK,
    FAULT_WRENCH,
    MOST_CONTACTS,
    MOST_ROWS,
    OdeError,
    guarded,
    take_complaints,
)

EXTENSION = str(_core.__file__)

__all__ = [
    "EXTENSION",
    "FAULT_CONTACTS",
    "FAULT_DRIVE",
    "FAULT_ROWS",
    "FAULT_SOLVER",
    "FAULT_STATE",
    "FAULT_TRACK",
    "FAULT_WRENCH",
    "MOST_CONTACTS",
    "MOST_ROWS",
    "OdeError",
    "guarded",
    "take_complaints",
]
