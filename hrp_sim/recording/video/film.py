"""Studio pictures and films: what is filmed, with poses at the times of the frames, and how."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from hrp_model import Body, Diagnostics
from hrp_model.geometry import Shape
from hrp_model.rigid import Array
from hrp_model.shapes.extents import Extents, sphere
from hrp_model.shapes.light import KEY

from ...engine.schedule import NS_PER_S
from ...engine.state import BodyPoses
from ...render import Pixels, Renderer
from ...render.studio import Studio
from ...run.run import Run
from ...simulation import Simulation
from .views import View
from .writers import FilmWriter

_KNOWN_POSES = 25  # of a recording


class Frame(NamedTuple):
    """The world at one time.

    Attributes:
        time_ns: Simulation time, in [ns].
        poses: Of all links, by the name of the body.
    """

    time_ns: int
    poses: BodyPoses


class FilmSource(Protocol):
    """A run to film: a simulation, or a recording."""

    @property
    def bodies(self) -> Mapping[str, Body]:
        """The models, by the names of the bodies in the world."""

    @property
    def duration(self) -> float:
        """Simulation time from the first to the last frame, in [s]; inf without an end."""

    @property
    def problem(self) -> str:
        """Why there were fewer frames than asked for, or ""."""

    def frames(self, fps: float) -> Iterator[Frame]:
        """Yield the world at the start, and then ``fps`` times per second of simulation time."""

    def known_poses(self, duration: float) -> Iterator[BodyPoses]:
        """Yield poses that are known before the film, spread over its duration in [s].

        A fixed camera has them in the picture.
        """


class SimulationSource:
    """Films a simulation while it runs, without end. Its sensors are not read.

    Args:
        simulation: From its current state.
        hint: Added to the problem if the physics fails.

    Attributes:
        problem: Why the physics failed, which ends the frames; "" if it has not.
    """

    duration = inf

    def __init__(self, simulation: Simulation, hint: str = "") -> None:
        self._simulation = simulation
        self._hint = hint
        self.problem = ""

    @property
    def bodies(self) -> Mapping[str, Body]:
        """The models, by the names of the bodies in the world."""
        return {name: simulated.body for name, simulated in self._simulation.bodies.items()}

    def frames(self, fps: float) -> Iterator[Frame]:
        """Yield frames: each shows the first step at or after its time."""
        run = Run(self._simulation)
        start_ns = self._simulation.state.time_ns
        for number in count():
            run.until(start_ns + round(number * NS_PER_S / fps))
            if run.error is not None:
                self.problem = f"{run.error}\nhint: {self._hint}" if self._hint else str(run.error)
                return
            yield Frame(self._simulation.state.time_ns, self._simulation.state.poses())

    def known_poses(self, duration: float) -> Iterator[BodyPoses]:  # noqa: ARG002
        """Yield the present poses."""
        yield self._simulation.state.poses()


class RecordedPoses(Protocol):
    """The robots of a recording, and the poses of their links over time."""

    @property
    def bodies(self) -> Mapping[str, Body]:
        """The robots by name."""

    @property
    def start_ns(self) -> int:
        """Time of the first message, in [ns]."""

    @property
    def end_ns(self) -> int:
        """Time of the last message, in [ns]."""

    def poses(self, time_ns: int) -> BodyPoses:
        """Return the poses of all links by body at a time in [ns]."""


class RecordingSource:
    """Films a recorded run.

    Args:
        run: The run.
    """

    problem = ""

    def __init__(self, run: RecordedPoses) -> None:
        self._run = run

    @property
    def bodies(self) -> Mapping[str, Body]:
        """The robots by name."""
        return self._run.bodies

    @property
    def duration(self) -> float:
        """Time from the first to the last message, in [s]."""
        return (self._run.end_ns - self._run.start_ns) / NS_PER_S

    def frames(self, fps: float) -> Iterator[Frame]:
        """Yield the poses at the times of the frames, until the last message."""
        for number in count():
            time_ns = self._run.start_ns + round(number * NS_PER_S / fps)
            if time_ns > self._run.end_ns:
                return
            yield Frame(time_ns, self._run.poses(time_ns))

    def known_poses(self, duration: float) -> Iterator[BodyPoses]:
        """Yield poses at equal intervals."""
        length_ns = round(min(duration, self.duration) * NS_PER_S)
        for number in range(_KNOWN_POSES):
            yield self._run.poses(self._run.start_ns + length_ns * number // (_KNOWN_POSES - 1))


# Sizes relative to the robots' radius: of the region that casts shadows, and of the ground.
_SHADOWS, _GROUND = 2.2, 14.0
_MIN_HEIGHT = 0.05  # [m]
# Share by which the sizes of that region grow if the robots leave it. They do not shrink, so that
# shadows of things at rest do not change.
_GROWTH = 1.25
# Frames that the run may be ahead of the encoder.
_MAX_AHEAD = 4


class StudioRenderer:
    """Renders studio pictures of a run. Only one thread may use it after ``prepare``.

    Args:
        bodies: Models by the names of the bodies in the world.
        view: The camera.
        poses: At the start, for the height of the ground.
        hide_walls: Whether walls between the camera and the robots are left out.
    """

    def __init__(
        self,
        bodies: Mapping[str, Body],
        view: View,
        poses: BodyPoses,
        *,
        hide_walls: bool = True,
    ) -> None:
        self._bodies = bodies
        self._view = view
        self._extents = Extents(bodies)
        self._renderer = Renderer(bodies)
        self._hide_walls = hide_walls
        self._hidden: set[Shape] = set()
        _, X_WC = view.look(poses)
        points = self._extents.points(poses)
        center, radius = sphere(points)
        self._ground = self._extents.ground(poses).height
        self._reach = max(_GROUND * radius, 2.0 * float(np.linalg.norm(X_WC.p - center)))
        self._radius, self._height = _SHADOWS * radius, _GROWTH * self._height_of(points - center)

    def prepare(self, diagnostics: Diagnostics) -> None:
        """Build the scene; textures and shapes that cannot be drawn are warnings.

        Raises:
            RendererUnavailable: This machine cannot render.
        """
        self._renderer.prepare(diagnostics, draws_now=True)

    def picture(self, poses: BodyPoses) -> Pixels:
        """Return the picture of these poses; raises what ``Renderer.render_studio`` does."""
        lens, X_WC = self._view.look(poses)
        points = self._extents.points(poses)
        center, radius = sphere(points)
        self._radius = _grown(self._radius, radius)
        self._height = _grown(self._height, self._height_of(points - center))
        if self._hide_walls:
            self._hide(self._extents.walls_between(X_WC.p, center, radius / 2.0, poses))
        studio = Studio(center, self._radius, self._height, self._ground, self._reach)
        return self._renderer.render_studio(lens, X_WC, poses, studio)

    def _height_of(self, offsets: Array) -> float:
        """Return how far offsets reach towards the light, in [m]."""
        return max(float((offsets @ KEY.direction).max()), _MIN_HEIGHT)

    def _hide(self, walls: set[Shape]) -> None:
        """Leave out walls from now on; those that were left out before stay so."""
        if walls <= self._hidden:
            return
        self._hidden |= walls
        bodies = {name: _without(body, self._hidden) for name, body in self._bodies.items()}
        # Problems of the scene have been reported.
        self._renderer.set_bodies(bodies, Diagnostics.silent())


def film_frames(
    frames: Iterable[Frame],
    renderer: StudioRenderer,
    writer: FilmWriter,
    *,
    advance: Callable[[], None] = lambda: None,
    stopped: Callable[[], bool] = lambda: False,
) -> int:
    """Film frames; return their number.

    A thread of its own renders, so that the run goes on meanwhile; the encoder is another process.

    Args:
        frames: In their order.
        renderer: Renders the pictures; not to be used by others meanwhile.
        writer: Receives the pictures.
        advance: Called after each frame.
        stopped: Returns whether to end the film with the frames taken so far.

    Raises:
        RuntimeError: A picture cannot be rendered or written.
    """
    count = 0
    waiting: deque[Future[Pixels]] = deque()

    def write_one() -> None:
        nonlocal count
        writer.add(waiting.popleft().result())
        count += 1
        advance()

    with ThreadPoolExecutor(1, "render") as thread:
        try:
            for frame in frames:
                waiting.append(thread.submit(renderer.picture, frame.poses))
                if len(waiting) > _MAX_AHEAD:
                    write_one()
                if stopped():
                    break
            while waiting:
                write_one()
        finally:
            thread.shutdown(cancel_futures=True)
    return count


def _grown(size: float, needed: float) -> float:
    """Return a size of the region of shadows, grown if it is less than needed."""
    return size if size >= needed else _GROWTH * needed


def _without(body: Body, hidden: set[Shape]) -> Body:
    """Return a body without some of its visible shapes."""
    if not any(shape in hidden for link in body.links for shape in link.visual):
        return body
    links = (
        replace(link, visual=tuple(shape for shape in link.visual if shape not in hidden))
        for link in body.links
    )
    return replace(body, links=tuple(links))
