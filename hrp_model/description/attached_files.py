"""Read a robot from its URDF and copies of the files that it refers to."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote
from xml.sax.saxutils import escape

from ..body import Body
from ..diagnostics import Diagnostics
from ..load import load_body_text

# Size of all copies together, in [B].
MAX_SIZE = 1 << 29


def read_with_files(
    urdf: str, name: str, files: Mapping[str, Path], diagnostics: Diagnostics
) -> Body:
    """Read a robot; files without a copy are read from where the URDF says.

    Args:
        urdf: Text of the URDF.
        name: Name of the text in messages.
        files: Copies of files, by the URI with which the URDF refers to them.
        diagnostics: Receives notes and warnings.

    Raises:
        ModelError: The URDF cannot be used; lists every problem with its place.
    """
    for uri, path in files.items():
        for quote in "\"'":
            written = f"{quote}{escape(uri, {quote: '&quot;'})}{quote}"
            urdf = urdf.replace(written, f'"{escape(path.as_uri())}"')
    return load_body_text(urdf, diagnostics, kind="urdf", name=name)


def copy_files(contents: Mapping[str, bytes], folder: Path) -> dict[str, Path]:
    """Write files into a folder, so that references between them still work.

    The path of a URI is repeated inside the folder, never left by "..". Files that cannot be
    written are left out, and so are all from the first one beyond ``MAX_SIZE``.

    Args:
        contents: Contents by URI; other names are left out.
        folder: An empty folder.

    Returns:
        The copies by URI.
    """
    copies: dict[str, Path] = {}
    size = 0
    for uri in contents:
        scheme, separator, rest = uri.partition("://")
        if not separator or not scheme.isalnum():
            continue
        data = contents[uri]
        size += len(data)
        if size > MAX_SIZE:
            break
        inside = posixpath.normpath(f"/{unquote(rest)}").lstrip("/")
        path = folder / scheme / inside
        with suppress(OSError, ValueError):  # a name that is too long, is a folder, or has a NUL
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            copies[uri] = path
    return copies
