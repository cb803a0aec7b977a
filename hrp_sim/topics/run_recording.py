"""The recording of a run in an MCAP file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hrp_model.diagnostics import MissingLibraryError
from hrp_model.files.resources import path_from_uri
from hrp_model.files.writer import naming

if TYPE_CHECKING:
    from hrp_msgs.topics.topic import TopicMaker

_MAX_MESH_BYTES = 200 << 20  # of all attached meshes
_MESH_FILES = ("mesh", "texture")  # elements of a URDF that refer to files
_UNKNOWN_TYPE = "application/octet-stream"


class RunRecording:
    """Records topics in an MCAP file, and the meshes of the robots as attachments.

    Args:
        path: The file, which is created or replaced; missing folders are created.
        warn: Called with each warning.
        on_error: Called at most once, in another thread, with the reason why the recording ended
            early, such as a full disk.

    Attributes:
        path: As given.
        topics: Records the messages.
        error: That reason, or "".

    Raises:
        MissingLibraryError: A library for recordings is not installed.
        OSError: The file cannot be written.
    """

    def __init__(
        self, path: Path, *, warn: Callable[[str], object], on_error: Callable[[str], object]
    ) -> None:
        try:
            from hrp_msgs.recording import Recorder
            from hrp_msgs.topics.recorded import TopicRecording
        except ImportError as error:
            raise MissingLibraryError(
                f"recording needs the library {error.name}: install it with "
                "pip install 'hrp_ros[record]'"
            ) from None
        self.path = path
        self.error = ""
        self._size = 0  # [bytes], after ``close``
        self._warn = warn
        self._on_error = on_error
        self._attached: dict[str, int] = {}  # sizes by URI
        with naming(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._recorder = Recorder(path, on_error=self._fail)
        self.topics = TopicRecording(self._recorder)

    def attach_meshes(self, urdf: str) -> None:
        """Attach the files that a URDF refers to, named by their URIs.

        If they are too big, none of them is attached, with a warning.
        """
        import mimetypes

        files = {uri: path for uri, path in _files(urdf) if uri not in self._attached}
        try:
            sizes = {uri: path.stat().st_size for uri, path in files.items()}
            if sum(sizes.values()) + sum(self._attached.values()) > _MAX_MESH_BYTES:
                self._warn(
                    f"the recording is without the meshes of a robot, which have "
                    f"{sum(sizes.values()) >> 20} MB: there is room for {_MAX_MESH_BYTES >> 20} MB"
                )
                return
            for uri, path in files.items():
                media_type = mimetypes.guess_type(path.name)[0] or _UNKNOWN_TYPE
                self._recorder.attach(uri, media_type, path.read_bytes())
                self._attached[uri] = sizes[uri]
        except OSError as error:
            self._warn(f"a mesh cannot be added to the recording: {error}")

    def maker(self) -> TopicMaker:
        """Return what creates topics that are only recorded."""
        from hrp_msgs.topics.recorded import RecordedTopics

        return RecordedTopics(self.topics)

    @property
    def summary(self) -> dict[str, str | int | None]:
        """The result as a JSON object, after ``close``."""
        return {
            "path": str(self.path),
            "messages": self.topics.count,
            "bytes": self._size,
            "error": self.error or None,
        }

    def close(self) -> None:
        """Write what is left, and close the file; idempotent."""
        self.topics.is_open = False
        self._recorder.close()
        with suppress(OSError):  # another process has removed it
            self._size = self.path.stat().st_size

    def _fail(self, error: Exception) -> None:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        self.error = f"the recording {self.path} has ended: {reason}"
        self.topics.is_open = False
        self._on_error(self.error)


def _files(urdf: str) -> Iterator[tuple[str, Path]]:
    """Yield URI and path of each file that a URDF refers to by a file:// URI."""
    from xml.etree import ElementTree

    for element in ElementTree.fromstring(urdf).iter():
        uri = element.get("filename", "")
        if element.tag in _MESH_FILES and uri.startswith("file://"):
            yield uri, path_from_uri(uri)
