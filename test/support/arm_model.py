"""A small Choreonoid model for tests of commands: an arm with a sensor, without further files."""

ARM = """\
format: ChoreonoidBody
format_version: 2.0
angle_unit: degree
name: arm
root_link: BASE
links:
  - name: BASE
    joint_type: fixed
    mass: 2.0
    inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ]
  - name: ARM
    parent: BASE
    translation: [ 0, 0, 0.5 ]
    joint_type: revolute
    joint_id: 0
    joint_axis: [ 0, 1, 0 ]
    joint_range: [ -90, 90 ]
    mass: 1.0
    center_of_mass: [ 0.1, 0, 0 ]
    inertia: [ 0.005, 0, 0, 0, 0.005, 0, 0, 0, 0.005 ]
    elements:
      - type: Shape
        geometry: { type: Cone, radius: 0.1, height: 0.2 }
      - type: ForceSensor
        name: wrist
        id: 0
"""
WITHOUT_MASS = ARM.replace("    mass: 1.0\n", "    mass: 0.0\n")
NEGATIVE_MASS = ARM.replace("    mass: 1.0\n", "    mass: -1.0\n")


def write_model(folder, text=ARM, name="arm.body"):
    """Write a model and return its path as a user would type it."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)
