#!/usr/bin/env python3
"""Certify models, and write the section "Published models" of docs/certificates.md.

python scripts/certificates.py FOLDER [--list LIST.md] [-o docs/certificates.md] [--jobs N]

FOLDER and the list are those of scripts/model_table.py.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from model_table import find_models, read_list
from page_section import table, write_section

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics, ModelError
from hrp_model.verify import Row
from hrp_model.verify.library import Quantity
from hrp_sim.certificate import LIBRARIES, Certificate, certify
from hrp_sim.certificate.engine_rows import ENGINE

PAGE = Path(__file__).resolve().parents[1] / "docs" / "certificates.md"
BEGIN = "<!-- Published models: made by scripts/certificates.py -->"
END = "<!-- end of Published models -->"
COLUMNS = [
    "model",
    "joints",
    *(f"accelerations in {name}" for name in (ENGINE, *LIBRARIES)),
    "motion of 1 s",
    "momentum",
]
STILL = "nothing moves"


@dataclass
class Result:
    """The result of one model.

    Attributes:
        model: Its path in the folder.
        cells: The cells of its row but the first; none if it cannot be read.
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
    silent = Diagnostics.silent()
    try:
        body = load_body(folder / model, silent)
    except ModelError:
        return Result(model, cause="it cannot be read")
    certificate = certify(body)
    quantities = [(name, Quantity.ACCELERATIONS) for name in (ENGINE, *LIBRARIES)]
    quantities += [(ENGINE, Quantity.FREE_MOTION), (ENGINE, Quantity.MOMENTUM)]
    cells = [_largest(certificate, *quantity) for quantity in quantities]
    if certificate.is_still:
        cells = [STILL, *[""] * (len(quantities) - 1)]
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
    rows: list[Row] = [row for report in certificate.parts.values() for row in report.rows]
    found = [row for row in rows if (row.library, row.quantity) == (library, quantity.value)]
    differences = [row.difference for row in found if row.difference is not None]
    return f"{max(differences):.0e}" if differences else ""


def section(results: Sequence[Result]) -> str:
    """Return the section: the numbers, the models that are not equal, and all models."""
    moving = [x for x in results if x.cells and not x.is_still]
    equal = sum(x.is_equal for x in moving)
    still = sum(x.is_still for x in results)
    share = 100 * equal // max(1, len(moving))
    summary = (
        f"Of {len(results)} published models, {len(moving)} have something that moves, and {equal} "
        f"of these ({share} %) are equal in ODE, pinocchio and MuJoCo. In {still} nothing moves."
    )
    others = [x for x in results if not x.is_equal]
    causes = [[x.model.replace("__", "/", 1), _escaped(x.cause)] for x in others]
    return "\n\n".join(
        [summary, table(["not equal in all three", "cause"], causes), *_tables(results)]
    )


def _tables(results: Sequence[Result]) -> Iterator[str]:
    """Yield a table for each repository."""
    for top in dict.fromkeys(x.model.partition("/")[0] for x in results):
        rows = [x for x in results if x.model.partition("/")[0] == top and x.cells]
        yield f"### {top.replace('__', '/')}"
        yield table(COLUMNS, [[x.model.partition("/")[2] or x.model, *x.cells] for x in rows])


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: Sequence[str] | None = None) -> int:
    """Certify all models and write the section; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the models")
    parser.add_argument("--list", type=Path, metavar="LIST.md", help="list of models")
    parser.add_argument("-o", "--output", type=Path, default=PAGE, help="the page to update")
    parser.add_argument("--jobs", type=int, default=2, help="models in parallel; default: 2")
    options = parser.parse_args(arguments)
    if options.list is None:
        models = find_models(options.folder)
    else:
        models, _ = read_list(options.list.read_text(encoding="utf-8"), options.folder)
    if not models:
        parser.error(f"no models in {options.folder}")
    with ProcessPoolExecutor(options.jobs) as pool:
        results = list(pool.map(partial(result, folder=options.folder), models))
    write_section(options.output, BEGIN, END, section(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
