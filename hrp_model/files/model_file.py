"""Model files: names with arguments of macros, compression by gzip, and encodings of texts."""

from __future__ import annotations

import codecs
import errno
import re
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import PurePath

_WITH_ARGUMENTS = r"(?is)(.*?\.(?:xacro|urdf))\s+([^\s:=]+:=.*)"
_ARGUMENT = r"(?s)[^\s:=]+:=.*"
_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
_VRML = ".wrl"
_COMPRESSED = (".wrz", f"{_VRML}.gz")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The beginning "<?" of XML without a mark (XML 1.0, appendix F).
_WIDE = ((b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be"))
_DECLARATION = r"""\s*<\?xml\s[^>]{0,200}?\bencoding\s*=\s*(?:"([^">]{1,60})"|'([^'>]{1,60})')"""
_MAX_DECLARATION = 1000  # [B]
# Encodings that a declaration may name. Python has others, some of which are slow.
_KNOWN = (
    r"(us_)?ascii|utf_?(8|16|32)((_)?[lb]e)?|(iso_?)?8859_\d+|iso_?2022_(jp|kr)|latin_?\d+"
    r"|cp_?\d{3,5}|shift_?jis|s_?jis|euc_?(jp|kr|cn)|gbk|gb2312|gb18030"
    r"|big5(hkscs)?|koi8_[rut]|mac_?roman|tis_?620"
)
_ALIASES = {"cp31j": "cp932", "ms932": "cp932", "x_sjis": "cp932", "macintosh": "mac_roman"}
# Supersets, with which files of these encodings are written in practice.
_SUPERSETS = {"shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "ascii": "utf-8"}
_WIDTHS = ("utf-16", "utf-32")
_TRIED = ("utf-8", "cp932")


def split_model_name(name: str) -> tuple[str, dict[str, str]]:
    """Return the file of a model, and its arguments.

    Values with blanks are quoted as in a shell.
    """
    match = re.fullmatch(_WITH_ARGUMENTS, name)
    if match is None:
        return name, {}
    import shlex  # few models have arguments

    try:
        words = shlex.split(match[2])
    except ValueError:  # a quotation mark without a second one
        words = match[2].split()
    pairs = (word.partition(":=") for word in words)
    return match[1], {key: value for key, _, value in pairs}


def join_arguments(words: Iterable[str]) -> list[str]:
    """Return the words of a command line, with arguments joined to the xacro file before them."""
    joined: list[str] = []
    for word in words:
        file = split_model_name(joined[-1])[0].lower() if joined else ""
        if file.endswith((".xacro", ".urdf")) and re.fullmatch(_ARGUMENT, word):
            import shlex

            joined[-1] += f" {shlex.quote(word)}"
        else:
            joined.append(word)
    return joined


def format_suffix(path: PurePath) -> str:
    """Return the suffix that selects the reader of a file, in lower case."""
    name = path.name.lower()
    return _VRML if name.endswith(_COMPRESSED) else path.suffix.lower()


def format_stem(path: PurePath) -> str:
    """Return the name of a file without the suffixes of its format and compression."""
    name = path.name
    lengths = [len(x) for x in _COMPRESSED if name.lower().endswith(x)]
    return name[: -lengths[0]] if lengths else path.stem


def is_compressed(data: bytes) -> bool:
    """Return whether data begins as that of gzip."""
    return data.startswith(_MAGIC)


def unpacked(data: bytes, path: PurePath, limit: int) -> bytes:
    """Return the content of a file without its compression by gzip, if it has any.

    Raises:
        OSError: The compressed data is damaged, or is larger than the limit, in [B].
    """
    parts = []
    size = 0
    while is_compressed(data):  # a file may consist of several parts
        unpacker = zlib.decompressobj(_GZIP)
        try:
            part = unpacker.decompress(data, limit + 1 - size)
        except zlib.error as error:
            raise OSError(errno.EIO, f"Damaged gzip data: {error}", str(path)) from None
        parts.append(part)
        size += len(part)
        if size > limit:
            message = f"Larger than {limit / 2**20:g} MiB when unpacked"
            raise OSError(errno.EFBIG, message, str(path))
        if not unpacker.eof:
            raise OSError(errno.EIO, "Truncated gzip data", str(path))
        data = unpacker.unused_data
    return b"".join(parts) if parts else data


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
    match = re.match(_DECLARATION, text)
    if match is None:
        return None
    group = 1 if match[1] is not None else 2
    return match[group], match.start(group)


def codec(name: str) -> str | None:
    """Return the name of the codec of a declared encoding; None if it is unknown."""
    plain = name.strip().lower().replace("-", "_").replace("windows_", "cp")
    plain = _ALIASES.get(plain, plain)
    if not re.fullmatch(_KNOWN, plain):
        return None
    try:
        found = codecs.lookup(plain).name
    except LookupError:
        return None
    return _SUPERSETS.get(found, found)
