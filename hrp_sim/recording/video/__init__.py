"""Films and pictures of simulations and recorded runs, by this project's renderer."""

from hrp_model.shapes.extents import Extents, Viewpoint

from .film import (
    FilmSource,
    Frame,
    RecordedPoses,
    RecordingSource,
    SimulationSource,
    StudioRenderer,
    film_frames,
)
from .views import (
    FixedView,
    FollowingView,
    SensorView,
    View,
    find_camera,
    find_link,
    make_view,
)
from .writers import (
    MAX_SIDE,
    MIN_SIDE,
    FilmError,
    FilmWriter,
    Format,
    ffmpeg,
    writing_film,
)

__all__ = [
    "MAX_SIDE",
    "MIN_SIDE",
    "Extents",
    "FilmError",
    "FilmSource",
    "FilmWriter",
    "FixedView",
    "FollowingView",
    "Format",
    "Frame",
    "RecordedPoses",
    "RecordingSource",
    "SensorView",
    "SimulationSource",
    "StudioRenderer",
    "View",
    "Viewpoint",
    "ffmpeg",
    "film_frames",
    "find_camera",
    "find_link",
    "make_view",
    "writing_film",
]
