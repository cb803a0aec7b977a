"""Colours and images that mesh files carry or name."""

import io
import json
import struct
import zlib

import numpy as np
import pytest
import trimesh
from body_tools import read_context, read_link
from mesh_samples import DAE, obj
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from trimesh.visual.material import PBRMaterial

from hrp_model.files.resources import FileAccess
from hrp_model.geometry import Texture
from hrp_model.readers.mesh.mesh_file import read_scene
from hrp_model.shapes.images import texture_image

# Red, green above; blue, white below.
PIXELS = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], np.uint8)
UV = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float)


def picture(pixels=PIXELS):
    return Image.fromarray(pixels)


@pytest.fixture
def wood(tmp_path):
    """An image file beside the mesh files."""
    path = tmp_path / "wood.png"
    picture().save(path)
    return path


def square(**material):
    points = np.c_[UV, np.zeros(4)]
    mesh = trimesh.Trimesh(points, [(0, 1, 2), (0, 2, 3)], process=False)
    mesh.visual = trimesh.visual.TextureVisuals(uv=UV, material=PBRMaterial(**material))
    return mesh


def only_shape(path, diagnostics):
    (shape,) = read_scene(path, read_context(diagnostics)).flattened()
    return shape


def shape_of_glb(mesh, tmp_path, diagnostics):
    mesh.export(tmp_path / "a.glb")
    return only_shape(tmp_path / "a.glb", diagnostics)


def assert_upright(mesh):
    """The texture coordinates of a unit square are its x and y."""
    st = mesh.tex_coords.values[mesh.tex_coords.indices]
    np.testing.assert_allclose(st, mesh.vertices[mesh.triangles][..., :2])


def test_an_image_inside_a_glb_becomes_the_texture(tmp_path, diagnostics):
    shape = shape_of_glb(square(baseColorTexture=picture()), tmp_path, diagnostics)
    assert shape.material.texture == Texture(image=PIXELS)
    assert shape.material.diffuse == (1.0, 1.0, 1.0)
    assert_upright(shape.geometry)


@pytest.mark.parametrize("word", ["0", "99", "oak"])
def test_words_in_an_image_do_not_change_what_it_shows(word, tmp_path, diagnostics):
    words = PngInfo()
    words.add_text("texture", word)
    stream = io.BytesIO()
    picture().save(stream, "PNG", pnginfo=words)
    image = Image.open(stream)
    shape = shape_of_glb(square(baseColorTexture=image), tmp_path, diagnostics)
    assert shape.material.texture == Texture(image=PIXELS)


def test_a_factor_of_the_material_colours_the_image(tmp_path, diagnostics):
    mesh = square(baseColorTexture=picture(), baseColorFactor=[255, 51, 0, 255])
    shape = shape_of_glb(mesh, tmp_path, diagnostics)
    np.testing.assert_array_equal(shape.material.texture.image, PIXELS * [1, 0.2, 0])


@pytest.mark.parametrize(("mode", "channels"), [(None, 3), ("OPAQUE", 3), ("BLEND", 4)])
def test_opacity_counts_only_where_the_material_says_so(mode, channels, tmp_path, diagnostics):
    image = Image.fromarray(np.dstack([PIXELS, np.full((2, 2), 128, np.uint8)]))
    shape = shape_of_glb(square(baseColorTexture=image, alphaMode=mode), tmp_path, diagnostics)
    assert shape.material.texture.image.shape == (2, 2, channels)


def test_both_sides_of_a_double_sided_material_are_drawn(tmp_path, diagnostics):
    for both in (True, False):
        shape = shape_of_glb(square(doubleSided=both), tmp_path, diagnostics)
        assert shape.geometry.solid is not both


def test_the_files_of_a_gltf_are_found_beside_it(tmp_path, wood, diagnostics):
    scene = trimesh.Scene(square(baseColorTexture=picture()))
    files = trimesh.exchange.gltf.export_gltf(scene)
    header = json.loads(files.pop("model.gltf"))
    header["images"] = [{"uri": "wood.png"}]
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "a.gltf").write_text(json.dumps(header))
    shape = only_shape(tmp_path / "a.gltf", diagnostics)
    np.testing.assert_array_equal(texture_image(shape.material.texture), PIXELS)
    wood.unlink()
    assert only_shape(tmp_path / "a.gltf", diagnostics).material.texture is None
    assert "wood.png" in diagnostics.take("missing-resource").message


def test_a_broken_image_inside_a_glb_is_reported(tmp_path, diagnostics):
    data = square(baseColorTexture=picture()).export(file_type="glb")
    (tmp_path / "a.glb").write_bytes(data.replace(b"\x89PNG", b"\x89QNG"))
    assert only_shape(tmp_path / "a.glb", diagnostics).material.texture is None
    diagnostics.take("unreadable-texture")


