"""Suggestions for commands and options of other simulators."""

from __future__ import annotations

from hrp_model.program.parsing import Suggestions, is_model_file

from ..world.world_names import bundled_worlds

_COMPARISON = "The comparison with MuJoCo is 'python test/bench/compare.py' in a source checkout"


def _is_world(word: str) -> bool:
    return is_model_file(word) or word in bundled_worlds()


SUGGESTIONS = Suggestions(
    commands={
        **dict.fromkeys(("simulate", "start", "play", "launch", "view"), "hrp-sim run"),
        **dict.fromkeys(("list", "devices"), "hrp-sim sensors"),
        **dict.fromkeys(("benchmark", "measure"), "hrp-sim bench"),
        **dict.fromkeys(("film", "movie", "render", "picture"), "hrp-sim video"),
        **dict.fromkeys(("sweep", "vary", "scenario"), "hrp-sim study"),
        **dict.fromkeys(("convert", "urdf"), "hrp-model urdf"),
        **dict.fromkeys(("certificate", "prove"), "hrp-sim certify"),
        "tree": "hrp-model tree",
        "dump": "hrp-model dump",
        "help": "hrp-sim --help",
        "version": "hrp-sim --version",
    },
    options={
        **dict.fromkeys(("--dt", "--timestep", "--step", "--step-size"), "--time-step"),
        **dict.fromkeys(("--real-time-factor", "--speed", "--realtime"), "--rtf"),
        **dict.fromkeys(("--seconds", "--length", "--until"), "--duration"),
        "--output-file": "-o",
    },
    removed={
        "hrp-sim bench --scene": _COMPARISON,
        "hrp-sim bench --runs": _COMPARISON,
        "hrp-sim bench --markdown": _COMPARISON,
        "hrp-sim bench --solver": "The solver of the world is measured, and the other one tried",
    },
    for_file="run",
    is_file=_is_world,
)
