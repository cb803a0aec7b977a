"""Controller items of a body, which are programs of Choreonoid that cannot run here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hrp_model import Diagnostics

from .items import Item

_MOTION = "BodyMotionControllerItem"
# Classes of controllers, and the key that names their program.
CONTROLLERS = {
    "SimpleControllerItem": ("controller",),
    "PyBodyControllerItem": ("controller",),
    "PythonSimpleControllerItem": ("controller",),
    "BodyRTCItem": ("moduleName", "module_name", "module"),
    "BodyIoRTCItem": ("module", "moduleName"),
    "RTCItem": ("module", "moduleName"),
    "ControllerRTCItem": ("module", "moduleName"),
    "OpenHRPControllerItem": ("controller", "controllerName"),
    "OpenHRPOnlineViewerItem": (),
    "GRobotControllerItem": (),
    "JoystickSimpleControllerItem": ("controller",),
    _MOTION: (),
}


def controllers_of(body: Item, items: Iterable[Item]) -> list[Item]:
    """Return the controllers of a body: those in it, but not in a body in it."""
    return [item for item in items if item.kind in CONTROLLERS and _owner(item) is body]


def report_controllers(body: str, controllers: Sequence[Item], diagnostics: Diagnostics) -> None:
    """Report the controllers of a body that do not run.

    Args:
        body: Its name in the world.
        controllers: Its controller items.
        diagnostics: Receives the problems.
    """
    for item in controllers:
        program = (
            item.data.text(*CONTROLLERS[item.kind], default="") if CONTROLLERS[item.kind] else ""
        )
        shown = f"'{program or item.name}' ({item.kind})"
        message = (
            f"the controller {shown} of '{body}' cannot run here; its joints hold their "
            f"positions. Control it by topics, or write a controller in Python and give it with "
            f"--controller '{body}=MODULE:CLASS'"
        )
        diagnostics.warn("foreign-controller", message, item.span)


def _owner(item: Item) -> Item | None:
    return next((other for other in item.ancestors if other.kind == "BodyItem"), None)