def test_an_image_larger_than_any_texture_is_reported(tmp_path, diagnostics):
    data = square(baseColorTexture=picture()).export(file_type="glb")
    start = data.index(b"IHDR")
    header = b"IHDR" + struct.pack(">II", 9_000, 9_000) + data[start + 12 : start + 17]
    header += struct.pack(">I", zlib.crc32(header))
    (tmp_path / "a.glb").write_bytes(data[:start] + header + data[start + len(header) :])
    assert only_shape(tmp_path / "a.glb", diagnostics).material.texture is None
    assert "9000 x 9000" in diagnostics.take("unreadable-texture").message


def test_colours_of_vertices_and_faces_pass_through(tmp_path, diagnostics):
    points = np.c_[UV, np.zeros(4)]
    mesh = trimesh.Trimesh(points, [(0, 1, 2), (0, 2, 3)], process=False)
    mesh.visual.vertex_colors = [[255, 0, 0, 255], [0, 255, 0, 255]] * 2
    for suffix in ("glb", "ply"):
        mesh.export(tmp_path / f"a.{suffix}")
        colors = only_shape(tmp_path / f"a.{suffix}", diagnostics).geometry.colors
        corners = colors.values[colors.indices]
        np.testing.assert_allclose(corners[0], [(1, 0, 0), (0, 1, 0), (1, 0, 0)])
    mesh.visual = trimesh.visual.ColorVisuals(mesh, face_colors=[[255, 0, 0], [0, 0, 255]])
    mesh.export(tmp_path / "b.ply")
    colors = only_shape(tmp_path / "b.ply", diagnostics).geometry.colors
    np.testing.assert_allclose(colors.values[colors.indices][1], [(0, 0, 1)] * 3)


def mtl(map_kd="wood.png", more=""):
    return f"newmtl paint\nKd 0.5 0.25 1\n{more}\nmap_Kd {map_kd}\n"


def shape_of_obj(material, tmp_path, diagnostics):
    (tmp_path / "a.mtl").write_text(material)
    (tmp_path / "a.obj").write_bytes(obj(head="mtllib a.mtl\nusemtl paint\n"))
    return only_shape(tmp_path / "a.obj", diagnostics)


def test_the_image_of_an_obj_is_read_when_it_is_drawn(tmp_path, wood, diagnostics):
    shape = shape_of_obj(mtl(more="Ks 0.1 0.2 0.3\nNs 64\nd 0.25\nKe 0 0 1"), tmp_path, diagnostics)
    material = shape.material
    assert material.texture == Texture(wood)
    assert (material.name, material.diffuse) == ("paint", (0.5, 0.25, 1.0))
    assert (material.specular, material.shininess) == ((0.1, 0.2, 0.3), 0.5)
    assert (material.emissive, material.transparency) == ((0.0, 0.0, 1.0), 0.75)
    assert_upright(shape.geometry)
    wood.write_bytes(b"no longer an image")
    assert shape_of_obj(mtl(), tmp_path, diagnostics).material.texture == Texture(wood)


@pytest.mark.parametrize(
    "name", ["C:\\Users\\me\\wood.png", "/home/me/wood.png", "./wood.png", "textures/wood.png"]
)
def test_a_path_of_another_machine_counts_by_its_last_part(name, tmp_path, wood, diagnostics):
    assert shape_of_obj(mtl(name), tmp_path, diagnostics).material.texture == Texture(wood)


def test_options_before_the_image_place_it(tmp_path, wood, diagnostics):
    options = "-s 2 4 1 -o 0.5 1 0 -mm 0 1 -clamp on wood.png"
    texture = shape_of_obj(mtl(options), tmp_path, diagnostics).material.texture
    assert (texture.path, texture.repeat) == (wood, (False, False))
    assert (texture.scale, texture.translation) == ((2.0, 4.0), (0.25, 0.25))


def test_a_missing_image_or_material_file_is_one_warning_in_its_place(tmp_path, diagnostics):
    (tmp_path / "a.mtl").write_text(mtl() + mtl().replace("paint", "other"))
    (tmp_path / "a.obj").write_bytes(obj(head="mtllib a.mtl\nusemtl paint\n"))
    resource = "elements: [{type: Shape, geometry: {type: Resource, uri: a.obj}}]"
    assert len(read_link(resource, diagnostics, tmp_path).visual) == 1
    warning = diagnostics.take("missing-resource")
    assert "wood.png" in warning.message
    assert str(warning.at).endswith("a.mtl:4:1")
    (tmp_path / "a.mtl").unlink()
    assert len(read_link(resource, diagnostics, tmp_path).visual) == 1
    warning = diagnostics.take("missing-resource")
    assert "a.mtl" in warning.message
    assert str(warning.at).endswith("a.obj:1:1")


