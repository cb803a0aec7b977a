"""Absurd numbers, and absurdly many things, are read or refused within bounds."""

import pytest
from bounded_reading import read_or_refused
from each_case import mostly_slow
from hostile import BODY, LINK, SPHERE, TRIANGLES, WRL, body_link, write

# --- numbers

GRID = "Shape { geometry ElevationGrid { xDimension %s zDimension %s height [ 0 0 0 0 ] } }"
PIXELS = "Shape { appearance Appearance { texture PixelTexture { image %s } } geometry Box { } }"
JOINT = "DEF R Humanoid { humanoidBody DEF J Joint { %s children Segment { %s } } }"
NUMBERS_WRL = {
    "large indices": TRIANGLES % "coordIndex [ 0 1 99999999999999999999 -1 0 1 2147483647 -1 ]",
    "negative indices": TRIANGLES % "coordIndex [ 0 1 -2147483648 0 1 -99999999999 0 1 2 ]",
    "an index too large for a double": TRIANGLES % f"coordIndex [ 0 1 {'9' * 5000} -1 ]",
    "indices of normals": TRIANGLES
    % "normal Normal { vector [ 0 0 1 ] } normalIndex [ 2147483647 -5 9 ] coordIndex [ 0 1 2 -1 ]",
    "no numbers": TRIANGLES.replace("0 1 0 ]", "nan inf -inf ]") % "coordIndex [ 0 1 2 -1 ]",
    "no numbers and negative indices": TRIANGLES.replace("0 1 0 ]", "nan 0 0 ]")
    % "coordIndex [ 0 1 2 -2147483648 0 1 2 -7 ]",
    "large points": TRIANGLES.replace("0 1 0 ]", "1e308 -1e308 1e308 ]") % "coordIndex [ 0 1 2 ]",
    "many corners": TRIANGLES % f"coordIndex [ {'0 1 2 ' * 100_000} ]",
    "a large grid": GRID % (10**6, 10**6),
    "a larger grid": GRID % (2**31 - 1, 2**31 - 1),
    "a grid below zero": GRID % (-2, -2),
    "an empty grid": GRID % (0, 10**9),
    "a large image": PIXELS % "1000000 1000000 3 0xFF 0xFF",
    "an image below zero": PIXELS % "-1 -1 3",
    "an image of many components": PIXELS % "1 1 1000000000 0xFF",
    "an image of nothing": PIXELS % "0 1000000000 4",
    "a large cross section": "Shape { geometry Extrusion { crossSection [ "
    + "1 2 3 4 " * 5000
    + "] spine [ "
    + "0 1 2 1 2 3 " * 5000
    + "] } }",
    "an extrusion of no numbers": "Shape { geometry Extrusion { crossSection [ nan 0 inf 1 1 1 ]"
    " spine [ 0 0 0 nan inf 1 0 1e308 -1e308 ] scale [ nan inf ] orientation [ inf 0 0 nan ] } }",
    "an extrusion on one point": "Shape { geometry Extrusion { spine [ 0 0 0 0 0 0 0 0 0 ] } }",
    "sizes": "Shape { geometry Box { size 1e308 inf nan } } "
    "Shape { geometry Sphere { radius inf } } Shape { geometry Cone { height -1 } } "
    "Shape { geometry Cylinder { radius nan height 1e400 } }",
    "a sensor in large scales": JOINT
    % (
        'jointType "free"',
        "children Transform { scale 1e200 1 1 children Transform { scale 1e200 1 0 children "
        "AccelerationSensor { sensorId 0 } } }",
    ),
    "places": "Transform { translation nan inf 1e308 rotation inf nan 0 1e308 scale 0 nan 1e308 "
    f"scaleOrientation 0 0 0 9 center 1e308 1e308 inf children {SPHERE} }}",
    "large scales": "Transform { scale 1e200 1e200 1e200 children Transform { scale 1e200 1 1 "
    f"children {SPHERE} }} }}",
    "a joint": JOINT
    % (
        'jointType "rotate" jointId 2147483647 jointAxis nan inf 0 llimit [ nan ] ulimit [ -inf ]'
        " gearRatio 1e300 rotorInertia 1e300 torqueConst inf climit [ 1e308 ] uvlimit nan",
        "mass nan centerOfMass inf 0 nan momentsOfInertia [ nan inf 1e308 0 0 0 0 0 0 ]",
    ),
    "large joint ids": JOINT % ('jointType "rotate" jointId 99999999999999999999', ""),
    "a large mass": JOINT
    % (
        'jointType "rotate" jointId 1000000000',
        "mass 1e308 centerOfMass 1e308 1e308 0 momentsOfInertia [ 1e308 0 0 0 1e308 0 0 0 1e308 ]",
    ),
    "a camera": JOINT
    % (
        'jointType "free" jointId 0',
        "children VisionSensor { sensorId 2147483647 width 2147483647 height -5 fieldOfView nan "
        'frameRate 1e308 frontClipDistance inf type "COLOR" }',
    ),
    "a choice": f"Switch {{ whichChoice 2147483647 choice {SPHERE} }} LOD {{ range [ nan ] }}",
    "a long number": f"Transform {{ translation {'1' * 100_000} 0 0.{'3' * 100_000} }}",
    "a long hexadecimal number": f"Transform {{ translation 0x{'F' * 100_000} 0 0 }}",
    "exponents": "Transform { translation 1e99999999999999 1e-99999999999999 -1e+9999999999 }",
}


