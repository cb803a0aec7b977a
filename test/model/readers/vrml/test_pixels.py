"""PixelTexture: images that the file itself spells out (ISO/IEC 14772-1, 5.5 and 6.33)."""

import numpy as np
import pytest
from vrml_tools import body_of, shapes_of

from hrp_model.cli.dump import dump_body
from hrp_model.readers.vrml.shapes import image_pixels


def texture(image, diagnostics=None, more=""):
    looks = f"appearance Appearance {{ texture PixelTexture {{ image {image} {more} }} }}"
    (shape,) = shapes_of(f"Shape {{ {looks} geometry Box {{ }} }}", diagnostics)
    return shape.material.texture


def test_the_examples_of_the_standard():
    # "1 2 1 0xFF 0x00": the lower pixel is white, the upper black.
    assert texture("1 2 1 0xFF 0x00").image.tolist() == [[[0]], [[255]]]
    three = texture("2 4 3 0xFF0000 0xFF00 0 0 0 0 0xFFFFFF 0xFFFF00").image
    assert three.shape == (4, 2, 3)
    assert three[3].tolist() == [[255, 0, 0], [0, 255, 0]]  # the lowest row
    assert three[0].tolist() == [[255, 255, 255], [255, 255, 0]]


@pytest.mark.parametrize("components", [1, 2, 3, 4])
def test_the_first_component_is_the_highest_byte(components):
    number = int.from_bytes(bytes([1, 2, 3, 4][:components]), "big")
    assert texture(f"1 1 {components} {number}").image.tolist() == [[[1, 2, 3, 4][:components]]]


def test_it_may_repeat_or_not():
    assert texture("1 1 1 7", more="repeatS FALSE").repeat == (False, True)


@pytest.mark.parametrize("image", ["0 0 0", "0 5 3", "5 0 3"])
def test_an_image_without_extent_is_none(image):
    assert texture(image) is None


@pytest.mark.parametrize("image", ["1 1 5 0", "-1 -1 1 0", "1 1 1 256", "1 1 3 -1"])
def test_what_is_no_image_is_left_out_aloud(image, diagnostics):
    assert texture(image, diagnostics) is None
    assert "PixelTexture" in diagnostics.take("bad-image").message


def test_too_few_numbers_are_refused():
    for numbers in ([2, 2, 1, 0], [1], [np.nan, 1, 1, 0]):
        with pytest.raises(ValueError, match=r"instead of|not finite|missing"):
            image_pixels(np.array(numbers, float))


def test_the_dump_tells_its_size():
    text = """Shape { appearance Appearance { texture PixelTexture { image 1 2 1 0 0 } }
      geometry Box { } }"""
    (shape,) = dump_body(body_of(text))["links"][0]["visual"]["shapes"]
    assert shape["material"]["texture"] == "1 x 2 pixels"
