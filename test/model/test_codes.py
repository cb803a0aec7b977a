"""The table of codes, and that it knows every code that the package gives."""

import ast
import re
from pathlib import Path

import pytest

import hrp_model
from hrp_model.codes import CODES, bodies, files, parts

PACKAGE = Path(hrp_model.__file__).parent
SLUG = re.compile(r"[a-z]+(-[a-z0-9]+)+")
# Spelled with an f-string, "frame" or "joint" and what they have in common, or without a
# hyphen in a table.
COMPOSED = {"frame-name-collision", "joint-name-collision", "x3d"}
# Words with a hyphen that are no codes.
OTHERS = re.compile(r"hrp-model|utf-.*|latin-1|cp932|.*-8859-.*")


def texts(node):
    return {
        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }


def emitted(tree):
    """Return the texts in a module that stand where codes do."""
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


def emitted_anywhere():
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name != "codes":
            found |= emitted(ast.parse(path.read_text(encoding="utf-8")))
    return found


def test_every_code_of_a_reader_or_rule_is_explained():
    assert sorted(emitted_anywhere() - set(CODES)) == []


def test_every_code_that_is_explained_exists():
    assert sorted(set(CODES) - emitted_anywhere() - COMPOSED) == []


def test_no_code_is_explained_twice():
    tables = (files.CODES, parts.CODES, bodies.CODES)
    assert sum(map(len, tables)) == len(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_a_meaning_and_a_hint_of_one_line(code):
    rule = CODES[code]
    for text in rule:
        assert text.strip() == text
        assert 8 < len(text) <= 100
        assert not text.endswith(".")
    assert rule.meaning != rule.hint
