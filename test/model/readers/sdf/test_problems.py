"""SDF that is not read, or not completely: what is missing, and where."""

import random
import re

import pytest
from each_case import all_cases, mostly_slow
from paths import ROOT
from silent_diagnostics import silent

from hrp_model import ModelError, load_body_text

LINK = '<link name="a"/>'
JOINT = '<joint name="j" type="{}"><parent>{}</parent><child>{}</child><axis/></joint>'


def problems(inside, version="1.9", outer="model"):
    """Return code, place and message of the errors, or else of the warnings, of a text."""
    found = silent()
    text = f'<sdf version="{version}">\n<{outer} name="m">\n{inside}\n</{outer}>\n</sdf>\n'
    try:
        load_body_text(text, found, name="m.sdf")
    except ModelError as error:
        return [(d.code, str(d.at), d.message) for d in error.diagnostics]
    return [(d.code, str(d.at), d.message) for d in found.found if d.code == "no-counterpart"]


@all_cases(
    ("inside", "code", "at", "words"),
    [
        (LINK + "\n" + '<link name="b"/>', "second-root", "2:1", "not 'a', 'b'"),
        (LINK + "\n" + LINK, "duplicate-frame-name", "4:7", "'a' of this link"),
        (LINK + "\n" + JOINT.format("planar", "world", "a"), "unknown-joint-type", "4:17", ""),
        (LINK + "\n" + JOINT.format("screw", "world", "a").replace(
            "<axis/>", "<screw_thread_pitch>0</screw_thread_pitch><axis/>"), "wrong-value", "4:1",
         "must not be zero"),
        (f'{LINK}<link name="b"/>' + JOINT.format("fixed", "a", "b") + '\n<joint name="g" '
         'type="gearbox"><parent>a</parent><child>b</child><gearbox_ratio>0</gearbox_ratio>'
         "</joint>", "wrong-value", "4:1", "the ratio of the gearbox 'g' must not be zero"),
        (LINK + "\n" + JOINT.format("fixed", "b", "a"), "unknown-link", "4:1", "parent 'b'"),
        ('<link name="a"><pose relative_to="b"/></link>', "unknown-frame", "3:1", "frame 'b'"),
        ('<frame name="f" attached_to="g"/>\n<frame name="g" attached_to="f"/>\n'
         '<link name="a"><pose relative_to="f"/></link>', "frame-cycle", "3:1", "f -> g -> f"),
        ('<link name="a"><inertial auto="true"/></link>', "unstated-mass", "3:26", "write mass"),
        ("", "no-links", "2:1", "at least one link"),
        ("<link/>", "missing-attribute", "3:1", "this link has no name"),
        ('<link name="world"/>', "duplicate-frame-name", "3:7", "already used"),
        ('<link name="__model__"/>', "duplicate-frame-name", "3:7", "already used"),
        ('<link name="a"><sensor name="s" type="imu">\n<pose relative_to="b"/></sensor></link>',
         "unknown-frame", "3:16", "frame 'b'"),
        ('<link name="a"><pose relative_to="b"/></link>\n' + JOINT.format("fixed", "world", "a"),
         "unknown-frame", "3:1", "frame 'b'"),
        ('<link name="a">\n<pose>0 0 1</pose></link>', "wrong-value", "4:1", "not '0 0 1'"),
        ('<link name="a"><inertial>\n<mass>heavy</mass></inertial></link>', "wrong-value", "4:1",
         "<mass> must be a number, not 'heavy'"),
        ("<static>maybe</static>" + LINK, "wrong-value", "3:1", "must be true or false"),
        ('<link name="a"><pose degrees="yes">0 0 0 0 0 90</pose></link>', "wrong-value", "3:16",
         "degrees must be true or false, not 'yes'"),
        ('<link name="a"><pose rotation_format="wxyz">0 0 0 1 0 0 0</pose></link>', "wrong-value",
         "3:16", "must be euler_rpy or quat_xyzw, not 'wxyz'"),
    ],
)  # fmt: skip
def test_errors_have_places(inside, code, at, words):
    [(found, place, message)] = problems(inside)
    assert (found, place) == (code, f"m.sdf:{at}")
    assert words in message


