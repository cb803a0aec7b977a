"""Which cameras the devices of models become, and what becomes of them without OpenGL."""

import threading

import numpy as np
import pytest
from sim.sensors.factory_tools import DarkRenderer, camera, devices_only, gyro, sensors_of

from hrp_model import Pose
from hrp_model.devices import Distortion, ImageType, Intrinsics, LensType
from hrp_sim import Simulation, load_world
from hrp_sim.render import Renderer, RendererUnavailable


def test_a_camera_has_the_lens_of_its_device(diagnostics):
    device = camera(width=64, height=48, field_of_view=1.1, near_clip=0.2, far_clip=9.0)
    (sensor,) = devices_only(sensors_of(diagnostics, device))
    lens = sensor.lens
    assert (lens.width, lens.height, lens.field_of_view, lens.near, lens.far) == (
        64,
        48,
        1.1,
        0.2,
        9.0,
    )
    assert sensor.X_LS is device.X_LS


@pytest.mark.parametrize(
    ("fields", "code", "kept"),
    [
        ({"image_type": ImageType.NONE}, "no-image", False),
        ({"width": 0}, "unusable-device", False),
        ({"field_of_view": 3.2}, "unusable-device", False),
        ({"near_clip": 0.0}, "unusable-device", False),
        ({"frame_rate": 0.0}, "unusable-device", False),
        ({"min_distance": 2.0, "max_distance": 2.0}, "unusable-device", False),
        ({"detection_rate": 1.5}, "unusable-device", False),
        ({"error_deviation": -0.1}, "unusable-device", False),
    ],
    ids=str,
)
def test_what_a_camera_cannot_deliver_is_said(diagnostics, fields, code, kept):
    found = devices_only(sensors_of(diagnostics, camera(**fields)))
    assert "'eye' of body 'r1'" in diagnostics.take(code).message
    assert len(found) == kept


@pytest.mark.parametrize(
    "fields",
    [
        {"lens_type": LensType.FISHEYE, "field_of_view": 7.0},
        {"lens_type": LensType.FISHEYE, "intrinsics": Intrinsics(0.0, 1.0, 0.0, 0.0)},
        {"lens_type": LensType.FISHEYE, "width": 8000, "height": 8000},
        {"intrinsics": Intrinsics(300.0, np.nan, 0.0, 0.0)},
        {"intrinsics": Intrinsics(300.0, 300.0, 1e30, 0.0)},
        {"distortion": Distortion(k1=np.inf)},
        {"color_stdev": -0.1},
    ],
    ids=str,
)
def test_a_lens_that_cannot_be_drawn_is_one_warning(diagnostics, fields):
    assert not devices_only(sensors_of(diagnostics, camera(**fields)))
    [found] = diagnostics.found
    assert found is diagnostics.take("unusable-device")


@pytest.mark.parametrize("image_type", [ImageType.COLOR, ImageType.MONO])
def test_the_renderer_is_prepared_once_and_only_for_cameras(diagnostics, image_type):
    renderer = DarkRenderer()
    sensors_of(diagnostics, gyro(), renderer=renderer)
    assert renderer.prepared == 0
    sensors_of(diagnostics, camera(image_type=image_type), camera("eye2"), renderer=renderer)
    assert renderer.prepared == 1


def test_no_context_is_made_before_the_first_picture(diagnostics, monkeypatch):
    def create():
        raise AssertionError("a context was created")

    monkeypatch.setattr("hrp_sim.render.gl._create", create)
    monkeypatch.setattr("hrp_sim.render.gl._local", threading.local())
    renderer = Renderer({})
    [eye] = devices_only(sensors_of(diagnostics, camera(), renderer=renderer))
    with pytest.raises(AssertionError, match="a context was created"):
        renderer.render(eye.lens, Pose(), {})


def test_without_opengl_one_warning_names_the_packages_and_the_rest_runs(diagnostics, monkeypatch):
    monkeypatch.setenv("GLCONTEXT_LINUX_LIBEGL", "libabsent.so")
    found = []

    def work():  # a thread of its own has no context yet
        mounted = gyro(), camera("left"), camera("right")
        found.extend(sensors_of(diagnostics, *mounted, renderer=Renderer({})))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    message = diagnostics.take("no-renderer").message
    assert "libabsent.so" in message
    assert "libegl1" in message
    assert "libgl1-mesa-dri" in message
    assert [s.name for s in devices_only(found)] == ["gyro"]


def test_without_a_device_for_opengl_the_first_image_is_one_warning_and_the_rest_runs(
    diagnostics, monkeypatch
):
    def create():
        raise RendererUnavailable("no device")

    monkeypatch.setattr("hrp_sim.render.gl._create", create)
    monkeypatch.setattr("hrp_sim.render.gl._local", threading.local())
    world = load_world("humanoid_in_room", diagnostics)
    with Simulation(world, diagnostics=diagnostics) as simulation:
        readings = simulation.run(0.1)
    assert diagnostics.take("no-renderer").message == "no device"
    assert "gyro" in readings
    assert "head_camera" not in readings


def test_a_renderer_that_is_not_prepared_says_so_when_it_cannot_draw(monkeypatch):
    monkeypatch.setenv("GLCONTEXT_LINUX_LIBEGL", "libabsent.so")
    caught = []

    def work():
        try:
            Renderer({}).render(None, None, {})
        except RendererUnavailable as error:
            caught.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(caught) == 1
