"""Rules of ros2_control for a URDF, from its documentation, and robots to check."""

from functools import lru_cache
from xml.etree import ElementTree

import yaml
from component_parser import NODE_NAME
from each_case import spread
from paths import MODELS
from reference_data import index, model_files
from silent_diagnostics import silent

from hrp_model import load_body
from hrp_model.frames import body_frames
from hrp_model.kinematics.loops import mimic_joints
from hrp_model.urdf import Hardware, UrdfOptions, body_to_urdf, controllers_yaml
from hrp_model.urdf.control_blocks import ros2_control_elements

STATES = ["position", "velocity", "effort"]
IN_BLOCK = {"hardware", "joint", "sensor", "gpio", "properties"}
OURS = ("humanoid/humanoid.wrl", "humanoid/humanoid.body", "arm/arm.body", "rover/rover.body")


def written(body, **options):
    """Return a body's URDF as a tree, its frames, and its controllers' parameters as data."""
    made = UrdfOptions(**options)
    frames = body_frames(body, silent(), made)
    text = body_to_urdf(body, diagnostics=silent(), options=made)
    return (
        ElementTree.fromstring(text),
        frames,
        yaml.safe_load(controllers_yaml(body, frames, made)),
    )


def many_links():
    """Return the names of published models with more than one link."""
    return [row["file"] for row in index() if row["links"] != 1]


@lru_cache(maxsize=1)
def robots():
    """Return (name, body, URDF, frames) of our models, and of others beside this checkout.

    The URDFs have all blocks, with Gazebo's hardware.
    """
    files = {name: MODELS / name for name in OURS}
    shared = model_files()
    files |= {file: shared[file] for file in spread(many_links(), 40)}
    found = []
    for name, path in files.items():
        body = load_body(path, silent())
        options = UrdfOptions(gazebo=True, ros2_control=Hardware.GZ)
        frames = body_frames(body, silent(), options)
        text = body_to_urdf(body, diagnostics=silent(), options=options)
        found.append((name, body, ElementTree.fromstring(text), frames))
    return found


def with_hardware(robot, body, frames, hardware):
    """Return the joints of a URDF with the block for another hardware, and its controllers."""
    options = UrdfOptions(ros2_control=hardware)
    made = ElementTree.Element("robot")
    made.extend(robot.findall("joint"))
    made.extend(ros2_control_elements(body, frames, options))
    return made, yaml.safe_load(controllers_yaml(body, frames, options))


def numbered(body):
    """Return the links of joints with an id that controllers can move: no tracks, no followers."""
    followers = mimic_joints(body)
    return [
        link
        for link in body.links[1:]
        if link.joint.moves and link.joint.id is not None and link.name not in followers
    ]


def interfaces(component, kind):
    """Return the names of the interfaces of a joint or sensor."""
    return [x.get("name") for x in component.findall(f"{kind}_interface")]


def params(element):
    """Return the parameters below an element, as text by name."""
    return {x.get("name"): x.text for x in element.findall("param")}


def complaints(robot):
    """Return the errors that ros2_control would report about the blocks of a URDF."""
    found = []
    joints = {x.get("name"): x for x in robot.findall("joint")}
    for block in robot.findall("ros2_control"):
        if block.get("type") != "system" or not NODE_NAME.fullmatch(block.get("name")):
            found.append("no system with the name of a node")
        if not (block.findtext("hardware/plugin") or "").strip():
            found.append("no plugin")
        found += [f"tag {x.tag}" for x in block if x.tag not in IN_BLOCK]
        found += [
            f"param of {x.tag}" for x in block.iter() for p in x.findall("param") if not p.text
        ]
        listed = [x.get("name") for x in block.findall("joint")]
        if len(set(listed)) < len(listed):
            found.append("a joint twice")
        for part in block.findall("joint"):
            found += _of_joint(part, joints.get(part.get("name")), listed)
    return found


def _of_joint(part, joint, listed):
    name = part.get("name")
    if joint is None:
        return [f"{name} is no joint of the URDF"]
    found = [] if joint.get("type") != "fixed" else [f"{name} is fixed"]
    mimic = joint.find("mimic")
    if mimic is not None and part.get("mimic") != "false":
        if interfaces(part, "command"):
            found.append(f"{name} follows and is commanded")
        if mimic.get("joint") not in listed:
            found.append(f"{name} follows a joint that is not there")
    return found


def text_of(body, **options):
    return body_to_urdf(body, diagnostics=silent(), options=UrdfOptions(**options))
