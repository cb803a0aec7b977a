"""Files that include each other, multiply, or nest without end: read or refused within bounds."""

import struct

import pytest
from bounded_reading import read_or_refused
from each_case import mostly_slow
from hostile import BODY, LEVELS, LINK, SPHERE, WRL, shown, write

# --- files that include each other


def test_an_inline_of_itself_is_refused(tmp_path):
    path = write(tmp_path, a_wrl=f'{WRL}Inline {{ url "a.wrl" }}')
    assert read_or_refused(path).codes == ["resource-cycle"]


def test_inlines_of_each_other_are_refused(tmp_path):
    path = write(
        tmp_path,
        a_wrl=WRL + 'DEF R Humanoid { humanoidBody Joint { children Inline { url "b.wrl" } } }',
        b_wrl=f'{WRL}Group {{ children Inline {{ url "./b.wrl" }} }}',
    )
    assert "resource-cycle" in read_or_refused(path).codes


def test_an_inline_of_itself_through_a_link_is_refused(tmp_path):
    path = write(tmp_path, a_wrl=f'{WRL}Inline {{ url "b.wrl" }}')
    (tmp_path / "b.wrl").symlink_to("a.wrl")
    assert read_or_refused(path).codes == ["resource-cycle"]
    assert read_or_refused(tmp_path / "b.wrl").codes == ["resource-cycle"]


@pytest.mark.parametrize(
    "files",
    [
        {"a_body": "{ type: SubBody, uri: a.body }"},
        {"a_body": "{ type: SubBody, uri: b.body }", "b_body": "{ type: SubBody, uri: a.body }"},
        {"a_body": "{ type: SubBody, uri: b.yaml }", "b_yaml": "{ type: SubBody, uri: a.body }"},
        {"a_body": "{ type: SubBody, uri: link.body }"},
        {"a_body": "{ type: SubBody, uri: folder/a.body }"},
    ],
)
def test_bodies_that_include_each_other_are_refused(tmp_path, files):
    path = write(tmp_path, **{n: f"{BODY}links: [ {{ name: A }}, {e} ]" for n, e in files.items()})
    (tmp_path / "link.body").symlink_to("a.body")
    (tmp_path / "folder").symlink_to(".")
    found = read_or_refused(path)
    assert (found.kind, "resource-cycle" in found.codes) == ("refused", True)


def test_libraries_that_include_each_other_are_refused(tmp_path):
    again = "{ type: Resource, uri: b.yaml }"
    path = write(tmp_path, a_body=shown("b.yaml"), b_yaml=f"- {again}\n- {again}\n")
    assert "resource-cycle" in read_or_refused(path).codes


def test_a_wrapper_of_itself_is_refused(tmp_path):
    assert read_or_refused(write(tmp_path, a_yaml="modelFile: a.yaml\n")).kind == "refused"


def test_scenes_that_include_each_other_are_refused(tmp_path):
    scene = "format: ChoreonoidScene\nformat_version: 1.0\nscene: { type: Resource, uri: %s }\n"
    path = write(tmp_path, a_body=shown("b.scen"), b_scen=scene % "c.scen", c_scen=scene % "b.scen")
    read_or_refused(path)


def test_a_loop_of_links_is_refused(tmp_path):
    for name, target in (("a.wrl", "b.wrl"), ("b.wrl", "a.wrl")):
        (tmp_path / name).symlink_to(target)
    assert read_or_refused(tmp_path / "a.wrl").kind == "refused"
    read_or_refused(write(tmp_path, c_body=shown("a.wrl")))


# --- short files that stand for large ones


def twice(name):
    return f"[ *{name}, *{name} ]"


def doubled(first, entry):
    """Return YAML lines of anchors l0, l1, ... that name the one before twice each."""
    lines = [f"k0: &l0 {first}"]
    lines += [f"k{i}: &l{i} {entry.format(f'*l{i - 1}')}" for i in range(1, LEVELS)]
    return "\n".join(lines) + "\n"


LAST = f"l{LEVELS - 1}"
ALIAS_BOMBS = {
    "lists": BODY + doubled("[ 1, 2 ]", "[ {0}, {0} ]") + "links: [ { name: A } ]\n",
    "mappings": BODY + doubled("{ a: 1 }", "{{ a: {0}, b: {0} }}") + "links: [ { name: A } ]\n",
    "merges": BODY + doubled("{ a: 1 }", "{{ <<: [ {0}, {0} ], a: {0} }}") + "links: [{name: A}]\n",
    "two merges": BODY + doubled("{ a: 1 }", "{{ <<: {0}, <<: {0}, b: {0}, c: {0} }}"),
    "numbers": BODY
    + doubled("[ 0, 0, 0 ]", "[ {0}, {0} ]")
    + f"links: [ {{ name: A, translation: *{LAST} }} ]\n",
    "nodes": BODY
    + doubled(
        "{ type: Shape, geometry: { type: Sphere } }",
        "{{ type: Group, elements: [ {0}, {0} ] }}",
    )
    + f"links: [ {{ name: A, elements: [ *{LAST} ] }} ]\n",
    "links": BODY + doubled("{ name: A }", "[ {0}, {0} ]") + f"links: *{LAST}\n",
    "texts": BODY
    + f"k: &t {'x' * 100_000}\nlinks: [ {{ name: A }} ]\n"
    + f"list: [ {', '.join(['*t'] * 20_000)} ]\n",
}


