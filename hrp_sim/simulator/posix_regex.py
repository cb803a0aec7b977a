"""POSIX extended regular expressions, matched by RE2 in time linear in the text.

Python's ``re`` has another syntax, and its matcher may take exponential time on an expression
that a client sends.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_MAX_LENGTH = 1000  # characters of an expression
_MAX_MEMORY = 1 << 20  # bytes per compiled expression; re2 caches up to 128 of them
# An escaped character, a bracket expression, or a brace that begins no interval.
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\[:[a-z]*:\]|[^]])*\]?|\{(?![0-9]+(?:,[0-9]*)?\})", re.DOTALL)


def matcher(expression: str) -> Callable[[str], bool]:
    """Compile a POSIX extended regular expression.

    Character classes such as ``[:alpha:]`` contain ASCII characters only, as in the locale "C".

    Args:
        expression: Such as ``^box_[[:digit:]]+$``; up to 1000 characters, without collating
            elements (``[.x.]``, ``[=x=]``) and back references.

    Returns:
        A function that reports whether any part of a text matches; ``^`` and ``$`` match at the
        ends of the text only.

    Raises:
        ValueError: The expression is invalid; the message states why.
        ImportError: The package google-re2 is not installed.
    """
    import re2  # optional at run time: only filters by name need it

    if len(expression) > _MAX_LENGTH:
        raise ValueError(f"{len(expression)} characters, more than {_MAX_LENGTH}")
    options = re2.Options()
    options.posix_syntax = options.one_line = options.dot_nl = options.never_capture = True
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        compiled = re2.compile(_TOKEN.sub(_to_re2, expression), options)
    except re2.error as error:
        raise ValueError(f"'{expression}': {error.args[0].decode()}") from None
    return lambda text: compiled.search(text.encode(errors="replace").decode()) is not None


def _to_re2(token: re.Match[str]) -> str:
    """Rewrite a token that RE2 understands otherwise than POSIX.

    Raises:
        ValueError: RE2 would silently match something else than POSIX or GNU do.
    """
    text = token[0]
    if text == "{":
        raise ValueError(
            f"'{token.string}': '{{' at character {token.start() + 1} begins no interval such as "
            "{2}, {2,} or {2,5}; write '\\{' for a brace"
        )
    if not text.startswith("["):
        return text
    if re.search(r"\[[.=]", text[1:]):
        raise ValueError(
            f"'{token.string}': collating elements ([.x.], [=x=]) are not supported, "
            f"at character {token.start() + 1}"
        )
    return text.replace("\\", "\\\\")  # a plain character within brackets
