"""What is left out of an MJCF, and what is refused, with the place of each."""

import pytest
from each_case import all_cases
from silent_diagnostics import silent

from hrp_model import ModelError, load_body, load_body_text, read_context
from hrp_model.body import UNLIMITED, ExtraJointType, JointType

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

BALL = '<geom size=".1"/>'
MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
ROBOT = f'<body name="a"><freejoint/>{BALL}</body>'


def model(bodies, sections=""):
    return f"<mujoco>\n<worldbody>\n{bodies}\n</worldbody>\n{sections}\n</mujoco>\n"


def read(text, **options):
    found = silent()
    body = load_body_text(text, found, name="t.xml", **options)
    return body, [(d.code, str(d.at), d.message) for d in found.found]


def refused(text, **options):
    found = silent()
    with pytest.raises(ModelError) as error:
        load_body_text(text, found, name="t.xml", **options)
    [only] = error.value.diagnostics
    return only.code, str(only.at), only.message


@all_cases(
    ("bodies", "sections", "at", "words"),
    [
        (ROBOT.replace("</body>", f'<body><joint name="j"/>{BALL}</body></body>'),
         '<tendon>\n<fixed><joint joint="j" coef="1"/></fixed></tendon>', "6:1", "tendons are"),
        (ROBOT, "<extension/>", "5:1", "<extension> is left out"),
        (f'{ROBOT}\n<body name="b">{BALL}</body>', "", "4:7", "the body 'b' and its shapes"),
        (ROBOT.replace("</body>", '\n<composite type="grid" count="99999 9 1"/></body>'), "",
         "4:1", "composite bodies are left out"),
        (ROBOT.replace("</body>", f'<body>\n<joint name="j" stiffness="2 1"/>{BALL}</body></body>'),
         "", "4:8", "the spring of joint 'j' is not linear"),
        (ROBOT.replace("</body>", '<site name="s"/></body>'),
         '<sensor>\n<touch name="t" site="s"/></sensor>', "6:8", "sensor 't' is left out: touch"),
        (ROBOT, '<sensor>\n<user name="u" dim="2000000000"/></sensor>', "6:1", "'u' is left out"),
        (ROBOT.replace("</body>", '<site name="s"/></body>'),
         '<sensor>\n<touch site="s"/></sensor>', "6:1", "this sensor is left out: touch"),
        (ROBOT.replace("</body>", f'<body><joint name="j"/>{BALL}</body></body>'),
         '<equality>\n<joint joint1="j" polycoef="1 0 0 0 0"/></equality>', "6:1",
         "an equality is left out: it holds joint"),
        (ROBOT, '<equality>\n<weld body1="a"/></equality>', "6:1", "this equality of type weld"),
    ],
)  # fmt: skip
def test_parts_without_counterpart_are_left_out(bodies, sections, at, words):
    _, [(code, place, message)] = read(model(bodies, sections))
    assert (code, place) == ("no-counterpart", f"t.xml:{at}")
    assert words in message


@all_cases(
    ("text", "code", "at", "words"),
    [
        (model(f'<body name="a"><joint/>{BALL}</body><body name="b"><joint/>{BALL}</body>'),
         "second-root", "1:1", "the file contains 2 robots: 'a', 'b'"),
        (model(""), "second-root", "1:1", "contains no robot"),
        (model('<body>\n<joint kind="x"/></body>'), "refused-model", "4:1", "MuJoCo refuses"),
        (model('<body name="a">\n<joint/></body>'), "refused-model", "3:1", "mass and inertia"),
        (model('<include file="none.xml"/>'), "missing-resource", "3:10", "no such file"),
        (model(ROBOT, '<asset>\n<mesh file="none.stl"/></asset>'), "missing-resource", "6:7", ""),
        (model('<replicate count="999"><replicate count="999"/></replicate>'),
         "too-large", "3:24", "more than 1000 copies"),
        (model(ROBOT, '<asset>\n<mesh name="m" builtin="supersphere" params="99999 1 1"/></asset>'),
         "too-large", "6:1", "more than 100000 nodes"),
        ('<!DOCTYPE a [<!ENTITY e "x">]><mujoco/>', "xml-entity", "1:25", "entities"),
        (model(f'<body name="a">{BALL}<frame>\n<attach model="m" prefix="b_"/></frame></body>'),
         "nested-model", "4:1", "attached models are not read"),
        ("<grxui/>", "not-a-model", "1:1", "project of OpenHRP"),
    ],
)  # fmt: skip
def test_errors_have_places(text, code, at, words):
    found, place, message = refused(text)
    assert (found, place) == (code, f"t.xml:{at}")
    assert words in message


def test_infinite_references_are_errors_of_the_model():
    with pytest.raises(ModelError) as error:
        read(model(f'<body name="a"><joint name="j" ref="inf"/>{BALL}</body>'))
    assert {d.code for d in error.value.diagnostics} == {"not-finite"}
    assert all(str(d.at).startswith("t.xml:3:") for d in error.value.diagnostics)


