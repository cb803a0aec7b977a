"""Pull links with the mouse: a spring from the grabbed point to the mouse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hrp_model.rigid import Array
from hrp_model.view.robot import RobotView, Scale
from hrp_model.view.sensor_views import ArrowsView
from hrp_model.view.viewer import Viewer

from ..engine.schedule import NS_PER_S
from ..engine.state import BodyMotion, SimulatedBody
from ..simulation import Simulation
from .snapshot import BodyPoses, Snapshot

if TYPE_CHECKING:
    from viser import SceneNodeDragEvent, SceneNodeHandle

SOURCE = "viewer"  # of commands and external wrenches
MODIFIER = "cmd/ctrl"
_COLOR = (255, 140, 0)
# A spring that would let the whole body swing at this rate, in [rad/s], with this damping ratio.
_RATE, _DAMPING_RATIO = 6.0, 0.5
# The force is at most that of this acceleration of the body, in [m/s^2].
_MAX_ACCELERATION = 40.0
_MAX_FORCE = 1e11  # [N]; a simulation takes less than 1e12
_MAX_POSITION = 1e6  # [m] of a mouse; farther ones are ignored
# Damping must not stop a light link in less than this number of steps.
_MIN_STEPS = 10.0


@dataclass(frozen=True, eq=False)
class Pull:
    """A link that is being pulled.

    Attributes:
        simulated: The body.
        link: Index of the link L.
        point: The grabbed point in L, in [m], shape (3,).
        target: Position of the mouse in W, in [m], shape (3,).
        client: Identifier of the browser in which it is pulled.
    """

    simulated: SimulatedBody
    link: int
    point: Array
    target: Array
    client: int = 0


def spring_force(pull: Pull, motion: BodyMotion, time_step: float) -> Array:
    """Return the force on the grabbed point, in W, in [N], shape (3,).

    ``k (target - x) - d v`` with the position x and velocity v of the point, ``k = m w^2`` and
    ``d = m w`` for the mass m of the body and w = 6 rad/s; limited to ``m * 40 m/s^2``, and to
    what a simulation takes. The
    damping of a link with mass n is at most ``n / (10 time_step)``, so that it stays stable.

    Args:
        pull: The link, the point and the target.
        motion: Of the body.
        time_step: Of the physics, in [s].
    """
    mass = pull.simulated.body.total_mass
    own_mass = pull.simulated.body.links[pull.link].mass
    arm = motion.R[pull.link] @ pull.point
    velocity = motion.v[pull.link] + np.cross(motion.w[pull.link], arm)
    stretch = pull.target - (motion.p[pull.link] + arm)
    damping = min(2.0 * _DAMPING_RATIO * mass * _RATE, own_mass / (_MIN_STEPS * time_step))
    force: Array = mass * _RATE**2 * stretch - damping * velocity
    magnitude, limit = float(np.linalg.norm(force)), min(mass * _MAX_ACCELERATION, _MAX_FORCE)
    return force if magnitude <= limit else force * (limit / magnitude)


class Pulling:
    """Lets the links of a run be pulled; the last one that was grabbed is pulled.

    ``apply`` is called in the stepping thread, the others in the viewer's thread.

    Args:
        viewer: The page.
        scale: Sizes of what is drawn.
    """

    def __init__(self, viewer: Viewer, scale: Scale) -> None:
        self._scene = viewer.server.scene
        self._arrow = ArrowsView(viewer, "/pull", _COLOR, 1.5 * scale.width)
        self._pull: Pull | None = None
        self._poses: Mapping[str, BodyPoses] = {}  # as drawn

    @property
    def present(self) -> Pull | None:
        """The link that is being pulled, or None."""
        return self._pull

    def offer(self, simulated: SimulatedBody, view: RobotView) -> None:
        """Let the movable links of a body be grabbed at their visual shapes."""
        if simulated.body.is_static or simulated.body.total_mass <= 0.0:
            return
        for index, link in enumerate(simulated.body.links):
            node = self._scene.get_handle_by_name(f"{view.node_of(link.name)}/visual")
            if node is not None:
                self._listen(node, simulated, index)

    def apply(self, simulation: Simulation) -> None:
        """Apply the force to the next step; called after each step."""
        pull = self._pull
        if pull is None:
            return
        simulated = pull.simulated
        if simulation.bodies.get(simulated.name) is not simulated:
            self._pull = None  # the body was removed
            return
        step_ns = simulation.engine.settings.step_ns
        force = spring_force(pull, simulated.motion, step_ns / NS_PER_S)
        link = simulated.body.links[pull.link].name
        simulation.push(
            simulated.name, link, force, np.zeros(3), step_ns / NS_PER_S, pull.point, source=SOURCE
        )

    def stop(self) -> None:
        """Let go."""
        self._pull = None

    def release(self, client: int) -> None:
        """Let go of the link that is pulled in a browser, which has gone."""
        pull = self._pull
        if pull is not None and pull.client == client:
            self._pull = None

    def draw(self, snapshot: Snapshot) -> None:
        """Draw an arrow from the grabbed point to the mouse."""
        self._poses = snapshot.bodies
        pull = self._pull
        poses = None if pull is None else snapshot.bodies.get(pull.simulated.name)
        if pull is None or poses is None or poses.simulated is not pull.simulated:
            self._arrow.hide()
            return
        start = poses.p[pull.link] + poses.R[pull.link] @ pull.point
        self._arrow.show(start[np.newaxis], (pull.target - start)[np.newaxis])

    def _listen(self, node: SceneNodeHandle, simulated: SimulatedBody, index: int) -> None:
        # In the server's event loop, where the phases of a drag arrive in their order.
        async def drag(event: SceneNodeDragEvent[Any]) -> None:
            start, end = np.array(event.start_position), np.array(event.end_position)
            if not (np.abs([start, end]) < _MAX_POSITION).all():
                return
            if event.phase == "start":
                self._grab(simulated, index, start, event.client_id)
            pull = self._pull
            if pull is None or pull.simulated is not simulated or pull.link != index:
                return
            if pull.client != event.client_id:
                return  # somebody else has grabbed it meanwhile
            if event.phase == "end":
                self._pull = None
            else:
                self._pull = replace(pull, target=end)

        node.on_drag("left", modifier=MODIFIER)(drag)  # type: ignore[attr-defined]

    def _grab(self, simulated: SimulatedBody, index: int, position: Array, client: int) -> None:
        poses = self._poses.get(simulated.name)
        if poses is None or poses.simulated is not simulated:
            return
        point = poses.R[index].T @ (position - poses.p[index])
        self._pull = Pull(simulated, index, point, position, client)
