"""Text of YAML files, in which no character steers a terminal or reorders what is shown."""

from __future__ import annotations

from typing import Any

import yaml

from ..printable import printable_lines


class TextDumper(yaml.SafeDumper):
    """Writes letters of all scripts as they are, and escapes control and format characters."""

    def choose_scalar_style(self) -> str:
        """Return the style of a scalar: quoted if it has characters to escape."""
        text: str = self.event.value  # type: ignore[union-attr]  # called for scalars only
        style: str = super().choose_scalar_style() if printable_lines(text) == text else '"'
        return style

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Write a scalar in quotes."""
        self.allow_unicode = printable_lines(text) == text
        super().write_double_quoted(text, split)
        self.allow_unicode = True


def yaml_text(data: Any, dumper: type[TextDumper] = TextDumper, width: int | None = None) -> str:
    """Return plain data as YAML, with the keys in their order."""
    text: str = yaml.dump(data, Dumper=dumper, sort_keys=False, allow_unicode=True, width=width)
    return text
