"""The light of all renderers: one scene looks the same in films, to cameras, and in pages."""

import numpy as np
import pytest
from sim.render.scenes import needs_opengl
from three_renderers import pictures

pytest.importorskip("viser")

from hrp_model import Diagnostics
from hrp_sim.cli.page import simulated_motion

pytestmark = needs_opengl
COLORS = {
    "BLUE": (0.0, 0.0, 1.0),
    "RED": (1.0, 0.0, 0.0),
    "GREEN": (0.1, 0.6, 0.1),
    "WHITE": (1.0, 1.0, 1.0),
    "GREY": (0.5, 0.5, 0.5),
    "DARK": (0.15, 0.15, 0.15),
    "BLACK": (0.0, 0.0, 0.0),
    "METAL": (0.35, 0.36, 0.38),
}
HEADER = "format: ChoreonoidBody\nformat_version: 2.0\nname: {}\nlinks:\n"
BLOCK = """\
  - name: {name}
    joint_type: {joint}
    translation: {place}
{parent}    elements:
      - type: RigidBody
        mass: 1.0
        inertia: [ 0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01 ]
        elements:
          - type: Shape
            geometry: {{ type: Box, size: [ 0.3, 0.3, 0.3 ] }}
            appearance: {{ material: {{ diffuse: {color}, specular: {specular}, shininess: 0.3 }} }}
"""
WALL = """\
      - type: Shape
        translation: {place}
        geometry: {{ type: Box, size: {size} }}
        appearance: {{ material: {{ diffuse: [ 0.6, 0.6, 0.6 ] }} }}
"""
SIZE = 480, 300
PAGE_LIMIT, CAMERA_LIMIT = 8, 25  # of 255


def blocks():
    """A robot of eight blocks, in two rows that face +x."""
    text = HEADER.format("Blocks")
    for i, (name, color) in enumerate(COLORS.items()):
        y, z = 0.3 * (i % 4), 0.3 * (i // 4)
        text += BLOCK.format(
            name=name,
            joint="fixed" if i else "free",
            place=[0.0, y, z],
            parent="    parent: BLUE\n" if i else "",
            color=list(color),
            specular=[0.9] * 3 if name == "METAL" else [0.0] * 3,
        )
    return text


def closed_room():
    """A room of 6 m x 6 m x 3 m with a floor and a ceiling, around the origin."""
    sides = [((6, 6, 0.1), (0, 0, z)) for z in (-0.05, 3.05)]
    sides += [((0.1, 6, 3), (x, 0, 1.5)) for x in (-3.05, 3.05)]
    sides += [((6, 0.1, 3), (0, y, 1.5)) for y in (-3.05, 3.05)]
    walls = "".join(WALL.format(place=list(place), size=list(size)) for size, place in sides)
    return f"{HEADER.format('Room')}  - name: ROOM\n    joint_type: fixed\n    elements:\n{walls}"


def test_a_page_of_a_run_in_a_room_shows_the_robot_in_the_colours_of_films_and_cameras(
    shared_pages, tmp_path
):
    (tmp_path / "blocks.body").write_text(blocks(), encoding="utf-8")
    (tmp_path / "room.body").write_text(closed_room(), encoding="utf-8")
    entries = "bodies: [ {model: room.body}, {model: blocks.body, position: [0, -0.45, 0.151]} ]"
    (tmp_path / "world.yaml").write_text(entries, encoding="utf-8")
    motion = simulated_motion(str(tmp_path / "world.yaml"), 5.0, Diagnostics(strict=True))
    assert len(motion.postures) > 100
    poses = motion.postures[0] | motion.postures[-1]
    shown = pictures(shared_pages, tmp_path, motion.bodies, poses, SIZE)

    def colors_of(picture):
        numbers = range(1, 1 + len(COLORS))
        return np.array([picture[shown.rows == number].mean(axis=0) for number in numbers])

    film, camera, page = map(colors_of, (shown.film, shown.camera, shown.look()))
    assert np.abs(camera - film).max() < CAMERA_LIMIT, (camera, film)

    def is_as_in_films():
        page[:] = colors_of(shown.look())
        return np.abs(page - film).max() < PAGE_LIMIT

    shown.page.wait_until(is_as_in_films, "the colours of films")
    robot_colors, picture = page, shown.look()
    blue = robot_colors[0]
    assert blue[2] > 5 * max(blue[:2])
    dark = picture[shown.rows == 1 + list(COLORS).index("DARK")]
    assert np.ptp(dark.mean(axis=1)) > 5  # its faces differ
    distance = np.abs(picture[:, :, np.newaxis] - robot_colors).max(axis=3)
    is_saturated = np.ptp(picture.astype(int), axis=2) > 60  # unlike the room
    assert ((distance.min(axis=2) < 12) & is_saturated).mean() > 0.02