@pytest.mark.parametrize("name", mostly_slow(ALIAS_BOMBS, 4))
def test_alias_bombs_are_defused(tmp_path, name):
    read_or_refused(write(tmp_path, a_body=ALIAS_BOMBS[name]))


def test_bodies_that_include_two_each_are_refused(tmp_path):
    for i in range(LEVELS):
        entries = [f"{{ type: SubBody, uri: l{i + 1}.body, prefix: {p}, parent: A }}" for p in "ab"]
        text = f"{BODY}links: [ {{ name: A }}, {', '.join(entries)} ]"
        (tmp_path / f"l{i}.body").write_text(text)
    (tmp_path / f"l{LEVELS}.body").write_text(f"{BODY}links: [ {{ name: A }} ]")
    assert read_or_refused(tmp_path / "l0.body").kind == "refused"


def test_libraries_that_include_two_each_are_refused(tmp_path):
    for i in range(LEVELS):
        (tmp_path / f"l{i}.yaml").write_text(f"- {{ type: Resource, uri: l{i + 1}.yaml }}\n" * 2)
    (tmp_path / f"l{LEVELS}.yaml").write_text("type: Shape\ngeometry: { type: Sphere }\n")
    assert read_or_refused(write(tmp_path, a_body=shown("l0.yaml"))).kind == "refused"


@pytest.mark.parametrize("start", mostly_slow(["a.body", "l0.wrl", "r.wrl"], 1))
def test_inlines_of_two_each_are_refused(tmp_path, start):
    for i in range(LEVELS):
        (tmp_path / f"l{i}.wrl").write_text(WRL + f'Inline {{ url "l{i + 1}.wrl" }}\n' * 2)
    (tmp_path / f"l{LEVELS}.wrl").write_text(f"{WRL}Shape {{ geometry Sphere {{ }} }}")
    inline = 'Segment { children Inline { url "l0.wrl" } }'
    robot = f"DEF R Humanoid {{ humanoidBody Joint {{ children {inline} }} }}"
    write(tmp_path, a_body=shown("l0.wrl"), r_wrl=f"{WRL}{robot}")
    assert read_or_refused(tmp_path / start).kind == "refused"


def test_scenes_that_draw_in_two_each_are_refused(tmp_path):
    for i in range(LEVELS):
        entries = f"- {{ type: Resource, uri: l{i + 1}.scen }}\n" * 2
        (tmp_path / f"l{i}.scen").write_text(f"format_version: 2.0\nscene:\n{entries}")
    (tmp_path / f"l{LEVELS}.scen").write_text(
        "format_version: 2.0\nscene: { type: Shape, geometry: { type: Sphere } }\n"
    )
    assert read_or_refused(write(tmp_path, a_body=shown("l0.scen"))).codes == ["too-large"]


CHAINS = {
    "wrl": WRL + 'Inline {{ url "{}.wrl" }}',
    "body": BODY
    + "links: [ {{ name: A }}, {{ type: SubBody, uri: {0}.body, prefix: {0}, parent: A }} ]",
    "yaml": "modelFile: {}.yaml",
    "scen": "format_version: 2.0\nscene: {{ type: Resource, uri: {}.scen }}",
    "nodes": "- {{ type: Resource, uri: {}.yaml }}",
}


@pytest.mark.parametrize("kind", mostly_slow(CHAINS, 2))
def test_an_endless_chain_of_files_is_refused(tmp_path, kind):
    suffix = kind.replace("nodes", "yaml")
    for i in range(1000):
        (tmp_path / f"c{i}.{suffix}").write_text(CHAINS[kind].format(f"c{i + 1}"))
    path = tmp_path / f"c0.{suffix}"
    if kind in ("scen", "nodes"):
        path = write(tmp_path, a_body=shown(path.name))
    assert read_or_refused(path).codes == ["too-deep"]


