"""Pictures and recordings of a run that a page asks for, and gets as files."""

from __future__ import annotations

import io
import logging
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from hrp_model import Diagnostics
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.view.browser import TOOLBAR_ORDER
from hrp_model.view.robot import scene_name
from hrp_model.view.viewer import Viewer

from ..engine.schedule import NS_PER_S
from ..run.run import Run
from ..topics.run_recording import RunRecording
from .controls import notify, try_for

if TYPE_CHECKING:
    from viser import ClientHandle

    from ..topics.world import WorldTopics

_log = logging.getLogger("hrp_sim")
_PATIENCE = 30.0  # [s] for a page that draws a picture
_MAX_BYTES = 200_000_000  # of a recording, which is sent as a whole
_CHECK_PERIOD = 1.0  # [s] between two looks at its size
_RECORD, _SAVE = "Record", "Stop and save the recording"


class _Recorded:
    """A recording in a folder of its own, which is removed in the end.

    Raises:
        MissingLibraryError: A library for recordings is not installed.
        ModelError, ValueError: Two bodies or devices would have the same topic.
        NotRunningError: The run is not active.
        OSError: The file cannot be written.
    """

    def __init__(self, run: Run) -> None:
        from ..topics.world import recorded_world  # needs the messages

        self._run = run
        self._folder = Path(tempfile.mkdtemp(prefix="hrp_recording_"))
        self.path = self._folder / "run.mcap"
        try:
            self._recording = RunRecording(self.path, warn=_log.warning, on_error=_log.error)
            self._topics: WorldTopics = recorded_world(
                self._recording, run.simulation, Diagnostics.silent(), _log.warning
            )
            run.call(lambda: run.add(self._topics))
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def failure(self) -> str:
        """Return why it cannot go on, or ""."""
        if self._recording.error:
            return self._recording.error
        try:
            size = self.path.stat().st_size
        except OSError as error:
            return f"the recording has ended: {error}"
        if size > _MAX_BYTES:
            return f"a recording of the page has at most {_MAX_BYTES // 10**6} MB; it was dropped"
        return ""

    def end(self) -> bytes:
        """End the recording, and return the file.

        Raises:
            OSError: It could not be written or read as a whole.
        """
        try:
            self._close()
            if self._recording.error:
                raise OSError(self._recording.error)
            return self.path.read_bytes()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def drop(self) -> None:
        """End the recording, and remove the file."""
        self._close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _close(self) -> None:
        self._run.remove(self._topics)
        self._recording.close()


class Capture:
    """Buttons that record the run, and take a picture of what the page shows.

    A recording is that of ``--record``, for ``hrp-sim replay`` and other programs. It ends when it
    is too large; without a page that could get it, it is dropped.

    Args:
        viewer: The page.
        run: The run.
    """

    def __init__(self, viewer: Viewer, run: Run) -> None:
        from viser import Icon

        gui = viewer.server.gui
        self._server = viewer.server
        self._run, self._icons = run, (Icon.PLAYER_RECORD, Icon.PLAYER_STOP)
        self._lock = threading.Lock()
        self._recorded: _Recorded | None = None
        self._due = 0.0
        self.name = "run"  # of the files
        self._record = gui.add_button(
            _RECORD, icon=self._icons[0], color="gray", order=TOOLBAR_ORDER + 3
        )
        self._picture = gui.add_button(
            "Picture", icon=Icon.CAMERA, color="gray", order=TOOLBAR_ORDER + 4
        )
        self._record.on_click(
            lambda event: try_for(
                event.client,
                lambda: self._on(event.client),
                *(MissingLibraryError, ValueError, OSError),  # as of ``_Recorded``
            )
        )
        self._picture.on_click(lambda event: self._try_picture(event.client))
        gui.add_command("Save a picture").on_trigger(lambda event: self._try_picture(event.client))

    def draw(self, now: float) -> None:
        """End a recording that is too large or cannot be written, and say so in all pages.

        Args:
            now: Of the steady clock, in [s].
        """
        recorded = self._recorded
        if recorded is None or now < self._due:
            return
        self._due = now + _CHECK_PERIOD
        if failure := recorded.failure():
            self.stop()
            for client in self._server.get_clients().values():
                notify(client, "The recording has ended", failure)

    def stop(self) -> None:
        """End and drop a recording, as nobody would get it; at the end, end for good."""
        with self._lock:
            recorded, self._recorded = self._recorded, None
        if recorded is not None:
            recorded.drop()
            self._show()

    def close(self) -> None:
        """Drop a recording, and offer nothing any more."""
        self.stop()
        self._record.disabled = self._picture.disabled = True

    def _on(self, client: ClientHandle | None) -> None:
        with self._lock:
            recorded, self._recorded = self._recorded, None
            if recorded is None:
                self._recorded = _Recorded(self._run)
        self._show()
        if recorded is not None:
            content = recorded.end()
            if client is not None:
                client.send_file_download(self._file("mcap"), content, save_immediately=True)

    def _show(self) -> None:
        is_on = self._recorded is not None
        self._record.label = _SAVE if is_on else _RECORD
        self._record.icon = self._icons[is_on]
        self._record.color = "red" if is_on else "gray"

    def _try_picture(self, client: ClientHandle | None) -> None:
        if client is not None:  # a page that has gone, or does not draw, is a RuntimeError of viser
            try_for(client, lambda: self._take_picture(client), RuntimeError, TimeoutError)

    def _take_picture(self, client: ClientHandle) -> None:
        camera = client.camera
        pixels = client.get_render(camera.image_height, camera.image_width, timeout=_PATIENCE)
        file = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(pixels[..., :3])).save(file, "PNG")
        client.send_file_download(self._file("png"), file.getvalue(), save_immediately=True)

    def _file(self, suffix: str) -> str:
        seconds = self._run.simulation.state.time_ns / NS_PER_S
        return f"{scene_name(self.name)}_{seconds:.2f}s.{suffix}"
