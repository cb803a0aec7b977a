"""Settings of a project for ``hrp-model check``: excluded files and ignored problems."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from ..diagnostics import (
    Diagnostic,
    Diagnostics,
    MissingLibraryError,
    Severity,
    Source,
    Span,
    did_you_mean,
    did_you_mean_or_all,
)
from ..late_dataclass import dataclass
from ..program.report import CODES
from ..read_context import read_source

OWN_FILE = ".hrp-model.toml"
SHARED_FILE = "pyproject.toml"
_TABLE = ("tool", "hrp-model")
_HEADER = r"(?m)^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*[\"']?hrp-model\b"
_BASELINE, _EXCLUDE, _IGNORE, _PER_FILE = "baseline", "exclude", "ignore", "per-file-ignores"
_KEYS = (_BASELINE, _EXCLUDE, _IGNORE, _PER_FILE)
_MAX_SIZE = 1 << 20  # [bytes]
_PLACE = r" \(at line (\d+), column (\d+)\)"


class SettingsError(ValueError):
    """Settings are invalid.

    Attributes:
        diagnostics: Their problems.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)))


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one file; without a file, all problems of all files count.

    Attributes:
        folder: Absolute folder of the file; globs are relative to it.
        ignore: Codes of problems that are ignored.
        per_file_ignores: Such codes for the files that a glob matches.
        exclude: Globs of files and folders that are not checked.
        baseline: The baseline file; None without one.
        baseline_at: Where the settings name it.
    """

    folder: Path
    ignore: frozenset[str] = frozenset()
    per_file_ignores: tuple[tuple[str, frozenset[str]], ...] = ()
    exclude: tuple[str, ...] = ()
    baseline: Path | None = None
    baseline_at: Span | None = None

    def is_excluded(self, path: Path) -> bool:
        """Return whether a glob excludes a file or folder, or a folder above it."""
        if not self.exclude:
            return False
        place = _relative(os.path.abspath(path), self.folder)
        return any(_matches(place, glob) for glob in self.exclude)

    def is_ignored(self, model: Path, diagnostic: Diagnostic) -> bool:
        """Return whether a problem of a model is ignored; errors never are."""
        if diagnostic.severity is Severity.ERROR:
            return False
        if diagnostic.code in self.ignore:
            return True
        globs = [glob for glob, codes in self.per_file_ignores if diagnostic.code in codes]
        if not globs:
            return False
        source = None if diagnostic.at is None else diagnostic.at.source
        path = model if source is None or source.path is None else source.path
        place = _relative(os.path.realpath(path), os.path.realpath(self.folder))
        return any(_matches(place, glob) for glob in globs)


def _relative(path: str, folder: str | Path) -> Path:
    return Path(os.path.relpath(path, folder))


def _matches(place: Path, glob: str) -> bool:
    """Return whether a glob matches a file, or a folder above it.

    Args:
        place: Path relative to the folder of the settings.
        glob: Without a slash it matches names, otherwise paths relative to that folder; a
            leading "**/" matches any number of folders.
    """
    glob = glob.rstrip("/").removeprefix("./")
    if "/" not in glob:
        return any(fnmatchcase(part, glob) for part in place.parts)
    globs = (glob, glob.removeprefix("**/"))
    paths = [path.as_posix() for path in (place, *place.parents)]
    return any(fnmatchcase(path, glob) for path in paths for glob in globs)


class SettingsFinder:
    """The settings of folders: those of the nearest file in the folder or above it.

    Args:
        fixed: The file with the settings of all folders; None to search.
        is_searching: Whether to search; if not, and without ``fixed``, there are no settings.

    Raises:
        OSError, SettingsError, MissingLibraryError: ``fixed`` cannot be read or is invalid.
    """

    def __init__(self, fixed: Path | None = None, *, is_searching: bool = True) -> None:
        self._known: dict[Path, Settings] = {}
        self._common: Settings | None = None
        if fixed is not None:
            self._common = read_settings(fixed) or Settings(Path(os.path.abspath(fixed)).parent)
        elif not is_searching:
            self._common = Settings(Path("/"))

    def of_folder(self, folder: Path) -> Settings:
        """Return the settings for the files in a folder.

        Raises:
            OSError, SettingsError, MissingLibraryError: A settings file cannot be read or is
                invalid.
        """
        if self._common is not None:
            return self._common
        folder = Path(os.path.abspath(folder))
        if folder not in self._known:
            self._known[folder] = self._find(folder)
        return self._known[folder]

    def is_excluded(self, path: Path) -> bool:
        """Return whether the settings for a file or folder exclude it."""
        return self.of_folder(path.parent).is_excluded(path)

    def _find(self, folder: Path) -> Settings:
        for name in (OWN_FILE, SHARED_FILE):
            file = folder / name
            if os.path.isfile(file) and (found := read_settings(file)) is not None:
                return found
        return Settings(folder) if folder.parent == folder else self.of_folder(folder.parent)


def read_settings(path: Path) -> Settings | None:
    """Read ``[tool.hrp-model]`` of a pyproject.toml, or the whole of another TOML file.

    Returns:
        None if a pyproject.toml has no such table.

    Raises:
        OSError: The file cannot be read.
        SettingsError: It is not TOML, or has unknown keys or wrong values.
        MissingLibraryError: tomli is not installed on Python 3.10.
    """
    source = read_source(path, limit=_MAX_SIZE)
    is_shared = path.name == SHARED_FILE
    if is_shared and not re.search(r"hrp-model[\"']?[ \t]*[].=]", source.text):  # as a key
        return None
    diagnostics = Diagnostics.silent()
    content: object = _parsed(source, diagnostics)
    if diagnostics.found:
        raise SettingsError(diagnostics.found)
    for key in _TABLE if is_shared else ():
        content = content.get(key) if isinstance(content, Mapping) else None
    if content is None:
        return None
    reader = _Reader(source, diagnostics, is_shared)
    settings = reader.settings(content, Path(os.path.abspath(path)).parent)
    if diagnostics.found:
        raise SettingsError(diagnostics.found)
    return settings


def _parsed(source: Source, diagnostics: Diagnostics) -> object:
    parse = _toml_parser()
    at = Span(source, 0, 0)
    try:
        return parse(source.text)
    except RecursionError:
        diagnostics.error("too-deep", "arrays or tables are nested too deeply", at)
    except ValueError as error:  # such as tomllib.TOMLDecodeError
        message = str(error)
        found = re.search(_PLACE, message)
        if found is not None:
            line, column = int(found[1]), int(found[2])
            lines = source.text.splitlines(keepends=True)[: line - 1]
            start = min(sum(map(len, lines)) + column - 1, len(source.text))
            at = Span(source, start, start + 1)
        diagnostics.error("toml-syntax", re.sub(_PLACE, "", message), at)
    return None


def _toml_parser() -> Callable[[str], object]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError:
            message = "reading TOML settings on Python 3.10 needs tomli (pip install tomli)"
            raise MissingLibraryError(message) from None
    return tomllib.loads


class _Reader:
    """Converts the values of one file to settings, and reports problems with their places."""

    def __init__(self, source: Source, diagnostics: Diagnostics, is_shared: bool) -> None:
        self._source = source
        self._diagnostics = diagnostics
        header = re.search(_HEADER, source.text) if is_shared else None
        self._begin = 0 if header is None else header.start()

    def settings(self, content: object, folder: Path) -> Settings:
        """Return the settings in a table; report wrong values and unknown keys."""
        if not isinstance(content, Mapping):
            self._refuse(_TABLE[-1], "a table of settings")
            return Settings(folder)
        for key in content:
            if key not in _KEYS:
                message = f"there is no setting '{key}'.{did_you_mean_or_all(key, _KEYS)}"
                self._diagnostics.error("unknown-setting", message, self._at(key))
        baseline = content.get(_BASELINE)
        if baseline is not None and not isinstance(baseline, str):
            self._refuse(_BASELINE, "the path of a file")
            baseline = None
        per_file = content.get(_PER_FILE, {})
        if not isinstance(per_file, Mapping):
            self._refuse(_PER_FILE, "a table of globs with lists of codes")
            per_file = {}
        return Settings(
            folder,
            ignore=self._codes(_IGNORE, content.get(_IGNORE, [])),
            per_file_ignores=tuple(
                (glob, self._codes(glob, codes)) for glob, codes in per_file.items()
            ),
            exclude=self._texts(_EXCLUDE, content.get(_EXCLUDE, []), "globs"),
            baseline=None if baseline is None else folder / baseline,
            baseline_at=None if baseline is None else self._at(_BASELINE),
        )

    def _codes(self, key: str, value: object) -> frozenset[str]:
        codes = self._texts(key, value, "codes")
        for code in codes:
            if code not in CODES:
                hint = did_you_mean(code, CODES) or " 'hrp-model check --list-codes' lists them."
                message = f"there is no code '{code}'.{hint}"
                self._diagnostics.error("unknown-code", message, self._at(key, code))
        return frozenset(codes)

    def _texts(self, key: str, value: object, items: str) -> tuple[str, ...]:
        if isinstance(value, list):
            texts = tuple(item for item in value if isinstance(item, str) and item)
            if len(texts) == len(value):
                return texts
        self._refuse(key, f"a list of {items}")
        return ()

    def _refuse(self, key: str, expected: str) -> None:
        self._diagnostics.error("wrong-type", f"'{key}' takes {expected}", self._at(key))

    def _at(self, key: str, value: str | None = None) -> Span:
        """Return the place of a key, or of a text among its values; else the beginning.

        The TOML parser does not report places, so the text is searched.
        """
        start, end = self._begin, self._begin
        name = re.escape(key)
        pattern = rf"(?:^|[{{,.\[])[ \t]*([\"']?{name}[\"']?)[ \t]*[\].=]"
        if found := re.compile(pattern, re.MULTILINE).search(self._source.text, self._begin):
            start, end = found.span(1)
        if value is not None:
            quoted = re.compile(rf"([\"']){re.escape(value)}\1")
            if found := quoted.search(self._source.text, end):
                start, end = found.span()
        return Span(self._source, start, end)