USES = "".join(
    f"DEF N{i} Group {{ children [ USE N{i - 1}, USE N{i - 1} ] }}\n" for i in range(1, LEVELS)
)
MULTIPLYING_WRL = {
    "uses": f"DEF N0 {SPHERE}\n{USES}",
    "protos": f"PROTO P0 [ ] {{ {SPHERE} }}\n"
    + "".join(
        f"PROTO P{i} [ ] {{ Group {{ children [ P{i - 1} {{ }} P{i - 1} {{ }} ] }} }}\n"
        for i in range(1, LEVELS)
    )
    + f"P{LEVELS - 1} {{ }}",
    "fields of protos": "PROTO P0 [ field MFNode c [ ] ] { Group { children IS c } }\n"
    + "".join(
        f"PROTO P{i} [ field MFNode c [ ] ] {{ Group {{ children "
        f"[ P{i - 1} {{ c IS c }} P{i - 1} {{ c IS c }} ] }} }}\n"
        for i in range(1, LEVELS)
    )
    + f"P{LEVELS - 1} {{ c [ {SPHERE} {SPHERE} ] }}",
    "defaults of protos": "".join(
        f"PROTO P{i} [ field SFNode n {inner} field MFNode m [ {inner} {inner} ] ]"
        f" {{ Group {{ children [ Group {{ children IS m }} ] }} }}\n"
        for i, inner in enumerate([SPHERE, *(f"P{i} {{ }}" for i in range(LEVELS - 1))])
    )
    + f"P{LEVELS - 1} {{ }}",
    "a proto of itself": "PROTO P [ ] { Group { children P { } } } P { }",
    "protos of each other": "PROTO Q [ ] { Group { } } "
    "PROTO P [ ] { Group { children Q { } } } PROTO Q [ ] { Group { children P { } } } Q { }",
    "a node in itself": "DEF A Group { children [ USE A ] } DEF B Group { children USE A }",
    "joints": "DEF S Segment { mass 1 children "
    + SPHERE
    + "} "
    + "DEF R Humanoid { humanoidBody DEF J0 Joint { children [ "
    + "".join(
        f"DEF N{i} Group {{ children [ USE N{i - 1} USE N{i - 1} USE S ] }}\n"
        for i in range(1, LEVELS)
    )
    + "] } }",
}


@pytest.mark.parametrize("name", mostly_slow(MULTIPLYING_WRL, 3))
def test_nodes_that_multiply_are_read_or_refused(tmp_path, name):
    read_or_refused(write(tmp_path, a_wrl=WRL + MULTIPLYING_WRL[name]))


def test_parts_whose_nodes_multiply_are_refused(tmp_path):
    path = write(tmp_path, a_body=shown("a.wrl"), a_wrl=WRL + MULTIPLYING_WRL["uses"])
    assert read_or_refused(path).kind == "refused"


def test_entities_of_xml_are_neither_multiplied_nor_fetched(tmp_path):
    write(tmp_path, secret_txt="0 1 2")
    doubling = "".join(f'<!ENTITY e{i} "&e{i - 1};&e{i - 1};">' for i in range(1, LEVELS))
    for entity in (
        f'<!ENTITY e0 "0 1 2 ">{doubling}',
        f'<!ENTITY e{LEVELS - 1} SYSTEM "secret.txt">',
        f'<!ENTITY e{LEVELS - 1} SYSTEM "/dev/zero">',
        f'<!ENTITY e{LEVELS - 1} SYSTEM "http://localhost:1/x">',
    ):
        mesh = COLLADA.replace("<COLLADA", f"<!DOCTYPE c [ {entity} ]><COLLADA").replace(
            "0 1 2</p>", f"&e{LEVELS - 1};</p>"
        )
        found = read_or_refused(write(tmp_path, a_body=shown("m.dae"), m_dae=mesh))
        assert "unreadable-resource" in found.codes


COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
 <asset><unit meter="1"/><up_axis>Z_UP</up_axis></asset>
 <library_geometries><geometry id="g" name="G"><mesh>
  <source id="p"><float_array id="pa" count="9">0 0 0 1 0 0 0 1 0</float_array>
   <technique_common><accessor source="#pa" count="3" stride="3">
   <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
   </accessor></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
  <triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
 </mesh></geometry></library_geometries>
 <library_visual_scenes><visual_scene id="S">%s</visual_scene></library_visual_scenes>
 <scene><instance_visual_scene url="#S"/></scene>
