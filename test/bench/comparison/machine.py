"""The machine and the programs that the figures were measured with."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .plain_c import compiler


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Processor and versions of programs; neither date nor host name."""

    processor: str
    cores: int
    system: str
    ode: str
    compiler: str
    python: str
    numpy: str


def this_machine(ode: str) -> Machine:
    """Describe this machine, given the version of ODE."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        ode=ode,
        compiler=_compiler(),
        python=platform.python_version(),
        numpy=np.__version__,
    )


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        values.setdefault(key.strip(), value.strip())
    name = values.get("model name") or platform.processor() or platform.machine()
    if {"cpu family", "model"} <= values.keys():  # model names of virtual machines are vague
        name += f", family {values['cpu family']} model {values['model']}"
    return name


def _compiler() -> str:
    done = subprocess.run(
        [*shlex.split(compiler()), "--version"], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    return lines[0] if lines else f"{compiler()} ({sys.platform})"
