"""Projects, motions and controllers: wrong, endless, enormous, or leading elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hostile_commands.case import Case, Content, Fifo, Link, Sparse
from hostile_commands.samples import FILES, WORLD

_RED = "\\e[31m"


def _project(items: str, top: str = "") -> str:
    """Return a project of Choreonoid with the sample and further items."""
    return (
        f"{top}\nitems: {{ class: RootItem, children: [ {{ class: WorldItem, name: W, children: [\n"
        "  { class: BodyItem, name: one, data: { file: sample.body } },\n"
        f"  {items} ] }} ] }}\n"
    )


def _body(keys: str) -> str:
    return _project(f"{{ class: BodyItem, name: two, data: {{ file: sample.body, {keys} }} }}")


def _simulator(keys: str) -> str:
    return _project(f"{{ class: AISTSimulatorItem, name: S, data: {{ {keys} }} }}")


def _sub(path: str) -> str:
    return _project(f"{{ class: SubProjectItem, name: P, data: {{ file: '{path}' }} }}")


def _motion(text: Content) -> dict[str, Content]:
    """Return files with a project that plays a motion."""
    children = "{ class: BodyMotionItem, name: M, data: { file: m.seq } }"
    player = f"{{ class: BodyMotionControllerItem, name: C, children: [ {children} ] }}"
    item = (
        f"{{ class: BodyItem, name: two, data: {{ file: sample.body }}, children: [ {player} ] }}"
    )
    return {"world.cnoid": _project(item), "m.seq": text}


def _grx(items: str) -> str:
    """Return a project of OpenHRP."""
    return f"<grxui><mode name='Simulation'>{items}</mode></grxui>"


def _model(properties: str, url: str = "sample.body") -> str:
    return _grx(
        f"<item class='x.GrxModelItem' name='one' url='{url}'>"
        + "".join(f"<property {text}/>" for text in properties.split(";"))
        + "</item>"
    )


_ALIASES = "a: &a [ 1, 1 ]\n" + "".join(
    f"a{i}: &a{i} [ *a{i - 1 if i else ''}, *a{i - 1 if i else ''} ]\n" for i in range(40)
)
_CNOID: Mapping[str, Content] = {
    "empty": "items:\n",
    "all models missing": _body("x: 1").replace("sample.body", "nobody.body"),
    "model of a red name": _project(f'{{ class: BodyItem, data: {{ file: "{_RED}" }} }}'),
    "items of red names": _project(f'{{ class: "{_RED}Item", name: "{_RED}" }}'),
    "model upward": _body("x: 1").replace("sample.body", "${HOME}/../../../etc/passwd"),
    "unset variable": _body("x: 1").replace("sample.body", "${NOBODY}/a.body"),
    "position infinite": _body("root_translation: [ .inf, 0, 0 ]"),
    "position far": _body("root_translation: [ 1e300, 0, 0 ]"),
    "no rotation": _body("root_rotation: [ 0, 0, 0, 1 ]"),
    "joints nan": _body("joint_displacements: [ .nan ]"),
    "joints of aliases": _ALIASES + _body("joint_displacements: *a39"),
    "step nan": _simulator("time_step: .nan"),
    "endless": _simulator("time_range_mode: specified, time_length: 1e308"),
    "contains itself": _sub("world.cnoid"),
    "sub-project a device": _sub("/dev/zero"),
    "items of aliases": _ALIASES + "items: { children: *a39 }\n",
    "an alias of itself": "items: &a { class: RootItem, children: [ *a ] }\n",
    "deep": "items: " + "{ class: FolderItem, children: [" * 20_000,
    "many items": _project("{ class: X }," * 30_000),
    "pipe": Fifo(),
    "sparse": Sparse(1 << 30, b"items:\n"),
    "device": Link("/dev/zero"),
}
_XML: Mapping[str, Content] = {
    "no grxui": "<robot/>",
    "broken": "<grxui><mode",
    "entities": '<!DOCTYPE a [<!ENTITY b "bbbbbbbb">'
    + "".join(f"<!ENTITY b{i} '" + f"&b{i - 1};".replace("-1", "") * 9 + "'>" for i in range(9))
    + "]><grxui>&b8;</grxui>",
    "file": '<!DOCTYPE a [<!ENTITY b SYSTEM "/etc/passwd">]><grxui>&b;</grxui>',
    "deep": "<a>" * 50_000,
    "model missing": _model("name='a' value='b'", "nobody.wrl"),
    "angle nan": _model("name='ARM.angle' value='nan'"),
    "position far": _model("name='ROOT.translation' value='1e300 0 0'"),
    "many items": _grx("<item class='a.B' name='b'/>" * 50_000),
    "step zero": _grx(
        "<item class='x.GrxSimulationItem' name='s'><property name='timeStep' value='0'/></item>"
    ),
}
_MOTIONS: Mapping[str, Content] = {
    "empty": "",
    "widths": "0 1\n1 2 3\n",
    "unordered": "0 1\n1 2\n0.5 3\n",
    "nan": "0 1\n1 nan\n",
    "late": "type: PoseSeq\nrefs: [ { time: 1e308, refer: { type: Pose, joints: [0], q: [0] }} ]",
    "claimed": "{type: MultiValueSeq, num_frames: 1000000000, frame_rate: 1, frames: []}",
    "rate nan": "{type: MultiValueSeq, frame_rate: .nan, frames: [ [1] ]}",
    "aliases": _ALIASES + "type: MultiValueSeq\nframe_rate: 1\nframes: *a39\n",
    "device": Link("/dev/zero"),
}
_CLASS = "from hrp_sim import Controller\nclass C(Controller):\n  def %s: %s\n"
_CONTROLLERS: Mapping[str, str] = {
    "exits": "import sys\n" + _CLASS % ("control(self)", "sys.exit(0)"),
    "exits at import": "import sys; sys.exit(0)\nclass C: pass\n",
    "red": _CLASS % ("control(self)", "raise ValueError('\\x1b[31mred\\x07')"),
    "no class": "C = 3\n",
    "abstract": _CLASS % ("start(self)", "pass"),
    "syntax": "class C(:\n",
    "binary": "C\0C",
}


def _cases() -> Iterator[Case]:
    run = ("hrp-sim", "run", "--duration", "0.002")
    sensors, rviz = ("hrp-sim", "sensors"), ("hrp-sim", "rviz")
    for suffix, contents in ((".cnoid", _CNOID), (".xml", _XML)):
        for number, (name, content) in enumerate(contents.items()):
            command = (run, sensors, run, rviz)[number % 4]
            file = f"world{suffix}"
            data = command is rviz
            yield Case(
                f"{name}{suffix}", (*command, file), {**FILES, file: content}, (0, 1), data=data
            )
    for name, content in _MOTIONS.items():
        yield Case(f"motion {name}", (*run, "world.cnoid"), {**FILES, **_motion(content)}, (1,))
    for name, text in _CONTROLLERS.items():
        files = {**FILES, "world.yaml": WORLD, "c.py": text}
        command = (*run, "--controller", "one=c.py:C", "world.yaml")
        yield Case(f"controller {name}", command, files, (1,))


CASES = tuple(_cases())
