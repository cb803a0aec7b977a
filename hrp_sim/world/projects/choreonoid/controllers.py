"""Read the controllers of a body: motions are played, programs of Choreonoid cannot run here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from hrp_model import Diagnostics, ModelError
from hrp_model.files.resources import ResourceError, resolve

from ....control.controllers.classes import ControllerEntry
from ...config import BodyEntry
from ...motion import Motion, load_motion
from ...motion.player import PLAYER
from ..common import ProjectOptions, report_program
from .items import Item

_PLAYER_ITEM = "BodyMotionControllerItem"
# Classes of programs, and the keys that name them.
_PROGRAMS: dict[str, tuple[str, ...]] = {
    "SimpleControllerItem": ("controller",),
    "JoystickSimpleControllerItem": ("controller",),
    "PythonSimpleControllerItem": ("controller",),
    "OpenHRPControllerItem": ("controller", "controllerName"),
    **dict.fromkeys(
        ("BodyRTCItem", "BodyIoRTCItem", "RTCItem", "ControllerRTCItem"),
        ("module", "moduleName", "module_name"),
    ),
    "GRobotControllerItem": (),
}
CONTROLLERS = (_PLAYER_ITEM, *_PROGRAMS)
MOTIONS = ("BodyMotionItem", "PoseSeqItem")


class Controllers:
    """Reads the controllers of bodies.

    A body has those in it, but not those in a body in it.

    Args:
        items: Of the world.
        diagnostics: Receives all problems.
        options: How the project is read.
    """

    def __init__(
        self, items: Iterable[Item], diagnostics: Diagnostics, options: ProjectOptions
    ) -> None:
        self._by_body: dict[Item, list[Item]] = {}
        self._by_player: dict[Item, list[Item]] = {}
        for item in items:
            if item.kind in CONTROLLERS and (body := item.nearest("BodyItem")):
                self._by_body.setdefault(body, []).append(item)
            elif item.kind in MOTIONS and (player := item.nearest(_PLAYER_ITEM)):
                self._by_player.setdefault(player, []).append(item)
        self._diagnostics = diagnostics
        self._options = options

    def has_controller(self, item: Item) -> bool:
        """Return whether the project has a controller for a BodyItem."""
        return item in self._by_body

    def read(self, body: Item, entry: BodyEntry) -> tuple[BodyEntry, list[ControllerEntry]]:
        """Return a body at the beginning of its motion, and those of its controllers that run.

        Args:
            body: Its item.
            entry: The body.
        """
        running: list[ControllerEntry] = []
        name = entry.placement.name
        for item in self._by_body.get(body, ()):
            if item.kind != _PLAYER_ITEM:
                self._report_program(item, name)
            elif name in self._options.controlled:
                message = f"the motion of '{name}' is not played: a controller for it is given"
                self._diagnostics.note("foreign-controller", message, item.span)
            elif not running and (found := self._motion(item)) is not None:
                path, motion = found
                args = {"file": str(path)}
                entry = _at_beginning(entry, motion)
                running.append(
                    ControllerEntry(class_name=PLAYER, body=name, args=args, at=item.span)
                )
        return entry, running

    def _motion(self, player: Item) -> tuple[Path, Motion] | None:
        """Return the motion of a player, or None after reporting why there is none.

        That is the first checked one, else the first.
        """
        found = self._by_player.get(player, [])
        checked = [item for item in found if item.is_checked]
        if not found:
            message = f"'{player.name}' has no motion (BodyMotionItem or PoseSeqItem) to play"
            self._diagnostics.warn("no-motion", message, player.span)
            return None
        item = (checked or found)[0]
        written = item.file
        at = item.data.at("file", "filename")
        try:
            path = resolve(self._options.expanded(written, item.folder), item.folder)
            # Separate diagnostics, so that loading fails only for errors of this motion.
            return path, load_motion(path, Diagnostics(listener=self._diagnostics.add))
        except ResourceError as error:
            message = str(error) if written else f"the motion '{item.name}' has no 'file'"
            self._diagnostics.error("missing-motion", message, at)
        except ModelError:  # the errors were reported
            pass
        return None

    def _report_program(self, item: Item, body: str) -> None:
        keys = _PROGRAMS[item.kind]
        program = item.data.text(*keys, default="") if keys else ""
        shown = f"the controller '{program or item.name}' ({item.kind}) of '{body}'"
        report_program(
            shown,
            body,
            "hold their positions",
            item.span,
            diagnostics=self._diagnostics,
            options=self._options,
        )


def _at_beginning(entry: BodyEntry, motion: Motion) -> BodyEntry:
    """Return a body in the first posture of a motion."""
    placement = entry.placement
    q = placement.initial_q.copy()
    first = motion.for_body(placement.body)[0]
    q[~np.isnan(first)] = first[~np.isnan(first)]
    pose = motion.root_at(0.0)
    return replace(
        entry,
        placement=replace(placement, q=q, X_WL=placement.X_WL if pose is None else pose),
    )
