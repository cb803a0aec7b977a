"""The comparison of sensors: both sides do the same work."""

import json

import numpy as np
import pytest
from bench import compare
from bench.comparison import pictures, session
from bench.comparison.contenders import BenchError
from bench.comparison.mujoco_twin import MujocoScanRun
from bench.comparison.pictures import FilmingRun, PlainModernGLRun, check_pictures
from bench.comparison.samples import check_samples
from bench.comparison.scenes import make_scene
from bench.comparison.targets import Measured
from sim.render.scenes import needs_opengl


@needs_opengl
def test_plain_moderngl_renders_the_image_of_the_camera():
    scene = make_scene("camera")
    check_pictures(scene)
    picture = PlainModernGLRun(scene).picture()
    assert picture.color.shape == (480, 640, 3)
    assert len(np.unique(picture.color.reshape(-1, 3), axis=0)) > 100
    assert np.unique(picture.depth).size > 1000


def test_numpy_computes_the_samples_of_the_sensors():
    check_samples(make_scene("samples"))


def test_mujoco_sees_what_the_scanner_sees():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    run = MujocoScanRun(make_scene("scan"))
    try:
        assert run.advance(2) > 0.0
        run._seen[5] = run._seen[6]  # MuJoCo misses one thing
        with pytest.raises(BenchError, match="rays have other distances"):
            run._check()
    finally:
        run.close()


@needs_opengl
def test_filming_waits_for_its_last_image(monkeypatch):
    """Otherwise it would slow down the next contender."""
    rendered, taken = [], []
    monkeypatch.setattr(pictures, "RATE", 1000.0)
    run = FilmingRun(make_scene("filming"), is_filmed=True)
    take, capture = run._take, run._filmed.capture
    run._render_thread._on_image = lambda name, image: (
        rendered.append(image.time_ns),
        take(name, image),
    )
    run._filmed.capture = lambda: taken.append(capture()) or taken[-1]
    try:
        assert run.advance(200) > 0.0
        assert rendered[-1] == taken[-1].time_ns
    finally:
        run.close()
    assert rendered == sorted(rendered)


@pytest.fixture
def one_run(tmp_path):
    """Return a function that measures scenes briefly, and returns rows by implementation."""

    def measure(*scenes):
        written = tmp_path / "out.json"
        options = [f"--scene={scene}" for scene in scenes]
        options += ["--duration", "0.001", "--runs", "1", "--json", str(written)]
        assert compare.main(options) == 0
        rows = json.loads(written.read_text())["rows"]
        return {row["measured"]: row for row in rows}

    return measure


@needs_opengl
def test_the_command_measures_sensors(one_run, monkeypatch):
    monkeypatch.setattr(session, "FILMED_SLICE", 0.01)
    monkeypatch.setattr(pictures, "cores", lambda: 2)
    rows = one_run("camera", "filming", "samples")
    targets = {
        Measured.CAMERA: ("ratio", 1.3),
        Measured.FILMED: ("ratio", 1.05),
        Measured.SAMPLES: ("us", 15.0),
    }
    references = Measured.PLAIN_MODERNGL, Measured.UNFILMED, Measured.NUMPY_SAMPLES
    assert set(rows) == {m.value for m in (*targets, *references)}
    for measured, target in targets.items():
        row = rows[measured.value]
        assert row["us"] > 0.0
        assert row["ratio"]["median"] > 0.0
        assert [(t["quantity"], t["good"]) for t in row["targets"]] == [target]
    for measured in references:
        assert rows[measured.value]["ratio"] is None
    assert rows[Measured.FILMED.value]["real_time_factor"] > 0.0
    assert rows[Measured.CAMERA.value]["real_time_factor"] is None
