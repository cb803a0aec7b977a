"""The scene of a run: bodies, contacts, and the link that is pulled.

It is drawn from copies of the state; the switches of what is shown are in the panel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hrp_model.geometry import Shape
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_model.shapes.extents import Extents, hidden
from hrp_model.view.cameras import Subject
from hrp_model.view.robot import Layer, RobotView, Scale, label_text
from hrp_model.view.sensor_views import ArrowsView, PointsView
from hrp_model.view.viewer import Viewer

from ..engine.engine import PhysicsError
from ..engine.schedule import NS_PER_S
from ..engine.state import BodyMotion, ContactPoints, SimulatedBody
from ..run.run import Run
from ..run.samplers import ContactSampler
from ..simulation import Simulation

if TYPE_CHECKING:
    from viser import SceneNodeDragEvent, SceneNodeHandle

SOURCE = "viewer"  # of commands and external wrenches
MODIFIER = "cmd/ctrl"
# More triangles of what does not move are not looked through for what hides a body. Points of the
# body, relative to its middle and half its radius.
_MAX_OBSTACLES = 5_000
_AROUND = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
_POINT_COLOR, _FORCE_COLOR, _PULL_COLOR = (250, 190, 0), (230, 40, 150), (255, 140, 0)
# Samples per second of simulation time, of which only those are taken that are to be drawn.
_CONTACT_RATE = 250.0
# A spring that would let the whole body swing at this rate, in [rad/s], with this damping ratio.
_RATE, _DAMPING_RATIO = 6.0, 0.5
# The force is at most that of this acceleration of the body, in [m/s^2].
_MAX_ACCELERATION = 40.0
_MAX_FORCE = 1e11  # [N]; a simulation takes less than 1e12
_MAX_POSITION = 1e6  # [m] of a mouse; farther ones are ignored
# Damping must not stop a light link in less than this number of steps.
_MIN_STEPS = 10.0


@dataclass(frozen=True, slots=True)
class BodySnapshot:
    """The posture of one body at the time of a snapshot.

    Attributes:
        simulated: The body; its arrays are live.
        p: p_WL of the links, in [m], shape (links, 3).
        R: R_WL, shape (links, 3, 3).
        q: Joint positions, in [rad] or [m], shape (joints,).
    """

    simulated: SimulatedBody
    p: Array
    R: Array
    q: Array


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a run at one time.

    Attributes:
        simulation: The simulation; to be used in the stepping thread only.
        time_ns: Simulation time, in [ns].
        bodies: By name.
        paused: Whether the run is paused.
        error: Failure of the physics that halted the run, or None.
        target_factor: Target real-time factor; 0 is as fast as possible.
        factor: Measured real-time factor; 0 while halted.
        falls: Why robots count as fallen, by name.
    """

    simulation: Simulation
    time_ns: int
    bodies: Mapping[str, BodySnapshot]
    paused: bool
    error: PhysicsError | None
    target_factor: float
    factor: float
    falls: Mapping[str, str] = field(default_factory=dict)


def take_snapshot(run: Run) -> Snapshot:
    """Copy the state of a run; to be called in the stepping thread, or before the run."""
    simulation = run.simulation
    bodies = {
        name: BodySnapshot(body, *body.motion.poses(), body.motion.q.copy())
        for name, body in simulation.bodies.items()
    }
    return Snapshot(
        simulation,
        simulation.state.time_ns,
        bodies,
        run.paused,
        run.error,
        run.real_time_factor,
        run.measured_factor,
    )


def extents_of(bodies: Mapping[str, SimulatedBody]) -> Extents:
    """Return where bodies by name are."""
    return Extents({name: simulated.body for name, simulated in bodies.items()})


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
        self._obstacles = np.zeros((0, 3, 3)), np.zeros(0, bool)  # see ``Extents.obstacles``
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
        poses = {name: body.motion.poses() for name, body in bodies.items()}
        extents = extents_of(bodies)
        outer_walls = extents.outer_walls(poses)
        triangles, solid = extents.obstacles(poses, outer_walls)
        count = len(solid) if len(solid) <= _MAX_OBSTACLES else 0
        self._obstacles = triangles[:count], solid[:count]
        added = [self._add(body, outer_walls) for body in new]
        movable = [view for body, view in self._shown.values() if not body.body.is_static]
        length = max((view.frame_length for view in movable), default=0.1)
        for body, view in added:
            if body.body.is_static:  # floors are much larger than what stands on them
                view.frame_length = length
        return added

    def subject(self, label: str) -> Subject | None:
        """Return a movable body that cameras look at, by its label; None if there is none."""
        main = self.main(label)
        return None if main is None else self._shown[main.name][1].subject()

    def hides(self, subject: Subject, eye: Array) -> bool:
        """Return whether what does not move hides half of a body from a point, in [m]."""
        points = subject.center + 0.5 * subject.radius * _AROUND
        return bool(hidden(eye, points, *self._obstacles).mean() >= 0.5)

    def main(self, label: str) -> SimulatedBody | None:
        """Return a movable body by its label; None if there is none."""
        for name, (body, _) in self._shown.items():
            if label_text(name) == label and not body.body.is_static:
                return body
        return None

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

    def _add(
        self, simulated: SimulatedBody, outer_walls: Mapping[Shape, Array]
    ) -> tuple[SimulatedBody, RobotView]:
        self._count += 1
        name = simulated.name
        view = RobotView(
            self._viewer,
            f"{self._count}_{name}",
            simulated.body,
            None if simulated.body.is_static else lambda link: self._on_select(name, link),
            outer_walls,
        )
        view.move(*simulated.motion.poses())
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

    Attributes:
        present: The link that is being pulled, or None.
    """

    def __init__(self, viewer: Viewer, scale: Scale) -> None:
        self._scene = viewer.server.scene
        self._arrow = ArrowsView(viewer, "/pull", _PULL_COLOR, 1.5 * scale.width)
        self.present: Pull | None = None
        self._poses: Mapping[str, BodySnapshot] = {}  # as drawn

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
        pull = self.present
        if pull is None:
            return
        simulated = pull.simulated
        if simulation.bodies.get(simulated.name) is not simulated:
            self.present = None  # the body was removed
            return
        step_ns = simulation.engine.settings.step_ns
        force = spring_force(pull, simulated.motion, step_ns / NS_PER_S)
        link = simulated.body.links[pull.link].name
        simulation.push(
            simulated.name, link, force, np.zeros(3), step_ns / NS_PER_S, pull.point, source=SOURCE
        )

    def stop(self) -> None:
        """Let go."""
        self.present = None

    def release(self, client: int) -> None:
        """Let go of the link that is pulled in a browser, which has gone."""
        pull = self.present
        if pull is not None and pull.client == client:
            self.present = None

    def draw(self, snapshot: Snapshot) -> None:
        """Draw an arrow from the grabbed point to the mouse."""
        self._poses = snapshot.bodies
        pull = self.present
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
            pull = self.present
            if pull is None or pull.simulated is not simulated or pull.link != index:
                return
            if pull.client != event.client_id:
                return  # somebody else has grabbed it meanwhile
            if event.phase == "end":
                self.present = None
            else:
                self.present = replace(pull, target=end)

        node.on_drag("left", modifier=MODIFIER)(drag)  # type: ignore[attr-defined]

    def _grab(self, simulated: SimulatedBody, index: int, position: Array, client: int) -> None:
        poses = self._poses.get(simulated.name)
        if poses is None or poses.simulated is not simulated:
            return
        point = poses.R[index].T @ (position - poses.p[index])
        self.present = Pull(simulated, index, point, position, client)
