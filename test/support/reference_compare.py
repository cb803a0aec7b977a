"""Compare a Body with the values that an independent system read from the same file."""

from dataclasses import dataclass
from math import inf

import numpy as np

from hrp_model.cli.dump import dump_body
from hrp_model.geometry import Mesh
from hrp_model.shapes.tessellate import shape_mesh

EXACT = 1e-9
SINGLE = 1e-6  # mesh vertices and colours went through single precision in the reference

_JOINT_TYPES = {"pseudo_continuous_track": "track"}
_LINK_NUMBERS = ("b", "Rb", "q_initial", "mass", "c", "I", "Jm2")
_LIMITS = ("q_lower", "q_upper", "dq_lower", "dq_upper", "u_lower", "u_upper")
_IMAGE_TYPES = {
    ("Camera", "COLOR_IMAGE"): {"color"},
    ("Camera", "NO_IMAGE"): {"none"},
    ("RangeCamera", "NO_IMAGE"): {"depth", "point_cloud"},
    ("RangeCamera", "COLOR_IMAGE"): {"color_depth", "color_point_cloud"},
}
_SIZES = {
    "Box": ("size",),
    "Sphere": ("radius",),
    "Cylinder": ("radius", "height", "top", "bottom"),
    "Cone": ("radius", "height", "bottom"),
    "Capsule": ("radius", "height"),
    "Mesh": (),
}
_LIGHTS = {"PointLight", "SpotLight"}
_OF_OUR_LIGHTS = {"ambient_intensity", "radius"}  # only Choreonoid's scenes have the former
_CURVED = {"Sphere", "Cylinder", "Cone", "Capsule"}  # into how many triangles is a free choice


@dataclass(frozen=True)
class Difference:
    """One leaf that differs; ``path`` names it, as in ``links.CHEST.mass``."""

    path: str
    ours: object
    theirs: object


class Comparison:
    """Collects differences, and the largest one within tolerance of each kind of leaf."""

    def __init__(self):
        self.differences = []
        self.largest = {}

    def equal(self, path, ours, theirs):
        if ours != theirs:
            self.differences.append(Difference(path, ours, theirs))

    def close(self, path, ours, theirs, tolerance=EXACT):
        """Compare numbers; None in ours is unlimited."""
        ours, theirs = _numbers(ours, path), np.asarray(theirs, dtype=float)
        if ours.shape != theirs.shape:
            self.differences.append(Difference(path, ours.tolist(), theirs.tolist()))
            return
        with np.errstate(invalid="ignore"):
            error = np.where(ours == theirs, 0.0, np.abs(ours - theirs)).max(initial=0.0)
        if error <= tolerance:
            leaf = path.rsplit(".", 1)[-1]
            self.largest[leaf] = max(float(error), self.largest.get(leaf, 0.0))
        else:
            self.differences.append(Difference(path, ours.tolist(), theirs.tolist()))


def _numbers(values, path):
    if values is None:
        return np.asarray(-inf if path.endswith("lower") else inf)
    if isinstance(values, list):
        values = [inf if value is None else value for value in values]
    return np.array(values, dtype=float)


def compare(body, reference):
    """Return the comparison of a body's dump with a reference JSON."""
    ours = dump_body(body)
    to = Comparison()
    to.equal("model_name", ours["model_name"], reference["model_name"])
    to.close("mass", ours["mass"], reference["mass"])
    to.equal("is_root_fixed", body.is_root_fixed, reference["is_root_fixed"])
    links = {link["name"]: link for link in ours["links"]}
    to.equal("link names", sorted(links), sorted(x["name"] for x in reference["links"]))
    to.equal("root", ours["links"][0]["name"], reference["root_link"])
    for theirs in reference["links"]:
        if theirs["name"] in links:
            _compare_link(to, links[theirs["name"]], body.link(theirs["name"]), theirs)
    numbered = reference["joints"][: reference["num_joints"]]  # then those without an id
    by_id = [None if j["link_index"] < 0 else j["link"] for j in numbered]
    to.equal("joints", [x and x.name for x in body.joints], by_id)
    switches = [device.on for device in body.devices]
    _compare_devices(to, ours["devices"], switches, reference["devices"])
    _compare_extra_joints(to, ours["extra_joints"], reference["extra_joints"])
    to.equal(
        "self_collision_disabled",
        ours["self_collision_disabled"],
        sorted(map(sorted, _separated(reference))),
    )
    excluded = reference["self_collision_filter"]["excluded_links"]
    names = [link["name"] for link in reference["links"]]
    to.equal("collision_disabled", ours["collision_disabled"], sorted(names[i] for i in excluded))
    return to


