"""SDF: the same robots as in URDF, with poses in each other's frames; frames, limits, sensors."""

import numpy as np
import pytest
from each_case import all_cases
from paths import ROOT
from silent_diagnostics import silent

from hrp_model import BodyState, load_body, load_body_text
from hrp_model.body import JointType
from hrp_model.devices import Camera, ForceSensor, Imu
from hrp_model.rigid import Pose, matrix_rpy, quaternion_matrix

FOLDER = ROOT / "test" / "data" / "descriptions"
ROBOTS = sorted(FOLDER.glob("*/urdf/*.urdf*"))
EXACT = {"rtol": 0.0, "atol": 1e-9}
KINDS = {JointType.REVOLUTE: "revolute", JointType.PRISMATIC: "prismatic"}


def pose_text(pose, frame=""):
    numbers = " ".join(repr(float(x)) for x in (*pose.p, *matrix_rpy(pose.R)))
    return f'<pose relative_to="{frame}">{numbers}</pose>' if frame else f"<pose>{numbers}</pose>"


def random_pose(rng):
    return Pose(quaternion_matrix(rng.normal(size=4)), rng.normal(size=3))


class Writer:
    """Writes a body as SDF: each pose in the frame of an earlier part, by chance.

    The frame of a <link> differs from that of the link by ``X_LS``.
    """

    def __init__(self, body, rng):
        self.body, self.rng = body, rng
        self.X_LS = {x.name: Pose() if x.parent is None else random_pose(rng) for x in body.links}
        self.X_ML = {}
        for link in body.links:
            X_MP = Pose() if link.parent is None else self.X_ML[link.parent] @ link.X_PL
            self.X_ML[link.name] = X_MP
        self.known = {"__model__": Pose()}

    def text(self):
        parts = [self.link(link) for link in self.body.links]
        parts += [self.joint(link) for link in self.body.links[1:]]
        if self.body.is_root_fixed:
            root = self.body.root.name
            joint = (
                f'<joint name="to_world" type="fixed"><parent>world</parent><child>{root}</child>'
            )
            parts.append(f"{joint}</joint>")
        inside = "\n".join(parts)
        return f'<sdf version="1.10"><model name="m">\n{inside}\n</model></sdf>\n'

    def relative(self, X_M):
        """Return the text of a pose in the model, relative to some known frame."""
        frame = self.rng.choice(sorted(self.known))
        return pose_text(self.known[frame].inverse() @ X_M, frame)

    def link(self, link):
        X_MS = self.X_ML[link.name] @ self.X_LS[link.name]
        written = self.relative(X_MS)
        frame = random_pose(self.rng)
        extra = f'<frame name="frame of {link.name}" attached_to="{link.name}">'
        extra += f"{pose_text(frame)}</frame>"
        self.known |= {link.name: X_MS, f"frame of {link.name}": X_MS @ frame}
        X_SC = self.X_LS[link.name].inverse() @ Pose(p=link.center_of_mass)
        I = (link.inertia + link.inertia.T) / 2.0  # noqa: E741
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        values = zip(names, I[np.triu_indices(3)], strict=True)
        inertia = "".join(f"<{name}>{float(value)!r}</{name}>" for name, value in values)
        inertial = f"<mass>{float(link.mass)!r}</mass><inertia>{inertia}</inertia>{pose_text(X_SC)}"
        return f'<link name="{link.name}">{written}<inertial>{inertial}</inertial></link>{extra}'

    def joint(self, link):
        joint, X_ML = link.joint, self.X_ML[link.name]
        X_MJ = Pose(quaternion_matrix(self.rng.normal(size=4)), X_ML.p)
        child = self.rng.choice([link.name, f"frame of {link.name}"])
        ends = f"<parent>{link.parent}</parent><child>{child}</child>"
        axis = ""
        if joint.moves:
            frame = self.rng.choice(["", *sorted(self.known)])
            R = X_MJ.R if not frame else self.known[frame].R
            numbers = " ".join(repr(float(x)) for x in R.T @ X_ML.R @ joint.axis)
            expressed = f' expressed_in="{frame}"' if frame else ""
            axis = f"<axis><xyz{expressed}>{numbers}</xyz></axis>"
        kind = KINDS.get(joint.type, "fixed")
        written = self.relative(X_MJ)
        self.known[f"joint {link.name}"] = X_MJ
        return f'<joint name="joint {link.name}" type="{kind}">{written}{ends}{axis}</joint>'


