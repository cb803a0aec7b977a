"""Creates physics engines by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .engine import Engine, PhysicsError, PhysicsSettings

if TYPE_CHECKING:
    from .ode import OdeEngine

ENGINES = ("ode", "pyode")


def make_ode_engine(settings: PhysicsSettings) -> OdeEngine:
    """Return a new engine ``ode`` with an empty world.

    Raises:
        PhysicsError: A setting is invalid.
        MissingLibraryError: ODE is not installed.
    """
    from .ode import OdeEngine

    return OdeEngine(settings)


def make_engine(name: str, settings: PhysicsSettings) -> Engine:
    """Return a new engine with an empty world.

    Args:
        name: ``ode``, the C extension, which supports everything; or ``pyode``, which needs
            PyODE and supports only simple worlds.
        settings: Of the world.

    Raises:
        PhysicsError: There is no such engine, its dependencies are not installed, or a setting
            is invalid.
        MissingLibraryError: ODE is not installed.
    """
    if name == "ode":
        return make_ode_engine(settings)
    if name == "pyode":
        try:
            from .pyode import PyOdeEngine
        except ModuleNotFoundError as error:
            if error.name != "ode":
                raise
            raise PhysicsError(
                "the engine 'pyode' needs PyODE: install it (apt install python3-pyode), or use "
                "the engine 'ode'"
            ) from None
        return PyOdeEngine(settings)
    known = " and ".join(f"'{known}'" for known in ENGINES)
    raise PhysicsError(f"there is no engine '{name}'; the engines are {known}")
