"""A URDF shows the robot as the model does: two pictures by independent means."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from paths import MODELS, ROOT, SHARED, needs_shared

from hrp_sim.render.context import RendererUnavailable, thread_context

pytest.importorskip("yourdfpy", reason="yourdfpy, which reads the URDF, is not installed")
pytest.importorskip("embreex", reason="embreex, which follows the rays, is not installed")

SIZE = 240, 240
OWN = ["humanoid/humanoid.wrl", "arm/arm.body", "rover/rover.body", "room.body"]
# Meshes with many colours, textures, colours of vertices, a mirrored half.
REAL = [
    "choreonoid__choreonoid/share/model/GR001/GR001.body",
    "choreonoid__choreonoid/share/model/PA10/PA10.body",
    "choreonoid__choreonoid/share/model/SR1/SR1.body",
    "choreonoid__choreonoid/share/model/Tank/Tank.body",
]
# A red box, a green one to its left (+Y) and a white one above, each turned a little.
TOY = """\
format: ChoreonoidBody
format_version: 2.0
name: toy
links:
  - name: ROOT
    joint_type: fixed
    elements:
%s
"""
BOX = """\
      - type: Shape
        translation: %s
        rotation: [ 0.3, 1, 0.2, 0.4 ]
        geometry: { type: Box, size: [ 0.3, 0.4, 0.5 ] }
        appearance: { material: { diffuse: %s } }
"""


@pytest.fixture(scope="module")
def gallery():
    try:
        thread_context()
    except RendererUnavailable as error:
        pytest.skip(f"this machine cannot draw: {error}")
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "scripts/gallery.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    path = list(sys.path)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path
    del sys.modules[spec.name], sys.modules["urdf_picture"]


def toy(folder: Path, **colors: str) -> Path:
    places = {"red": "[ 0, 0, 0 ]", "green": "[ 0, 0.6, 0 ]", "white": "[ 0, 0, 0.7 ]"}
    boxes = [BOX % (places[name], color) for name, color in colors.items()]
    path = folder / f"toy{len(list(folder.iterdir()))}.body"
    path.write_text(TOY % "".join(boxes))
    return path


@pytest.mark.parametrize("name", OWN)
def test_the_urdf_of_an_own_model_looks_like_the_model(gallery, name):
    compared = gallery.compare(MODELS / name, SIZE)
    assert compared.differing <= gallery.LIMIT
    assert compared.differing_of_robot <= 0.03


@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_the_urdf_of_a_real_robot_looks_like_the_model(gallery, name):
    compared = gallery.compare(SHARED / "models" / name, SIZE)
    assert compared.differing <= gallery.LIMIT
    assert compared.differing_of_robot <= 0.03


@pytest.mark.parametrize("rule", ["MESHES_KEEP_THEIRS", "URDF_REPLACES"])
def test_both_pictures_show_colours_and_sides_as_they_are(gallery, rule, tmp_path):
    one = gallery.compare(
        toy(tmp_path, red="[ 1, 0, 0 ]", green="[ 0, 1, 0 ]", white="[ 1, 1, 1 ]"),
        SIZE,
        gallery.Rule[rule],
    )
    for pixels in (one.model.astype(int), one.urdf.astype(int)):
        r, g, b = np.moveaxis(pixels, 2, 0)
        red, green = (r > g + 40) & (r > b + 40), (g > r + 40) & (g > b + 40)
        white = (abs(r - g) < 3) & (abs(g - b) < 3)
        assert red.sum() > 500
        assert green.sum() > 500
        assert white.sum() > 500
        # Seen from the front, from its left and from above: +Y is to the right, +Z up.
        assert np.argwhere(green)[:, 1].mean() > np.argwhere(red)[:, 1].mean() + 20
        assert np.argwhere(white)[:, 0].mean() < np.argwhere(red)[:, 0].mean() - 20


@pytest.mark.parametrize("rule", ["MESHES_KEEP_THEIRS", "URDF_REPLACES"])
def test_a_translucent_link_of_one_colour_stays_translucent(gallery, rule, tmp_path):
    glass = "[ 0, 0, 1 ], transparency: 0.6"
    one = gallery.compare(toy(tmp_path, red=glass, green=glass), SIZE, gallery.Rule[rule])
    sky = np.round(255.0 * np.array(gallery.SKY))
    shown = one.urdf[(one.urdf != sky).any(axis=2)]
    assert np.median(shown[:, 0]) > 60  # of the sky behind it; pure blue has no red
    assert one.differing <= gallery.LIMIT
    assert one.differing_of_robot <= 0.03


def test_another_colour_or_a_missing_part_differs(gallery, tmp_path):
    whole = gallery.compare(toy(tmp_path, red="[ 1, 0, 0 ]", green="[ 0, 1, 0 ]"), SIZE)
    recolored = gallery.compare(toy(tmp_path, red="[ 1, 0, 0 ]", green="[ 0, 0, 1 ]"), SIZE)
    gone = gallery.compare(toy(tmp_path, red="[ 1, 0, 0 ]"), SIZE)
    for other in (recolored, gone):
        off = np.abs(whole.model.astype(int) - other.urdf).max(axis=2) > gallery.TOLERANCE
        assert off.mean() > gallery.LIMIT
    assert whole.differing <= gallery.LIMIT


def test_the_script_writes_a_page_and_its_pictures(gallery, tmp_path):
    page = tmp_path / "page.md"
    assert gallery.main([str(MODELS / "arm/arm.body"), "-o", str(page)]) == 0
    pictures = [path.name for path in (tmp_path / "page").iterdir()]
    assert sorted(pictures) == ["Arm.png", "Arm.webp", "Arm_small.webp"]
    assert all(f"page/{name}" in page.read_text() for name in pictures)
