"""No text crashes the reader: it gives a body, or an error with a place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import ROOT

from hrp_model import Diagnostics, ModelError, load_body_text

VALID = ROOT / "test" / "data" / "urdf" / "valid"
KITCHEN_SINK = (VALID / "kitchen_sink.urdf").read_text(encoding="utf-8")
LINKS = ("a", "b", "c", "world")
NUMBERS = ("0", "1", "-1", "1e308", "1e-300", "nan", "inf", "1e999", "", "x", "0x1", "1 2 3")
WORDS = [
    *("<", ">", "/>", "</", '"', "'", "=", "&", "&amp;", "<!--", "-->", "<![CDATA[", "]]>"),
    *("<robot", "</robot>", "<link", "</link>", "<joint", "</joint>", "<gazebo>", "<sensor"),
    *('name="a"', 'type="revolute"', 'xyz="0 0 1"', "<!DOCTYPE robot>", "<?xml ?>", "\0", "\ud800"),
]


def assert_read_or_refused(text):
    found = Diagnostics.silent()
    try:
        load_body_text(text, found, kind="urdf", folder=VALID)
    except ModelError:
        assert found.has_errors
    for diagnostic in found.found:
        assert diagnostic.at is not None, diagnostic
        str(diagnostic)


def attribute(name, values):
    written = st.sampled_from(values).map(lambda value: f'{name}="{value}"')
    return st.one_of(st.just(""), written, written, written)


def element(tag, attributes, inside=None):
    """Return elements with some of their attributes, and what may stand in them."""
    head = st.tuples(*(attribute(*item) for item in attributes.items())).map(" ".join)
    body = st.just("") if inside is None else st.lists(inside, max_size=3).map("".join)
    return st.builds(lambda a, b: f"<{tag} {a}>{b}</{tag}>", head, body)


ORIGIN = element(
    "origin",
    {
        "xyz": NUMBERS,
        "rpy": NUMBERS,
        "quat_xyzw": ("0 0 0 0", "1 2 3 4", "1e200 0 0 1e200", "0 0 5e-324 0"),
    },
)
GEOMETRY = element(
    "geometry",
    {},
    st.one_of(
        element("box", {"size": NUMBERS}),
        element("capsule", {"radius": NUMBERS, "length": NUMBERS}),
        element("mesh", {"filename": ("wedge.obj", "no.stl", "a\nb", ""), "scale": NUMBERS}),
    ),
)
MATERIAL = element("material", {"name": LINKS}, element("color", {"rgba": (*NUMBERS, "1 0 0 1")}))
SHAPE = st.one_of(ORIGIN, GEOMETRY, MATERIAL)
INERTIA = dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), NUMBERS)
INERTIAL = element(
    "inertial",
    {},
    st.one_of(ORIGIN, element("mass", {"value": NUMBERS}), element("inertia", INERTIA)),
)
LINK = element(
    "link",
    {"name": LINKS},
    st.one_of(INERTIAL, element("visual", {}, SHAPE), element("collision", {}, SHAPE)),
)
JOINT = element(
    "joint",
    {"name": LINKS, "type": ("fixed", "revolute", "continuous", "prismatic", "floating", "x")},
    st.one_of(
        *(element(tag, {"link": LINKS}) for tag in ("parent", "child", "parent", "child")),
        *(ORIGIN, element("axis", {"xyz": NUMBERS}), element("mimic", {"joint": LINKS})),
        element("limit", {"lower": NUMBERS, "upper": NUMBERS, "effort": NUMBERS}),
    ),
)
SCAN = element("horizontal", {}, st.sampled_from([f"<samples>{x}</samples>" for x in NUMBERS]))
SENSOR = element(
    "sensor",
    {"name": LINKS, "type": ("imu", "camera", "gpu_lidar", "force_torque", "x", "")},
    st.one_of(
        st.sampled_from([f"<pose>{x} 0 0 0 0 {x}</pose>" for x in NUMBERS]),
        st.sampled_from(
            [f'<pose rotation_format="quat_xyzw">0 0 0 {x} 0 0 {x}</pose>' for x in NUMBERS]
        ),
        element("lidar", {}, element("scan", {}, SCAN)),
        st.sampled_from(
            [f"<camera><horizontal_fov>{x}</horizontal_fov></camera>" for x in NUMBERS]
        ),
    ),
)
CONTROL = st.builds(
    '<ros2_control><joint name="{}"><command_interface name="position"/>'
    '<state_interface name="position"><param name="initial_value">{}</param></state_interface>'
    '</joint></ros2_control><transmission><joint name="{}">'
    "<mechanicalReduction>{}</mechanicalReduction></joint></transmission>".format,
    *(st.sampled_from(LINKS), st.sampled_from(NUMBERS)) * 2,
)
ROBOT = element(
    "robot",
    {"name": LINKS},
    st.one_of(
        *(LINK, LINK, JOINT, JOINT, MATERIAL, CONTROL),
        element("gazebo", {"reference": LINKS}, SENSOR),
    ),
)


@given(ROBOT)
def test_any_elements_are_read_or_refused(text):
    assert_read_or_refused(text)


@given(st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_words_are_read_or_refused(text):
    assert_read_or_refused(text)


@given(st.text())
def test_any_text_is_read_or_refused(text):
    assert_read_or_refused(text)


@given(st.integers(0, len(KITCHEN_SINK)))
def test_a_truncated_file_is_read_or_refused(length):
    assert_read_or_refused(KITCHEN_SINK[:length])


@given(st.integers(0, len(KITCHEN_SINK)), st.integers(0, 40), st.sampled_from([*WORDS, *NUMBERS]))
def test_a_damaged_file_is_read_or_refused(at, length, word):
    assert_read_or_refused(f"{KITCHEN_SINK[:at]}{word}{KITCHEN_SINK[at + length :]}")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('<robot name="r">' + "<link>" * 100_000, "too-deep"),
        ('<robot name="r">' + "<link/>" * 200_000 + "</robot>", "too-large"),
        ('<robot name="r"><a b="' + "x" * 1_000_000 + '"/></robot>', "no-links"),
    ],
)
def test_depth_and_number_are_bounded(text, code):
    found = Diagnostics.silent()
    with pytest.raises(ModelError):
        load_body_text(text, found)
    assert found.found[-1].code == code
