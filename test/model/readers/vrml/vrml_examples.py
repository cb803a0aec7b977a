"""For each node a model that holds it, and for each field a value that must matter."""

BOX = "Shape { geometry Box { } }"
BALL = "Shape { geometry Sphere { } }"
SEGMENT = "DEF S Segment { mass 1 }"
_POINTS = "point [ 0 0 0, 1 0 0, 0 1 0, 1 1 0.5 ]"
_COLOR = "Color { color [ 1 0 0, 0 1 0, 0 0 1, 1 1 1 ] }"
_NORMAL = "Normal { vector [ 0 0 1, 0 1 0, 1 0 0, 0 0 -1 ] }"
_TEX_COORD = "TextureCoordinate { point [ 0 0, 1 0, 0 1, 1 1 ] }"

# "@" is where the rest goes.
_ROBOT = 'DEF R Humanoid { humanoidBody DEF B Joint { jointType "free" children [ @ ] } }'
_PART = _ROBOT.replace("@", "DEF S Segment { children [ @ ] }")
_SHAPE = _PART.replace("@", "Shape { geometry @ }")
_MESH = _SHAPE.replace(
    "@", f"IndexedFaceSet {{ coordIndex [ 0 1 2 ] coord Coordinate {{ {_POINTS} }} @ }}"
)
_LOOKS = _PART.replace("@", "Shape { geometry Box { } appearance @ }")
_TEXTURE = _LOOKS.replace("@", "Appearance { texture @ }")
_DEVICE = _ROBOT.replace("@", "DEF D @")

_GEOMETRIES = "Box Sphere Cylinder Cone Plane IndexedFaceSet IndexedLineSet PointSet ElevationGrid"
_DEVICES = (
    "AccelerationSensor Gyro GyroSensor ForceSensor TorqueSensor VisionSensor RangeSensor "
    "PressureSensor"
)
_JOINT_CHILDREN = "PhotoInterrupter SpotLightDevice HardwareComponent CylinderSensorX"

_CONTEXTS = {
    **dict.fromkeys([*_GEOMETRIES.split(), "Extrusion", "Text"], _SHAPE),
    **dict.fromkeys([*_DEVICES.split(), *_JOINT_CHILDREN.split()], _DEVICE),
    **dict.fromkeys(("CylinderSensorY", "CylinderSensorZ"), _DEVICE),
    **dict.fromkeys(("ImageTexture", "PixelTexture", "MovieTexture"), _TEXTURE),
    "Humanoid": "@",
    "Joint": _ROBOT.replace("@", "DEF J @"),
    "Segment": _ROBOT.replace("@", "DEF S @"),
    "ExtraJoint": _ROBOT.replace("@", 'DEF J Joint { jointType "fixed" }') + " DEF E @",
    "Viewpoint": _ROBOT.replace("humanoidBody", "viewpoints [ @ ] humanoidBody").replace(
        "children [ @ ] ", ""
    ),
    "Appearance": _LOOKS,
    "Material": _LOOKS.replace("@", "Appearance { material @ }"),
    "TextureTransform": _TEXTURE.replace(
        "@", "PixelTexture { image 1 1 3 0xFF0000 } textureTransform @"
    ),
    "FontStyle": _SHAPE.replace("@", "Text { fontStyle @ }"),
    "Coordinate": _SHAPE.replace("@", "IndexedFaceSet { coordIndex [ 0 1 2 ] coord @ }"),
    "Normal": _MESH.replace("@", "normal @"),
    "Color": _MESH.replace("@", "color @"),
    "TextureCoordinate": _MESH.replace("@", "texCoord @"),
    "AudioClip": _PART.replace("@", "Sound { source @ }"),
}

# What a node needs so that its other fields can matter.
_BASES = {
    **{name: {"children": BOX} for name in ("Group", "Anchor", "Billboard", "Collision")},
    "Transform": {"children": BOX, "rotation": "1 0 0 1", "scale": "1 2 3"},
    "LOD": {"level": BOX},
    "Switch": {"choice": f"[ {BOX} {BALL} ]", "whichChoice": "0"},
    "Shape": {"geometry": "Box { }"},
    "ImageTexture": {"url": '"parts/dot.png"'},
    "PixelTexture": {"image": "1 1 3 0xFF0000"},
    "IndexedFaceSet": {
        "coord": f"Coordinate {{ {_POINTS} }}",
        "coordIndex": "[ 0 1 2 -1 1 3 2 -1 ]",
        "color": _COLOR,
        "normal": _NORMAL,
        "texCoord": _TEX_COORD,
    },
    "ElevationGrid": {
        "xDimension": "2",
        "zDimension": "2",
        "height": "[ 0 0 0 1 ]",
        "color": _COLOR,
        "normal": _NORMAL,
        "texCoord": _TEX_COORD,
    },
    "Humanoid": {"humanoidBody": 'DEF B Joint { jointType "fixed" }'},
    "Joint": {"jointType": '"rotate"', "rotorInertia": "1", "climit": "1"},
    "Segment": {"mass": "1"},
    "ExtraJoint": {"link1Name": '"B"', "link2Name": '"J"'},
}
_BARE_GRID = dict.fromkeys(("color", "normal", "texCoord"), "NULL")
_INDEX = "[ 3 2 1 -1 0 1 2 -1 ]"

