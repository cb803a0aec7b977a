"""A URDF shows the robot as the model does: two pictures by independent means."""

from pathlib import Path

import numpy as np
import pytest
from each_case import mostly_slow
from paths import MODELS, SHARED, needs_shared

from hrp_sim.render.gl import RendererUnavailable, thread_context
from scripts.program import run_program

pytest.importorskip("yourdfpy", reason="yourdfpy, which reads the URDF, is not installed")
pytest.importorskip("embreex", reason="embreex, which follows the rays, is not installed")

from urdf_picture import LIMIT, SKY, TOLERANCE, Rule, compare

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


@pytest.fixture(autouse=True)
def _needs_opengl():
    try:
        thread_context()
    except RendererUnavailable as error:
        pytest.skip(f"this machine cannot draw: {error}")


def toy(folder: Path, **colors: str) -> Path:
    places = {"red": "[ 0, 0, 0 ]", "green": "[ 0, 0.6, 0 ]", "white": "[ 0, 0, 0.7 ]"}
    boxes = [BOX % (places[name], color) for name, color in colors.items()]
    path = folder / f"toy{len(list(folder.iterdir()))}.body"
    path.write_text(TOY % "".join(boxes))
    return path


@pytest.mark.parametrize("name", mostly_slow(OWN, 1))
def test_the_urdf_of_an_own_model_looks_like_the_model(name):
    compared = compare(MODELS / name, SIZE)
    assert compared.differing <= LIMIT
    assert compared.differing_of_robot <= 0.03


@needs_shared
@pytest.mark.parametrize("name", mostly_slow(REAL, 1))
def test_the_urdf_of_a_real_robot_looks_like_the_model(name):
    compared = compare(SHARED / "models" / name, SIZE)
    assert compared.differing <= LIMIT
    assert compared.differing_of_robot <= 0.03


@pytest.mark.parametrize("rule", mostly_slow(["MESHES_KEEP_THEIRS", "URDF_REPLACES"], 1))
def test_both_pictures_show_colours_and_sides_as_they_are(rule, tmp_path):
    one = compare(
        toy(tmp_path, red="[ 1, 0, 0 ]", green="[ 0, 1, 0 ]", white="[ 1, 1, 1 ]"),
        SIZE,
        Rule[rule],
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


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["MESHES_KEEP_THEIRS", "URDF_REPLACES"])
def test_a_translucent_link_of_one_colour_stays_translucent(rule, tmp_path):
    glass = "[ 0, 0, 1 ], transparency: 0.6"
    one = compare(toy(tmp_path, red=glass, green=glass), SIZE, Rule[rule])
    sky = np.round(255.0 * np.array(SKY))
    shown = one.urdf[(one.urdf != sky).any(axis=2)]
    assert np.median(shown[:, 0]) > 60  # of the sky behind it; pure blue has no red
    assert one.differing <= LIMIT
    assert one.differing_of_robot <= 0.03


def test_another_colour_or_a_missing_part_differs(tmp_path):
    whole = compare(toy(tmp_path, red="[ 1, 0, 0 ]", green="[ 0, 1, 0 ]"), SIZE)
    recolored = compare(toy(tmp_path, red="[ 1, 0, 0 ]", green="[ 0, 0, 1 ]"), SIZE)
    gone = compare(toy(tmp_path, red="[ 1, 0, 0 ]"), SIZE)
    for other in (recolored, gone):
        off = np.abs(whole.model.astype(int) - other.urdf).max(axis=2) > TOLERANCE
        assert off.mean() > LIMIT
    assert whole.differing <= LIMIT


@pytest.mark.slow
def test_the_script_writes_a_page_and_its_pictures(tmp_path):
    page = tmp_path / "page.md"
    arguments = ["gallery", str(MODELS / "arm/arm.body"), "-o", str(page)]
    assert run_program("pages", {"gallery": ""}, arguments) == 0
    pictures = [path.name for path in (tmp_path / "page").iterdir()]
    assert sorted(pictures) == ["Arm.png", "Arm.webp", "Arm_small.webp"]
    assert all(f"page/{name}" in page.read_text() for name in pictures)
