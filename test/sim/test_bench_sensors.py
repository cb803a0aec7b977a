"""The bench of sensors compares those who do the same work."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sim.render.scenes import needs_opengl

from hrp_model import Pose
from hrp_sim.benchmark import pictures, samples, sensor_session
from hrp_sim.benchmark.command import BenchOptions, bench
from hrp_sim.benchmark.pictures import BareDrawingRun, FilmingRun, check_pictures
from hrp_sim.benchmark.plain_c import BenchError
from hrp_sim.benchmark.samples import NumpySamplesRun, check_samples
from hrp_sim.benchmark.scenes import make_scene
from hrp_sim.benchmark.targets import Measured
from hrp_sim.render import RendererUnavailable, renderer

TURNED = Pose(np.diag([1.0, -1.0, -1.0]), np.zeros(3))


@needs_opengl
def test_moderngl_alone_draws_the_picture_of_the_camera():
    scene = make_scene("camera")
    check_pictures(scene)
    picture = BareDrawingRun(scene).picture()
    assert picture.color.shape == (480, 640, 3)
    assert len(np.unique(picture.color.reshape(-1, 3), axis=0)) > 100
    assert np.unique(picture.depth).size > 1000


@needs_opengl
@pytest.mark.parametrize("part", ["color", "depth"])
def test_other_pictures_are_noticed(part, monkeypatch):
    real = pictures.BareDrawing.__call__

    def other(self):
        picture = real(self)
        return picture._replace(**{part: getattr(picture, part) // 1.1})

    monkeypatch.setattr(pictures.BareDrawing, "__call__", other)
    with pytest.raises(BenchError, match="draw different pictures"):
        check_pictures(make_scene("camera"))


def test_numpy_computes_the_samples_of_the_sensors():
    check_samples(make_scene("samples"))


def test_other_samples_are_noticed(monkeypatch):
    def turned(scene):
        run = NumpySamplesRun(scene)
        run.imu = replace(run.imu, X_LS=TURNED)
        return run

    monkeypatch.setattr(samples, "NumpySamplesRun", turned)
    with pytest.raises(BenchError, match="the sensors and numpy differ"):
        check_samples(make_scene("samples"))


@needs_opengl
def test_filming_develops_its_last_picture_before_it_returns(monkeypatch):
    """Else the next would pay for it."""
    developed, taken = [], []
    monkeypatch.setattr(pictures, "RATE", 1000.0)
    run = FilmingRun(make_scene("filming"), is_filmed=True)
    take, expose = run._take, run._filmed.expose
    run._render_thread._on_image = lambda name, image: (
        developed.append(image.time_ns),
        take(name, image),
    )
    run._filmed.expose = lambda: taken.append(expose()) or taken[-1]
    try:
        assert run.advance(200) > 0.0
        assert developed[-1] == taken[-1].time_ns
    finally:
        run.close()
    assert developed == sorted(developed)


@pytest.fixture
def one_run(tmp_path):
    """Bench scenes once and shortly; return the rows written, by what was measured."""

    def measure(*scenes):
        written = tmp_path / "out.json"
        assert bench(BenchOptions(scenes=scenes, duration=0.001, runs=1, json=written)) == 0
        rows = json.loads(written.read_text())["rows"]
        return {row["measured"]: row for row in rows}

    return measure


@needs_opengl
def test_the_command_measures_sensors(one_run, monkeypatch):
    monkeypatch.setattr(sensor_session, "FILMED_SLICE", 0.01)
    monkeypatch.setattr(pictures, "cores", lambda: 2)
    rows = one_run("camera", "filming", "samples")
    targets = {
        Measured.CAMERA: ("ratio", 1.3),
        Measured.FILMED: ("ratio", 1.05),
        Measured.SAMPLES: ("us", 15.0),
    }
    references = Measured.BARE_DRAWING, Measured.UNFILMED, Measured.NUMPY_SAMPLES
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


def test_without_opengl_pictures_are_left_out_and_say_so(one_run, monkeypatch, capsys):
    def fail():
        raise RendererUnavailable("install OpenGL")

    monkeypatch.setattr(renderer, "thread_context", fail)
    assert one_run("camera", "filming") == {}
    printed = capsys.readouterr().out
    for scene in ("camera", "filming"):
        assert f"scene '{scene}' is left out: install OpenGL" in printed


@needs_opengl
def test_on_one_core_nobody_is_filmed(one_run, monkeypatch, capsys):
    monkeypatch.setattr(pictures, "cores", lambda: 1)
    assert one_run("filming") == {}
    assert "needs a core" in capsys.readouterr().out
