"""Certify the models in a folder, and write docs/data/certificates.csv."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics, ModelError
from hrp_model.verify.library import Quantity
from hrp_sim.lab.certificate import LIBRARIES, Certificate, certify
from hrp_sim.lab.certificate.engine_rows import ENGINE
from scripts.data_tables import DATA, Table, model_name, write_tables
from scripts.program import add_models, listed_models

COMPARED = [
    *((name, Quantity.ACCELERATIONS) for name in (ENGINE, *LIBRARIES)),
    (ENGINE, Quantity.FREE_MOTION),
    (ENGINE, Quantity.MOMENTUM),
]
COLUMNS = [
    "model",
    "joints",
    *(f"accelerations in {name}" for name in (ENGINE, *LIBRARIES)),
    "motion of 1 s",
    "momentum",
    "cause of a difference",
]


@dataclass
class Result:
    """The result of one model.

    Attributes:
        model: Its path in the folder.
        cells: The number of joints, and what was compared; none if it cannot be read.
        is_equal: Whether it is equal in the engine and all libraries.
        is_still: Whether nothing in it moves.
        cause: Why it is not equal, or what was not compared.
    """

    model: str
    cells: list[str] = field(default_factory=list)
    is_equal: bool = False
    is_still: bool = False
    cause: str = ""


def result(model: str, folder: Path) -> Result:
    """Certify a model."""
    logging.disable(logging.WARNING)
    try:
        body = load_body(folder / model, Diagnostics.silent())
    except ModelError:
        return Result(model, cause="it cannot be read")
    certificate = certify(body)
    cells = [_largest(certificate, *compared) for compared in COMPARED]
    if certificate.is_still:
        cells = ["nothing moves", *[""] * (len(COMPARED) - 1)]
    is_whole = len(certificate.engines) == 1 + len(LIBRARIES)
    return Result(
        model,
        [str(len(body.moving_links)), *cells],
        certificate.is_equal and (is_whole or certificate.is_still),
        certificate.is_still,
        "; ".join(certificate.causes),
    )


def _largest(certificate: Certificate, library: str, quantity: Quantity) -> str:
    """Return the largest difference of all parts that a library compared, as a cell."""
    rows = [row for report in certificate.parts.values() for row in report.rows]
    found = [row for row in rows if (row.library, row.quantity) == (library, quantity.value)]
    differences = [row.difference for row in found if row.difference is not None]
    return f"{max(differences):.0e}" if differences else ""


def summary(results: Sequence[Result]) -> str:
    """Return how many models are equal."""
    moving = [x for x in results if x.cells and not x.is_still]
    equal = sum(x.is_equal for x in moving)
    still = sum(x.is_still for x in results)
    share = 100 * equal // max(1, len(moving))
    return (
        f"Of {len(results)} published models, {len(moving)} have something that moves, and {equal} "
        f"of these ({share} %) are equal in ODE, pinocchio and MuJoCo. In {still} nothing moves."
    )


def tables(results: Sequence[Result]) -> dict[str, Table]:
    """Return the table by its name."""
    unread = [""] * (len(COLUMNS) - 2)
    rows = [
        [model_name(x.model), *(x.cells or unread), "" if x.is_equal else x.cause] for x in results
    ]
    return {"certificates": (COLUMNS, rows)}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    add_models(parser)
    parser.add_argument("-o", "--output", type=Path, default=DATA, help="folder of the table")
    parser.add_argument("--jobs", type=int, default=2, help="models in parallel; default: 2")


def run(options: argparse.Namespace) -> int:
    """Certify all models and write the table."""
    models, _ = listed_models(options)
    with ProcessPoolExecutor(options.jobs) as pool:
        results = list(pool.map(partial(result, folder=options.folder), models))
    print(summary(results))
    write_tables(tables(results), options.output)
    return 0
