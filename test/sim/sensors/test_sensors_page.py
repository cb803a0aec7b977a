"""docs/sensors.md says what the code does."""

import re
from dataclasses import fields
from math import inf

from paths import ROOT

from hrp_model.diagnostics import Source
from hrp_model.readers.yaml.tree import parse as parse_yaml
from hrp_sim import sensors
from hrp_sim.world.sensor_options import OPTIONS, parse_option, read_common

PAGE = (ROOT / "docs" / "sensors.md").read_text(encoding="utf-8")


def written(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else value


def row(name):
    """Return the line of the table for an option."""
    option = OPTIONS[name]
    rules, default = option.metadata, written(option.default)
    values = ", ".join(f"`{choice}`" for choice in rules.get("choices", ()))
    if isinstance(option.default, float):
        least, most = rules.get("minimum", -inf), rules.get("maximum", inf)
        values = f"{least:g} and more" if most == inf else f"{least:g} to {most:g}"
    kinds = ", ".join(sorted(rules["kinds"])) or "all"
    return f"| `{name}` | {kinds} | `{default}` | {values} | {rules['doc']} |"


def test_the_table_is_that_of_the_code():
    lines = PAGE[PAGE.index("| option |") :].split("\n\n")[0].splitlines()[2:]
    assert lines == [row(name) for name in OPTIONS]


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_options_of_the_examples_are_such(diagnostics):
    [text] = blocks("yaml")
    world = parse_yaml(Source("world.yaml", text), diagnostics)
    assert read_common(world.mapping("sensors")).background == "#ffffff"
    given = re.findall(r"--sensor (\S+)", PAGE) + [
        pair.replace(":=", "=") for pair in re.findall(r"-p (\S+)", PAGE) if "world" not in pair
    ]
    assert len([parse_option(option) for option in given]) == 4


def test_the_example_in_python_runs(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    [text] = blocks("python")
    exec(compile(text, "sensors.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 50
    assert lines[0].startswith("0.002 [")


def test_readings_hold_what_the_page_says():
    rows = [line for line in PAGE.splitlines() if re.match(r"\|[^|]*\| `\w+Reading` \|", line)]
    told = {}
    for line in rows:
        name, *attributes = re.findall(r"`(\w+)(?:\(\))?`", line.split("|", 2)[2])
        told[name] = attributes
        reading = getattr(sensors, name)
        for attribute in attributes:
            assert attribute in {f.name for f in fields(reading)} or hasattr(reading, attribute)
    assert set(told) == {name for name in sensors.__all__ if re.fullmatch(r"\w+Reading", name)}