@pytest.mark.parametrize("suffix", ["obj", "dae"])
def test_a_sandbox_holds_for_images_too(suffix, tmp_path, wood, diagnostics):
    inside = tmp_path / "model"
    inside.mkdir()
    (inside / "a.mtl").write_text(mtl("../wood.png"))
    (inside / "a.obj").write_bytes(obj(head="mtllib a.mtl\nusemtl paint\n"))
    (inside / "a.dae").write_text(painted_dae("../wood.png"))
    found = read_context(diagnostics)
    found.access = FileAccess((inside,), sandboxed=True)
    (shape,) = read_scene(inside / f"a.{suffix}", found).flattened()
    assert shape.material.texture is None
    diagnostics.take("outside-sandbox")


def painted_dae(image="wood.png"):
    library = (
        f'<library_images><image id="i"><init_from>{image}</init_from></image></library_images>'
    )
    parameters = (
        '<newparam sid="f"><surface type="2D"><init_from>i</init_from></surface></newparam>'
        '<newparam sid="k"><sampler2D><source>f</source></sampler2D></newparam>'
    )
    return (
        DAE.replace("<library_effects>", library + "<library_effects>")
        .replace('<technique sid="t">', parameters + '<technique sid="t">')
        .replace("<color>1 0 0.5 1</color>", '<texture texture="k" texcoord="UV"/>')
    )


@pytest.mark.parametrize("name", ["wood.png", "./wood.png", "file:///C:/me/wood.png", "wo%6fd.png"])
def test_collada_names_its_images(name, tmp_path, wood, diagnostics):
    (tmp_path / "a.dae").write_text(painted_dae(name))
    assert only_shape(tmp_path / "a.dae", diagnostics).material.texture == Texture(wood)


def test_a_missing_image_of_collada_is_reported(tmp_path, diagnostics):
    (tmp_path / "a.dae").write_text(painted_dae())
    assert only_shape(tmp_path / "a.dae", diagnostics).material.texture is None
    assert "wood.png" in diagnostics.take("missing-resource").message


def test_collada_keeps_colours_of_corners(tmp_path, diagnostics):
    source = (
        '<source id="c"><float_array id="ca" count="6">1 0 0 0 1 0</float_array>'
        '<technique_common><accessor source="#ca" count="2" stride="3">'
        '<param name="R" type="float"/><param name="G" type="float"/>'
        '<param name="B" type="float"/></accessor></technique_common></source><vertices'
    )
    text = (
        DAE.replace("<vertices", source, 1)
        .replace('offset="0"/>', 'offset="0"/><input semantic="COLOR" source="#c" offset="1"/>')
        .replace("<p>0 1 2 3</p>", "<p>0 0 1 1 2 0 3 1</p>")
    )
    (tmp_path / "a.dae").write_text(text)
    mesh = only_shape(tmp_path / "a.dae", diagnostics).geometry
    corners = mesh.colors.values[mesh.colors.indices]
    expected = np.where((mesh.triangles % 2 == 0)[..., None], (1, 0, 0), (0, 1, 0))
    np.testing.assert_array_equal(corners, expected)


def test_a_skin_is_drawn_as_it_was_bound(tmp_path, diagnostics):
    skin = (
        '<library_controllers><controller id="k"><skin source="#g">'
        "<bind_shape_matrix>1 0 0 5 0 1 0 0 0 0 1 0 0 0 0 1</bind_shape_matrix>"
        '<source id="j"><Name_array id="ja" count="1">N1</Name_array><technique_common>'
        '<accessor source="#ja" count="1" stride="1"><param name="JOINT" type="name"/></accessor>'
        '</technique_common></source><source id="b"><float_array id="ba" count="16">'
        "1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</float_array><technique_common>"
        '<accessor source="#ba" count="1" stride="16"><param name="TRANSFORM" type="float4x4"/>'
        '</accessor></technique_common></source><source id="q"><float_array id="qa" count="1">1'
        '</float_array><technique_common><accessor source="#qa" count="1" stride="1">'
        '<param name="WEIGHT" type="float"/></accessor></technique_common></source>'
        '<joints><input semantic="JOINT" source="#j"/>'
        '<input semantic="INV_BIND_MATRIX" source="#b"/></joints><vertex_weights count="4">'
        '<input semantic="JOINT" source="#j" offset="0"/>'
        '<input semantic="WEIGHT" source="#q" offset="1"/>'
        "<vcount>1 1 1 1</vcount><v>0 0 0 0 0 0 0 0</v></vertex_weights></skin></controller>"
        "</library_controllers><library_visual_scenes>"
    )
    text = DAE.replace("<library_visual_scenes>", skin)
    text = text.replace('instance_geometry url="#g"', 'instance_controller url="#k"')
    text = text.replace("</instance_geometry>", "</instance_controller>")
    (tmp_path / "a.dae").write_text(text)
    shape = only_shape(tmp_path / "a.dae", diagnostics)
    np.testing.assert_allclose(shape.T_FG[:3, 3], (2 * 5 * 0.0254, 0, 0.254))
