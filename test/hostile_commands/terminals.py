"""What steers a terminal, in every place of an input whose text is shown to people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hostile_commands.case import Case
from hostile_commands.samples import BODY, FILES, URDF, WORLD, WRL, shown

# Clears the screen, sets the title, 8-bit CSI, reorders, goes back, rings, ends a line.
STEERING = "\x1b[2J\x1b]0;owned\x07\u009b31m\u202eabc\u2066\r\x08\u2028\x7f\ufeff"
MARKUP = "[bold red]x[/bold red][/x][link=http://a]"
_QUOTED = '"' + "".join(f"\\u{ord(c):04x}" for c in STEERING) + MARKUP + '"'
_XML = "\u009b31m\u202eabc\u2066\u2028\x7f\ufeff" + MARKUP
_FILES: Mapping[str, str] = {
    "link.body": BODY.replace("name: ARM", f"name: {_QUOTED}"),
    "sensor.body": BODY.replace("name: imu", f"name: {_QUOTED}"),
    "robot.body": BODY.replace("name: sample", f"name: {_QUOTED}"),
    "key.body": BODY.replace("joint_axis: Y", f"joint_axis: Y\n    {_QUOTED}: 1"),
    "value.body": BODY.replace("joint_type: revolute", f"joint_type: {_QUOTED}"),
    "uri.body": shown("x").replace("'x'", _QUOTED),
    "comment.body": BODY.replace("joint_type: revolute", "joint_type: wrong # \u202e\u009b31m"),
    "link.urdf": URDF.replace('"arm"', f'"{_XML}"'),
    "tag.urdf": URDF.replace("<axis", f'<axes name="{_XML}"/><axis'),
    "def.wrl": WRL.replace("DEF ARM Joint", "DEF A\u202e\u009b31m[/x]RM Joint"),
    "text.wrl": WRL.replace('"rotate"', f'"{STEERING}{MARKUP}"'),
    "body.yaml": WORLD.replace("name: one", f"name: {_QUOTED}"),
    "space.yaml": WORLD.replace("name: one", f"name: one, namespace: {_QUOTED}"),
    "key.yaml": WORLD.replace("name: one", f"name: one, {_QUOTED}: 3"),
    "model.yaml": WORLD.replace("sample.body", _QUOTED),
    "joint.yaml": WORLD.replace("name: one", f"name: one, joints: {{ {_QUOTED}: 3 }}"),
}


def _commands(name: str) -> Iterator[tuple[str, ...]]:
    if not name.endswith(".yaml"):
        yield ("hrp-model", "check", name)
        yield ("hrp-model", "tree", name)
    yield ("hrp-sim", "run", name, "--duration", "0.002")
    yield ("hrp-sim", "sensors", name)


def _cases() -> Iterator[Case]:
    for number, (name, text) in enumerate(_FILES.items()):
        files = {**FILES, name: text}
        for command in _commands(name):
            title = " ".join(command[:3])
            yield Case(title, command, files, (0, 1))
            if number % 2 == 0:
                yield Case(f"{title} on a terminal", command, files, (0, 1), on_terminal=True)
    for name in (f"{STEERING}.body", f"{MARKUP}.body"):
        for command in (("hrp-model", "check"), ("hrp-sim", "run", "--duration", "0.002")):
            title = (
                f"{command[1]} of a name {'that steers' if name[0] == STEERING[0] else 'of markup'}"
            )
            yield Case(title, (*command, name.replace("/", "")), FILES, (1, 2))
    yield Case("a command that steers", ("hrp-sim", STEERING), FILES, (2,))
    yield Case("an option that steers", ("hrp-model", "check", f"--{STEERING}", "x"), FILES, (2,))
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    for command in (("hrp-model", "tree"), ("hrp-sim", "run", "--duration", "0.002")):
        files = {**FILES, "name.body": BODY.replace("ARM", "腕")}
        title = f"{command[1]} in ASCII"
        yield Case(title, (*command, "name.body"), files, (0,), environment=ascii_only)


CASES = tuple(_cases())
