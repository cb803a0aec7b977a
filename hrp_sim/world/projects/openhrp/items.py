"""Items of OpenHRP projects and their properties."""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite

import numpy as np

from hrp_model import Diagnostics
from hrp_model.diagnostics import Span, counted, did_you_mean_or_all
from hrp_model.readers.xml_tree import NUMBER, Element
from hrp_model.rigid import Array

from ..common import report_foreign_items

_USED = (
    *("GrxModelItem", "GrxCollisionPairItem", "GrxExtraJointItem"),
    *("GrxSimulationItem", "GrxWorldStateItem"),
)
_MODE = "Simulation"
_REASONS = {
    "GrxRTSItem": "components of OpenRTM are not run",
    "GrxPathPlanningAlgorithmItem": "paths are not planned",
}


class Item:
    """One item: its name, and its properties by name, of which the last one counts.

    Attributes:
        element: As written.
        kind: Its class, without the Java package.
        name: Its name.
        properties: The elements of its properties.
    """

    def __init__(self, element: Element, diagnostics: Diagnostics) -> None:
        self.element = element
        self.kind = element.attributes.get("class", "").rpartition(".")[2]
        self.name = element.attributes.get("name", "")
        self.properties = {p.attributes.get("name", ""): p for p in element.all("property")}
        self.diagnostics = diagnostics

    @property
    def is_selected(self) -> bool:
        """Whether the simulation uses it."""
        return self.element.attributes.get("select", "true").strip().lower() != "false"

    def at(self, key: str) -> Span:
        """Return the place of a property, or of the item if it does not have it."""
        written = self.properties.get(key)
        return self.element.span if written is None else written.at("value")

    def text(self, key: str) -> str:
        """Return a property, without surrounding blanks; "" if the item does not have it."""
        written = self.properties.get(key)
        return "" if written is None else written.attributes.get("value", "").strip()

    def number(self, key: str, default: float, low: float = -1e9, high: float = 1e9) -> float:
        """Return a number; the default if it is missing, or after reporting an error."""
        (value,) = self.numbers(key, np.array([default])).tolist()
        if low <= value <= high:
            return float(value)
        message = f"'{key}' must lie between {low:.10g} and {high:.10g}, not {value:g}"
        self.diagnostics.error("out-of-range", message, self.at(key))
        return default

    def numbers(self, key: str, default: Array) -> Array:
        """Return numbers, as many as the default has; that after reporting an error."""
        text = self.text(key)
        if not text:
            return default
        words = text.split()
        count = len(default)
        values = list(map(float, words)) if all(map(NUMBER.fullmatch, words)) else []
        if len(values) == count and all(map(isfinite, values)):
            return np.array(values)
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        message = f"'{key}' must be {counted(count, 'finite number')}, not '{shown}'"
        self.diagnostics.error("wrong-type", message, self.at(key))
        return default

    def choice(self, key: str, choices: Collection[str]) -> str:
        """Return one of several words; "" if it is missing, or after reporting an error."""
        text = self.text(key)
        if not text or text in choices:
            return text
        message = f"'{key}' is '{text}'.{did_you_mean_or_all(text, choices)}"
        self.diagnostics.error("unknown-word", message, self.at(key))
        return ""


class ModeItems:
    """The selected items of the mode that simulates.

    Args:
        root: The project.
        diagnostics: Receives warnings.
    """

    def __init__(self, root: Element, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        modes = list(root.all("mode"))
        named = [mode for mode in modes if mode.attributes.get("name") == _MODE]
        self._mode = next(iter(named or modes), root)
        self._selected: dict[str, list[Item]] = {}
        for element in self._mode.all("item"):
            item = Item(element, diagnostics)
            if item.is_selected:
                self._selected.setdefault(item.kind, []).append(item)

    def of(self, kind: str) -> list[Item]:
        """Return the selected items of a class, in the order of the file."""
        return self._selected.get(kind, [])

    def report_foreign(self) -> None:
        """Report items and views without effect, once for each class."""
        every = (
            (element.attributes.get("class", "").rpartition(".")[2], element.at("class"))
            for element in self._mode.all("item", "view")
        )
        foreign = ((kind, at) for kind, at in every if kind not in _USED)
        found = list(foreign)
        of_window = {kind for kind, _ in found if kind.endswith("View")} | {"GrxGraphItem"}
        report_foreign_items(
            found,
            self._diagnostics,
            served=dict.fromkeys(of_window, "it belongs to the window of GrxUI"),
            reasons=_REASONS,
        )
