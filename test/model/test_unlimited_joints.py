"""A limit from 1e6 on means none, in every format."""

from math import inf

from each_case import all_cases

from hrp_model import load_body_text
from hrp_model.body import JointType, Range
from hrp_model.urdf.convert import convert

BODY = """
format: ChoreonoidBody
format_version: 1.0
angleUnit: radian
name: m
links:
  - {{ name: a, jointType: free, mass: 1, inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1] }}
  - {{ name: j, parent: a, jointType: revolute, jointId: 0, jointAxis: Z, mass: 1,
      inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1], jointRange: [-{0}, {0}],
      jointVelocityRange: [-{0}, {0}], maxJointEffort: {0} }}
"""
VRML = """#VRML V2.0 utf8
DEF m Humanoid {{ humanoidBody [ DEF a Joint {{ jointType "free" children [
  Segment {{ mass 1 momentsOfInertia [1 0 0 0 1 0 0 0 1] }}
  DEF j Joint {{ jointType "rotate" jointAxis 0 0 1 jointId 0 llimit [-{0}] ulimit [{0}]
    lvlimit [-{0}] uvlimit [{0}] climit [{0}] torqueConst 1 gearRatio 1 children [
    Segment {{ mass 1 momentsOfInertia [1 0 0 0 1 0 0 0 1] }} ] }} ] }} ] }}
"""
_INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" {}/></inertial>'.format(
    'ixy="0" ixz="0" iyz="0"'
)
URDF = f"""<robot name="m"><link name="a">{_INERTIAL}</link><link name="b">{_INERTIAL}</link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-{{0}}" upper="{{0}}" velocity="{{0}}" effort="{{0}}"/></joint></robot>
"""
SDF = """<sdf version="1.9"><model name="m"><link name="a"/><link name="b"/>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz><limit>
<lower>-{0}</lower><upper>{0}</upper><velocity>{0}</velocity><effort>{0}</effort></limit></axis>
</joint></model></sdf>
"""
MJCF = """<mujoco model="m"><worldbody><body name="a"><freejoint/><geom size="0.1"/>
<body name="b"><geom size="0.1"/><joint name="j" axis="0 0 1" limited="true" range="-{0} {0}"
actuatorfrclimited="true" actuatorfrcrange="-{0} {0}"/></body></body></worldbody>
<compiler angle="radian"/><actuator><motor joint="j"/></actuator></mujoco>
"""
FORMATS = {"body": BODY, "wrl": VRML, "urdf": URDF, "xacro": URDF, "sdf": SDF, "mjcf": MJCF}
FREE = Range(-inf, inf)


def joint(kind, limit):
    """The joint "j" of a model whose limits have one size."""
    body = load_body_text(FORMATS[kind].format(limit), kind=kind)
    return body, next(link.joint for link in body.links if link.joint.name == "j")


@all_cases("limit", ["1e6", "1e16", "1.7976931348623157e308"])
@all_cases("kind", FORMATS)
def test_what_no_joint_comes_near_is_no_limit(kind, limit):
    body, found = joint(kind, limit)
    assert found.type is JointType.REVOLUTE
    assert (found.position, found.velocity, found.effort) == (FREE, FREE, FREE)
    assert found.is_continuous
    if limit == "1e16":
        assert '<joint name="j" type="continuous">' in convert(body).urdf


@all_cases("kind", FORMATS)
def test_a_large_limit_is_one(kind):
    _, found = joint(kind, "999000.0")
    assert found.position == found.effort == Range(-999e3, 999e3)
    assert found.velocity == (FREE if kind == "mjcf" else Range(-999e3, 999e3))


def test_each_end_counts_by_itself():
    text = URDF.format("2.0").replace('lower="-2.0"', 'lower="-1e16"')
    found = load_body_text(text, kind="urdf").links[1].joint
    assert found.position == Range(-inf, 2.0)