@all_cases("path", ROBOTS)
def test_poses_in_any_frame_give_the_same_robot(path):
    pytest.importorskip("xacro", reason="xacro is not installed")
    body, rng = load_body(path, silent()), np.random.default_rng(len(path.name))
    writer = Writer(body, rng)
    again = load_body_text(writer.text(), silent(), name="m.sdf")
    assert again.is_root_fixed == body.is_root_fixed
    ours, theirs = BodyState(body), BodyState(again)
    index = {link.joint.name: i for i, link in enumerate(again.moving_links)}
    order = [index[f"joint {link.name}"] for link in body.moving_links]
    for _ in range(3):
        ours.q[:] = rng.uniform(-1.5, 1.5, len(order))
        theirs.q[order] = ours.q
        ours.p[0] = theirs.p[0] = rng.normal(size=3)
        ours.R[0] = theirs.R[0] = quaternion_matrix(rng.normal(size=4))
        ours.calc_forward_kinematics()
        theirs.calc_forward_kinematics()
        for i, link in enumerate(body.links):
            k = again.link_index(link.name)
            np.testing.assert_allclose(theirs.R[k], ours.R[i] @ writer.X_LS[link.name].R, **EXACT)
            if link.joint.moves:  # other frames are those of the <link>
                np.testing.assert_allclose(theirs.p[k], ours.p[i], **EXACT)
        n = len(order)
        M = theirs.calc_mass_matrix()[-n:, -n:][np.ix_(order, order)]
        np.testing.assert_allclose(M, ours.calc_mass_matrix()[-n:, -n:], **EXACT)


def read(inside, version="1.9", **attributes):
    words = "".join(f' {name}="{value}"' for name, value in attributes.items())
    text = f'<sdf version="{version}">\n<model name="m"{words}>\n{inside}\n</model>\n</sdf>\n'
    found = silent()
    return load_body_text(text, found, name="m.sdf"), found.found


LINKS = '<link name="a"/>\n<link name="b"><pose>0 0 1 0 0 0</pose></link>'
ENDS = "<parent>a</parent><child>b</child>"


def hinge(inside, kind="revolute"):
    return f'{LINKS}\n<joint name="j" type="{kind}">{ENDS}{inside}</joint>'


def test_limits_and_resistance():
    limit = (
        "<limit><lower>-1</lower><upper>2</upper><effort>3</effort><velocity>-1</velocity></limit>"
    )
    dynamics = "<dynamics><damping>0.5</damping><friction>0.25</friction></dynamics>"
    body, _ = read(hinge(f"<axis><xyz>0 2 0</xyz>{limit}{dynamics}</axis>"))
    joint = body.link("b").joint
    assert joint.axis.tolist() == [0.0, 1.0, 0.0]
    assert (joint.position, joint.effort) == ((-1.0, 2.0), (-3.0, 3.0))
    assert joint.velocity == (-np.inf, np.inf)
    assert (joint.damping, joint.friction) == (0.5, 0.25)
    assert joint.id == 0


def test_defaults_are_those_of_sdf():
    body, _ = read(hinge("<axis/>"))
    assert body.root.mass == 1.0
    np.testing.assert_array_equal(body.root.inertia, np.eye(3))
    assert body.link("b").joint.axis.tolist() == [0.0, 0.0, 1.0]
    assert body.root.joint.type is JointType.FREE


@pytest.mark.parametrize(
    ("flag", "expected"), [("false", [0.0, 1.0, 0.0]), ("true", [1.0, 0.0, 0.0])]
)
def test_axes_of_older_versions_may_be_those_of_the_model(flag, expected):
    pose = "<pose>0 0 0 0 0 1.5707963267948966</pose>"
    frame = f"<use_parent_model_frame>{flag}</use_parent_model_frame>"
    body, _ = read(hinge(f"{pose}<axis><xyz>1 0 0</xyz>{frame}</axis>"), version="1.6")
    np.testing.assert_allclose(body.link("b").joint.axis, expected, atol=1e-12)


def test_frames_of_older_versions_are_ignored_in_newer_ones():
    pose = "<pose>0 0 0 0 0 1.5707963267948966</pose>"
    axis = "<axis><xyz>1 0 0</xyz>\n<use_parent_model_frame>1</use_parent_model_frame></axis>"
    inside = hinge(pose + axis).replace("<pose>0 0 1", '<pose frame="a">0 0 1')
    body, found = read(inside.replace('name="a"/>', 'name="a"><pose>1 0 0 0 0 0</pose></link>'))
    np.testing.assert_allclose(body.link("b").joint.axis, [0.0, 1.0, 0.0], atol=1e-12)
    assert body.link("b").X_PL.p.tolist() == [-1.0, 0.0, 1.0]
    places = [str(d.at) for d in found if d.code == "not-used"]
    assert places == ["m.sdf:4:22", "m.sdf:6:1"]


@pytest.mark.parametrize(
    ("parent", "link", "height"),
    [("j", "b", 0.0), ("f", "b", 0.0), ("__model__", "a", 1.0), ("g", "a", 1.0)],
)
def test_joints_are_attached_to_frames_of_joints_and_of_the_model(parent, link, height):
    frames = '<frame name="f" attached_to="j"/><frame name="g"/>'
    more = f'<joint name="k" type="fixed"><parent>{parent}</parent><child>c</child></joint>'
    third = '<link name="c"><pose relative_to="j"/></link>'
    body, _ = read(hinge("<axis/>") + frames + third + more)
    assert body.link("c").parent == link
    assert body.link("c").X_PL.p.tolist() == [0.0, 0.0, height]