@pytest.mark.parametrize("name", mostly_slow(NUMBERS_WRL, 12))
def test_any_numbers_in_vrml_are_read_or_refused(tmp_path, name):
    read_or_refused(write(tmp_path, a_wrl=WRL + NUMBERS_WRL[name]))


def body_shape(keys):
    return LINK % f"{{ type: Shape, geometry: {{ {keys} }} }}"


NUMBERS_BODY = {
    **{
        f"divisions of a {kind}": body_shape(
            f"type: {kind}, radius: 1, division_number: 1000000000"
        )
        for kind in ("Sphere", "Cylinder", "Capsule", "Cone")
    },
    "divisions below zero": body_shape("type: Sphere, division_number: -1000000000"),
    "no divisions": body_shape("type: Sphere, division_number: 0"),
    "a large grid": body_shape(
        "type: ElevationGrid, x_dimension: 1000000, z_dimension: 1000000, height: [ 0 ]"
    ),
    "an empty grid": body_shape("type: ElevationGrid, x_dimension: 0, z_dimension: 1000000000000"),
    "a large extrusion": body_shape(
        f"type: Extrusion, cross_section: [ {'1, 2, 3, 4, ' * 5000} ], "
        f"spine: [ {'0, 1, 2, 1, 2, 3, ' * 5000} ]"
    ),
    "large indices": body_shape(
        "type: IndexedFaceSet, vertices: [ 0, 0, 0, 1, 0, 0, 0, 1, 0 ], "
        "faces: [ 0, 1, 99999999999999999999, -1, 0, 1, 1e300, -1, 0, 1, 2147483648 ]"
    ),
    "indices with fractions": body_shape(
        "type: TriangleMesh, vertices: [ 0, 0, 0, 1, 0, 0, 0, 1, 0 ], faces: [ 0, 1.5, -7 ]"
    ),
    "sizes": body_shape("type: Box, size: [ .nan, inf, 1e999 ]"),
    "large numbers": body_shape("type: Sphere, radius: 1e308"),
    "a large id": body_link("joint_id: 99999999999999999999, joint_type: revolute"),
    "a large number for an id": body_link("joint_id: 1e300, joint_type: revolute"),
    "an id with many digits": body_link(f"joint_id: {'9' * 10_000}, joint_type: revolute"),
    "a gap of ids": body_link("joint_id: 1000000000, joint_type: revolute"),
    "ranges": body_link(
        "joint_type: revolute, joint_range: [ .nan, inf ], joint_axis: [ inf, 0, 0 ]"
    ),
    "rotor": body_link("joint_type: revolute, gear_ratio: 1e300, rotor_inertia: 1e300"),
    "masses": body_link("mass: 1e308, inertia: [ 1e308, 0, 0, 0, 1e308, 0, 0, 0, 1e308 ]"),
    "the largest inertia": body_link(
        "mass: 1, inertia: [ 1.7e308, 1.7e308, 1e308, 1.7e308, 0, 1 ]"
    ),
    "places": body_link("translation: [ 1e308, 1e308, 1e308 ], rotation: [ 1e308, 1, 1, 1e308 ]"),
    "lists of places": body_link(f"translation: [ {'[ 1e308, 0, 0 ], ' * 1000} ]"),
    "info": body_link(f"x: {'9' * 10_000}, y: 1e999, z: 0x{'F' * 10_000}, w: .nan"),
    "a track": f"{BODY}links: [ {{ name: A }}, {{ type: ContinuousTrack, name: T, parent: A, "
    "numJoints: 1000000000 } ]",
    "offsets": f"{BODY}links: [ {{ name: A }}, {{ type: SubBody, uri: b.body, parent: A, "
    "joint_id_offset: 99999999999999999999 } ]",
    "a camera": LINK % "{ type: Camera, format: COLOR, width: 1e18, height: -1, frame_rate: 1e308, "
    "id: 1000000000000, field_of_view: 1e308 }",
    "a scanner": LINK
    % "{ type: RangeSensor, yaw_range: 1e308, yaw_step: 1e-308, yaw_samples: 1e18, id: 1e9 }",
    "a version": "format: ChoreonoidBody\nformat_version: 1e-400\nlinks: [ { name: A } ]\n",
    "collision levels": f"{BODY}links: [ {{ name: A }} ]\n"
    "collisionDetection: { excludeTreeDepth: 1000000000000 }\n",
}


