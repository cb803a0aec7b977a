"""Lights of the scene, against VRML97's lighting model (ISO/IEC 14772-1, 4.14.4)."""

from dataclasses import replace
from math import inf, nan, pi, tan

import numpy as np
import pytest
from sim.render.scenes import (
    LENS,
    LOOKING_ALONG_X,
    body_of,
    glowing,
    in_thread,
    middle,
    needs_opengl,
    poses_of,
    square,
    wall,
)
from sim.sensors.handmade import random_pose

from hrp_model import Pose
from hrp_model.devices import DirectionalLight, PointLight, SpotLight
from hrp_model.geometry import Material, Shape
from hrp_model.rigid import rpy_matrix
from hrp_sim.render import Pinhole, Renderer, Surroundings

pytestmark = needs_opengl
DARK = Surroundings(headlight=False, background=(0.0, 0.0, 0.0))
WHITE = Material(diffuse=(1.0, 1.0, 1.0), ambient=0.5)
AHEAD = Pose(LOOKING_ALONG_X.R)  # a light there shines along +x
# The front of a wall; the lights are where the camera is, at the origin.
FRONT = 1.95


def lit(*lights, shapes=None, around=DARK, X_WL=AHEAD, switches=(), diagnostics=None):
    """What a camera at the origin sees, of a wall, when a link at a pose carries these lights."""
    lamp = replace(body_of("lamp", ()), devices=lights)
    things = body_of("things", shapes or (wall(WHITE),))
    renderer = Renderer({"things": things, "lamp": lamp})
    if diagnostics is not None:
        renderer.prepare(diagnostics)
    for name, on in switches:
        renderer.switch_light("lamp", name, on)
    return renderer.render(
        LENS,
        LOOKING_ALONG_X,
        {"things": poses_of(Pose()), "lamp": poses_of(X_WL)},
        surroundings=around,
        switches=renderer.switches,
    ).color


def sun(**fields):
    return DirectionalLight(name="sun", link="L0", **fields)


def bulb(**fields):
    return PointLight(name="bulb", link="L0", **fields)


def spot(**fields):
    return SpotLight(name="spot", link="L0", **fields)


def grey(share):
    return pytest.approx((255 * share,) * 3, abs=0.6)


# By hand, one term after the other


def test_rays_that_come_from_behind_light_nothing():
    assert (lit(sun(direction=[0.0, 0.0, 1.0])) == 0).all()


@pytest.mark.parametrize(("radius", "share"), [(1.9, 0.0), (2.0, 1.0)])
def test_beyond_its_radius_a_light_lights_nothing(radius, share):
    light = bulb(radius=radius, ambient_intensity=0.5)
    assert middle(lit(light)) == grey(share)


@pytest.mark.parametrize("beam_width", [0.3, pi / 2])  # the latter is the default of both formats
def test_the_edge_of_a_cone_is_where_its_angle_from_the_axis_says(beam_width):
    pixels = lit(spot(beam_width=beam_width, cut_off_angle=0.3))
    rows = np.arange(64) - 31.5
    radius = np.hypot(*np.meshgrid(rows, rows))
    edge = LENS.focal_length * tan(0.3)
    assert (pixels[radius > edge + 0.1] == 0).all()
    assert (pixels[radius < edge - 0.1] > 0).all()


def test_lights_add_up_on_top_of_the_headlight_and_of_what_glows():
    material = Material(diffuse=(0.5, 0.5, 0.5), emissive=(0.1, 0.0, 0.0))
    lights = sun(intensity=0.2), bulb(intensity=0.4, color=(0.0, 1.0, 0.0))
    shapes = (wall(material),)
    pixels = lit(*lights, shapes=shapes)
    assert middle(pixels) == pytest.approx((51, 76.5, 25.5), abs=0.6)
    pixels = lit(*lights, shapes=shapes, around=Surroundings())
    assert middle(pixels) == pytest.approx((178.5, 204, 153), abs=0.6)
    assert (lit(*[sun()] * 3) == 255).all()


def test_without_any_light_only_what_glows_is_seen():
    assert (lit() == 0).all()
    assert (lit(shapes=(wall(glowing((12, 34, 56))),)) == (12, 34, 56)).all()


def test_the_side_that_is_seen_is_lit_when_a_surface_has_no_thickness():
    facing = square(WHITE)
    back = replace(facing.geometry, triangles=facing.geometry.triangles[:, ::-1], solid=False)
    for light, seen in ((sun(), 255), (sun(direction=[0.0, 0.0, 1.0]), 0)):
        assert middle(lit(light, shapes=(Shape(back, material=WHITE),))) == (seen,) * 3


