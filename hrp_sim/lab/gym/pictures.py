"""Pictures of an environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hrp_model import Body, Diagnostics

from ...engine.state import SimulatedBody
from ...recording.video import MAX_SIDE, MIN_SIDE, StudioRenderer, Viewpoint, make_view
from ...render import Pixels
from ...simulation import Simulation


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """What ``RobotEnv.render`` shows.

    Attributes:
        size: Width and height, in pixels.
        viewpoint: Direction to look from; None for one from which the robots are seen.
        follow: LINK or BODY/LINK that the viewer follows; "" for none.
        camera: CAMERA or BODY/CAMERA of a model, to show what it sees; "" for none.

    Raises:
        ValueError: The size is not two numbers in their range.
    """

    size: tuple[int, int] = (640, 480)
    viewpoint: Viewpoint | None = None
    follow: str = ""
    camera: str = ""

    def __post_init__(self) -> None:
        sides = tuple(self.size)
        if len(sides) != 2 or not all(side in range(MIN_SIDE, MAX_SIDE + 1) for side in sides):
            raise ValueError(
                f"width and height must be whole numbers from {MIN_SIDE} to {MAX_SIDE} pixels, not "
                f"{'x'.join(map(str, sides))}"
            )


class Pictures:
    """Makes pictures of a simulation, and of what is added to it.

    Args:
        options: What they show.
        simulation: In its initial state, for which the viewpoint is chosen.

    Raises:
        ValueError: There is no such camera or link.
    """

    def __init__(self, options: RenderOptions, simulation: Simulation) -> None:
        self._poses = simulation.state.poses()
        self._view = make_view(
            _models(simulation),
            [self._poses],
            options.size,
            viewpoint=options.viewpoint,
            follow=options.follow,
            camera=options.camera,
        )
        self._hide_walls = not options.camera
        self._shown: Mapping[str, SimulatedBody] = {}
        self._renderer: StudioRenderer | None = None

    def picture(self, simulation: Simulation) -> Pixels:
        """Return a picture of the present state, RGB of shape (height, width, 3).

        Raises:
            RendererUnavailable: This machine cannot render.
        """
        # The mapping is another one after bodies were added or removed.
        if self._renderer is None or self._shown is not simulation.bodies:
            self._shown = simulation.bodies
            self._renderer = StudioRenderer(
                _models(simulation), self._view, self._poses, hide_walls=self._hide_walls
            )
            self._renderer.prepare(Diagnostics())
        return self._renderer.picture(simulation.state.poses())


def _models(simulation: Simulation) -> dict[str, Body]:
    return {name: each.body for name, each in simulation.bodies.items()}
