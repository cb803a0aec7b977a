"""The function of hrp_model.readers._numbers by numpy: what the extension must read alike."""

import re
import warnings

import numpy as np

from hrp_model.readers.number_list import int32_array

_TO_BRACKET = re.compile(r"[^\]\#]*(?:\#[^\r\n]*[\r\n][^\]\#]*)*(?=\])")
_COMMENT = re.compile(r"\#[^\r\n]*[\r\n]")
_LONE_SIGN = re.compile(rb"[+-](?![0-9])")
_PLAIN = b"0123456789+-.eE \t\r\n,"


def number_list(text, start, integer):
    """The numbers as bytes of float64 or int32, and the offset of the "]"; None for other texts."""
    end = text.find("]", start)
    if "#" in text[start:end]:
        match = _TO_BRACKET.match(text, start)
        end = match.end() if match else -1
    data = _plain_numbers(text[start:end]) if end >= 0 else None
    if data is None:
        return None
    try:
        return _converted(data, integer).tobytes(), end
    except (DeprecationWarning, ValueError):
        return None  # not a number, or a fraction among integers


def _plain_numbers(written):
    """Return the text of a list without commas and comments; None if it has other characters."""
    if "#" in written:
        written = _COMMENT.sub("\n", written)
    if not written.isascii():
        return None
    data = written.encode("ascii")
    return None if data.translate(None, _PLAIN) else data.replace(b",", b" ")


def _converted(data, integer):
    """Convert numbers separated by spaces; raises DeprecationWarning or ValueError for others."""
    if not data or data.isspace():
        return np.empty(0, np.int32) if integer else np.empty(0)  # numpy reads " " as a number
    if integer and _LONE_SIGN.search(data):
        raise ValueError("a sign without digits")  # numpy reads it as 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        if integer:
            return int32_array(np.fromstring(data, np.int64, sep=" "))
        return np.fromstring(data, np.float64, sep=" ")
