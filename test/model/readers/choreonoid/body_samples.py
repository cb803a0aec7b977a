"""Tiny model files around one node, and values for each of its keys that tell two bodies apart."""

from typing import NamedTuple

import pytest

from hrp_model.readers.choreonoid.scope import word_set

MASS = "mass: 1, inertia: [1, 0, 0, 1, 0, 1]"
BOX = "{type: Shape, geometry: {type: Box}}"
BALL = "{type: Shape, geometry: {type: Sphere}}"
TRIANGLE = "vertices: [0,0,0, 1,0,0, 0,1,0]"


class Context(NamedTuple):
    """Where a node stands.

    Attributes:
        file: A model with KEYS where the node's keys go.
        defaults: Keys that the node needs, or that give others something to work on.
        part: A file ``part.scen`` that the model names; KEYS may be there instead.
    """

    file: str
    defaults: dict[str, str]
    part: str = "{format: ChoreonoidScene, format_version: 1.0, scene: []}"


def body(links, more=""):
    return f"{{format: ChoreonoidBody, format_version: 1.0, {more} links: [{links}]}}"


def element(node="{KEYS}"):
    """Return a model whose only link carries one node."""
    return body(f"{{name: A, elements: [{node}]}}")


def typed(kind, defaults=None):
    return Context(element(f"{{type: {kind}, KEYS}}"), defaults or {})


def geometry(kind, defaults=None):
    return Context(element(f"{{type: Shape, geometry: {{type: {kind}, KEYS}}}}"), defaults or {})


def looks(keys):
    return element(f"{{type: Shape, geometry: {{type: Box}}, appearance: {{{keys}}}}}")


ANCHORS = "x: &X {translation: [0, 0, 1]}, y: &Y {translation: [0, 1, 0]},"
CHAIN = "{name: R}, {name: A, parent: R}, {name: B, parent: A}, {name: C, parent: B}"
LINK = {"name": "L", "parent": "R", "joint_type": "revolute", "mass": "1"}
LINK["inertia"] = "[1, 0, 0, 1, 0, 1]"
TRACK = LINK | {"num_joints": "3", "joint_offset": "[0.1, 0, 0]", "joint_range": "[-10, 10]"}
RESOURCE = {"uri": "part.wrl", "node": "HAND"}
GRID = {"x_dimension": "2", "z_dimension": "2", "height": "[0, 0, 0, 1]"}
DEVICES = (
    "AccelerationSensor", "RateGyroSensor", "IMU", "ForceSensor", "Camera", "RangeSensor",
    "SpotLight", "PointLight", "DirectionalLight", "Holder", "Attachment", "Conveyor",
)  # fmt: skip
SWEEP = {"cross_section": "[1,1, -1,1, -1,-1, 1,-1, 1,1]", "spine": "[0,0,0, 0,1,0]"}
MESH = {"vertices": "[0,0,0, 1,0,0, 0,1,0, 0,0,1]", "faces": "[0,1,2, 0,1,3]"}
ATTRIBUTES = {"normals": "[0,0,1, 0,1,0]", "normal_indices": "[0,0,0, 1,1,1]"}
ATTRIBUTES |= {"tex_coords": "[0,0, 1,0, 0,1, 1,1]", "tex_coord_indices": "[0,1,2, 0,1,3]"}
POLYGONS = {"faces": "[0,1,2,-1, 0,1,3,-1]", "normal_indices": "[0,0,0,-1, 1,1,1,-1]"}
POLYGONS |= {"tex_coord_indices": "[0,1,2,-1, 0,1,3,-1]"}

