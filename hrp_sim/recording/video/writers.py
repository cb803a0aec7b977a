"""Files of films and pictures: MP4 by ffmpeg, animated GIF and WebP, and PNG by Pillow."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from PIL import Image

from hrp_model.diagnostics import MissingLibraryError, needs_extra
from hrp_model.files.writer import naming, staged_file
from hrp_model.late_dataclass import dataclass

from ...render import Pixels

MIN_SIDE, MAX_SIDE = 16, 4096  # [pixels]
# Animations by Pillow are kept in memory until they are written: 3 bytes each.
MAX_ANIMATION_PIXELS = 150_000_000

_MP4, _GIF, _WEBP, _PNG = ".mp4", ".gif", ".webp", ".png"
SUFFIXES = _MP4, _GIF, _WEBP, _PNG
# Players treat shorter delays of GIFs as a tenth of a second.
_MAX_GIF_FPS = 50.0
# Quality of H.264, 0 to 51 with smaller being better; and of WebP, 0 to 100.
_CRF, _WEBP_QUALITY = 20, 82
_PALETTE_FRAMES = 16  # from which the colours of a GIF are chosen


class FilmError(RuntimeError):
    """A film could not be written; the message has the reason."""


@dataclass(frozen=True)
class Format:
    """The file and the frames of a film.

    Attributes:
        path: Its suffix is one of ``SUFFIXES``.
        size: Width and height, in pixels.
        fps: Frames per second.

    Raises:
        ValueError: The format does not support such a film.
    """

    path: Path
    size: tuple[int, int]
    fps: float

    def __post_init__(self) -> None:
        if self.path.suffix.lower() not in SUFFIXES:
            raise ValueError(
                f"the suffix of '{self.path}' must be {', '.join(SUFFIXES[:-1])} for films or "
                f"{_PNG} for a picture of the end"
            )
        if not all(MIN_SIDE <= side <= MAX_SIDE for side in self.size):
            raise ValueError(
                f"width and height must be from {MIN_SIDE} to {MAX_SIDE} pixels, "
                f"not {self.size_text}"
            )
        if self.suffix == _MP4 and any(side % 2 for side in self.size):
            even = "x".join(str(side + side % 2) for side in self.size)
            raise ValueError(
                f"width and height of a {_MP4} must be even, such as {even}, not {self.size_text}"
            )
        if self.suffix == _GIF and self.fps > _MAX_GIF_FPS:
            raise ValueError(f"a {_GIF} has at most {_MAX_GIF_FPS:g} frames per second")

    @property
    def size_text(self) -> str:
        """The size as text, such as "1280x720"."""
        return "{}x{}".format(*self.size)

    @property
    def suffix(self) -> str:
        """The suffix in lower case."""
        return self.path.suffix.lower()

    @property
    def needs_ffmpeg(self) -> bool:
        """Whether ffmpeg writes it."""
        return self.suffix == _MP4

    @property
    def is_picture(self) -> bool:
        """Whether it shows the last frame only."""
        return self.suffix == _PNG

    def check_length(self, frames: int) -> None:
        """Raise ValueError if a film of this many frames would take too much memory."""
        most = MAX_ANIMATION_PIXELS // (self.size[0] * self.size[1])
        if self.suffix in (_GIF, _WEBP) and frames > most:
            raise ValueError(
                f"a {self.suffix} of {self.size_text} pixels has at most {most} frames, "
                f"not {frames}: choose a smaller size, rate or duration, or {_MP4}"
            )


class FilmWriter(Protocol):
    """Writes a film frame by frame."""

    def add(self, pixels: Pixels) -> None:
        """Add a frame, RGB of shape (height, width, 3).

        Raises:
            FilmError: It cannot be written.
        """


@contextmanager
def writing_film(film: Format) -> Iterator[FilmWriter]:
    """Yield the writer of a film, which appears complete when the ``with`` block succeeds.

    If the block raises, an older file of this name stays as it is.

    Raises:
        MissingLibraryError: ffmpeg is not installed.
        FilmError: ffmpeg failed.
        OSError: The file cannot be written; it names the file.
    """
    encoder = ffmpeg() if film.needs_ffmpeg else ""
    with staged_file(film.path) as draft:
        if encoder:
            with _encoding(encoder, film, draft) as writer:
                yield writer
        else:
            pictures = _Pictures(film)
            yield pictures
            with naming(film.path):
                pictures.save(draft)


def ffmpeg() -> str:
    """Return the path of ffmpeg.

    Raises:
        MissingLibraryError: It is not installed.
    """
    with needs_extra("record"):
        from imageio_ffmpeg import get_ffmpeg_exe
    try:
        program: str = get_ffmpeg_exe()
    except RuntimeError:  # the library comes without ffmpeg on some machines
        raise MissingLibraryError(
            "films need ffmpeg; install it with: apt install ffmpeg"
        ) from None
    if shutil.which(program) is None:
        raise MissingLibraryError(f"'{program}', which is to be ffmpeg, is no program")
    return program


class _Encoder:
    """Sends frames to ffmpeg."""

    def __init__(self, process: subprocess.Popen[bytes], failure: Callable[[], str]) -> None:
        self._process = process
        self._failure = failure

    def add(self, pixels: Pixels) -> None:
        """Send a frame."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(pixels.data)
        except OSError:
            self._process.wait()
            raise FilmError(self._failure()) from None

    def finish(self) -> None:
        """Wait until the file is complete."""
        assert self._process.stdin is not None
        with suppress(OSError):  # if ffmpeg has ended, its status says why
            self._process.stdin.close()
        if self._process.wait():
            raise FilmError(self._failure())