def _separated(reference):
    """Return the pairs of links that never touch; excluded links touch nothing at all."""
    rules = reference["self_collision_filter"]
    names = [link["name"] for link in reference["links"]]
    numbers = range(len(names))
    excluded = ((a, b) for a in rules["excluded_links"] for b in numbers if a != b)
    pairs = [*rules["disabled_link_index_pairs"], *excluded]
    return {frozenset((names[a], names[b])) for a, b in pairs}


def _compare_link(to, ours, link, theirs):
    at = f"links.{theirs['name']}"
    parent = theirs["parent_name"] if theirs["parent"] >= 0 else None
    to.equal(f"{at}.parent", ours["parent"], parent)
    kind = _JOINT_TYPES.get(theirs["joint_type"], theirs["joint_type"])
    for key, value in (("joint_type", kind), *((k, theirs[k]) for k in ("joint_name", "joint_id"))):
        to.equal(f"{at}.{key}", ours[key], value)
    for key in _LINK_NUMBERS:
        to.close(f"{at}.{key}", ours[key], theirs[key])
    if kind in ("revolute", "prismatic", "track"):
        to.close(f"{at}.axis", ours["axis"], theirs["axis"])
        for key in _LIMITS:
            to.close(f"{at}.{key}", ours[key], theirs[key])
    to.equal(f"{at}.material", *map(_material, (link.contact_material, theirs["material"])))
    _compare_shapes(to, f"{at}.visual", ours["visual"], link.visual, theirs["visual"])
    if theirs["collision"] == "same as visual":
        to.equal(f"{at}.collision", ours["collision"], ours["visual"])
    else:
        mine = ours["collision"]
        _compare_shapes(to, f"{at}.collision", mine, link.collision, theirs["collision"])


def _material(name):
    return "" if name.lower() == "default" else name


def _compare_shapes(to, at, ours, shapes, theirs):
    to.equal(f"{at}.num_shapes", ours["num_shapes"], theirs["num_shapes"])
    others = theirs["shapes"]
    if ours["num_shapes"] != theirs["num_shapes"]:  # then go on with what has a surface
        others = [other for other in others if other["area"] > 0.0]
    if len(others) != ours["num_shapes"] and "shapes_truncated_at" not in theirs:
        return
    boxes = []
    for i, (mine, shape, other) in enumerate(zip(ours["shapes"], shapes, others, strict=False)):
        boxes.append(_bounding_box(mine, shape))
        _compare_shape(to, f"{at}.{i}", mine, boxes[-1], other)
    if boxes and not _CURVED & {other["primitive"] for other in others}:
        lower, upper = zip(*boxes, strict=True)
        if ours["num_shapes"] == theirs["num_shapes"] == len(boxes):
            to.close(f"{at}.bbox_min", np.min(lower, axis=0), theirs["bbox_min"], SINGLE)
            to.close(f"{at}.bbox_max", np.max(upper, axis=0), theirs["bbox_max"], SINGLE)
        for key in ("area", "signed_volume"):
            to.close(f"{at}.{key}", ours[key], theirs[key], SINGLE * max(1.0, abs(theirs[key])))