CONTEXTS = {
    "Model file": Context(
        f"{{{ANCHORS} KEYS}}",
        {
            "format": "ChoreonoidBody",
            "format_version": "1.0",
            "links": f"[{CHAIN.replace('R}', 'R, rotation: [0, 0, 1, 1]}', 1)}]",
        },
    ),
    "Wrapper file": Context("{KEYS}", {"model_file": "sub.body"}),
    "Wrapper geometry": Context("{model_file: sub.body, geometry: {KEYS}}", {}),
    "Scene file": Context(
        element("{type: Resource, uri: part.scen}"),
        {"format": "ChoreonoidScene", "format_version": "1.0", "scene": f"[{BOX}]"},
        "{KEYS}",
    ),
    "Scene Transform": Context(
        element("{type: Resource, uri: part.scen}"),
        {"elements": f"[{BOX}]", "scale": "[1, 2, 3]"},
        "{format_version: 1.0, scene: [{type: Transform, KEYS}]}",
    ),
    "Link": Context(body(f"{CHAIN}, {{KEYS}}", ANCHORS), LINK),
    "SubBody": Context(
        body(f"{CHAIN}, {{type: SubBody, KEYS}}", ANCHORS),
        {"uri": "sub.body", "parent": "R", "joint_type": "revolute"},
    ),
    "ContinuousTrack": Context(body(f"{CHAIN}, {{type: ContinuousTrack, KEYS}}", ANCHORS), TRACK),
    "ExtraJoint": Context(
        body(CHAIN, "extra_joints: [{KEYS}],"),
        {"link1_name": "R", "link2_name": "C", "joint_type": "hinge"},
    ),
    "CollisionRule": Context(
        body(CHAIN, "collision_detection_rules: [{disabled_link_chain_level: 1}, {KEYS}],"), {}
    ),
    "CollisionDetection": Context(body(CHAIN, "collisionDetection: {KEYS},"), {}),
    "CollisionGroup": Context(
        body(CHAIN, "collisionDetection: {excludeLinkGroups: [{KEYS}]},"), {}
    ),
    "RigidBody": typed("RigidBody", {"mass": "1"}),
    "Transform": typed("Transform", {"elements": f"[{BOX}]"}),
    "Group": typed("Group", {"elements": f"[{BOX}]"}),
    "Visual": typed("Visual", {"elements": f"[{BOX}]"}),
    "Collision": typed("Collision", {"elements": f"[{BOX}]"}),
    "Shape": typed("Shape", {"geometry": "{type: Box}"}),
    "Resource": typed("Resource", RESOURCE),
    "Metadata": Context(element("{type: Resource, uri: part.wrl, metadata: {KEYS}}"), {}),
    "Box": geometry("Box"),
    "Sphere": geometry("Sphere"),
    "Cylinder": geometry("Cylinder"),
    "Capsule": geometry("Capsule"),
    "Cone": geometry("Cone"),
    "Extrusion": geometry("Extrusion", SWEEP),
    "ElevationGrid": geometry("ElevationGrid", GRID),
    "TriangleMesh": geometry("TriangleMesh", MESH | ATTRIBUTES),
    "IndexedFaceSet": geometry("IndexedFaceSet", MESH | ATTRIBUTES | POLYGONS),
    "Appearance": Context(looks("KEYS"), {"texture": "{uri: wood.png}"}),
    "Material": Context(looks("material: {KEYS}"), {}),
    "Texture": Context(looks("texture: {KEYS}"), {"uri": "wood.png"}),
    "TextureTransform": Context(looks("texture: {uri: wood.png}, texture_transform: {KEYS}"), {}),
    **{kind: typed(kind, {"format": "DEPTH"} if kind == "Camera" else {}) for kind in DEVICES},
}

FILES = {
    "part.wrl": """#VRML V2.0 utf8
DEF ARM Transform { translation 1 0 0 children [
  Shape { geometry Box { size 1 2 3 } }
  DEF HAND Group { children Shape { geometry IndexedFaceSet {
    coord Coordinate { point [ 0 0 0, 1 0 0, 0 1 0 ] } coordIndex [ 0 1 2 -1 ] } } }
] }
""",
    "sub.body": body(
        f"{{name: BASE, joint_type: revolute, {MASS}, elements: [{BALL}]}},"
        f" {{name: TIP, parent: BASE, joint_type: revolute, joint_id: 1, {MASS},"
        " elements: [{type: ForceSensor, name: F}]}",
        "name: SUB,",
    ),
    "lib.yaml": f"[{BALL}]",
    "wood.png": "",
    "oak.png": "",
}
FILES["sub2.body"] = FILES["sub.body"].replace("TIP", "TOP")
FILES["part2.wrl"] = FILES["part.wrl"].replace("1 2 3", "3 2 1").replace("0 1 0 ]", "0 2 0 ]")

