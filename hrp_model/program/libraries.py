"""Optional libraries of commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..diagnostics import MissingLibraryError


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Report a library that a block imports and that is not installed.

    Args:
        extra: The extra of this package that brings it, such as "record".

    Raises:
        MissingLibraryError: It names the library and the command that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            f"this command needs {error.name}: pip install 'hrp_ros[{extra}]'"
        ) from None