@all_cases(
    ("inside", "at", "words"),
    [
        (LINK + '\n<plugin name="p" filename="p.so"/>', "4:1", "<plugin>"),
        ('<link name="a">\n<battery/></link>', "4:1", "<battery>"),
        ('<link name="a"><visual name="v"><geometry>\n<heightmap/></geometry></visual></link>',
         "4:1", "a shape of type <heightmap>"),
        (LINK + '\n<link name="b"/><joint name="j" type="fixed"><parent>a</parent><child>b</child>'
         "\n<axes/></joint>", "5:1", "<axes> of a joint"),
        ('<link name="a"><inertial><mass>1</mass>\n<fluid_added_mass/></inertial></link>', "4:1",
         "<fluid_added_mass> of an inertial"),
        (LINK + '<joint name="j" type="revolute"><parent>world</parent><child>a</child><axis>\n'
         "<initial_position>1</initial_position></axis></joint>", "4:1", "of an axis"),
        (f'{LINK}<link name="b"/>' + JOINT.format("fixed", "a", "b") + '\n<joint name="g" '
         'type="gearbox"><parent>a</parent><child>b</child><gearbox_reference_body>a'
         "</gearbox_reference_body></joint>", "4:1", "no hinge connects its parent 'a' to 'a'"),
        (LINK + "\n<static>1</static>" + JOINT.format("revolute", "world", "a"), "4:1",
         "the joints of a static model do not move in Gazebo; here they move"),
    ],
)  # fmt: skip
def test_parts_without_counterpart_are_left_out(inside, at, words):
    [(code, place, message)] = problems(inside)
    assert (code, place) == ("no-counterpart", f"m.sdf:{at}")
    assert words in message


def test_a_world_names_its_models():
    inside = '<model name="floor"/>\n<include><uri>model://arm</uri></include>'
    [(code, at, message)] = problems(inside, outer="world")
    assert (code, at) == ("not-a-model", "m.sdf:2:1")
    assert "an SDF world with the models 'floor', 'model://arm', not one model" in message


def test_a_model_beside_an_inclusion_is_refused():
    text = f'<sdf version="1.9"><model name="m">{LINK}</model><include><uri>n</uri></include></sdf>'
    with pytest.raises(ModelError, match="with the models 'm', 'n', not one model"):
        load_body_text(text, silent())


def test_a_world_without_models_says_so():
    [(_, _, message)] = problems("<light/>", outer="world")
    assert "an SDF world without a model" in message


@pytest.mark.parametrize("version", ["", "one", "\u00b2", "9" * 5000])
def test_unreadable_versions_are_refused(version):
    [(code, at, _)] = problems(LINK, version=version)
    assert (code, at) == ("unknown-version", "m.sdf:1:6")
    with pytest.raises(ModelError):
        load_body_text("<sdf/>", silent(), name="m.sdf")


def test_gazebo_elements_of_the_oldest_versions_are_refused():
    with pytest.raises(ModelError, match="and older is not read"):
        load_body_text('<gazebo version="1.2"/>', silent(), kind="sdf")


def test_long_chains_of_frames_end():
    frames = "".join(f'<frame name="f{i}" attached_to="f{i + 1}"/>' for i in range(5000))
    last = '<frame name="f5000" attached_to="a"/>'
    [(code, _, _)] = problems(LINK + frames + last + JOINT.format("fixed", "world", "f0"))
    assert code == "too-deep"


FOLDER = ROOT / "test" / "data" / "sdf"
WORDS = (
    *("nan", "inf", "1e999", "1e308", "-1", "0", "", "1 2", "1 2 3", "0 0 0 0 0 0", "x"),
    *("world", "__model__", "base", "tool", "ball", "fixed", "true", "\u00b2"),
)
PARTS = re.compile(r">([^<>]*)<|\"([^\"]*)\"")
SHAPES = """<visual name="v"><geometry><box><size>1 1 1</size></box></geometry><material>
<diffuse>1 0 0 1</diffuse></material><transparency>0.5</transparency></visual>
<collision name="c"><geometry><mesh><uri>no.stl</uri><scale>1 1 1</scale></mesh></geometry>
</collision><sensor name="s" type="lidar"><pose>0 0 1 0 0 0</pose><lidar><scan><horizontal>
<samples>9</samples></horizontal></scan><range><max>3</max></range></lidar></sensor></link>"""


@pytest.mark.parametrize("seed", mostly_slow(range(4), 1))
def test_no_values_crash_the_reader(seed):
    rng = random.Random(seed)
    texts = [path.read_text("utf-8") for path in sorted(FOLDER.glob("*.sdf"))]
    texts = [text.replace("</link>", SHAPES, 1) for text in texts]
    for _ in range(100):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 4)):
            start, end = max(rng.choice([*PARTS.finditer(text)]).regs[1:])
            text = text[:start] + rng.choice(WORDS) + text[end:]
        found = silent()
        try:
            load_body_text(text, found, kind="sdf", folder=FOLDER)
        except ModelError:
            assert found.has_errors
        assert all(d.at is not None for d in found.found)
