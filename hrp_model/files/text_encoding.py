"""Decode text files by their byte order mark, their XML declaration, or by trial."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The beginning "<?" of XML without a mark (XML 1.0, appendix F).
_WIDE = ((b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be"))
_DECLARATION = re.compile(
    r"""\s*<\?xml\s[^>]{0,200}?\bencoding\s*=\s*(?:"([^">]{1,60})"|'([^'>]{1,60})')"""
)
_MAX_DECLARATION = 1000  # [B]
# Encodings that a declaration may name. Python has others, some of which are slow.
_KNOWN = re.compile(
    r"(us_)?ascii|utf_?(8|16|32)((_)?[lb]e)?|(iso_?)?8859_\d+|iso_?2022_(jp|kr)|latin_?\d+"
    r"|cp_?\d{3,5}|shift_?jis|s_?jis|euc_?(jp|kr|cn)|gbk|gb2312|gb18030"
    r"|big5(hkscs)?|koi8_[rut]|mac_?roman|tis_?620"
)
_ALIASES = {"cp31j": "cp932", "ms932": "cp932", "x_sjis": "cp932", "macintosh": "mac_roman"}
# Supersets, with which files of these encodings are written in practice.
_SUPERSETS = {"shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "ascii": "utf-8"}
_WIDTHS = ("utf-16", "utf-32")
_TRIED = ("utf-8", "cp932")


def decoded(data: bytes) -> tuple[str, str]:
    """Return the text of a file without its byte order mark, and the name of its encoding.

    The mark decides, else the encoding that an XML declaration states, if the bytes have it, else
    UTF-8 if they are valid, else Shift-JIS (cp932), else latin-1.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace"), encoding
    for beginning, encoding in _WIDE:
        if data.startswith(beginning):
            return data.decode(encoding, errors="replace"), encoding
    declared = declared_encoding(data[:_MAX_DECLARATION].decode("latin-1"))
    named = codec(declared[0]) if declared else None
    # A declaration that is legible in single bytes contradicts wide characters.
    first = () if named is None or named.startswith(_WIDTHS) else (named,)
    for encoding in (*first, *_TRIED):
        with suppress(UnicodeDecodeError):
            return data.decode(encoding), encoding
    return data.decode("latin-1"), "latin-1"


def declared_encoding(text: str) -> tuple[str, int] | None:
    """Return the encoding that an XML declaration states, and its offset; None without one."""
    match = _DECLARATION.match(text)
    if match is None:
        return None
    group = 1 if match[1] is not None else 2
    return match[group], match.start(group)


def codec(name: str) -> str | None:
    """Return the name of the codec of a declared encoding; None if it is unknown."""
    plain = name.strip().lower().replace("-", "_").replace("windows_", "cp")
    plain = _ALIASES.get(plain, plain)
    if not _KNOWN.fullmatch(plain):
        return None
    try:
        found = codecs.lookup(plain).name
    except LookupError:
        return None
    return _SUPERSETS.get(found, found)