# Values for fields where the one that goes with the type would not do.
_VALUES = {
    "Inline": {"url": '"parts/tyre.wrl"'},
    "LOD": {"level": f"[ {BALL} {BOX} ]"},
    "Switch": {"choice": BALL, "whichChoice": "1"},
    "Shape": {
        "geometry": "Sphere { }",
        "appearance": "Appearance { material Material { diffuseColor 1 0 0 } }",
    },
    "Appearance": {
        "material": "Material { diffuseColor 1 0 0 }",
        "texture": "PixelTexture { image 1 1 3 0xFF0000 }",
        "textureTransform": {
            "texture": "PixelTexture { image 1 1 3 0xFF0000 }",
            "textureTransform": "TextureTransform { scale 2 2 }",
        },
    },
    "ImageTexture": {"url": '"parts/dot.png"'},
    "PixelTexture": {"image": "1 2 1 0x10 0x20"},
    "IndexedFaceSet": {
        "coord": "Coordinate { point [ 0 0 0, 2 0 0, 0 2 0, 2 2 0 ] }",
        "coordIndex": "[ 0 1 3 -1 0 3 2 -1 ]",
        "color": "Color { color [ 0 0 0, 1 1 1, 0 0 0, 1 1 1 ] }",
        "normal": "Normal { vector [ 0 0 1, 0 0 1, 0 0 1, 0 0 1 ] }",
        "texCoord": "TextureCoordinate { point [ 0 0, 2 0, 0 2, 2 2 ] }",
        "colorIndex": _INDEX,
        "normalIndex": _INDEX,
        "texCoordIndex": _INDEX,
    },
    "ElevationGrid": {
        "xDimension": {"xDimension": "3", "height": "[ 0 0 0 1 1 1 ]", **_BARE_GRID},
        "zDimension": {"zDimension": "3", "height": "[ 0 0 0 1 1 1 ]", **_BARE_GRID},
        "height": "[ 0 1 2 3 ]",
        "color": "Color { color [ 0 0 0, 1 1 1, 0 0 0, 1 1 1 ] }",
        "normal": "Normal { vector [ 0 0 1, 0 0 1, 0 0 1, 0 0 1 ] }",
        "texCoord": "TextureCoordinate { point [ 0 0, 2 0, 0 2, 2 2 ] }",
    },
    "Extrusion": {
        "crossSection": "[ 1 1, 1 -1, -1 -1, 1 1 ]",
        "spine": "[ 0 0 0, 0 2 0, 1 3 0 ]",
    },
    "Coordinate": {"point": "[ 0 0 0, 2 0 0, 0 2 0 ]"},
    "Normal": {"vector": "[ 0 0 1, 0 0 1, 0 0 1, 0 0 1 ]"},
    "Color": {"color": "[ 0 0 0, 1 1 1, 0 0 0, 1 1 1 ]"},
    "TextureCoordinate": {"point": "[ 0 0, 2 0, 0 2, 2 2 ]"},
    "Humanoid": {
        "humanoidBody": 'DEF C Joint { jointType "fixed" }',
        "viewpoints": "Viewpoint { }",
    },
    "Joint": {"children": SEGMENT, "jointType": '"slide"', "jointAxis": "1 0 0"},
    "Segment": {"momentsOfInertia": "[ 1 0 0 0 2 0 0 0 3 ]"},
    "ExtraJoint": {"link1Name": '"J"', "link2Name": '"B"', "jointType": '"xy"'},
    "VisionSensor": {"type": '"COLOR"'},
    "CylinderSensorX": {"children": SEGMENT},
    "CylinderSensorY": {"children": SEGMENT},
    "CylinderSensorZ": {"children": SEGMENT},
}
_BY_TYPE = {
    "SFBool": ("TRUE", "FALSE"),
    "SFInt32": ("1",),
    "SFFloat": ("0.5", "0.25"),
    "SFTime": ("5",),
    "SFString": ('"X"',),
    "SFVec2f": ("2 3",),
    "SFVec3f": ("1 2 3",),
    "SFColor": (".1 .2 .3",),
    "SFRotation": ("0 0 1 1",),
    "SFNode": (BALL,),
    "MFNode": (BALL,),
    "MFInt32": ("[ 0 1 2 ]",),
    "MFFloat": ("[ 0.5 ]",),
    "MFString": ('[ "a" ]',),
    "MFVec2f": ("[ 2 3 ]",),
    "MFVec3f": ("[ 1 2 3 ]",),
    "MFColor": ("[ .1 .2 .3 ]",),
    "MFRotation": ("[ 0 1 0 1 ]",),
}


def models(node, field, type_name, default):
    """Return the text of a model with this node, and of the same with its field written.

    Args:
        node: Name of the node's type.
        field: Name of the field.
        type_name: The field's type, as in "SFFloat".
        default: What the field is where it is not written.
    """
    base = dict(_BASES.get(node, {}))
    value = _VALUES.get(node, {}).get(field) or _other_than(default, _BY_TYPE[type_name])
    changed = {**base, **(value if isinstance(value, dict) else {field: value})}
    if changed == base:
        del base[field]
    return _model(node, base), _model(node, changed)


def _other_than(default, values):
    words = {True: "TRUE", False: "FALSE"}
    usual = words[default] if isinstance(default, bool) else str(default)
    return next(value for value in values if value != usual)


def _model(node, fields):
    written = " ".join(f"{name} {value}" for name, value in fields.items())
    return _CONTEXTS.get(node, _PART).replace("@", f"{node} {{ {written} }}")
