"""Build the standard interface packages that this Python lacks, into its own prefix.

A machine with ROS has them all, and nothing is built. A machine whose ROS 2 comes from
PyPI wheels lacks those that are not there; the folders beside this file define them field
for field, so that their type hashes are the official ones.

    python -m hrp_msgs.interfaces.build
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
# Exported CMake targets of the wheels name the Python they were built with.
_BUILDER_PYTHON = re.compile(r"/opt/python/[^;\"]*?/include/python3\.\d+")
_BUILDER_NUMPY = re.compile(r"/[^;\"]*?/site-packages/numpy/_?core/include")


def is_missing(package: str) -> bool:
    """Tell whether Python cannot import the messages of an interface package."""
    try:
        return importlib.util.find_spec(f"{package}.msg") is None
    except ModuleNotFoundError:
        return True


def adapt_cmake_targets(prefix: Path) -> None:
    """Point the exported CMake targets under ``prefix`` at this Python and its numpy."""
    import numpy  # only machines that build need it here

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
        subprocess.CalledProcessError: CMake or the compiler failed; its output was printed.
    """
    environment = dict(
        os.environ,
        PATH=f"{prefix / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        AMENT_PREFIX_PATH=str(prefix),
        CMAKE_PREFIX_PATH=str(prefix),
    )
    with tempfile.TemporaryDirectory(prefix=f"{package}-") as folder:
        configure = [
            "cmake", "-S", str(HERE / package), "-B", folder, "-G", "Ninja",
            f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_BUILD_TYPE=Release",
            f"-DPython3_EXECUTABLE={sys.executable}", "-DBUILD_TESTING=OFF",
        ]  # fmt: skip
        for command in (configure, ["cmake", "--build", folder, "--target", "install"]):
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                sys.stderr.write(done.stdout[-4000:] + done.stderr[-4000:])
                done.check_returncode()


def main() -> int:
    """Build what is missing; return the exit status."""
    prefix = Path(sys.prefix)
    packages = sorted(p.parent.name for p in HERE.glob("*/package.xml"))
    missing = [package for package in packages if is_missing(package)]
    if not missing:
        return 0
    adapt_cmake_targets(prefix)
    for package in missing:
        print(f"building the interface package {package}", flush=True)
        try:
            build(package, prefix)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"error: {package} could not be built: {error}", file=sys.stderr)
            print("are cmake, g++, ninja and the Python headers installed?", file=sys.stderr)
            print("scripts/bootstrap.sh installs them, and the generators", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