def test_a_light_behind_what_is_seen_and_before_the_eye_leaves_no_trace():
    """Where it shines straight at the eye, the direction of its highlight is undefined."""
    shiny = square(replace(WHITE, specular=(1.0, 1.0, 1.0)))
    body = replace(body_of("b", (shiny,)), devices=(sun(direction=[-1.0, 0.0, 0.0]),))
    seen = Renderer({"b": body}).render(
        Pinhole(65, 65, 1.0, 0.01, 50.0),
        LOOKING_ALONG_X,
        {"b": poses_of(Pose())},
        surroundings=DARK._replace(background=(0.2, 0.4, 0.6)),
    )
    assert tuple(seen.color[32, 32]) == (0, 0, 0)


# All of it, pixel by pixel


def shine(light, X_WS, p, n, to_eye, material):
    """What a light adds to surfaces at p with normals n, shape (..., 3), by the standard."""
    towards = np.broadcast_to(-(X_WS.R @ getattr(light, "direction", np.zeros(3))), p.shape)
    strength = np.ones(p.shape[:-1])
    if isinstance(light, PointLight):
        towards = X_WS.p - p
        d = np.linalg.norm(towards, axis=-1)
        towards = towards / d[..., None]
        c0, c1, c2 = light.attenuation
        strength = strength / np.maximum(c0 + c1 * d + c2 * d**2, 1.0) * (d <= light.radius)
    if isinstance(light, SpotLight):
        angle = np.arccos(np.clip(-towards @ (X_WS.R @ light.direction), -1.0, 1.0))
        share = (angle - light.cut_off_angle) / (light.beam_width - light.cut_off_angle)
        strength = strength * np.clip(share, 0.0, 1.0) ** light.cut_off_exponent
    facing = np.maximum((n * towards).sum(axis=-1), 0.0)
    half_way = towards + to_eye
    half_way = half_way / np.linalg.norm(half_way, axis=-1, keepdims=True)
    mirrored = np.maximum((n * half_way).sum(axis=-1), 0.0) ** (128.0 * material.shininess)
    return (
        strength[..., None]
        * np.array(light.color)
        * (
            light.ambient_intensity * material.ambient * np.array(material.diffuse)
            + light.intensity * facing[..., None] * np.array(material.diffuse)
            + light.intensity * ((facing > 0) * mirrored)[..., None] * np.array(material.specular)
        )
    )


def random_lights(rng):
    """Return the pose of a link, and a light of each kind that lights what is 3 m before it."""
    X_WL = random_pose(rng)
    at = np.array([3.0, 0.0, 0.0])

    def shared():
        X_WS = Pose(random_pose(rng).R, rng.uniform(-1.5, 1.5, 3))
        d = at + rng.uniform(-0.5, 0.5, 3) - X_WS.p
        return {
            "X_LS": X_WL.inverse() @ X_WS,
            "color": tuple(rng.uniform(0.2, 1.0, 3)),
            "intensity": rng.uniform(0.4, 0.8),
            "ambient_intensity": rng.uniform(0.0, 0.2),
        }, X_WS.R.T @ (d / np.linalg.norm(d))

    (one, d1), (two, _), (three, d3) = shared(), shared(), shared()
    terms = {"attenuation": tuple(rng.uniform(0.0, 0.3, 3))}
    cones = {"beam_width": 0.1, "cut_off_angle": rng.uniform(0.2, 0.6), "cut_off_exponent": 1.5}
    return X_WL, (
        sun(**one, direction=d1),
        bulb(**two, **terms),
        spot(**three, **terms, **cones, direction=d3),
    )


