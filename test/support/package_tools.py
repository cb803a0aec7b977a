"""Write and read description packages in tests."""

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
from paths import MODELS
from silent_diagnostics import silent
from urdf_tools import random_body

from hrp_model import load_body
from hrp_model.body import Body
from hrp_model.geometry import Mesh, Shape
from hrp_model.urdf import write_package

LAUNCH = (
    "launch", "launch.actions", "launch.conditions", "launch.event_handlers",
    "launch.launch_description_sources", "launch.substitutions",
    "launch_ros", "launch_ros.actions", "launch_ros.parameter_descriptions",
)  # fmt: skip


class Remembers:
    """Replacement for a class of ``launch`` that records its arguments."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs


class StandIn(ModuleType):
    """Replacement for a module of ``launch`` that has classes of all names."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        made = type(name, (Remembers,), {})
        setattr(self, name, made)
        return made


def described(path, monkeypatch, packages):
    """Return the description of a launch file; ``launch`` need not be installed.

    Args:
        path: The launch file.
        monkeypatch: Pytest's.
        packages: Folders in share/ by the names of packages.
    """
    for name in LAUNCH:
        monkeypatch.setitem(sys.modules, name, StandIn(name))
    index = ModuleType("ament_index_python.packages")
    index.get_package_share_directory = lambda name: str(packages[name])
    monkeypatch.setitem(sys.modules, "ament_index_python.packages", index)
    (entities,) = loaded(path).generate_launch_description().args
    return entities


def of_kind(entities, kind):
    return [entity for entity in entities if type(entity).__name__ == kind]


def loaded(path):
    """Return a launch file as a module."""
    spec = importlib.util.spec_from_file_location(path.name.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def meshes(urdf):
    """Return the URIs of a URDF's meshes."""
    return {mesh.get("filename") for mesh in ElementTree.parse(str(urdf)).iter("mesh")}


def contents(folder):
    """Return the files below a folder and their contents."""
    paths = (path for path in Path(folder).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def times(folder):
    """Return the modification time of each file below a folder."""
    paths = (path for path in Path(folder).rglob("*") if path.is_file())
    return {path: os.stat(path).st_mtime_ns for path in paths}


TETRAHEDRON = Mesh(np.eye(4, 3), [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


def write(body, folder, **more):
    """Write a package; return its folder."""
    return write_package(body, folder, **{"diagnostics": silent(), **more}).folder


@cache
def humanoid():
    return load_body(MODELS / "humanoid" / "humanoid.wrl", silent())


def vehicle():
    return load_body(MODELS / "rover" / "rover.body", silent())


def with_mesh(size=1.0):
    """Return a body of one link, seen and touched as a tetrahedron."""
    root = random_body(1, 0).root
    shape = Shape(Mesh(TETRAHEDRON.vertices * size, TETRAHEDRON.triangles))
    made = {**vars(root), "visual": (shape,), "collision": (shape,)}
    return Body(name="Pyramid", links=(type(root)(**made),))
