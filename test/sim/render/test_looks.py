"""How surfaces look: colours, light, textures, transparency."""

import numpy as np
import pytest
from PIL import Image
from sim.render.scenes import (
    BACKGROUND,
    CORNERS,
    LENS,
    LOOKING_ALONG_X,
    OPTICAL,
    UNIT_ST,
    box_at,
    camera_matrix,
    glowing,
    middle,
    needs_opengl,
    picture,
    pixel_rays,
    square,
    wall,
)

from hrp_model import Pose
from hrp_model.geometry import Attribute, Box, Material, Mesh, Shape, Texture
from hrp_model.rigid import rpy_matrix
from hrp_model.shapes.tessellate import transformed_coords

pytestmark = needs_opengl


@pytest.mark.parametrize("rgb", [(1, 2, 3), (250, 128, 0), (77, 255, 199)])
def test_an_unlit_colour_is_exact_from_every_direction(diagnostics, rgb):
    X_WC = Pose(rpy_matrix(0.1, 0.2, 0.6) @ LOOKING_ALONG_X.R)
    assert (picture(diagnostics, wall(glowing(rgb)), X_WC=X_WC) == rgb).all()


def test_emissive_is_added_and_the_sum_saturates(diagnostics):
    material = Material(diffuse=(0.2, 0.8, 0.0), emissive=(0.2, 0.4, 0.6))
    assert middle(picture(diagnostics, wall(material))) == (102, 255, 153)


@pytest.mark.parametrize("ambient", [0.0, 0.2, 1.0])  # VRML97's default, and Choreonoid's
def test_an_oblique_surface_is_darker_by_its_cosine(diagnostics, ambient):
    # Turned by 60 degrees: share 0.4 of scattered light, cosine 0.5 -> 0.4 + 0.6 / 2.
    shape = Shape(
        Box((0.1, 40, 40)),
        Pose(rpy_matrix(0, 0, np.pi / 3), [2.0, 0, 0]).matrix(),
        Material(diffuse=(1.0, 1.0, 1.0), ambient=ambient),
    )
    assert middle(picture(diagnostics, shape)) == pytest.approx((178.5,) * 3, abs=0.6)


def test_a_highlight_appears_where_the_surface_mirrors_the_headlight(diagnostics):
    shiny = Material(diffuse=(0.2, 0.2, 0.2), specular=(0.4, 0.2, 0.0), shininess=0.5)
    pixels = picture(diagnostics, wall(shiny))
    assert middle(pixels) == pytest.approx((153, 102, 51), abs=1)
    assert tuple(pixels[1, 1]) == pytest.approx(
        (51 + 102 * highlight(), 51 + 51 * highlight(), 51), abs=1
    )


def highlight():
    """The highlight of a wall at pixel (1, 1), exponent 64, worked out by hand."""
    to_eye = np.array([30.5, -30.5, 32 / np.tan(0.5)])
    half_way = to_eye / np.linalg.norm(to_eye) + [0, 0, 1]
    return (half_way[2] / np.linalg.norm(half_way)) ** 64


def test_vertex_colours_replace_the_diffuse_colour(diagnostics):
    colors = Attribute(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]]), CORNERS)
    plain = Material(diffuse=(0.3, 0.3, 0.3))
    pixels = picture(diagnostics, square(plain, half=1.3, colors=colors)).astype(int)
    lower_left, upper_right = pixels[60, 3], pixels[3, 60]
    assert lower_left[0] > 200 > 60 > lower_left[2]
    assert upper_right[2] > 200 > 60 > upper_right[0]
    assert middle(pixels) == pytest.approx((127, 0, 127), abs=10)


def test_a_camera_inside_a_solid_sees_out(diagnostics):
    outside = wall(glowing((200, 0, 0)), 5.0)
    head = box_at((1, 1, 1), (0, 0, 0), glowing((0, 200, 0)))
    assert middle(picture(diagnostics, outside, head)) == (200, 0, 0)


def test_the_back_of_a_hollow_surface_is_seen_and_lit(diagnostics):
    front = square(Material(diffuse=(0.0, 0.8, 0.0)))
    for solid, seen in ((True, (200, 0, 0)), (False, (0, 204, 0))):
        back = Mesh(front.geometry.vertices, front.geometry.triangles[:, ::-1], solid=solid)
        shape = Shape(back, material=front.material)
        assert middle(picture(diagnostics, wall(glowing((200, 0, 0)), 5.0), shape)) == seen


@pytest.fixture
def quarters(tmp_path):
    """An image of four colours: red and green above, blue and white below."""
    pixels = np.zeros((32, 32, 3), np.uint8)
    pixels[:16, :16], pixels[:16, 16:] = (255, 0, 0), (0, 255, 0)
    pixels[16:, :16], pixels[16:, 16:] = (0, 0, 255), (255, 255, 255)
    path = tmp_path / "quarters.png"
    Image.fromarray(pixels).save(path)
    return path


def test_a_texture_lies_upright_and_replaces_the_diffuse_colour(diagnostics, quarters):
    material = Material(diffuse=(0.1, 0.1, 0.1), texture=Texture(quarters))
    pixels = picture(diagnostics, square(material, half=1.0, tex_coords=UNIT_ST))
    assert tuple(pixels[20, 20]) == (255, 0, 0)
    assert tuple(pixels[20, 44]) == (0, 255, 0)
    assert tuple(pixels[44, 20]) == (0, 0, 255)
    assert tuple(pixels[44, 44]) == (255, 255, 255)


