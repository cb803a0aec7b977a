"""Pictures of every kind become 8-bit ones, or say why not."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import EpsImagePlugin, Image

from hrp_model.geometry import Texture
from hrp_model.shapes.images import decoded, from_pixels, pixels_of, texture_image

rng = np.random.default_rng(0)
COLORS = rng.integers(0, 255, (5, 7, 4), dtype=np.uint8)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_pixels_of_a_model_are_a_picture_as_they_are(channels):
    pixels = COLORS[:, :, :channels]
    image = texture_image(Texture(image=pixels))
    assert (image.size, len(image.getbands())) == ((7, 5), channels)
    np.testing.assert_array_equal(pixels_of(image), pixels)
    assert pixels_of(from_pixels(pixels)).shape == pixels.shape


@pytest.mark.parametrize("pixels", [np.zeros((2, 2)), np.zeros((2, 2, 5)), np.zeros((0, 2, 3))])
def test_what_is_no_image_is_no_texture(pixels):
    with pytest.raises(ValueError, match="an image has shape"):
        Texture(image=pixels)


def test_a_texture_has_either_a_file_or_pixels(tmp_path):
    with pytest.raises(ValueError, match="either"):
        Texture()
    with pytest.raises(ValueError, match="either"):
        Texture(tmp_path, image=COLORS)


def test_textures_are_equal_by_their_pixels():
    one, same = Texture(image=COLORS), Texture(image=COLORS.copy())
    other = Texture(image=255 - COLORS)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != Texture(image=COLORS, repeat=(False, True))
    assert len({one, same, other}) == 2


def of_file(tmp_path, image, name="a.png"):
    image.save(tmp_path / name)
    return pixels_of(texture_image(Texture(tmp_path / name)))


def test_deep_pictures_keep_their_shades(tmp_path):
    shades = np.array([[0, 0x1234, 0x8000, 0xFFFF]], np.uint16)
    found = of_file(tmp_path, Image.fromarray(shades))
    np.testing.assert_allclose(found[0, :, 0], shades[0] / 257.0, atol=1.0)


def test_palettes_and_bits_are_unpacked(tmp_path):
    colors = Image.fromarray(COLORS[:, :, :3]).quantize(64, dither=Image.Dither.NONE)
    np.testing.assert_array_equal(of_file(tmp_path, colors), np.array(colors.convert("RGB")))
    bits = of_file(tmp_path, Image.fromarray(np.array([[True, False]])))
    assert bits.tolist() == [[[255], [0]]]


def huge_png():
    """A file of a hundred bytes that promises 30000 x 30000 pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 30_000, 30_000, 8, 0, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header
    body = zlib.compress(bytes(100))
    chunk = b"IDAT" + body
    return (
        start
        + struct.pack(">I", zlib.crc32(header))
        + struct.pack(">I", len(body))
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
    )


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n junk", huge_png(), b"GIF89a"])
def test_what_cannot_be_read_is_an_os_error(content, tmp_path):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(OSError):  # noqa: PT011 - its reasons are Pillow's own
        texture_image(Texture(tmp_path / "a.png"))
    with pytest.raises(OSError):  # noqa: PT011
        texture_image(Texture(tmp_path / "absent.png"))


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"


def test_no_picture_is_a_program(tmp_path, monkeypatch):
    def run(*_, **__):
        raise AssertionError("Pillow gives such files to Ghostscript")

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", run)
    (tmp_path / "a.png").write_bytes(EPS)
    with pytest.raises(OSError, match="not an image of a supported format"):
        texture_image(Texture(tmp_path / "a.png"))
    with pytest.raises(OSError, match="not an image of a supported format"):
        decoded(Image.open(io.BytesIO(EPS)))  # as loaders of meshes open what lies inside


@pytest.mark.parametrize("kind", ["bmp", "dds", "gif", "jpeg", "png", "ppm", "tga", "tiff", "webp"])
def test_pictures_of_the_usual_formats_are_read(kind, tmp_path):
    flat = Image.new("RGB", (8, 8), (255, 0, 255))
    np.testing.assert_allclose(
        of_file(tmp_path, flat, f"a.{kind}")[0, 0, :3], (255, 0, 255), atol=3
    )


def test_a_photograph_with_a_second_picture_is_read(tmp_path):
    photo = Image.new("L", (8, 8), 90)
    photo.save(tmp_path / "a.jpg", "MPO", save_all=True, append_images=[photo])
    assert texture_image(Texture(tmp_path / "a.jpg")).size == (8, 8)


@given(
    st.integers(0, 200), st.binary(min_size=1, max_size=4), st.sampled_from(["PNG", "GIF", "BMP"])
)
def test_a_damaged_file_is_a_picture_or_an_os_error(tmp_path_factory, at, change, kind):
    path = tmp_path_factory.getbasetemp() / f"damaged.{kind.lower()}"
    Image.fromarray(COLORS[:, :, :3]).save(path)
    data = path.read_bytes()
    path.write_bytes(data[:at] + change + data[at + len(change) :])
    try:
        image = texture_image(Texture(path))
    except OSError:
        return
    assert pixels_of(image).ndim == 3
