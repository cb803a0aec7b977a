"""The engine on the Open Dynamics Engine (ODE). No other package uses that library.

Importing it raises a MissingLibraryError, which is an ImportError, if the C extension was not
built or libode is not installed.
"""

from importlib import import_module

from hrp_model.diagnostics import MissingLibraryError

_INSTALL = "install the Open Dynamics Engine (apt install libode-dev)"

try:
    import_module(f"{__name__}._core")
except ModuleNotFoundError:
    raise MissingLibraryError(
        f"the physics engine was not built: {_INSTALL} and a C compiler, then install hrp_ros again"
    ) from None
except ImportError as error:
    raise MissingLibraryError(
        f"the physics engine cannot be loaded ({error}): {_INSTALL}"
    ) from error

from .engine import OdeEngine  # noqa: E402  (it needs the extension)

__all__ = ["OdeEngine"]
