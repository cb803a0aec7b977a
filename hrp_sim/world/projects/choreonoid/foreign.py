"""Items that have no meaning here, each class reported once."""

from __future__ import annotations

from collections.abc import Iterable

from hrp_model import Diagnostics

from ..reports import report_foreign_items
from .items import Item

# Items that only group or hold others.
STRUCTURE = frozenset(("RootItem", "FolderItem", "GroupItem", "WorldItem", "SubProjectItem"))
# Items whose purpose is served without them, and how.
_SERVED = {
    "SensorVisualizerItem": "all sensors are published, and the page of a run shows them",
    **dict.fromkeys(
        ("BodyROSItem", "WorldROSItem", "BodyROS2Item", "WorldROS2Item", "WorldRosItem"),
        "bodies and world have topics and services of their own with --ros",
    ),
    "WorldLogFileItem": "'hrp-sim run --record' records a run",
    "BodyTrackingCameraItem": "it is a camera of Choreonoid's window",
    "LightingItem": "it is a light of Choreonoid's window",
    **dict.fromkeys(
        (
            *("CoordinateFrameListItem", "CoordinateFrameItem"),
            *("LinkOffsetFrameListItem", "LinkCoordinateFrameListItem"),
            *("PositionListItem", "PositionTagListItem", "PositionTagGroupItem"),
        ),
        "it helps to edit motions in Choreonoid's window",
    ),
}
# Why others have no effect.
_REASONS = {
    "MultiColliderItem": "its fields of fluids and distortion are not simulated",
    "CFDSimulatorItem": "forces of fluids are not simulated",
    "PythonSimScriptItem": "scripts of Choreonoid are not run",
    "PythonScriptItem": "scripts of Choreonoid are not run",
    "RegionIntrusionDetectorItem": "regions are not watched",
}


def report_foreign(items: Iterable[Item], diagnostics: Diagnostics) -> None:
    """Report items without effect, once for each class."""
    places = ((item.kind, item.span) for item in items)
    report_foreign_items(places, diagnostics, served=_SERVED, reasons=_REASONS)