@contextmanager
def _encoding(program: str, film: Format, draft: Path) -> Iterator[_Encoder]:
    with tempfile.TemporaryFile() as messages:

        def failure() -> str:
            messages.seek(0)
            lines = messages.read(1 << 16).decode(errors="replace").strip().splitlines()
            reason = (
                lines[-1].replace(str(draft), str(film.path))
                if lines
                else f"it ended with status {process.returncode}"
            )
            return f"ffmpeg cannot write {film.path}: {reason}"

        process = subprocess.Popen(
            [program, *_encoder_options(film), f"file:{draft}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=messages,
            start_new_session=True,  # Ctrl-C is for us, so that the film is completed
        )
        encoder = _Encoder(process, failure)
        try:
            yield encoder
            encoder.finish()
        finally:
            process.kill()  # has ended after success
            process.communicate()


def _encoder_options(film: Format) -> Sequence[str]:
    """Return options for H.264 that every player supports, with the index at the front."""
    raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", film.size_text)
    rate = str(Fraction(film.fps).limit_denominator(1001))
    colors = "setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709"
    return (
        *("-loglevel", "error", "-nostdin", *raw, "-r", rate, "-i", "-", "-an"),
        *("-vf", f"scale=out_color_matrix=bt709:out_range=tv,{colors}", "-pix_fmt", "yuv420p"),
        *("-c:v", "libx264", "-preset", "veryfast", "-crf", str(_CRF)),
        *("-movflags", "+faststart", "-f", "mp4"),
    )


class _Pictures:
    """Keeps the frames of a film by Pillow until they are saved."""

    def __init__(self, film: Format) -> None:
        self._film = film
        self._images: list[Image.Image] = []

    def add(self, pixels: Pixels) -> None:
        """Keep a frame."""
        if self._film.is_picture:
            self._images.clear()
        self._images.append(Image.fromarray(pixels))

    def save(self, path: Path) -> None:
        """Write the file."""
        if self._film.is_picture:
            self._images[0].save(path, "PNG", optimize=True)
        elif self._film.suffix == _GIF:
            palette = self._palette()
            self._images = [
                image.quantize(palette=palette, dither=Image.Dither.NONE) for image in self._images
            ]
            self._save(path, "GIF", duration=self._durations(10))
        else:
            durations = self._durations(1)
            self._save(path, "WEBP", duration=durations, quality=_WEBP_QUALITY, method=4)

    def _save(self, path: Path, kind: str, **options: int | list[int]) -> None:
        first, *rest = self._images
        first.save(path, kind, save_all=True, append_images=rest, loop=0, **options)

    def _palette(self) -> Image.Image:
        """Return one palette for all frames, so that colours of things at rest do not flicker."""
        every = -(-len(self._images) // _PALETTE_FRAMES)
        samples = [image.resize((128, 128)) for image in self._images[::every]]
        sheet = Image.new("RGB", (128, 128 * len(samples)))
        for i, sample in enumerate(samples):
            sheet.paste(sample, (0, 128 * i))
        return sheet.quantize(256)

    def _durations(self, unit_ms: int) -> list[int]:
        """Return the duration of each frame in [ms], as multiples of a unit.

        Their rounding errors do not add up.
        """
        ends = [
            round(i * 1000.0 / self._film.fps / unit_ms) * unit_ms
            for i in range(len(self._images) + 1)
        ]
        return [end - start for start, end in pairwise(ends)]
