"""``hrp-sim certify``: compare the motion of models in several engines."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Group

from hrp_model import Body, load_body
from hrp_model.files.writer import write_atomically
from hrp_model.program.command import GOOD, PROBLEMS, UsageError
from hrp_model.program.console import print_data, print_text, working
from hrp_model.program.outputs import Kind, Output, check_outputs, report_written, writing
from hrp_model.program.tables import html_page, output_console
from hrp_model.verify.report import report_table

from ..lab.certificate import Certificate, certify
from ..world.reporting import printed_warnings

_MAX_URDF = 100_000_000  # [B]


def certify_models(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim certify``; return the exit status.

    Raises:
        ModelError: A model cannot be read.
        UsageError: The options do not fit, or an output must not be written.
        MissingLibraryError: No library to compare with is installed.
    """
    if options.urdf is not None and len(options.files) > 1:
        raise UsageError("--urdf is the URDF of one model, so give one FILE")
    if options.urdf is not None:
        _check_readable(options.urdf)
    output = Output("--page", options.page, Kind.PAGE)
    inputs = [*options.files, *([options.urdf] if options.urdf else [])]
    check_outputs([output], inputs=inputs, force=options.force)
    certificates = {}
    bodies = {name: _read(name) for name in options.files}  # before any is compared
    for name, body in bodies.items():
        certificates[name] = certificate = _certify(name, body, options)
        if len(options.files) > 1 and not options.json:
            print_text(f"{name}: {certificate.verdict}")
    tables = Group(*(_table(name, certificate) for name, certificate in certificates.items()))
    if options.json:
        objects = [{"model": name, **x.to_json()} for name, x in certificates.items()]
        print_data(f"{json.dumps(objects, indent=1, allow_nan=False)}\n")
    elif len(options.files) == 1:
        output_console().print(tables)
    if options.page is not None:
        with writing():
            write_atomically(options.page, html_page(tables).encode())
        report_written([options.page], [])
    return GOOD if all(x.is_equal for x in certificates.values()) else PROBLEMS


def _check_readable(urdf: Path) -> None:
    try:
        size = urdf.stat().st_size
    except OSError as error:
        raise UsageError(f"--urdf {urdf}: cannot read it: {error.strerror}") from None
    if not urdf.is_file():
        raise UsageError(f"--urdf {urdf}: it is not a file")
    if size > _MAX_URDF:
        raise UsageError(f"--urdf {urdf}: it is larger than {_MAX_URDF / 1e6:g} MB")


def _read(name: str) -> Body:
    with printed_warnings(name) as diagnostics, working(f"reading {name}"):
        return load_body(name, diagnostics)


def _certify(name: str, body: Body, options: argparse.Namespace) -> Certificate:
    with working(f"certifying {name}"):
        try:
            return certify(body, options.urdf, states=options.states, seed=options.seed)
        except ValueError as error:
            raise UsageError(f"--urdf {options.urdf}: {error}") from None


def _table(name: str, certificate: Certificate) -> Group:
    """Return the result of a model, part by part."""
    title = f"{name}: {certificate.verdict}"
    if len(certificate.parts) == 1:
        (report,) = certificate.parts.values()
        return Group(report_table(report, title))
    tables = (
        report_table(report, f"part '{part}': {Certificate({part: report}).verdict}")
        for part, report in certificate.parts.items()
    )
    return Group(title, *tables)
