"""What the source of a module says: what it imports, and its diagnostic codes."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SLUG = re.compile(r"[a-z]+(-[a-z0-9]+)+")
# Hyphenated strings that are no codes.
OTHERS = re.compile(r"hrp-(model|sim|warn|button)|per-file-ignores|utf-.*|latin-1|cp932|.*-8859-.*")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def import_statements(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield what a module and its functions import, without a look at expressions."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            found = getattr(node, part, [])
            waiting += found if isinstance(found, list) else []


def texts(node):
    return {
        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }


def emitted(tree):
    """Return the strings in a module in places of codes."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if method in ("note", "warn", "error") and node.args:
                found |= texts(node.args[0]) if isinstance(node.args[0], ast.Constant) else set()
            given = [k.value for k in node.keywords if k.arg == "code"]
            given += [a for a in node.args if isinstance(a, ast.Constant)]
            found |= {text for value in given for text in texts(value) if SLUG.fullmatch(text)}
        elif isinstance(node, (ast.Assign, ast.Yield, ast.Return)) and node.value is not None:
            values = ast.walk(node.value)
            direct = [v for v in values if not isinstance(v, ast.Call)]
            found |= {
                v.value
                for v in direct
                if isinstance(v, ast.Constant)
                and isinstance(v.value, str)
                and SLUG.fullmatch(v.value)
            }
    return {text for text in found if not OTHERS.fullmatch(text)}


def check_rule(rule):
    """Check that meaning and hint of a code are one line each, and no sentences."""
    for text in rule:
        assert text.strip() == text
        assert 8 < len(text) <= 100
        assert not text.endswith(".")
    assert rule.meaning != rule.hint
