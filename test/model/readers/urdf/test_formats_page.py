"""The published lists: each element and attribute stands in one, and does what that promises."""

import re
from dataclasses import fields, is_dataclass
from enum import Enum
from xml.etree import ElementTree

import numpy as np
from each_case import check_each
from paths import ROOT
from urdf_parser_py import urdf
from urdf_parser_py.xml_reflection import core
from verify_samples import silent

from hrp_model import ModelError, load_body_text
from hrp_model.diagnostics import Diagnostics, Span
from hrp_model.readers.urdf.objects import EXTENDED, GEOMETRIES, IGNORED_NAMES

PAGE = ROOT / "docs" / "formats" / "urdf.md"
VALID = ROOT / "test" / "data" / "urdf" / "valid"
SINKS = [(VALID / name).read_text("utf-8") for name in ("kitchen_sink.urdf", "kitchen_more.urdf")]
OTHER_NAMES = {"type": "fixed", "link": "nobody", "joint": "turn", "filename": "no.obj"}


def listed(number):
    """Return the (element, attribute) of a list; the attribute is None for the element itself."""
    [section] = re.findall(rf"^## {number}\..*?(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S)
    found = []
    for line in section.splitlines():
        if line.startswith("| `"):
            elements, attributes = (re.findall(r"`(\w+)`", x) for x in line.split("|")[1:3])
            found += [(e, a) for e in elements for a in attributes or [None]]
    return found


SUPPORTED, IGNORED = listed(1), listed(2)
# Attributes in some files, elements in others.
WORDS_OF_OTHERS = {
    (kind.XML_REFL.tag, word) for kind, words in IGNORED_NAMES.items() for word in words
}


def known():
    """Return every (element, attribute) that the reader knows."""
    found = set()
    waiting = [("robot", urdf.Robot)]
    done = set()
    while waiting:
        tag, kind = waiting.pop()
        kind = EXTENDED.get(kind, kind)
        if (tag, kind) in done:
            continue
        done.add((tag, kind))
        found.update((tag, name) for name in kind.XML_REFL.attribute_map)
        for name, param in kind.XML_REFL.element_map.items():
            if isinstance(param.value_type, core.ObjectType):
                waiting.append((name, param.value_type.type))
            elif isinstance(param.value_type, core.SimpleElementType):
                found.add((name, param.value_type.attribute))
    waiting_tags = {tag for tag, _ in done}
    assert "visual" in waiting_tags
    for tag, kind in GEOMETRIES.items():
        found.update((tag, name) for name in kind.XML_REFL.attribute_map)
    return {(tag, name) for tag, name in found if tag not in ("transmission", "gazebo")}


def test_everything_that_is_known_stands_in_exactly_one_list():
    both = [entry for entry in (*SUPPORTED, *IGNORED) if entry[1] is not None]
    assert len(set(both)) == len(both)
    assert sorted(known() - set(both)) == []
    assert sorted(set(both) - known() - WORDS_OF_OTHERS) == []
    assert sorted(WORDS_OF_OTHERS - set(IGNORED)) == []


def plain(value):
    """Return a body as nested plain values, without the places in its file."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, Span):
        return [
            plain(getattr(value, f.name)) for f in fields(value) if f.name not in ("at", "path")
        ]
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(inner) for inner in value]
    if isinstance(value, frozenset):
        return sorted(map(str, map(plain, value)))
    return value.value if isinstance(value, Enum) else str(value)


def read(root):
    """Return a robot as plain values, or what is wrong with it."""
    found = Diagnostics.silent()
    try:
        body = load_body_text(ElementTree.tostring(root, "unicode"), found, folder=VALID)
    except ModelError as error:
        return [d.code for d in error.diagnostics]
    return plain(body)


def changed(element, attribute):
    """Change an attribute to something else of its kind."""
    words = element.get(attribute).split()
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        element.set(attribute, OTHER_NAMES.get(attribute, "another"))
        return
    numbers[0] += 0.125
    element.set(attribute, " ".join(map(repr, numbers)))


def outcomes(tag, attribute):
    """Yield what each robot is like before and after its attributes of one name were changed.

    Or, without an attribute, after the elements were taken out.
    """
    for text in SINKS:
        root = ElementTree.fromstring(text)
        blocks = {id(x) for b in root if b.tag in ("gazebo", "ros2_control", "transmission")
                  for x in b.iter()}  # fmt: skip
        before = read(root)
        for outer in list(root.iter()):
            for element in list(outer):
                if element.tag != tag or id(element) in blocks:
                    continue
                if attribute is None:
                    outer.remove(element)
                elif element.get(attribute) is not None:
                    changed(element, attribute)
                else:
                    continue
                yield before, read(root)
        if tag == "robot" and root.get(attribute) is not None:
            root.set(attribute, "another")
            yield before, read(root)


def test_what_is_supported_changes_the_robot():
    check_each(SUPPORTED, check_supported)


def check_supported(entry):
    found = list(outcomes(*entry))
    assert found, "no valid file has it"
    assert any(after != before for before, after in found)


def test_what_is_ignored_changes_nothing():
    check_each(IGNORED, check_ignored)


def check_ignored(entry):
    tag, attribute = entry
    root = ElementTree.fromstring(SINKS[0])
    before = read(root)
    element = root if tag == "robot" else next(root.iter(tag))
    element.set(attribute, "7")
    if (tag, attribute) in WORDS_OF_OTHERS:
        ElementTree.SubElement(element, attribute)
    found = silent()
    body = load_body_text(ElementTree.tostring(root, "unicode"), found, folder=VALID)
    assert plain(body) == before
    assert found.found == []
