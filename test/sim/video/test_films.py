"""Films as files: what players find in them, and what happens when they cannot be completed."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from paths import ROOT
from PIL import Image
from sim.render.scenes import needs_opengl

from hrp_model.diagnostics import MissingLibraryError
from hrp_sim.cli.main import main
from hrp_sim.recording.video.writers import (
    MAX_ANIMATION_PIXELS,
    FilmError,
    Format,
    ffmpeg,
    writing_film,
)

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")


def why_no_ffmpeg():
    try:
        ffmpeg()
    except MissingLibraryError as error:
        return str(error)
    return ""


needs_ffmpeg = pytest.mark.skipif(bool(why_no_ffmpeg()), reason=why_no_ffmpeg() or "has it")
# A frame is of one colour; brightness rises.
FRAMES = [np.full((48, 64, 3), 20 * i, np.uint8) for i in range(1, 8)]


def write(path, fps=10.0, frames=FRAMES):
    with writing_film(Format(path, (64, 48), fps)) as writer:
        for frame in frames:
            writer.add(frame)


def read_mp4(path):
    """Return what ffmpeg says of a film, and its frames."""
    reader = imageio_ffmpeg.read_frames(str(path))
    about = next(reader)
    width, height = about["size"]
    return about, [np.frombuffer(f, np.uint8).reshape(height, width, 3) for f in reader]


@needs_ffmpeg
@pytest.mark.parametrize("fps", [10.0, 30.0, 29.97])
def test_an_mp4_has_the_frames_the_size_and_the_rate_asked_for(tmp_path, fps):
    path = tmp_path / "film.mp4"
    write(path, fps)
    about, frames = read_mp4(path)
    assert about["codec"] == "h264"
    assert about["pix_fmt"].startswith("yuv420p")
    assert about["fps"] == pytest.approx(fps, abs=0.01)
    assert len(frames) == len(FRAMES)
    for shown, expected in zip(frames, FRAMES, strict=True):
        assert shown.shape == expected.shape
        assert abs(shown.astype(int) - expected).max() <= 6  # lossy
    assert path.read_bytes().index(b"moov") < path.read_bytes().index(b"mdat")  # plays at once
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]


@pytest.mark.parametrize(("suffix", "unit"), [(".gif", 10), (".webp", 1)])
def test_an_animation_has_frames_and_durations(tmp_path, suffix, unit):
    path = tmp_path / f"film{suffix}"
    write(path, 30.0)
    total = 0
    with Image.open(path) as film:
        assert film.size == (64, 48)
        assert film.n_frames == len(FRAMES)
        assert film.info["loop"] == 0
        for i, expected in enumerate(FRAMES):
            film.seek(i)
            film.load()
            total += film.info["duration"]
            if suffix == ".webp":
                assert abs(np.asarray(film.convert("RGB")).astype(int) - expected).max() <= 6
    assert total == pytest.approx(len(FRAMES) * 1000 / 30.0, abs=unit)


def test_a_png_shows_the_last_frame(tmp_path):
    path = tmp_path / "end.png"
    write(path)
    np.testing.assert_array_equal(np.asarray(Image.open(path)), FRAMES[-1])


@pytest.mark.parametrize(
    ("name", "size", "fps", "words"),
    [
        ("a.avi", (64, 48), 10.0, "suffix of 'a.avi' must be .mp4"),
        ("a.mp4", (63, 48), 10.0, "must be even, such as 64x48, not 63x48"),
        ("a.mp4", (8, 48), 10.0, "from 16 to 4096 pixels, not 8x48"),
        ("a.png", (64, 5000), 10.0, "from 16 to 4096 pixels, not 64x5000"),
        ("a.gif", (64, 48), 60.0, "at most 50 frames per second"),
    ],
)
def test_an_impossible_format_is_refused(name, size, fps, words):
    with pytest.raises(ValueError, match=words):
        Format(Path(name), size, fps)


def test_animations_are_bounded(tmp_path):
    film = Format(tmp_path / "a.webp", (1000, 1000), 10.0)
    film.check_length(MAX_ANIMATION_PIXELS // 1_000_000)
    with pytest.raises(ValueError, match="at most 150 frames, not 151"):
        film.check_length(151)
    Format(tmp_path / "a.mp4", (1000, 1000), 10.0).check_length(10**9)


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
def test_a_film_that_is_broken_off_leaves_the_older_file(tmp_path, name):
    if name == "a.mp4" and why_no_ffmpeg():
        pytest.skip(why_no_ffmpeg())
    path = tmp_path / name
    path.write_bytes(b"older")

    def broken():
        yield FRAMES[0]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write(path, frames=broken())
    assert path.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_ffmpeg_is_an_error_that_names_the_film(tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho 'no space' >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    with pytest.raises(FilmError, match=r"ffmpeg cannot write .*a\.mp4: no space"):
        write(tmp_path / "a.mp4", frames=FRAMES * 20)
    assert [p.name for p in tmp_path.iterdir()] == ["ffmpeg"]


def test_a_missing_ffmpeg_says_how_to_install_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert main(["video", "rover", str(tmp_path / "a.mp4")]) == 2
    assert "pip install 'hrp_ros[record]'" in capsys.readouterr().err


def video(*arguments):
    return main(["video", *map(str, arguments)])


@needs_opengl
@needs_ffmpeg
def test_the_command_films_a_world(tmp_path, capsys):
    path = tmp_path / "film.mp4"
    options = ("--duration", "0.5", "--fps", "12", "--size", "96x64", "--follow", "MAST")
    assert video("rover", path, *options) == 0
    about, frames = read_mp4(path)
    assert len(frames) == 6
    assert about["fps"] == pytest.approx(12.0)
    assert about["size"] == (96, 64)
    assert np.ptp(frames[0]) > 50
    assert capsys.readouterr().err == f"wrote {path}\n"


@needs_opengl
def test_a_picture_of_the_end_repeats(tmp_path):
    pictures = []
    for name in ("a.png", "b.png"):
        options = ("--duration", "0.1", "--camera", "mast_camera", "--fps", "20")
        assert video("rover", tmp_path / name, *options) == 0
        pictures.append(np.asarray(Image.open(tmp_path / name)))
    assert pictures[0].shape == (720, 960, 3)  # the proportions of the camera's images
    np.testing.assert_array_equal(*pictures)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rover", "a.avi"), "suffix of 'a.avi'"),
        (("rover", "a.png", "--size", "big"), "must be WIDTHxHEIGHT"),
        (("rover", "a.png", "--view", "1"), "must be AZIMUTH,ELEVATION"),
        (("rover", "a.png", "--view", "1,95"), "elevation within +-89"),
        (("rover", "a.png", "--fps", "0"), "from 1 to 240"),
        (("rover", "a.png", "--camera", "mast_camer"), "Did you mean 'mast_camera'?"),
        (("rover", "a.png", "--follow", "MAS"), "Did you mean 'MAST'?"),
        (("rover", "a.png", "--camera", "mast_camera", "--view", "1,2"), "exclude each other"),
        (("rover", "a.gif", "--duration", "1000"), "choose a smaller size"),
        (("rover", "folder.png"), "cannot write folder.png"),
    ],
)
def test_what_cannot_be_filmed_says_why(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    assert video(*arguments) == 2
    assert words in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["folder.png"]


def test_without_opengl_the_command_says_what_to_install(capsys, tmp_path, monkeypatch):
    from hrp_sim.render import RendererUnavailable, renderer

    def unavailable():
        raise RendererUnavailable("install it with: apt install libegl1")

    monkeypatch.setattr(renderer, "thread_context", unavailable)
    assert video("rover", tmp_path / "a.png") == 2
    assert "apt install libegl1" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@needs_opengl
@needs_ffmpeg
def test_ctrl_c_leaves_a_shorter_film_that_plays(tmp_path):
    path = tmp_path / "film.mp4"
    command = "from hrp_sim.cli.main import main; raise SystemExit(main())"
    arguments = ("video", "rover", str(path), "--duration", "1000", "--size", "64x48")
    process = subprocess.Popen(
        [sys.executable, "-c", command, *arguments], stderr=subprocess.PIPE, cwd=ROOT
    )

    def draft_size():
        return sum(p.stat().st_size for p in tmp_path.iterdir())

    while process.poll() is None and draft_size() == 0:  # bounded by the time-out of tests
        pass
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    about, frames = read_mp4(path)
    assert 0 < len(frames) < 30_000
    assert about["size"] == (64, 48)
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]
