"""Light and tone of pictures: what colours become in them."""

import numpy as np
import pytest

from hrp_model.shapes import light

UP = np.array([0.0, 0.0, 1.0])


def test_what_is_toned_is_what_was_wanted():
    colors = np.random.default_rng(4).uniform(0.02, 0.7, (200, 3))
    radiance = light.untoned(colors)
    possible = radiance.min(axis=1) >= 0.0
    assert possible.sum() > 100
    np.testing.assert_allclose(light.toned(radiance[possible]), colors[possible], atol=1e-6)


def test_encoding_is_the_inverse_of_linear():
    values = np.linspace(0.0, 1.0, 300)
    np.testing.assert_allclose(light.encoded(light.linear(values)), values, atol=1e-6)


@pytest.mark.parametrize("received", [0.5, 1.0, 1.1])
@pytest.mark.parametrize("rgb", [(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 0), (0, 1, 1), (1, 0, 1)])
def test_pure_colours_keep_their_hue_in_all_light(rgb, received):
    shown = light.shown(np.array(rgb, float), received)
    bright, dark = shown[np.array(rgb) == 1], shown[np.array(rgb) == 0]
    assert bright.min() > 0.5
    assert dark.max() < 0.4 * bright.min()
    assert np.ptp(bright) < 0.08


def test_greys_stay_grey_in_their_order_and_dark_ones_are_told_apart():
    levels = np.linspace(0.0, 1.0, 50)
    shown = light.shown(np.repeat(levels[:, np.newaxis], 3, axis=1))
    assert np.ptp(shown, axis=1).max() < 2e-3
    assert (np.diff(shown[:, 0]) > 0.0).all()
    black = np.zeros(3)
    lit, shaded = (light.shown(black, light.irradiance(UP, x)) for x in (1.0, 0.0))
    assert (255 * (lit - shaded) > 5).all()


def test_the_key_light_is_what_a_shadow_lacks():
    lit, shaded = light.irradiance(UP), light.irradiance(UP, 0.0)
    np.testing.assert_allclose(lit - shaded, light.KEY.strength * light.KEY.direction[2])
    np.testing.assert_allclose(light.irradiance(-UP), light.GROUND)
