"""Report the keys of a mapping that name nothing."""

from __future__ import annotations

from collections.abc import Collection

from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.readers.yaml.nodes import Mapping


def report_unknown(node: Mapping, known: Collection[str], problem: str, code: str) -> None:
    """Report the keys of a mapping that are not known names.

    Args:
        node: The mapping, whose keys are names.
        known: The names that there are.
        problem: Start of the message, such as "the world has no body".
        code: Of the diagnostics.
    """
    for name, (key, _) in node.entries().items():
        if name not in known:
            hint = did_you_mean_or_all(name, known)
            node.diagnostics.error(code, f"{problem} '{name}'.{hint}", key.span)