@pytest.mark.parametrize("roll", [0.0, 0.4, -2.0])
def test_colours_of_a_texture_are_exact_wherever_they_are_seen(diagnostics, roll):
    """Truth: where the ray of each pixel meets the square, the last row of the image below."""
    rng = np.random.default_rng(6)
    texels = rng.integers(0, 256, (4, 5, 3), dtype=np.uint8)
    image = Texture(image=np.kron(texels, np.ones((16, 16, 1), np.uint8)))
    surface = square(Material(texture=image), half=1.0, tex_coords=UNIT_ST)
    X_WC = Pose(LOOKING_ALONG_X.R @ rpy_matrix(0.0, 0.0, roll), [0.0, 0.1, -0.05])
    pixels = picture(diagnostics, surface, X_WC=X_WC)
    rays = pixel_rays((64, 64), camera_matrix(LENS)) @ (X_WC @ OPTICAL).R.T
    met = X_WC.p + 2.0 * rays / rays[..., :1]
    column, row = (1.0 - met[..., 1]) * 2.5, (1.0 - met[..., 2]) * 2.0
    inside = (column > 0.0) & (column < 5.0) & (row > 0.0) & (row < 4.0)
    edge = [np.abs(x - np.round(x)) < 0.15 for x in (column, row)]
    sure = inside & ~edge[0] & ~edge[1]
    expected = texels[row[sure].astype(int), column[sure].astype(int)]
    assert len({tuple(c) for c in expected}) == 20
    np.testing.assert_array_equal(pixels[sure], expected)


def test_pixels_of_the_model_are_drawn_like_a_file(diagnostics, quarters):
    square_of = {}
    pixels = np.array(Image.open(quarters))
    for texture in (Texture(quarters), Texture(image=pixels)):
        shape = square(Material(texture=texture), half=1.0, tex_coords=UNIT_ST)
        square_of[texture.path] = picture(diagnostics, shape)
    np.testing.assert_array_equal(*square_of.values())


def test_a_box_shows_the_image_on_the_face_before_the_camera(diagnostics, quarters):
    """Its -X face: seen from outside, up is +Y and right is +Z (ISO/IEC 14772-1, 6.6)."""
    # The camera looks along +X with +Z up, so +Y is left: the image lies on its side.
    box = box_at(
        (1, 2, 2), (2.5, 0, 0), Material(diffuse=(0.1, 0.1, 0.1), texture=Texture(quarters))
    )
    pixels = picture(diagnostics, box)
    upper_left, upper_right = tuple(pixels[20, 20]), tuple(pixels[20, 44])
    assert (upper_left, upper_right) == ((0, 255, 0), (255, 255, 255))
    assert tuple(pixels[44, 20]) == (255, 0, 0)


def test_triangles_without_area_are_not_seen(diagnostics):
    points = np.array([[2, -1, 0], [2, 0, 0], [2, 1, 0], [2, 0, 1]], float)
    texture = Texture(image=np.full((1, 1, 3), 255, np.uint8))
    triangles = [[0, 1, 2], [1, 1, 1], [3, 3, 0]]
    for looks in (Material(), Material(texture=texture)):
        flat = Mesh(points, triangles, crease_angle=3.0, solid=False)
        shapes = Shape(flat, material=looks), Shape(Mesh(np.zeros((3, 3)), [[0, 1, 2]]))
        assert (picture(diagnostics, *shapes) == BACKGROUND).all()


def test_a_texture_repeats_or_not_along_each_side(diagnostics, quarters):
    twice = Attribute(UNIT_ST.values * 2.0, CORNERS)
    material = Material(texture=Texture(quarters, repeat=(True, False)))
    pixels = picture(diagnostics, square(material, half=1.0, tex_coords=twice))
    # s repeats: red, green, red, green; t is clamped, so the upper half is the top row.
    assert [tuple(pixels[14, c]) for c in (10, 24, 40, 54)] == [(255, 0, 0), (0, 255, 0)] * 2


def test_a_grey_texture_scales_the_diffuse_colour(diagnostics, tmp_path):
    path = tmp_path / "grey.png"
    Image.fromarray(np.full((8, 8), 51, np.uint8)).save(path)
    material = Material(diffuse=(1.0, 0.5, 0.0), texture=Texture(path))
    pixels = picture(diagnostics, square(material, tex_coords=UNIT_ST))
    assert middle(pixels) == pytest.approx((51, 25.5, 0), abs=0.6)


def test_a_texture_that_cannot_be_read_is_one_warning(diagnostics, tmp_path):
    (tmp_path / "junk.png").write_bytes(b"\x89PNG\r\n\x1a\n junk")
    for name in ("absent.png", "junk.png"):
        material = Material(diffuse=(0.0, 1.0, 0.0), texture=Texture(tmp_path / name))
        shape = square(material, tex_coords=UNIT_ST)
        pixels = picture(diagnostics, shape, shape)
        assert name in diagnostics.take("unreadable-texture").message
        assert middle(pixels) == (0, 255, 0)


def test_the_texture_transform_is_vrmls():
    # ISO/IEC 14772-1, 6.49, as matrices on columns: -C S R C T.
    texture = Texture(
        "x", center=(0.5, 0.25), rotation=0.3, scale=(2.0, 3.0), translation=(0.1, 0.7)
    )

    def shift(s, t):
        return np.array([[1, 0, s], [0, 1, t], [0, 0, 1.0]])

    c, s = np.cos(0.3), np.sin(0.3)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    M = shift(-0.5, -0.25) @ np.diag([2.0, 3.0, 1.0]) @ R @ shift(0.5, 0.25) @ shift(0.1, 0.7)
    st = np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 0.9]])
    expected = (np.c_[st, np.ones(3)] @ M.T)[:, :2]
    np.testing.assert_allclose(transformed_coords(texture, st), expected)
