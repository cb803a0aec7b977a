"""Compare a Body with what an independent system read from the same file, leaf by leaf."""

from dataclasses import dataclass
from math import inf

import numpy as np

from hrp_model.dump import dump_body

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
_CURVED = {"Sphere", "Cylinder", "Cone", "Capsule"}


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
        ours, theirs = _numbers(ours, path, theirs), np.asarray(theirs, dtype=float)
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


def _numbers(values, path, theirs):
    if values is None:
        lower = path.endswith("lower")
        return np.asarray(-inf if lower else inf)
    return np.array(
        [inf if v is None else v for v in values] if isinstance(values, list) else values,
        dtype=float,
    )


def compare(body, reference):
    """Return the comparison of a body's dump with a reference JSON."""
    ours = dump_body(body)
    to = Comparison()
    to.equal("model_name", ours["model_name"], reference["model_name"])
    to.close("mass", ours["mass"], reference["mass"])
    links = {link["name"]: link for link in ours["links"]}
    to.equal("link names", sorted(links), sorted(x["name"] for x in reference["links"]))
    to.equal("root", ours["links"][0]["name"], reference["root_link"])
    for theirs in reference["links"]:
        if theirs["name"] in links:
            _compare_link(to, links[theirs["name"]], theirs)
    numbered = reference["joints"][: reference["num_joints"]]  # then those without an id
    by_id = [None if j["link_index"] < 0 else j["link"] for j in numbered]
    to.equal("joints", [x and x.name for x in body.joints], by_id)
    _compare_devices(to, ours["devices"], reference["devices"])
    _compare_extra_joints(to, ours["extra_joints"], reference["extra_joints"])
    names = [link["name"] for link in reference["links"]]
    pairs = reference["self_collision_filter"]["disabled_link_index_pairs"]
    to.equal(
        "self_collision_disabled",
        ours["self_collision_disabled"],
        sorted(sorted((names[a], names[b])) for a, b in pairs),
    )
    return to


def _compare_link(to, ours, theirs):
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
    _compare_shapes(to, f"{at}.visual", ours["visual"], theirs["visual"])
    if theirs["collision"] == "same as visual":
        to.equal(f"{at}.collision", ours["collision"], ours["visual"])
    else:
        _compare_shapes(to, f"{at}.collision", ours["collision"], theirs["collision"])


def _compare_shapes(to, at, ours, theirs):
    to.equal(f"{at}.num_shapes", ours["num_shapes"], theirs["num_shapes"])
    if ours["num_shapes"] != theirs["num_shapes"]:
        return
    listed = ours["shapes"][: theirs.get("shapes_truncated_at")]
    for i, (mine, other) in enumerate(zip(listed, theirs["shapes"], strict=True)):
        _compare_shape(to, f"{at}.{i}", mine, other)
    if theirs["num_shapes"] and not _CURVED & {s["primitive"] for s in theirs["shapes"]}:
        for key in ("bbox_min", "bbox_max", "area", "signed_volume"):
            scale = max(1.0, abs(theirs[key])) if isinstance(theirs[key], float) else 1.0
            to.close(f"{at}.{key}", ours[key], theirs[key], SINGLE * scale)


def _compare_shape(to, at, ours, theirs):
    to.equal(f"{at}.type", ours["type"], theirs["primitive"])
    if ours["type"] != theirs["primitive"]:
        return
    to.close(f"{at}.T", ours["T"][:3], theirs["T34"])
    for key in filter(theirs.__contains__, _SIZES[ours["type"]]):
        to.close(f"{at}.{key}", ours[key], theirs[key])
    if ours["type"] not in _CURVED:
        to.equal(f"{at}.triangles", ours["triangles"], theirs["triangles"])
        for key in ("bbox_min", "bbox_max"):
            to.close(f"{at}.{key}", ours[key], theirs[key], SINGLE)
        to.close(f"{at}.area", ours["area"], theirs["area"], SINGLE * max(1.0, theirs["area"]))
    for key in {"diffuse", "specular", "emissive", "transparency"} & theirs.keys():
        to.close(f"{at}.{key}", ours["material"][key], theirs[key], SINGLE)


def _compare_devices(to, ours, theirs):
    """By class and name: our order is that of the file, theirs goes by class."""
    mine = {(d["class"], d["name"]): d for d in ours}
    others = {(d["class"], d["name"]): d for d in theirs}
    to.equal("devices", sorted(mine), sorted(others))
    for key in mine.keys() & others.keys():
        at = f"devices.{key[1]}"
        for word in ("id", "link"):
            to.equal(f"{at}.{word}", mine[key][word], others[key][word])
        for word in ("p_local", "R_local"):
            to.close(f"{at}.{word}", mine[key][word], others[key][word])
        for word, value in mine[key]["params"].items():
            other = others[key]["params"].get(word)
            if word == "image_type":
                allowed = _IMAGE_TYPES[key[0], other]
                to.equal(f"{at}.{word}", value if value in allowed else other, value)
            elif word != "pitch_step" or others[key]["params"]["pitch_samples"] > 1:
                to.close(f"{at}.{word}", value, other, SINGLE if key[0] in _LIGHTS else EXACT)


def _compare_extra_joints(to, ours, theirs):
    to.equal("extra_joints", len(ours), len(theirs))
    for i, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        for key in ("type", "link1", "link2"):
            to.equal(f"extra_joints.{i}.{key}", mine[key], other[key])
        for key in ("p_in_link1", "R_in_link1", "p_in_link2", "R_in_link2", "axis"):
            to.close(f"extra_joints.{i}.{key}", mine[key], other[key])