def test_sizes_of_a_simulation_take_no_memory():
    joint = f'<body name="b"><joint name="j"/>{BALL}</body>'
    motor = '<general joint="j" dyntype="user" actdim="2000000000"/>'
    body, found = read(model(joint, f"<actuator>{motor}</actuator>"))
    assert [link.joint.id for link in body.moving_links] == [0]
    assert found == []


def test_several_joints_of_a_body_have_links_between_them():
    joints = (
        '<joint name="x" type="slide" axis="1 0 0"/><joint name="y" axis="0 1 0"/><joint name="z"/>'
    )
    body, _ = read(model(f'<body name="a">{joints}{BALL}</body>'))
    assert [link.name for link in body.links] == ["a_base", "a_x", "a_y", "a"]
    assert [link.joint.name for link in body.links[1:]] == ["x", "y", "z"]
    assert body.links[1].mass == body.links[2].mass == 0.0
    assert body.is_root_fixed


def test_ranges_and_motors_of_balls_are_left_out():
    joint = '<joint name="j" type="ball" range="0 60" limited="true" stiffness="1"/>'
    motor = '<actuator><motor name="m" joint="j"/></actuator>'
    body, found = read(model(f'<body name="a">{joint}{BALL}</body>', motor))
    assert all(link.joint.position == UNLIMITED for link in body.moving_links)
    messages = [message for code, _, message in found if code == "no-counterpart"]
    assert any("range of ball joint 'j'" in x for x in messages)
    assert any("spring of joint 'j'" in x for x in messages)
    assert any("actuator 'm' is left out" in x for x in messages)


def test_a_free_object_beside_a_robot_is_left_out():
    robot = f'<body name="r"><joint name="j"/>{BALL}</body>'
    body, [(code, _, message)] = read(model(robot + ROBOT))
    assert [link.name for link in body.links] == ["r_base", "r"]
    assert (code, message.split(" are ")[0]) == ("no-counterpart", "the body 'a' and its shapes")


def test_a_free_root_is_free_at_its_pose():
    body, found = read(model(ROBOT.replace('name="a"', 'name="a" pos="1 2 3"')))
    assert found == []
    assert body.root.joint.type is JointType.FREE
    assert body.root.X_PL.p.tolist() == [1.0, 2.0, 3.0]


def test_links_without_collision_shapes_take_no_pairs(monkeypatch):
    # The joints of 120 bodies without masks would give 7,200 pairs, and the groups below give
    # three times 60 squared.
    monkeypatch.setitem(read_context._MAX_COUNTS, "pairs of links that never collide", 5000)
    copy = '<replicate count="60"><body><joint/><geom size=".1" contype="{0}" conaffinity="{0}"/>'
    copy += "</body></replicate>"
    root = f'<body name="a"><joint/>{BALL}{copy.format(0)}{copy.format(0)}</body>'
    body, _ = read(model(root))
    assert len(body.links) == 122
    assert len(body.self_collision_disabled) == 120  # children of a
    separate = copy.format(2) + copy.format(4) + copy.format(8)
    code, _, message = refused(model(f'<body name="a"><joint/>{BALL}{separate}</body>'))
    assert (code, message) == (
        "too-large", "the model has more than 5000 pairs of links that never collide",
    )  # fmt: skip


def test_points_that_are_connected_are_extra_joints():
    inner = f'<body name="b" pos="0 0 1"><joint name="j" pos="0 0 0.5"/>{BALL}</body>'
    text = model(
        ROBOT.replace("</body>", f"{inner}</body>"),
        '<equality><connect body1="a" body2="b" anchor="0 0 2"/></equality>',
    )
    [joint] = read(text)[0].extra_joints
    assert (joint.type, joint.links) == (ExtraJointType.BALL, ("a", "b"))
    assert joint.X_AJ.p.tolist() == [0.0, 0.0, 2.0]
    assert joint.X_BJ.p.tolist() == [0.0, 0.0, 0.5]  # the frame of b is on the axis of its joint


def test_geoms_whose_masks_never_meet_do_not_collide():
    masks = '<geom size=".1" contype="1" conaffinity="2"/>'
    inner = f'<body name="b"><joint/>{masks}<body name="c"><joint/>{masks}</body></body>'
    body, _ = read(model(f'<body name="a"><freejoint/>{masks}{inner}</body>'))
    assert frozenset("ac") in body.self_collision_disabled


def test_a_sandbox_reads_no_meshes_elsewhere(tmp_path):
    text = model(ROBOT, '<asset><mesh name="m" file="/etc/passwd"/></asset>')
    (tmp_path / "m.xml").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError) as error:
        load_body(tmp_path / "m.xml", silent(), sandbox=True)
    assert [d.code for d in error.value.diagnostics] == ["outside-sandbox"]


