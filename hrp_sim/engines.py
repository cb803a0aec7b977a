"""The physics engines by name."""

from __future__ import annotations

from .physics.engine import Engine, PhysicsError, PhysicsSettings

ENGINES = ("ode", "pyode")


def make_engine(name: str, settings: PhysicsSettings) -> Engine:
    """Return an empty world of the engine of this name.

    Args:
        name: ``ode``, our C extension, which does everything; or ``pyode``, which needs
            PyODE, does primitives and common joints, and refuses the rest.
        settings: Of the world.

    Raises:
        PhysicsError: There is no such engine, what it needs is not installed, or a setting
            is not finite or has no sense.
        MissingLibraryError: ODE is not installed.
    """
    if name == "ode":
        from .ode import OdeEngine

        return OdeEngine(settings)
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
    known = ", ".join(f"'{known}'" for known in ENGINES)
    raise PhysicsError(f"there is no engine '{name}'; there are {known}")
