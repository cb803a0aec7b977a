"""Makes a film: the run, the renderer and the encoder work at the same time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from ...render import Pixels
from .sources import Frame
from .studio_renderer import StudioRenderer
from .writers import FilmWriter

# Frames that the run may be ahead of the encoder.
_MAX_AHEAD = 4


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