def test_the_canonical_link_carries_the_frame_of_the_model():
    more = '<link name="c"/><joint name="k" type="fixed"><parent>__model__</parent><child>c</child>'
    body, _ = read(hinge("<axis/>") + more + "</joint>", canonical_link="b")
    assert body.link("c").parent == "b"


def test_empty_values_are_defaults():
    body, _ = read(hinge("<axis><xyz/><dynamics><friction/></dynamics></axis>"))
    joint = body.link("b").joint
    assert (joint.friction, joint.axis.tolist()) == (0.0, [0.0, 0.0, 1.0])


def test_a_static_model_is_fixed_at_its_pose():
    body, _ = read('<static>true</static><pose>1 2 3 0 0 0</pose><link name="a"/>')
    assert body.is_root_fixed
    assert body.root.X_PL.p.tolist() == [1.0, 2.0, 3.0]


def test_a_model_may_be_placed_by_one_of_its_frames():
    frame = '<frame name="f" attached_to="a"><pose>0 1 0 0 0 0</pose></frame>'
    inside = f'<static>true</static><pose>1 2 3 0 0 0</pose><link name="a"/>{frame}'
    body, _ = read(inside, placement_frame="f")
    assert body.root.X_PL.p.tolist() == [1.0, 1.0, 3.0]


def test_sensors_may_be_placed_in_any_frame():
    pose = '<pose relative_to="b">0 0 0.5 0 0 0</pose>'
    sensor = f'<sensor name="s" type="imu">{pose}</sensor>'
    links = LINKS.replace('<link name="a"/>', f'<link name="a">{sensor}</link>')
    body, _ = read(f'{links}<joint name="j" type="fixed">{ENDS}</joint>')
    assert (body.devices[0].link, body.devices[0].X_LS.p.tolist()) == ("a", [0.0, 0.0, 1.5])


def test_a_joint_in_the_world_has_a_fixed_link_above():
    joint = '<joint name="j" type="prismatic"><parent>world</parent><child>a</child><axis/></joint>'
    body, _ = read(f'<link name="a"/>{joint}')
    assert [link.name for link in body.links] == ["world", "a"]
    assert body.link("a").joint.type is JointType.PRISMATIC
    assert body.is_root_fixed


def test_mimics():
    numbers = "<multiplier>2</multiplier><offset>1</offset><reference>0.5</reference>"
    mimic = f'<mimic joint="j">{numbers}</mimic>'
    more = '<link name="c"/><joint name="k" type="revolute"><parent>b</parent><child>c</child>'
    body, _ = read(f"{hinge('<axis/>')}{more}<axis>{mimic}</axis></joint>", version="1.11")
    found = body.link("c").joint.mimic
    assert (found.link, found.multiplier, found.offset) == ("b", 2.0, 0.0)


def test_shapes_and_colours():
    geometries = (
        "<box><size>1 2 3</size></box>",
        "<cylinder><radius>0.5</radius><length>2</length></cylinder>",
        "<ellipsoid><radii>1 2 3</radii></ellipsoid>",
    )
    material = "<material><diffuse>1 0.5 0 0.5</diffuse></material>"
    visuals = "".join(
        f'<visual name="v{i}"><pose>0 0 {i} 0 0 0</pose><geometry>{x}</geometry>{material}</visual>'
        for i, x in enumerate(geometries)
    )
    body, _ = read(f'<link name="a">{visuals}</link>')
    box, cylinder, ellipsoid = body.root.visual
    assert box.geometry.size.tolist() == [1.0, 2.0, 3.0]
    assert (cylinder.geometry.height, cylinder.T_FG[2, 3]) == (2.0, 1.0)
    np.testing.assert_allclose(abs(cylinder.T_FG[:3, 1]), [0.0, 0.0, 1.0], atol=1e-12)
    assert np.diag(ellipsoid.T_FG).tolist() == [1.0, 2.0, 3.0, 1.0]
    assert (box.material.diffuse, box.material.transparency) == ((1.0, 0.5, 0.0), 0.5)


def test_sensors_of_links_and_joints():
    imu = '<sensor name="imu" type="imu"><pose>0 0 0.5 0 0 0</pose></sensor>'
    lens = "<camera><horizontal_fov>1</horizontal_fov></camera>"
    camera = f'<sensor name="eye" type="camera">{lens}</sensor>'
    force = '<sensor name="ft" type="force_torque"/>'
    link = f'<link name="a">{imu}{camera}</link><link name="b"><pose>0 0 1 0 0 0</pose></link>'
    joint = (
        f'<joint name="j" type="revolute"><pose>0 0 -0.25 0 0 0</pose>{ENDS}<axis/>{force}</joint>'
    )
    body, found = read(link + joint)
    assert [type(device) for device in body.devices] == [Imu, Camera, ForceSensor]
    assert body.devices[0].X_LS.p.tolist() == [0.0, 0.0, 0.5]
    assert (body.devices[2].link, body.devices[2].X_LS.p.tolist()) == ("b", [0.0, 0.0, 0.0])
    assert body.link("b").X_PL.p.tolist() == [0.0, 0.0, 0.75]
    assert [d for d in found if d.code == "no-counterpart"] == []
