"""What can be looked through: transparent surfaces, and textures with opacities."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from PIL import Image
from sim.render.scenes import (
    LENS,
    UNIT_ST,
    glowing,
    middle,
    needs_opengl,
    picture,
    square,
    wall,
)

from hrp_model.geometry import Attribute, Material, Mesh, Shape, Texture
from hrp_model.rigid import rpy_matrix

pytestmark = needs_opengl
RED, GREEN, BLUE = (200, 0, 0), (0, 200, 0), (0, 0, 200)
BEHIND = wall(glowing(RED), 5.0)


def over(*layers):
    """Return what layers of (8-bit colour, opacity) show, from the farthest to the nearest."""
    seen = np.array(layers[0][0], float)
    for color, opacity in layers[1:]:
        seen = opacity * np.array(color) + (1.0 - opacity) * seen
    return pytest.approx(tuple(seen), abs=1.0)


def moved(shape, p, turn=(0.0, 0.0, 0.0)):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rpy_matrix(*turn), p
    return shape.moved(T)


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_transparent_surfaces_are_blended_from_the_farthest_to_the_nearest(diagnostics, order):
    shapes = [
        BEHIND,
        square(glowing(GREEN, transparency=0.5), 4.0),
        square(glowing(BLUE, transparency=0.75), 3.0),
        square(glowing((255, 255, 255), transparency=1.0), 2.0),
    ]
    pixels = picture(diagnostics, *(shapes[i] for i in order))
    assert middle(pixels) == over((RED, 1.0), (GREEN, 0.5), (BLUE, 0.25))


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_transparent_surfaces_is_not_that_of_their_middles(diagnostics, order):
    # The middle of the pane is farther away than that of what stands behind it.
    pane = moved(square(glowing(GREEN, transparency=0.5), 3.0, half=5.0), (0.0, 4.0, 0.0))
    lamp = square(glowing(BLUE, transparency=0.5), 3.4)
    pixels = picture(diagnostics, *[BEHIND, pane, lamp][::order])
    assert middle(pixels) == over((RED, 1.0), (BLUE, 0.5), (GREEN, 0.5))


@pytest.mark.parametrize("order", [1, -1])
def test_an_oblique_pane_hides_what_is_behind_it_on_each_side(diagnostics, order):
    # It runs past the near one on the left and the far one on the right, all vertices as written.
    pane = moved(square(glowing(GREEN, transparency=0.5), 0.0, half=4.0), (3, 0, 0), (0, 0, 0.9))
    pane = Shape(
        Mesh(pane.geometry.vertices @ pane.T_FG[:3, :3].T + [3.0, 0, 0], pane.geometry.triangles),
        material=pane.material,
    )
    blue = square(glowing(BLUE, transparency=0.5), 0.0, half=0.2)
    red = wall(glowing(RED), 9.0)
    shapes = [red, moved(blue, (2.9, 1.0, 0.0)), pane, moved(blue, (3.1, -1.0, 0.0))]
    pixels = picture(diagnostics, *shapes[::order])
    # The pane is at x = 3 - tan(0.9) y: on the left nearer than blue, on the right farther.
    column = [round(31.5 - LENS.focal_length * y / x) for x, y in ((2.9, 1.0), (3.1, -1.0))]
    assert tuple(pixels[32, column[0]]) == over((RED, 1.0), (BLUE, 0.5), (GREEN, 0.5))
    assert tuple(pixels[32, column[1]]) == over((RED, 1.0), (GREEN, 0.5), (BLUE, 0.5))


def test_an_opaque_surface_hides_a_transparent_one_behind_it(diagnostics):
    shapes = square(glowing(GREEN, transparency=0.5), 4.0), wall(glowing(RED), 3.0)
    assert (picture(diagnostics, *shapes) == RED).all()


def test_a_hollow_shape_shows_its_inner_side_through_its_outer_one(diagnostics):
    """Two squares of one mesh, the nearer one first, the farther one seen from its back."""
    near, far = square(Material(), 3.0).geometry, square(Material(), 4.0).geometry
    colors = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    both = Mesh(
        np.concatenate([near.vertices, far.vertices]),
        np.concatenate([near.triangles, far.triangles[:, ::-1] + 4]),
        colors=Attribute(colors, np.repeat([[0], [0], [1], [1]], 3, axis=1).astype(np.int32)),
        solid=False,
    )
    pixels = picture(diagnostics, BEHIND, Shape(both, material=Material(transparency=0.5)))
    assert middle(pixels) == over((RED, 1.0), ((0, 0, 255), 0.5), ((0, 255, 0), 0.5))


# Textures


def image_of(opacity, color=(0, 200, 0)):
    """RGBA pixels of one colour with these 8-bit opacities; what is invisible is black."""
    pixels = np.zeros((*np.shape(opacity), 4), np.uint8)
    pixels[..., :3], pixels[..., 3] = color, opacity
    pixels[pixels[..., 3] == 0, :3] = 0
    return pixels


def half_open(tmp_path, color, name):
    """A square 2 m away that is opaque on the right and open on the left."""
    path = tmp_path / name
    opacity = np.zeros((8, 8), np.uint8)
    opacity[:, 4:] = 255
    Image.fromarray(image_of(opacity, color)).save(path)
    return textured(Texture(path))


def textured(texture, distance=2.0, **looks):
    plain = Material(diffuse=(0.0, 0.0, 0.0), texture=texture, **looks)
    return square(plain, distance, half=1.0, tex_coords=UNIT_ST)


def test_a_hole_in_a_texture_shows_what_lies_behind(diagnostics, tmp_path):
    pixels = picture(diagnostics, half_open(tmp_path, GREEN, "hole.png"), BEHIND)
    assert tuple(pixels[32, 16]) == RED
    assert tuple(pixels[32, 48]) == GREEN


@pytest.mark.parametrize("order", [1, -1])
def test_the_solid_part_of_a_cut_out_hides_all_that_is_behind_it(diagnostics, tmp_path, order):
    """Whatever is drawn first: another cut-out, or a transparent surface, nearer or farther."""
    near = half_open(tmp_path, GREEN, "near.png")
    far = moved(half_open(tmp_path, BLUE, "far.png"), (1.0, 0.0, 0.0), (np.pi, 0, 0))
    mist = square(glowing((255, 255, 255), transparency=0.5), 2.5, half=2.0)
    pixels = picture(diagnostics, *[near, far, mist, BEHIND][::order])
    assert tuple(pixels[32, 40]) == GREEN
    assert tuple(pixels[32, 26]) == over((BLUE, 1.0), ((255, 255, 255), 0.5))
    assert tuple(pixels[32, 6]) == over((RED, 1.0), ((255, 255, 255), 0.5))


def test_the_edge_of_a_hole_has_no_fringe_of_invisible_pixels(diagnostics, tmp_path):
    shape = half_open(tmp_path, GREEN, "hole.png")
    pixels = picture(diagnostics, moved(shape, (1.3, 0, 0), (0.4, 0, 0)), BEHIND)
    off = [np.abs(pixels - np.array(color)).max(axis=-1) for color in (RED, GREEN)]
    assert np.min(off, axis=0).max() <= 1
    assert (np.max(off, axis=0) > 100).all()


@pytest.mark.parametrize("order", [1, -1])
def test_a_texture_of_middling_opacities_is_blended(diagnostics, order):
    glass = Texture(image=image_of(np.full((4, 4), 102, np.uint8)))
    mist = square(glowing(BLUE, transparency=0.5), 3.0)
    pixels = picture(diagnostics, *[BEHIND, textured(glass), mist][::order])
    assert middle(pixels) == over((RED, 1.0), (BLUE, 0.5), (GREEN, 0.4))


def test_the_opacities_of_texture_and_material_are_multiplied(diagnostics):
    glass = Texture(image=image_of(np.full((4, 4), 102, np.uint8)))
    pixels = picture(diagnostics, BEHIND, textured(glass, transparency=0.5))
    assert middle(pixels) == over((RED, 1.0), (GREEN, 0.2))


def test_a_grey_texture_may_have_opacities_too(diagnostics):
    pixels = np.full((4, 4, 2), (153, 102), np.uint8)
    shape = textured(Texture(image=pixels))
    shape = replace(shape, material=replace(shape.material, diffuse=(0.0, 0.5, 1.0)))
    seen = picture(diagnostics, BEHIND, shape)
    assert middle(seen) == over((RED, 1.0), ((0.0, 76.5, 153.0), 0.4))


def test_a_texture_that_is_opaque_everywhere_is_opaque(diagnostics):
    full = Texture(image=image_of(np.full((4, 4), 255, np.uint8)))
    behind = textured(full, 3.0)
    nearer = textured(Texture(image=image_of(np.full((4, 4), 255, np.uint8), BLUE)))
    for shapes in permutations((behind, nearer, BEHIND)):
        assert middle(picture(diagnostics, *shapes)) == BLUE
