"""Bodies and contacts of a run in the scene, with switches for their layers in the panel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

import numpy as np

from hrp_model.rigid import Array
from hrp_model.view.robot import Layer, RobotView, Scale
from hrp_model.view.sensor_views import ArrowsView, PointsView
from hrp_model.view.viewer import Viewer

from ..engine.contact_points import ContactPoints
from ..engine.state import SimulatedBody
from ..run.contact_sampler import ContactSampler
from ..simulation import Simulation
from .snapshot import Snapshot

_POINT_COLOR, _FORCE_COLOR = (250, 190, 0), (230, 40, 150)
# Samples per second of simulation time, of which only those are taken that are to be drawn.
_CONTACT_RATE = 250.0


class Bodies:
    """Shows all bodies of a world, those that are added later, too.

    Args:
        viewer: The page.
        on_select: Called with the names of body and link that were clicked.
    """

    def __init__(
        self,
        viewer: Viewer,
        on_select: Callable[[str, str], None],
    ) -> None:
        self._viewer, self._on_select = viewer, on_select
        self._shown: dict[str, tuple[SimulatedBody, RobotView]] = {}
        self._count = 0  # of views made, for unique names in the scene
        gui = viewer.server.gui
        self._switches = {
            layer: gui.add_checkbox(layer.value, layer is Layer.VISUAL) for layer in Layer
        }
        self._layers = {layer: switch.value for layer, switch in self._switches.items()}

    @property
    def views(self) -> Mapping[str, tuple[SimulatedBody, RobotView]]:
        """The bodies and their views, by name."""
        return self._shown

    def follow(
        self, bodies: Mapping[str, SimulatedBody]
    ) -> list[tuple[SimulatedBody, RobotView]] | None:
        """Show these bodies and no others.

        Returns:
            The new bodies with their views; None if no body was added or removed.
        """
        shown = self._shown
        if bodies.keys() == shown.keys() and all(shown[k][0] is b for k, b in bodies.items()):
            return None
        for name, (body, view) in tuple(self._shown.items()):
            if bodies.get(name) is not body:
                view.remove()
                del self._shown[name]
        new = [body for name, body in bodies.items() if name not in self._shown]
        return [self._add(body) for body in new]

    def draw(self, snapshot: Snapshot) -> None:
        """Move all links to their poses, and show the layers that are switched on."""
        for layer, switch in self._switches.items():
            if switch.value != self._layers[layer]:
                self._layers[layer] = switch.value
                for _, view in self._shown.values():
                    view.show(layer, self._layers[layer])
        for name, poses in snapshot.bodies.items():
            body, view = self._shown[name]
            if body is poses.simulated:
                view.move(poses.p, poses.R)

    def _add(self, simulated: SimulatedBody) -> tuple[SimulatedBody, RobotView]:
        self._count += 1
        name = simulated.name
        view = RobotView(
            self._viewer,
            f"{self._count}_{name}",
            simulated.body,
            lambda link: self._on_select(name, link),
        )
        view.move(simulated.motion.p.copy(), simulated.motion.R.copy())
        for layer, on in self._layers.items():
            view.show(layer, on)
        self._shown[name] = simulated, view
        return simulated, view


class Contacts:
    """Shows contact points, and their forces as arrows.

    ``take`` is called in the stepping thread, the others in the viewer's thread.

    Args:
        viewer: The page.
        scale: Sizes of what is drawn.
    """

    def __init__(self, viewer: Viewer, scale: Scale) -> None:
        gui = viewer.server.gui
        self._scale = scale
        self._points = PointsView(viewer, "/contacts/points", 1.5 * scale.width, _POINT_COLOR)
        self._forces = ArrowsView(viewer, "/contacts/forces", _FORCE_COLOR, scale.width)
        self._shows_points = gui.add_checkbox("contact points", False)
        self._shows_forces = gui.add_checkbox("contact forces", False)
        self._is_due = False
        self._is_sampling = False  # at the last step
        self._samples: deque[tuple[ContactPoints, Array]] = deque(maxlen=1)
        self._sampler = ContactSampler(_CONTACT_RATE, lambda: self._is_due, self._keep)

    def take(self, simulation: Simulation) -> None:
        """Sample the contacts if they are to be drawn; called after each step."""
        if self._is_due or self._is_sampling:
            self._is_sampling = self._is_due
            self._sampler.after_step(simulation)

    def restart(self, time_ns: int) -> None:
        """Continue from another time, in [ns]; called in the stepping thread."""
        self._sampler.restart(time_ns)
        self._samples.clear()

    def request(self) -> None:
        """Request the next contacts, if they are shown."""
        self._is_due = self._shows_points.value or self._shows_forces.value

    def stop(self) -> None:
        """Request no contacts any more."""
        self._is_due = False

    def draw(self) -> None:
        """Draw the contacts that have arrived."""
        if not self._shows_points.value:
            self._points.hide()
        if not self._shows_forces.value:
            self._forces.hide()
        try:
            points, force = self._samples.popleft()
        except IndexError:  # none has arrived, or a reset has just removed it
            return
        if self._shows_points.value:
            self._points.show(points.position, np.zeros(3))
        if self._shows_forces.value:
            self._forces.show(points.position, force * self._scale.per_force)

    def clear(self) -> None:
        """Hide the contacts, as after a reset."""
        self._points.hide()
        self._forces.hide()

    def _keep(self, points: ContactPoints, force: Array) -> None:
        self._is_due = False
        self._samples.append((points, force))
