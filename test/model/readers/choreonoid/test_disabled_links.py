"""Links that a file takes out of all collisions."""

import pytest
from body_tools import read_text

LINKS = """
links:
  - { name: R }
  - { name: A, parent: R }
  - { name: B, parent: A }
  - { name: C, parent: B }
"""


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("[{disabled_links: [B]}]", "B"),
        ("[{disabled_links: all}, {enabled_links: [R, C]}]", "AB"),
        ("[{disabled_links: [B]}, {enabled_link_group: [A, B]}]", ""),
        ("[{disabled_link_group: [R, C]}, {disabled_link_chain_level: 3}]", ""),
    ],
)
def test_disabled_links_touch_nothing_at_all(rules, expected, diagnostics):
    body = read_text(f"collision_detection_rules: {rules}{LINKS}", diagnostics)
    assert body.collision_disabled == set(expected)


def test_so_do_the_links_that_the_older_keys_exclude(diagnostics):
    body = read_text(f"collisionDetection: {{ excludeLinks: [C, A] }}{LINKS}", diagnostics)
    assert body.collision_disabled == {"A", "C"}