_VECTORS = ("[1, 0, 0]", "[0, 1, 0]")
_TURNS = ("[0, 0, 1, 30]", "[1, 0, 0, 30]")
_NUMBERS = ("0.25", "0.5")
_COUNTS = ("4", "8")
_BOOLEANS = ("true", "false")
_COLORS = ("[1, 0, 0]", "[0, 1, 0]")
_PAIRS = ("[2, 3]", "[3, 2]")
_LIMITS = ("[1, 2, 3]", "[3, 2, 1]")
_NAMES = ("one", "two")
_ELEMENTS = (f"[{BOX}]", f"[{BALL}]")

_BY_KEY = {
    **dict.fromkeys(
        word_set("""
        translation center_of_mass joint_axis joint_offset axis offset_translation direction
        translation_in_link1 translation_in_link2 attenuation"""),
        _VECTORS,
    ),
    **dict.fromkeys(
        word_set("rotation rotation_in_link1 rotation_in_link2 optical_frame_rotation"), _TURNS
    ),
    **dict.fromkeys(
        word_set("""
        mass joint_angle joint_displacement max_joint_velocity max_joint_effort rotor_inertia
        gear_ratio joint_axis_inertia torque_const encoder_pulse jointViscosity jointFriction
        jointStaticFriction jointStiffness radius height x_spacing z_spacing ambient
        specular_exponent shininess transparency field_of_view near_clip_distance intensity
        far_clip_distance frame_rate min_distance max_distance yaw_range yaw_step pitch_step
        scan_rate detection_rate error_deviation beam_width cut_off_angle cut_off_exponent
        crease_angle pitch_range std_dev salt_amount salt_chance pepper_amount pepper_chance
        coef_b coef_d mosaic_chance max_hold_distance speed"""),
        _NUMBERS,
    ),
    **dict.fromkeys(word_set("joint_id id joint_id_offset division_number width kernel"), _COUNTS),
    **dict.fromkeys(
        word_set("""
        on top bottom begin_cap end_cap ccw solid repeat repeat_s repeat_t is_optional
        is_meta_scene remove_redundant_vertices apply_camera_effect"""),
        _BOOLEANS,
    ),
    **dict.fromkeys(word_set("diffuse emissive specular color hsv rgb"), _COLORS),
    **dict.fromkeys(
        word_set("max_acceleration max_angular_velocity max_force max_torque scale size"), _LIMITS
    ),
    **dict.fromkeys(
        word_set("name joint_name material prefix suffix device_prefix category hold_target_name"),
        _NAMES,
    ),
    **dict.fromkeys(word_set("elements scene"), _ELEMENTS),
    **dict.fromkeys(word_set("joint_range joint_velocity_range"), ("[-1, 2]", "[-2, 1]")),
    "center": _PAIRS,
    "type": (),
    "parent": ("R", "A"),
    "joint_type": ("revolute", "prismatic"),
    "inertia": ("[1, 0, 0, 1, 0, 1]", "[2, 0, 0, 2, 0, 2]"),
    "momentsOfInertia": ("[1, 0, 0, 0, 1, 0, 0, 0, 1]",),
    "import": ("*X", "*Y"),
    "actuation_mode": ("joint_effort", "jointSurfaceVelocity"),
    "format": ("COLOR", "COLOR_DEPTH"),
    "format_version": ("1.0",),
    "angle_unit": ("degree", "radian"),
    "root_link": ("R",),
    "links": (f"[{CHAIN}]", "[{name: R}]"),
    "extra_joints": tuple(
        f"[{{link1_name: R, link2_name: C, joint_type: {kind}}}]" for kind in ("ball", "piston")
    ),
    "collision_detection_rules": ("[]", "[{disabled_links: all}]"),
    "collisionDetection": ("{excludeTreeDepth: 1}", "{excludeTreeDepth: 2}"),
    "model_file": ("sub.body", "sub2.body"),
    "link_info": ("{BASE: {x: 1}}",),
    "geometry": ("{type: Box}", "{type: Sphere}"),
    "uri": ("part.wrl", "part2.wrl"),
    "numJoints": ("3", "4"),
    "initialJointAngles": ("[1, 2]", "[2, 1]"),
    "link1_name": ("R", "A"),
    "link2_name": ("B", "C"),
    "disabled_link_chain_level": ("2", "3"),
    "disabled_links": ("[C]", "[R]"),
    "enabled_links": ("[C]", "[R]"),
    "disabled_link_group": ("[R, C]", "[R, B]"),
    "enabled_link_group": ("[R, A]", "[A, B]"),
    "excludeTreeDepth": ("1", "2"),
    "excludeLinks": ("[C]", "[R]"),
    "excludeLinkGroups": ("[{links: [R, C]}]", "[{links: [R, B]}]"),
    "shape": (BOX.replace("type: Shape, ", ""), BALL.replace("type: Shape, ", "")),
    "resource": ("{uri: part.wrl}", "{uri: part2.wrl}"),
    "appearance": ("{material: {diffuse: [1, 0, 0]}}", "{material: {diffuse: [0, 1, 0]}}"),
    "node": ("ARM", "HAND"),
    "metadata": ("millimeter", "inch"),
    "exclude": ("true", "false"),
    "length_unit": ("millimeter", "inch"),
    "upper_axis": ("Y", "Z"),
    "texture": ("{uri: wood.png}", "{uri: oak.png}"),
    "texture_transform": ("{rotation: 10}", "{rotation: 20}"),
    "lens_type": ("FISHEYE", "NORMAL"),
    "optical_frame": ("cv", "gl"),
    "extra_division_number": _COUNTS,
    "extra_division_mode": ("x", "preferred"),
    "delay": _NUMBERS,
    "categories": ("[one]", "[one, two]"),
    "hold_condition": ("collision", "name"),
    "conveyor_type": ("rotary", "linear"),
    "standard_pose": ("[1, 2]",),
    "link_group": ("[1, 2]",),
    "foot_links": ("[{link: R}]",),
    "scale_orientation": _TURNS,
}
_BY_NODE = {
    ("Model file", "format"): ("ChoreonoidBody",),
    ("Model file", "collisionDetection"): ("{excludeTreeDepth: 1}", "{excludeTreeDepth: 2}"),
    ("Scene file", "format"): ("ChoreonoidScene",),
    ("Scene file", "angle_unit"): ("degree",),
    ("ExtraJoint", "joint_type"): ("ball", "piston"),
    ("Appearance", "material"): ("{diffuse: [1, 0, 0]}", "{diffuse: [0, 1, 0]}"),
    ("SubBody", "uri"): ("sub.body", "sub2.body"),
    ("ContinuousTrack", "joint_type"): ("revolute", "prismatic"),
    ("Wrapper file", "geometry"): ("{division_number: 7}",),
    ("Camera", "height"): _COUNTS,
    ("ElevationGrid", "x_dimension"): ("2",),
    ("ElevationGrid", "z_dimension"): ("2",),
    ("ElevationGrid", "height"): ("[0, 0, 0, 1]", "[0, 0, 0, 2]"),
    ("ElevationGrid", "tex_coord"): ("[0,0, 1,0, 0,1, 1,1]", "[0,0, 2,0, 0,2, 2,2]"),
    ("Extrusion", "cross_section"): ("[1,1, -1,1, -1,-1]", "[2,1, -1,1, -1,-1]"),
    ("Extrusion", "spine"): ("[0,0,0, 0,1,0]", "[0,0,0, 0,2,0]"),
    ("Extrusion", "scale"): ("[1, 2]", "[2, 1]"),
    ("Extrusion", "orientation"): ("[0, 1, 0, 30]", "[0, 1, 0, 60]"),
    ("TextureTransform", "scale"): _PAIRS,
    ("TextureTransform", "translation"): _PAIRS,
    ("TextureTransform", "rotation"): ("10", "20"),
    ("Texture", "uri"): ("wood.png", "oak.png"),
    ("CollisionGroup", "links"): ("[R, C]", "[R, B]"),
    **dict.fromkeys(
        [
            ("RangeSensor", f"{end}_{axis}_angle")
            for end in ("min", "max")
            for axis in ("yaw", "pitch")
        ],
        ("-5", "5"),
    ),
    ("RangeSensor", "yaw_samples"): _COUNTS,
    ("RangeSensor", "pitch_samples"): _COUNTS,
    **{
        (kind, key): values
        for kind in ("TriangleMesh", "IndexedFaceSet")
        for key, values in {
            "vertices": (MESH["vertices"], MESH["vertices"].replace("1", "2")),
            "normals": ("[0,0,1, 0,1,0]", "[0,1,0, 0,0,1]"),
            "tex_coords": ("[0,0, 1,0, 0,1, 1,1]", "[0,0, 2,0, 0,2, 2,2]"),
        }.items()
    },
    ("TriangleMesh", "faces"): ("[0,1,2, 0,1,3]", "[0,2,1, 0,1,3]"),
    ("TriangleMesh", "normal_indices"): ("[0,0,0, 1,1,1]", "[1,1,1, 0,0,0]"),
    ("TriangleMesh", "tex_coord_indices"): ("[0,1,2, 0,1,3]", "[1,0,2, 0,1,3]"),
    ("IndexedFaceSet", "faces"): ("[0,1,2,-1, 0,1,3,-1]", "[0,2,1,-1, 0,1,3,-1]"),
    ("IndexedFaceSet", "normal_indices"): ("[0,0,0,-1, 1,1,1,-1]", "[1,1,1,-1, 0,0,0,-1]"),
    ("IndexedFaceSet", "tex_coord_indices"): ("[0,1,2,-1, 0,1,3,-1]", "[1,0,2,-1, 0,1,3,-1]"),
}
# What a key needs beside it, or does not go with.
BESIDE = {
    ("RangeSensor", "min_yaw_angle"): {"max_yaw_angle": "10"},
    ("RangeSensor", "max_yaw_angle"): {"min_yaw_angle": "-10"},
    ("RangeSensor", "min_pitch_angle"): {"max_pitch_angle": "10"},
    ("RangeSensor", "max_pitch_angle"): {"min_pitch_angle": "-10"},
    ("RangeSensor", "pitch_samples"): {"pitch_range": "10"},
    **{
        ("RigidBody", key): {"center_of_mass": "[1, 2, 3]", "inertia": "[1, 0, 0, 2, 0, 3]"}
        for key in ("rotation", "scale")
    },
    **{(kind, "scale"): {"elements": f"[{BOX}]"} for kind in DEVICES},
    **{
        (node, key): {more: value}
        for node in ("Link", "SubBody", "ContinuousTrack")
        for key, more, value in (
            ("gear_ratio", "rotor_inertia", "2"),
            ("center_of_mass", "mass", "1"),
        )
    },
}


def samples(node, key):
    """Return the values to try for a key of a node."""
    values = _BY_NODE.get((node, key), _BY_KEY.get(key))
    if values is None:
        pytest.fail(f"no sample values for '{key}' of {node}")
    return values


def written(node, keys):
    """Return the files of a model with these keys (text by name) on a node."""
    context = CONTEXTS[node]
    text = ", ".join(f"{key}: {value}" for key, value in keys.items() if value)
    return FILES | {
        "m.body": context.file.replace("KEYS", text),
        "part.scen": context.part.replace("KEYS", text),
    }