def _bounding_box(ours, shape):
    """Return the extent of a shape; the reference counts vertices that no face uses."""
    if not isinstance(shape.geometry, Mesh):
        return ours["bbox_min"], ours["bbox_max"]
    vertices = shape_mesh(shape).vertices
    return vertices.min(axis=0), vertices.max(axis=0)


def _compare_shape(to, at, ours, box, theirs):
    to.equal(f"{at}.type", ours["type"], theirs["primitive"])
    if ours["type"] != theirs["primitive"]:
        return
    to.close(f"{at}.T", ours["T"][:3], theirs["T34"])
    for key in filter(theirs.__contains__, _SIZES[ours["type"]]):
        to.close(f"{at}.{key}", ours[key], theirs[key])
    if ours["type"] not in _CURVED:
        to.equal(f"{at}.triangles", ours["triangles"], theirs["triangles"])
        for key, corner in zip(("bbox_min", "bbox_max"), box, strict=True):
            to.close(f"{at}.{key}", corner, theirs[key], SINGLE)
        to.close(f"{at}.area", ours["area"], theirs["area"], SINGLE * max(1.0, theirs["area"]))
    for key in {"diffuse", "specular", "emissive", "ambient", "transparency"} & theirs.keys():
        to.close(f"{at}.{key}", ours["material"][key], theirs[key], SINGLE)
    to.equal(
        f"{at}.texture", _file_name(ours["material"]["texture"]), _file_name(theirs.get("texture"))
    )


def _file_name(path):
    return path and path.rsplit("/", 1)[-1]


def _compare_devices(to, ours, switches, theirs):
    """By class and name: our order is that of the file, theirs goes by class."""
    mine = {(d["class"], d["name"]): d | {"on": on} for d, on in zip(ours, switches, strict=True)}
    others = {_device_key(d, mine): d for d in theirs}
    to.equal("devices", sorted(mine), sorted(others))
    for key in mine.keys() & others.keys():
        at = f"devices.{key[1]}"
        for word in ("name", "id", "link", "on"):
            to.equal(f"{at}.{word}", mine[key][word], others[key][word])
        params = others[key]["params"]
        # Our frame of a camera looks along -Z; theirs is the written one, and the turn to ours.
        R = others[key]["R_local"] @ np.array(params.get("optical_frame_rotation", np.eye(3)))
        to.close(f"{at}.R_local", mine[key]["R_local"], R)
        to.close(f"{at}.p_local", mine[key]["p_local"], others[key]["p_local"])
        for word, value in mine[key]["params"].items():
            if word not in _OF_OUR_LIGHTS:
                _compare_param(to, f"{at}.{word}", key[0], value, params)


def _device_key(device, mine):
    """Return class and name; one without a name is found by its place."""
    if device["name"]:
        return device["class"], device["name"]
    for key, other in mine.items():
        is_alike = all(other[word] == device[word] for word in ("class", "link", "id"))
        if is_alike and np.allclose(other["p_local"], device["p_local"], rtol=0.0, atol=EXACT):
            return key
    return device["class"], ""


def _compare_param(to, at, kind, ours, params):
    word = at.rsplit(".", 1)[-1]
    theirs = params.get(word)
    if word == "image_type":
        agrees = ours in _IMAGE_TYPES[kind, theirs]
        to.equal(at, ours, ours if agrees else theirs)
    elif word != "pitch_step" or params["pitch_samples"] > 1:
        to.close(at, ours, theirs, SINGLE if kind in _LIGHTS else EXACT)


def _compare_extra_joints(to, ours, theirs):
    to.equal("extra_joints", len(ours), len(theirs))
    for i, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        for key in ("type", "link1", "link2"):
            to.equal(f"extra_joints.{i}.{key}", mine[key], other[key])
        for key in ("p_in_link1", "R_in_link1", "p_in_link2", "R_in_link2", "axis"):
            to.close(f"extra_joints.{i}.{key}", mine[key], other[key])