@pytest.mark.parametrize("seed", range(3))
def test_every_pixel_is_as_the_standard_says(seed):
    rng = np.random.default_rng(seed)
    X_WL, lights = random_lights(rng)
    material = Material(
        diffuse=tuple(rng.uniform(0.2, 0.6, 3)),
        specular=tuple(rng.uniform(0.1, 0.4, 3)),
        ambient=rng.uniform(0.0, 1.0),
        shininess=rng.uniform(0.05, 0.5),
    )
    tilt = np.eye(4)
    tilt[:3, :3] = rpy_matrix(0.0, *rng.uniform(-0.5, 0.5, 2))
    pixels = lit(*lights, shapes=(square(material, 3.0, half=20.0).moved(tilt),), X_WL=X_WL)

    n, across = -tilt[:3, 0], (np.arange(64) - 31.5) / LENS.focal_length
    u, v = np.meshgrid(across, across)
    rays = np.stack([np.ones_like(u), -u, -v], axis=-1)
    p = rays * (3.0 / (rays @ tilt[:3, 0]))[..., None]
    to_eye = -rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    color = sum(shine(k, X_WL @ k.X_LS, p, n, to_eye, material) for k in lights)
    off = np.abs(pixels - 255.0 * np.minimum(color, 1.0))
    assert off.max() < 1.0
    assert np.ptp(pixels) > 30  # the picture is worth looking at


# Which lights, and when


def test_a_light_is_on_as_its_model_says_unless_it_was_switched():
    for on in (True, False):
        assert middle(lit(bulb(on=on))) == grey(float(on))
        assert middle(lit(bulb(on=on), switches=[("bulb", not on)])) == grey(float(not on))


def test_lights_move_with_their_link_and_are_gone_with_their_body():
    bodies = {"things": body_of("things", (wall(WHITE),))}
    bodies["lamp"] = replace(body_of("lamp", ()), devices=(spot(cut_off_angle=0.1),))
    renderer = Renderer(bodies)

    def seen(**poses):
        poses["things"] = poses_of(Pose())
        return middle(renderer.render(LENS, LOOKING_ALONG_X, poses, surroundings=DARK).color)

    assert seen(lamp=poses_of(AHEAD)) == (255, 255, 255)
    turned = poses_of(Pose(rpy_matrix(0, 0, 0.2) @ AHEAD.R))
    assert seen(lamp=turned) == (0, 0, 0)
    assert in_thread(lambda: seen(lamp=poses_of(AHEAD))) == (255, 255, 255)
    assert seen() == (0, 0, 0)


def test_a_new_body_has_its_lights_as_its_model_says(diagnostics):
    bodies = {"things": body_of("things", (wall(WHITE),))}
    lamp = replace(body_of("lamp", ()), devices=(bulb(),))
    renderer = Renderer(bodies | {"lamp": lamp})
    renderer.switch_light("lamp", "bulb", False)
    before = renderer.switches
    renderer.set_bodies(bodies | {"lamp": lamp}, diagnostics)
    assert renderer.switches == before == {("lamp", "bulb"): False}
    renderer.set_bodies(bodies, diagnostics)
    renderer.set_bodies(bodies | {"lamp": lamp}, diagnostics)
    assert renderer.switches == {}
    assert before == {("lamp", "bulb"): False}  # an exposure may have it still


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", [1e300, -1e300, inf, nan])
@pytest.mark.parametrize("name", ["intensity", "ambient_intensity", "cut_off_exponent", "at"])
def test_a_light_whose_numbers_make_no_sense_is_left_out(diagnostics, name, number):
    fields = {"X_LS": Pose(p=[number, 0.0, 0.0])} if name == "at" else {name: number}
    assert middle(lit(spot(**fields), sun(intensity=0.2), diagnostics=diagnostics)) == grey(0.2)
    message = diagnostics.take("unusable-device").message
    assert message.startswith("'spot' of body 'lamp' is left out")


def test_of_too_many_lights_the_brightest_are_shown(diagnostics):
    shared = {"link": "L0", "attenuation": (0.0, 0.0, 1.0), "intensity": 0.05}
    near = [PointLight(name=f"near {i}", **shared) for i in range(16)]
    up = Pose(p=np.array([0.0, 50.0, 0.0]))
    far = [PointLight(name=f"far {i}", X_LS=up, **shared) for i in range(30)]
    far += [DirectionalLight(name="sun", link="L0", intensity=0.01)]
    expected = 16 * 0.05 / FRONT**2
    assert middle(lit(*far, *near, diagnostics=diagnostics)) == grey(expected)
    assert "47 lights" in diagnostics.take("too-many-lights").message
    off = [(f"near {i}", False) for i in range(16)]
    assert middle(lit(*far, *near, switches=off)) == pytest.approx((2.55,) * 3, abs=0.6)


def test_sixteen_lights_are_not_too_many(diagnostics):
    lights = [DirectionalLight(name=f"{i}", link="L0", intensity=0.05) for i in range(16)]
    assert middle(lit(*lights, diagnostics=diagnostics)) == grey(0.8)