@pytest.mark.parametrize("name", mostly_slow(NUMBERS_BODY, 12))
def test_any_numbers_in_a_body_are_read_or_refused(tmp_path, name):
    other = f"{BODY}links: [ {{ name: A }}, {{ name: B, parent: A, joint_id: 1 }} ]"
    read_or_refused(write(tmp_path, a_body=NUMBERS_BODY[name], b_body=other))


# --- many things

MANY = 2_000
MANY_BODY = {
    "links": f"{BODY}links:\n  - name: L0\n"
    + "".join(f"  - {{ name: L{i}, parent: L0 }}\n" for i in range(1, MANY)),
    "links of one name": f"{BODY}links:\n" + "  - { name: A, parent: A }\n" * MANY,
    "links without a name": f"{BODY}links:\n" + "  - { parent: A }\n" * MANY,
    "unknown parents": f"{BODY}links:\n  - name: L0\n"
    + "".join(f"  - {{ name: L{i}, parent: M{i} }}\n" for i in range(1, MANY)),
    "unknown keys": f"{BODY}links:\n"
    + "".join(f"  - {{ name: L{i}, parent: L0, jointTyp{i}: x }}\n" for i in range(MANY)),
    "unknown types": LINK % "\n".join(f"{{ type: Camra{i} }}," for i in range(MANY)),
    "duplicate keys": f"{BODY}links: [ {{ name: A }} ]\n" + "x: 1\n" * MANY,
    "unknown aliases": f"{BODY}links: [ {{ name: A }} ]\nx: [ {'*a, ' * MANY} ]\n",
    "merges": f"{BODY}b: &a {{ {', '.join(f'k{i}: 1' for i in range(2000))} }}\nlinks:\n"
    + "".join(f"  - {{ name: L{i}, parent: L0, <<: *a }}\n" for i in range(2000)),
    "pairs that do not collide": f"{BODY}links:\n  - name: L0\n"
    + "".join(f"  - {{ name: L{i}, parent: L{i - 1} }}\n" for i in range(1, MANY))
    + "collisionDetection: { excludeTreeDepth: 1000000 }\n",
    "disabled links": f"{BODY}links:\n  - name: L0\n"
    + "".join(f"  - {{ name: L{i}, parent: L0 }}\n" for i in range(1, MANY))
    + f"collisionDetection: {{ excludeLinks: [ {', '.join(f'L{i}' for i in range(MANY))} ] }}\n",
    "extra joints": f"{BODY}links:\n  - name: L0\n"
    + "".join(f"  - {{ name: L{i}, parent: L0 }}\n" for i in range(1, 1000))
    + "extra_joints:\n"
    + "  - { link1_name: L1, link2_name: L2, joint_type: ball }\n" * 1000,
    "unknown links of extra joints": f"{BODY}links:\n  - name: L0\n"
    + "".join(f"  - {{ name: L{i}, parent: L0 }}\n" for i in range(1, 1000))
    + "extra_joints:\n"
    + "  - { link1_name: M1, link2_name: M2, joint_type: ball }\n" * 1000,
    "devices": LINK % ("{ type: RateGyroSensor, name: G, id: 0 }, " * MANY),
}
MANY_WRL = {
    "joints of one name": "DEF R Humanoid { humanoidBody DEF A Joint { children [ "
    + "DEF A Joint { } " * MANY
    + "] } }",
    "joints": "DEF R Humanoid { humanoidBody DEF A Joint { children [ "
    + " ".join(f"DEF A{i} Joint {{ }}" for i in range(MANY))
    + "] } }",
    "nodes of one name": "DEF A Group { } " * MANY + "USE A",
    "uses of different nodes": "DEF A Group { } DEF A Transform { } " + "USE A " * MANY,
    "unknown nodes": " ".join(f"Shap{i} {{ }}" for i in range(MANY)),
    "unknown fields": f"Group {{ {' '.join(f'childrn{i} 1' for i in range(MANY))} }}",
    "stray characters": "' " * MANY,
    "quotes": '"a" ' * MANY,
    "protos": " ".join(f"PROTO P{i} [ ] {{ Group {{ }} }}" for i in range(MANY)),
    "fields of a proto": f"PROTO P [ {' '.join(f'field SFInt32 f{i} 0' for i in range(MANY))} ] "
    "{ Group { } } " + "P { } " * MANY,
    "missing parts": 'Inline { url "x.wrl" } ' * 1000,
    "commas": "," * 10**6,
    "comments": "#\n" * 10**6,
    "half numbers": "Transform { translation 1e " + "1e+ " * 10**4,
    "back slashes": 'WorldInfo { title "' + "\\" * 10**6,
}


