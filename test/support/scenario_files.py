"""A folder with a world of two falling blocks and a scenario, for tests of pytest's plugin."""

from paths import ROOT

WORLD = f"""
bodies:
  - model: {ROOT}/models/floor.body
  - name: upper
    model: {ROOT}/models/blocks/wood.body
    position: [ 0, 0, 0.5 ]
  - name: lower
    model: {ROOT}/models/blocks/wood.body
    position: [ 1, 0, 0.2 ]
"""
PASSING = """
world: world.yaml
duration: 0.4
expect:
  - upper.z < 6 cm
  - always: contacts.largest_force < 1000 N
"""
BASELINE = "baseline: fall.baseline.json\n"
# The mass of a link, changed by a millionth.
HEAVIER = "bodies: { lower: { masses: { Wood: 0.6000006 } } }\n"


def write_scenario(folder, text=PASSING, name="fall"):
    """Write a scenario file and its world; return the path of the scenario."""
    (folder / "world.yaml").write_text(WORLD, encoding="utf-8")
    path = folder / f"{name}.scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path
