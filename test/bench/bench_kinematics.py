#!/usr/bin/env python3
"""Speed of BodyState beside pinocchio, a C++ library, called in a loop over the postures.

    python -m pytest test/bench/bench_kinematics.py
    python test/bench/bench_kinematics.py [FILE ...] [--page]

prints a table; --page writes docs/data/kinematics_speed.csv. Both compute the same quantities of
the same robot, forward kinematics included. They take turns, so that other load affects both; times
are medians of CPU time, the ratio is the median of the turns' ratios. Pinocchio's results are
copied into one array where they are one. Times never fail a test.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hrp_model import body_to_urdf, load_body
from hrp_model.body import Body
from hrp_model.diagnostics import Diagnostics
from hrp_model.kinematics import BodyState
from scripts.data_tables import output_tables

ROOT = Path(__file__).resolve().parents[2]
MODELS = [ROOT / "models" / "arm" / "arm.body", ROOT / "models" / "humanoid" / "humanoid.wrl"]
HEADER = ["robot", "postures", "quantity", "[us]", "pinocchio [us]", "ratio"]
MANY, TURNS = 10_000, 7
SINGLES = 2000  # calls in a turn, with one posture
Pair = tuple[Callable[[], object], Callable[[], object]]


def contenders(body: Body, postures: int) -> dict[str, Pair]:
    """Our function and pinocchio's loop for each quantity, in random motions."""
    import pinocchio as pin

    one = postures == 1
    state = BodyState(body, batch=None if one else postures)
    rng = np.random.default_rng(0)
    for array in (state.q, state.dq, state.ddq):
        array[...] = rng.uniform(-1.0, 1.0, array.shape)
    path = state.joint_path(0, body.links[-1].name)
    root = () if state.fix_root else (pin.JointModelFreeFlyer(),)
    model = pin.buildModelFromXML(body_to_urdf(body), *root)
    data, nv = model.createData(), model.nv
    frame = model.getFrameId(body.links[-1].name, pin.FrameType.BODY)
    count = SINGLES if one else postures
    q = np.tile(pin.neutral(model), (count, 1))
    first = model.nq - len(state.q.T)
    q[:, first:] = rng.uniform(-1.0, 1.0, (count, model.nq - first))
    v, a = rng.normal(size=(2, count, nv))
    world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

    def forward(calculate: Callable[[], object]) -> Callable[[], object]:
        def both() -> None:
            state.calc_forward_kinematics()
            calculate()

        return repeated(both)

    def repeated(call: Callable[[], object]) -> Callable[[], object]:
        return call if not one else lambda: [call() for _ in range(SINGLES)]

    def loop(shape: tuple[int, ...], call: Callable[..., object], *motion: np.ndarray) -> object:
        results = np.empty((count, *shape))

        def run() -> None:
            for i, arguments in enumerate(zip(*motion, strict=True)):
                found = call(model, data, *arguments)
                if shape:
                    results[i] = found

        return run

    def jacobian(model: pin.Model, data: pin.Data, q: np.ndarray) -> np.ndarray:
        return pin.computeFrameJacobian(model, data, q, frame, world)

    return {
        "poses of all links": (
            repeated(state.calc_forward_kinematics),
            loop((), pin.framesForwardKinematics, q),
        ),
        "poses, velocities, accelerations": (
            repeated(lambda: state.calc_forward_kinematics(True, True)),
            loop((), pin.forwardKinematics, q, v, a),
        ),
        "Jacobian of the last link": (forward(path.calc_jacobian), loop((6, nv), jacobian, q)),
        "centre of mass": (forward(state.calc_cm), loop((3,), pin.centerOfMass, q)),
        "its Jacobian": (
            forward(state.calc_cm_jacobian),
            loop((3, nv), pin.jacobianCenterOfMass, q),
        ),
        "mass matrix": (forward(state.calc_mass_matrix), loop((nv, nv), pin.crba, q)),
        "gravity torques": (
            forward(state.gravity_torque),
            loop((nv,), pin.computeGeneralizedGravity, q),
        ),
        "inverse dynamics": (
            repeated(state.calc_inverse_dynamics),
            loop((nv,), pin.rnea, q, v, a),
        ),
    }


def rows_of(path: Path, postures: int) -> list[list[str]]:
    """Measure a robot; return rows of the table."""
    body = load_body(path, Diagnostics.silent())
    robot = f"{body.name}, {len(body.moving_links)} joints"
    count = SINGLES if postures == 1 else postures
    rows = []
    for quantity, (ours, theirs) in contenders(body, postures).items():
        turns = [(seconds(ours), seconds(theirs)) for _ in range(TURNS + 1)]
        del turns[0]  # it warmed the caches
        times = [f"{1e6 * median(column) / count:.2f}" for column in zip(*turns, strict=True)]
        ratio = median(mine / other for mine, other in turns)
        rows.append([robot, f"{postures:,}", quantity, *times, f"{ratio:.2f}"])
    return rows


def seconds(run: Callable[[], object]) -> float:
    start = process_time()
    run()
    return process_time() - start


@pytest.mark.parametrize("postures", [MANY, 1])
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_speed(rows, path, postures):
    pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    for robot, many, quantity, ours, slow, theirs, ratio in rows_of(path, postures):
        what = f"{robot}, {many}: {quantity}"
        rows.append((what, f"{ours} us", f"{slow} us", f"pinocchio ({theirs} us)", ratio))


def main() -> None:
    files = [Path(name) for name in sys.argv[1:] if name != "--page"] or MODELS
    rows = [row for postures in (MANY, 1) for path in files for row in rows_of(path, postures)]
    found = {"kinematics_speed": (HEADER, rows)}
    about = f"medians of {TURNS} turns"
    output_tables(found, page="--page" in sys.argv, rounds=about, beside=["pin"])


if __name__ == "__main__":
    main()