@pytest.mark.parametrize("name", mostly_slow(MANY_BODY, 4))
def test_many_things_in_a_body_are_read_or_refused(tmp_path, name):
    read_or_refused(write(tmp_path, a_body=MANY_BODY[name]))


@pytest.mark.parametrize("name", mostly_slow(MANY_WRL, 5))
def test_many_things_in_vrml_are_read_or_refused(tmp_path, name):
    read_or_refused(write(tmp_path, a_wrl=WRL + MANY_WRL[name]))


@pytest.mark.slow
def test_a_long_list_in_vrml_is_read(tmp_path):
    points = "0.125 0.25 0.5\n" * 6_000_000
    index = "0 1 2 -1 " * 1_000_000
    mesh = f"Coordinate {{ point [ {points} ] }} coordIndex [ {index} ]"
    path = write(tmp_path, a_wrl=f"{WRL}Shape {{ geometry IndexedFaceSet {{ coord {mesh} }} }}")
    assert path.stat().st_size > 95e6
    assert read_or_refused(path, memory_mib=1200).kind == "body"


def test_a_long_list_of_more_than_numbers_in_vrml_is_read_or_refused(tmp_path):
    points = "0.125 0.25 nan\n" * 100_000
    shape = f"Shape {{ geometry IndexedFaceSet {{ coord Coordinate {{ point [ {points} ] }} }} }}"
    read_or_refused(write(tmp_path, a_wrl=WRL + shape))


@pytest.mark.slow
def test_a_long_list_in_a_body_is_read_or_refused(tmp_path):
    points = "0.125, 0.25, 0.5,\n" * 1_300_000
    text = body_shape(f"type: TriangleMesh, vertices: [ {points} ], faces: [ 0, 1, 2 ]")
    path = write(tmp_path, a_body=text)
    assert path.stat().st_size > 23e6
    read_or_refused(path, memory_mib=1200, cpu_seconds=60)
