"""Reference results of an independent system for real models: see shared/reference/README.md."""

import json
from functools import lru_cache
from math import inf, nan

import numpy as np
from paths import SHARED

from hrp_model.body import Body, Joint, JointType, Link, Range
from hrp_model.rigid import Pose

REFERENCE = SHARED / "reference"

JOINT_TYPES = {
    "free": JointType.FREE,
    "fixed": JointType.FIXED,
    "revolute": JointType.REVOLUTE,
    "prismatic": JointType.PRISMATIC,
    "pseudo_continuous_track": JointType.TRACK,
}

_NUMBERS = {"max": inf, "-max": -inf, "nan": nan}


@lru_cache(maxsize=1)
def index():
    """Return the rows of the reference's table of contents; none where it is absent."""
    path = REFERENCE / "index.json"
    return json.loads(path.read_text()) if path.is_file() else []


def model_files():
    """Return the model file of every reference JSON, by its name; none where they are absent."""
    models = {row["file"]: SHARED / row["model_file"] for row in index()}
    quirks = sorted((REFERENCE / "quirks").glob("*.json"))
    return models | {f"quirks/{path.name}": path.with_suffix("") for path in quirks}


def load(file):
    """Return a reference JSON, with unlimited numbers as infinities and "nan" as NaN."""
    return _unlimited(json.loads((REFERENCE / file).read_text()))


def _unlimited(value):
    if isinstance(value, list):
        return [_unlimited(v) for v in value]
    if isinstance(value, dict):
        return {k: _unlimited(v) for k, v in value.items()}
    return _NUMBERS.get(value, value) if isinstance(value, str) else value


def body_of(reference):
    """Return a Body with the kinematics and masses of a reference JSON, without any reader."""
    return Body(
        name=reference["model_name"],
        links=tuple(_link(link) for link in reference["links"]),
    )


def _link(row):
    return Link(
        name=row["name"],
        parent=row["parent_name"] if row["parent"] >= 0 else None,
        joint=Joint(
            type=JOINT_TYPES[row["joint_type"]],
            name=row["joint_name"],
            id=row["joint_id"] if row["joint_id"] >= 0 else None,
            axis=np.array(row["axis"]) / (np.linalg.norm(row["axis"]) or 1.0),
            initial=row["q_initial"],
            position=Range(row["q_lower"], row["q_upper"]),
            velocity=Range(row["dq_lower"], row["dq_upper"]),
            effort=Range(row["u_lower"], row["u_upper"]),
            equivalent_rotor_inertia=row["Jm2"],
        ),
        X_PL=Pose(row["Rb"], row["b"]),
        mass=row["mass"],
        center_of_mass=row["c"],
        inertia=row["I"],
    )