def test_warnings_of_mujoco_are_reported_and_write_no_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    joints = '<joint name="x"/><joint name="y"/>'  # two about one axis
    _, found = read(model(f'<body name="a">{joints}{BALL}</body>'))
    assert "mujoco-warning" in [code for code, _, _ in found]
    refused(model('<body pos="nan 0 0"><geom size="1"/></body>'))
    assert list(tmp_path.iterdir()) == []


def test_large_textures_are_never_made():
    texture = '<texture name="t" type="2d" builtin="flat" width="300000" height="300000"/>'
    asset = f'<asset>{texture}<material name="m" texture="t" rgba="1 0 0 1"/></asset>'
    body, found = read(model(ROBOT.replace("<geom", '<geom material="m"'), asset))
    assert found == []
    assert body.root.visual[0].material.diffuse == (1.0, 0.0, 0.0)


def test_bodies_that_mujoco_never_lets_collide_do_not_collide():
    import mujoco

    arm = f'<body name="c"><joint/>{BALL}<body name="d"><joint/>{BALL}</body></body>'
    inside = f'{BALL}<body name="s">{BALL}{arm}</body><body name="t">{BALL}</body>'
    for top in ("<freejoint/>", ""):
        text = model(f'<body name="a">{top}{inside}</body>')
        native = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(native)
        mujoco.mj_forward(native, data)  # all geoms are in one place
        of_geom = [native.body(b).name for b in native.geom_bodyid]
        touching = {frozenset((of_geom[x.geom1], of_geom[x.geom2])) for x in data.contact}
        pairs = {frozenset((a, b)) for a in "acdst" for b in "acdst" if a != b}
        assert read(text)[0].self_collision_disabled == pairs - touching


def test_included_files_name_files_beside_them(tmp_path):
    (tmp_path / "arm" / "meshes").mkdir(parents=True)
    (tmp_path / "arm" / "m.obj").write_text(MESH, encoding="utf-8")
    asset = '<asset><mesh name="m" file="m.obj"/></asset>'
    (tmp_path / "arm" / "asset.xml").write_text(f"<mujoco>{asset}</mujoco>", encoding="utf-8")
    text = model(
        '<body name="a"><geom type="mesh" mesh="m"/></body>', '<include file="asset.xml"/>'
    )
    (tmp_path / "arm" / "arm.xml").write_text(text, encoding="utf-8")
    main = '<mujoco><compiler meshdir="meshes"/><include file="arm/arm.xml"/></mujoco>'
    (tmp_path / "main.xml").write_text(main, encoding="utf-8")
    assert len(load_body(tmp_path / "main.xml", silent()).root.visual[0].geometry.vertices) == 4
    # A file beside the main one comes first, as in MuJoCo.
    (tmp_path / "asset.xml").write_text("<mujoco/>", encoding="utf-8")
    with pytest.raises(ModelError, match="mesh 'm' not found"):
        load_body(tmp_path / "main.xml", silent())


def test_settings_of_several_compiler_elements_are_combined(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "m.obj").write_text(MESH, encoding="utf-8")
    compilers = '<compiler strippath="true" meshdir="meshes"/><compiler assetdir="none"/>'
    asset = '<asset><mesh file="far/away/m.obj"/></asset>'
    text = model('<body name="a"><geom type="mesh" mesh="m"/></body>', compilers + asset)
    (tmp_path / "main.xml").write_text(text, encoding="utf-8")
    assert len(load_body(tmp_path / "main.xml", silent()).root.visual) == 1


def test_damping_that_is_not_linear_is_left_out():
    import mujoco

    text = model(f'<body name="a"><joint name="j" damping="{{}}"/>{BALL}</body>')
    if not hasattr(mujoco.MjModel.from_xml_string(text.format(1)), "dof_dampingpoly"):
        pytest.skip("this MuJoCo has only linear damping")
    body, [(code, place, message)] = read(text.format("1 2 3"))
    assert (code, place) == ("no-counterpart", "t.xml:3:23")
    assert "only its first number is used" in message
    assert body.moving_links[0].joint.damping == 1.0


def test_orthographic_cameras_are_left_out():
    import mujoco

    if not hasattr(mujoco.MjModel.from_xml_string("<mujoco/>"), "cam_projection"):
        pytest.skip("this MuJoCo writes them in another way")
    camera = '\n<camera name="c" fovy="2" projection="orthographic"/>'
    copy = f'<replicate count="1"><body>{BALL}{camera}</body></replicate>'
    body, [(code, place, message)] = read(model(ROBOT.replace("</body>", f"{copy}</body>")))
    assert (code, place) == ("no-counterpart", "t.xml:4:9")
    assert message == "the camera 'c0' is left out: it is orthographic"
    assert body.devices == ()