</COLLADA>
"""
SHOWN = '<node id="n0"><instance_geometry url="#g"/></node>'


def collada_levels(inner):
    return SHOWN + "".join(
        f'<node id="n{i}">{inner.format(i - 1) * 2}</node>' for i in range(1, LEVELS)
    )


NODES_OF_COLLADA = {
    "shown": SHOWN,
    "two each": collada_levels('<instance_node url="#n{}"/>'),
    "itself": '<node id="n0"><instance_node url="#n0"/><instance_geometry url="#g"/></node>',
    "deep": "<node>" * 100_000 + SHOWN + "</node>" * 100_000,
    "somewhat deep": "<node>" * 200 + SHOWN + "</node>" * 200,
    "unclosed": "<node>" * 100_000,
}


@pytest.mark.parametrize("name", mostly_slow(NODES_OF_COLLADA, 3))
def test_nodes_of_collada_are_read_or_refused(tmp_path, name):
    read_or_refused(write(tmp_path, a_body=shown("m.dae"), m_dae=COLLADA % NODES_OF_COLLADA[name]))


# --- deep nesting

DEEP = 100_000
DEEP_TEXTS = {
    "brackets_wrl": WRL + "[" * DEEP,
    "braces_wrl": WRL + "{" * DEEP,
    "lists of a field_wrl": f"{WRL}Group {{ x {'[' * DEEP}",
    "nodes_wrl": WRL + "Group { children [ " * DEEP,
    "nodes in no list_wrl": WRL + "Group { children " * DEEP,
    "unknown nodes_wrl": WRL + "X { y " * DEEP,
    "names_wrl": WRL + "DEF " * DEEP,
    "protos_wrl": WRL + "PROTO P [ ] { " * DEEP,
    "interfaces_wrl": WRL + "PROTO P [ field SFNode n " * DEEP,
    "scripts_wrl": WRL + "Script { " * DEEP,
    "joints_wrl": f"{WRL}DEF R Humanoid {{ humanoidBody " + "Joint { children [ " * DEEP,
    "closed joints_wrl": f"{WRL}DEF R Humanoid {{ humanoidBody "
    + "Joint { children [ " * DEEP
    + "] } " * DEEP
    + "}",
    "lists_body": BODY + "x: " + "[" * DEEP,
    "closed lists_body": BODY + "x: " + "[" * DEEP + "]" * DEEP,
    "mappings_body": BODY + "x: " + "{a: " * DEEP,
    "items_body": BODY + "x:\n" + "- " * DEEP,
    "keys_body": BODY + "? " * DEEP,
    "indentation_body": BODY + "\n".join(" " * i + "a:" for i in range(3000)),
    "elements_body": LINK % ("{ type: Group, elements: [ " * 3000 + "] }" * 3000),
    "anchors_body": BODY + "".join(f"k{i}: &a{i} [ *a{max(i - 1, 0)} ]\n" for i in range(DEEP)),
}


@pytest.mark.parametrize("name", mostly_slow(DEEP_TEXTS, 6))
def test_deep_nesting_is_refused(tmp_path, name):
    path = tmp_path / f"a.{name.rpartition('_')[2]}"
    path.write_text(DEEP_TEXTS[name])
    assert read_or_refused(path).kind == "refused"


def test_a_long_chain_of_links_is_read(tmp_path):
    links = ["{ name: L0, mass: 1 }"]
    links += [f"{{ name: L{i}, parent: L{i - 1}, mass: 1 }}" for i in range(1, 3000)]
    path = write(tmp_path, a_body=f"{BODY}links: [ {', '.join(links)} ]")
    assert read_or_refused(path).links == 3000


def gltf(text):
    head = text.encode() + b" " * (-len(text) % 4)
    return struct.pack("<4sIII4s", b"glTF", 2, 20 + len(head), len(head), b"JSON") + head


def gltf_nodes(nodes):
    start = '{"asset":{"version":"2.0"},"scenes":[{"nodes":[0]}],"nodes":['
    return f"{start}{','.join(nodes)}]}}"


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP,
        '{"a":' * DEEP,
        gltf_nodes(['{"children":[0]}']),
        gltf_nodes(f'{{"children":[{i + 1},{i + 1}]}}' for i in range(LEVELS)),
        gltf_nodes(f'{{"children":[{i + 1}]}}' for i in range(5000)),
        '{"asset":{"version":"2.0"},"buffers":[{"byteLength":1,"uri":"../../../dev/zero"}],'
        '"bufferViews":[{"buffer":0,"byteLength":1}]}',
        '{"asset":{"version":"2.0"},"buffers":[{"byteLength":1,"uri":"file:///dev/zero"}]}',
        '{"asset":{"version":"2.0"},"accessors":[{"count":1000000000,"type":"VEC3",'
        '"componentType":5126}],"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}]}',
    ],
    ids=["lists", "mappings", "cycle", "two each", "chain", "device", "uri", "count"],
)
def test_hostile_gltf_is_left_out(tmp_path, text):
    path = write(tmp_path, a_body=shown("m.glb"), m_glb=gltf(text))
    assert read_or_refused(path).kind == "body"
