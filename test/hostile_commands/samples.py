"""Small sound files, to be made hostile in one place at a time."""

BODY = """\
format: ChoreonoidBody
format_version: 2.0
name: sample
links:
  - name: ROOT
    joint_type: free
    mass: 1.0
    inertia: [ 0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01 ]
    elements:
      - { type: Shape, geometry: { type: Box, size: [ 0.1, 0.1, 0.1 ] } }
  - name: ARM
    parent: ROOT
    translation: [ 0, 0, 0.2 ]
    joint_type: revolute
    joint_axis: Y
    joint_id: 0
    joint_range: [ -90, 90 ]
    mass: 0.5
    inertia: [ 0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01 ]
    elements:
      - { type: Shape, geometry: { type: Cylinder, radius: 0.02, height: 0.2 } }
      - { type: AccelerationSensor, name: imu, id: 0 }
"""
HEAD = "format: ChoreonoidBody\nformat_version: 2.0\nname: sample\n"
URDF = """\
<robot name="sample"><link name="base"><inertial><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<link name="arm"><inertial><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="10" velocity="3"/></joint></robot>
"""
WRL = """\
#VRML V2.0 utf8
PROTO Joint [ exposedField SFString jointType "free" exposedField MFNode children [ ]
 exposedField SFInt32 jointId -1 exposedField SFVec3f translation 0 0 0
 exposedField SFVec3f jointAxis 0 0 1 ] { Transform { children IS children } }
PROTO Segment [ exposedField SFFloat mass 0 exposedField MFNode children [ ] ]
 { Group { children IS children } }
PROTO Humanoid [ exposedField MFNode humanoidBody [ ] exposedField SFString name "" ]
 { Group { children IS humanoidBody } }
DEF sample Humanoid { name "sample" humanoidBody [
 DEF ROOT Joint { jointType "free" children [
  DEF BODY Segment { mass 1 children Shape { geometry Box { size 0.1 0.1 0.1 } } }
  DEF ARM Joint { jointType "rotate" jointId 0 children
   DEF ARM_LINK Segment { mass 1 children Shape { geometry Sphere { radius 0.1 } } } } ] } ] }
"""
WORLD = "bodies:\n  - { name: one, model: sample.body, position: [ 0, 0, 1 ] }\n"
FILES = {"sample.body": BODY, "sample.wrl": WRL, "sample.urdf": URDF, "world.yaml": WORLD}


def shown(uri: str) -> str:
    """Return a body whose only shape is a file."""
    element = f"{{ type: Resource, uri: '{uri}' }}"
    return f"{HEAD}links: [ {{ name: A, elements: [ {element} ] }} ]\n"


def one_link(keys: str) -> str:
    """Return a body of one link with these keys, in YAML's flow style."""
    return f"{HEAD}links: [ {{ name: A, {keys} }} ]\n"


def urdf_mesh(uri: str) -> str:
    """Return a URDF whose only visual is a mesh."""
    mesh = f'<visual><geometry><mesh filename="{uri}"/></geometry></visual>'
    return f'<robot name="sample"><link name="a">{mesh}</link></robot>'
