"""POSIX extended regular expressions, in time that grows with the text alone.

Python's own syntax is another one, and its matcher may take for ever on an expression that
somebody sends. This is Thompson's construction: all states that the text may have led to are
followed at once. Only whether there is a match is told, so that it need not be the longest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

_LONGEST = 1000  # characters of an expression
_MOST_STATES = 2000
_MOST_REPEATS = 255  # as POSIX demands at least
_MOST_NESTED = 50
_CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": lambda c: c in " \t",
    "cntrl": lambda c: ord(c) < 32 or ord(c) == 127,
    "digit": lambda c: c in "0123456789",
    "graph": lambda c: c.isprintable() and not c.isspace(),
    "lower": str.islower,
    "print": str.isprintable,
    "punct": lambda c: c.isprintable() and not c.isspace() and not c.isalnum(),
    "space": str.isspace,
    "upper": str.isupper,
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}
_Test = Callable[[str], bool]
# A state: a test of the next character and one state after it; or none, and states that are
# reached without a character, if "^" or "$" holds where one of these is the test.
_State = tuple[_Test | str | None, list[int]]
# What makes the states of a part of an expression in front of a given one; returns the first.
_Part = Callable[[int], int]


class Expression:
    """A compiled expression.

    Args:
        text: Such as ``^box_[[:digit:]]+$``.

    Raises:
        ValueError: It is none; the message says where and why.
    """

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise ValueError(f"an expression of {len(text)} characters, more than {_LONGEST}")
        self._text = text
        self._at = 0
        self._depth = 0
        self._states: list[_State] = [(None, [])]  # the first one is the end
        part = self._alternatives()
        if self._at < len(text):
            raise self._error("')' without its '('")
        self._start = part(0)

    def is_in(self, text: str) -> bool:
        """Tell whether any part of a text matches; ``^`` and ``$`` are its ends."""
        active: set[int] = set()
        for at in range(len(text) + 1):
            reached = self._reached({self._start, *active}, at == 0, at == len(text))
            if 0 in reached:
                return True
            if at < len(text):
                active = {
                    self._states[k][1][0]
                    for k in reached
                    if callable(test := self._states[k][0]) and test(text[at])
                }
        return False

    def _reached(self, states: Iterable[int], at_start: bool, at_end: bool) -> set[int]:
        """Return these states and all that are reached from them without a character."""
        reached: set[int] = set()
        waiting = list(states)
        holds = {None: True, "^": at_start, "$": at_end}
        while waiting:
            if (k := waiting.pop()) not in reached:
                reached.add(k)
                test, after = self._states[k]
                if not callable(test) and holds[test]:
                    waiting += after
        return reached

    def _state(self, test: _Test | str | None, after: list[int]) -> int:
        if len(self._states) >= _MOST_STATES:
            raise ValueError(f"'{self._text}' repeats too much")
        self._states.append((test, after))
        return len(self._states) - 1

    def _error(self, problem: str) -> ValueError:
        return ValueError(f"'{self._text}': {problem}, at character {self._at + 1}")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _alternatives(self) -> _Part:
        parts = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequence())
        if len(parts) == 1:
            return parts[0]
        return lambda after: self._state(None, [part(after) for part in parts])

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))

        def build(after: int) -> int:
            for part in reversed(parts):
                after = part(after)
            return after

        return build

    def _repeated(self, part: _Part) -> _Part:
        while (sign := self._peek()) and sign in "*+?{":
            self._at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign) or self._count()
            part = self._times(part, least, most)
        return part

    def _times(self, part: _Part, least: int, most: int | None) -> _Part:
        def build(after: int) -> int:
            if most is None:
                again: list[int] = []
                loop = self._state(None, again)
                again += [part(loop), after]
                first = loop
            else:
                first = after
                for _ in range(most - least):
                    first = self._state(None, [part(first), after])
            for _ in range(least):  # a state of its own, so that repeats of nothing count, too
                first = self._state(None, [part(first)])
            return first

        return build

    def _count(self) -> tuple[int, int | None]:
        """Read what stands between braces."""
        end = self._text.find("}", self._at)
        least, comma, most = self._text[self._at : max(end, self._at)].partition(",")
        if end < 0 or not _is_number(least) or not (_is_number(most) or not most):
            raise self._error("'{' is followed by one or two numbers and '}'")
        low = int(least)
        high = int(most) if most else None if comma else low
        if max(low, high or 0) > _MOST_REPEATS or (high is not None and high < low):
            raise self._error(f"numbers of repeats go up, to {_MOST_REPEATS} at most")
        self._at = end + 1
        return low, high

    def _atom(self) -> _Part:
        sign = self._peek()
        if sign in "*+?{":
            raise self._error(f"'{sign}' has nothing to repeat")
        self._at += 1
        if sign == "(":
            return self._group()
        if sign == "[":
            return self._one(self._bracket())
        if sign in "^$":
            return lambda after: self._state(sign, [after])
        if sign == ".":
            return self._one(lambda _: True)
        if sign == "\\":
            sign = self._peek()
            if not sign or sign.isalnum():
                raise self._error("'\\' stands before a special character only")
            self._at += 1
        return self._one(lambda c: c == sign)

    def _one(self, test: _Test) -> _Part:
        return lambda after: self._state(test, [after])

    def _group(self) -> _Part:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise self._error("too many '(' within each other")
        part = self._alternatives()
        if self._peek() != ")":
            raise self._error("'(' without its ')'")
        self._depth -= 1
        self._at += 1
        return part

    def _bracket(self) -> _Test:
        """Read a bracket expression, behind its ``[``."""
        negative = self._peek() == "^"
        self._at += negative
        tests: list[_Test] = []
        while self._peek() != "]" or not tests:
            if self._text.startswith("[:", self._at):
                tests.append(self._class())
            else:
                tests.append(self._range())
        self._at += 1
        return lambda c: any(test(c) for test in tests) is not negative

    def _class(self) -> _Test:
        end = self._text.find(":]", self._at)
        name = self._text[self._at + 2 : max(end, 0)]
        if name not in _CLASSES:
            raise self._error(f"a class is one of {', '.join(_CLASSES)}")
        self._at = end + 2
        return _CLASSES[name]

    def _range(self) -> _Test:
        low = high = self._element()
        if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
            self._at += 1
            high = self._element()
        if high < low:
            raise self._error(f"the range '{low}-{high}' is the wrong way round")
        return lambda c: low <= c <= high

    def _element(self) -> str:
        if not (sign := self._peek()):
            raise self._error("'[' without its ']'")
        if self._text[self._at : self._at + 2] in ("[.", "[="):
            raise self._error("collating elements are not understood")
        self._at += 1
        return sign


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 9
