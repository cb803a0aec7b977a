"""Build missing standard interface packages into the prefix of this Python.

A ROS installation has all of them, and nothing is built. PyPI wheels of ROS 2 lack some; the
folders beside this file define these field by field, so that their type hashes are the official
ones.

    python -m hrp_msgs.interfaces.build              # what nodes use by default
    python -m hrp_msgs.interfaces.build moveit_msgs  # this one, and what it needs
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
# Exported CMake targets of the wheels name the Python they were built with.
_BUILDER_PYTHON = re.compile(r"/opt/python/[^;\"]*?/include/python3\.\d+")
_BUILDER_NUMPY = re.compile(r"/[^;\"]*?/site-packages/numpy/_?core/include")
# With -O3 messages are not faster, and compiling takes a third longer.
_FLAGS = "-O1 -DNDEBUG"
# Built only if they are named, each with those that it needs: they serve one parameter.
ON_REQUEST = {
    "moveit_msgs": ("object_recognition_msgs", "octomap_msgs"),
    "object_recognition_msgs": (),
    "octomap_msgs": (),
}
# File in a built package with the hash of its definition.
_MARK = "built_from.sha256"


def definitions() -> list[str]:
    """Return the packages that can be built."""
    return sorted(p.parent.name for p in HERE.glob("*/package.xml"))


def is_missing(package: str) -> bool:
    """Return whether the messages of an interface package cannot be imported."""
    try:
        return importlib.util.find_spec(f"{package}.msg") is None
    except ModuleNotFoundError:
        return True


def definition_hash(package: str) -> str:
    """Return the SHA-256 of all sources of a package."""
    digest = hashlib.sha256()
    files = [path for path in (HERE / package).rglob("*") if path.is_file()]
    for path in sorted([*HERE.glob("*.cmake"), *files]):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(HERE)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def is_outdated(package: str, prefix: Path) -> bool:
    """Return whether a package in ``prefix`` was built from other than the present sources."""
    mark = prefix / "share" / package / _MARK
    return mark.is_file() and mark.read_text(encoding="utf-8") != definition_hash(package)


def adapt_cmake_targets(prefix: Path) -> None:
    """Point the exported CMake targets under ``prefix`` at this Python and its numpy."""
    import numpy  # needed for building only

    python_include = sysconfig.get_path("include")
    numpy_include = numpy.get_include()
    for path in (prefix / "share").rglob("*.cmake"):
        text = path.read_text(encoding="utf-8")
        adapted = _BUILDER_PYTHON.sub(python_include, text)
        adapted = _BUILDER_NUMPY.sub(numpy_include, adapted)
        if adapted != text:
            path.write_text(adapted, encoding="utf-8")


def build(package: str, prefix: Path) -> None:
    """Generate, compile and install one interface package into ``prefix``.

    Raises:
        OSError: CMake cannot be started.
        subprocess.CalledProcessError: CMake or the compiler failed; its output was printed.
    """
    environment = dict(
        os.environ,
        PATH=f"{prefix / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        AMENT_PREFIX_PATH=str(prefix),
        CMAKE_PREFIX_PATH=str(prefix),
    )
    mark = prefix / "share" / package / _MARK
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text("", encoding="utf-8")  # outdated until the build succeeds
    with tempfile.TemporaryDirectory(prefix=f"{package}-") as folder:
        configure = [
            "cmake", "-S", str(HERE / package), "-B", folder, "-G", "Ninja",
            f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_C_FLAGS_RELEASE={_FLAGS}", f"-DCMAKE_CXX_FLAGS_RELEASE={_FLAGS}",
            f"-DPython3_EXECUTABLE={sys.executable}", "-DBUILD_TESTING=OFF",
        ]  # fmt: skip
        for command in (configure, ["cmake", "--build", folder, "--target", "install"]):
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                sys.stderr.write(done.stdout[-4000:] + done.stderr[-4000:])
                done.check_returncode()
    mark.write_text(definition_hash(package), encoding="utf-8")


def _try_to_build(package: str, prefix: Path) -> str | None:
    """Build a package; return an error message, or None."""
    print(f"building the interface package {package}", flush=True)
    try:
        build(package, prefix)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"{package} cannot be built: {error}"
    return None


def _package(name: str) -> str:
    if name not in definitions():
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(definitions())}")
    return name


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m hrp_msgs.interfaces.build",
        description="Compile standard messages of ROS 2 that PyPI lacks, where they are missing. "
        "ROS 2 must be installed: pip install 'hrp_ros[ros]'.",
    )
    help_text = f"of {', '.join(definitions())}; by default all but {', '.join(ON_REQUEST)}"
    parser.add_argument("packages", nargs="*", type=_package, metavar="PACKAGE", help=help_text)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Build those packages that are missing or outdated; return the exit status."""
    prefix = Path(sys.prefix)
    named: list[str] = _parser().parse_args(arguments).packages
    packages = named or [p for p in definitions() if p not in ON_REQUEST]
    first = [needed for p in packages for needed in ON_REQUEST.get(p, ())]
    problems: list[str] = []
    for part in (first, [p for p in packages if p not in first]):
        wanted = [p for p in part if is_missing(p) or is_outdated(p, prefix)]
        if not wanted or problems:
            continue
        adapt_cmake_targets(prefix)
        # CMake itself uses one core; building in parallel uses all.
        with ThreadPoolExecutor() as pool:
            problems += filter(None, pool.map(lambda p: _try_to_build(p, prefix), wanted))
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if problems:
        print(
            "check that cmake, g++, the Python headers and the generators are installed:",
            file=sys.stderr,
        )
        remedy = "apt install build-essential cmake python3-dev; pip install 'hrp_ros[ros]'"
        print(remedy, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
