"""``hrp-sim study``: run a study."""

from __future__ import annotations

import argparse
import logging
import re
import shlex
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor
from contextlib import ExitStack, contextmanager
from importlib import import_module

from rich.table import Table

from hrp_model.diagnostics import ModelError, counted, needs_extra
from hrp_model.printable import printable
from hrp_model.program.command import GOOD, PROBLEMS, UsageError
from hrp_model.program.console import print_message, print_note, print_text, working
from hrp_model.program.outputs import Kind, Output, check_outputs, report_written, writing
from hrp_model.program.tables import output_console

from ..lab.studies import Study, StudyFolder, StudyRun, check_first, load_study
from ..lab.studies.variables import Kind as VariableKind
from ..lab.sweeps import SweepResult, WorkerError, sweep
from ..world.reporting import printed_warnings

_MAX_LISTED = 20  # cases of a dry run
_ADDRESS = re.compile(r"((tcp|tls|ws|wss)://)?[^/\s]+:[0-9]+/?")
_ENCRYPTED = ("tls://", "wss://")
_CONNECT_SECONDS, _WORKER_SECONDS = 5.0, 10.0  # for a cluster


def run_study(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim study``; return the exit status.

    Raises:
        MissingLibraryError: A library is not installed.
        ModelError: The study, its world or a model cannot be used.
        PhysicsError: The world cannot be simulated.
        UsageError: The folder cannot be used, there is no cluster, or workers cannot be started.
    """
    if options.out is None and not options.dry_run:
        raise UsageError("give --out FOLDER for the results, or --dry-run to list the cases")
    if options.jobs and options.cluster:
        raise UsageError("--jobs cannot be combined with --cluster, which has its own workers")
    with (
        printed_warnings(options.study) as diagnostics,
        working(f"reading {options.study}"),
    ):
        study = load_study(options.study, diagnostics)
    folder = None if options.out is None else _checked_folder(options, study)
    cases = study.cases()
    _announce(study, len(cases))
    if options.dry_run:
        _list(study, cases)
        return GOOD
    assert folder is not None
    with needs_extra("sweep"):
        import_module("matplotlib")  # for the report, which nobody wants to miss after hours
    with working("starting"):
        check_first(study)
    start = time.monotonic()
    try:
        result = _run(options, study, folder, cases)
    except KeyboardInterrupt:
        _say_how_to_continue(options)
        raise
    except ModelError:
        raise
    except (BrokenExecutor, ImportError, WorkerError, ValueError) as error:
        _say_how_to_continue(options)
        raise UsageError(str(error) or "the workers are gone") from None
    with writing(), working("drawing the report"):
        files = folder.write(result)
    print_message(f"{counted(len(cases), 'case')} in {time.monotonic() - start:.1f} s")
    report_written(files)
    return _report_failures(result, folder)


def _checked_folder(options: argparse.Namespace, study: Study) -> StudyFolder:
    folder = StudyFolder(options.out, study)
    with writing():
        folder.check()
    check_outputs([Output("--out", folder.report, Kind.PAGE)], inputs=[options.study])
    return folder


def _run(
    options: argparse.Namespace,
    study: Study,
    folder: StudyFolder,
    cases: list[dict[str, object]],
) -> SweepResult:
    with ExitStack() as stack:
        executor = stack.enter_context(_connected(options.cluster)) if options.cluster else None
        stack.enter_context(writing())
        folder.begin()
        return sweep(
            study.world_of,
            cases,
            StudyRun(study),
            executor,
            jobs=options.jobs,
            folder=folder.cases,
            timeout=options.timeout,
        )


def _announce(study: Study, cases: int) -> None:
    """Print how many cases there are, and what their variation means."""
    counts = [str(len(v.values)) for v in study.variables if v.kind is VariableKind.GRID]
    samples = {len(v.values) for v in study.variables if v.kind is VariableKind.RANDOM}
    counts += [f"{count} samples" for count in samples]  # of all random variables together
    shown = f" ({' x '.join(counts)})" if len(counts) > 1 else ""
    duration = study.scenario.course.duration
    print_note(f"{counted(cases, 'case')}{shown} of {duration:g} s simulation time at most")
    if any("masses" in variable.key_path for variable in study.variables):
        print_note("the inertia of a link is scaled with its mass")


def _list(study: Study, cases: list[dict[str, object]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("case", justify="right")
    for variable in study.variables:
        unit = f" [{variable.unit}]" if variable.unit else ""
        table.add_column(printable(f"{variable.name}{unit}"), overflow="fold", justify="right")
    for index, case in enumerate(cases[:_MAX_LISTED]):
        values = (case[variable.name] for variable in study.variables)
        shown = (f"{v:.6g}" if isinstance(v, float) else printable(str(v)) for v in values)
        table.add_row(str(index), *shown)
    output_console().print(table)
    if len(cases) > _MAX_LISTED:
        print_text(f"and {len(cases) - _MAX_LISTED} more")


def _say_how_to_continue(options: argparse.Namespace) -> None:
    words = ["hrp-sim", "study", options.study, "--out", str(options.out)]
    for name in ("jobs", "cluster", "timeout"):
        if (value := getattr(options, name)) is not None:
            words += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)]
    print_message(f"to continue: {printable(shlex.join(words))}")


def _report_failures(result: SweepResult, folder: StudyFolder) -> int:
    if failed := len(result.failures):  # the first one was logged
        cases = counted(len(result.cases), "case")
        print_message(f"error: {failed} of {cases} failed; see {printable(str(folder.report))}")
    return PROBLEMS if failed else GOOD


@contextmanager
def _connected(address: str) -> Iterator[Executor]:
    """Yield an executor on the workers of a Dask scheduler.

    Args:
        address: Of the scheduler, such as "tcp://host:8786".

    Raises:
        MissingLibraryError: Dask is not installed.
        UsageError: There is no scheduler at the address, or it has no workers.
    """
    if not _ADDRESS.fullmatch(address):
        raise UsageError(f"--cluster {address}: write an address as tcp://HOST:PORT")
    with needs_extra("sweep"):
        from distributed import Client, Security
    if address.startswith(_ENCRYPTED):
        options = Security().get_connection_args("client")
        if options.get("ssl_context") is None:
            raise UsageError(
                f"--cluster {address}: Dask's configuration states no certificates "
                "(distributed.comm.tls)"
            )
    # Its threads log that they are connecting, which this function reports better.
    log = logging.getLogger("distributed")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        try:
            client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, ImportError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UsageError(f"--cluster {address}: there is no Dask scheduler: {reason}") from None
        with client:
            try:
                client.wait_for_workers(1, timeout=_WORKER_SECONDS)
            except TimeoutError:
                raise UsageError(
                    f"--cluster {address}: the scheduler has no workers; start some with "
                    f"'dask worker {address} --nthreads 1'"
                ) from None
            yield client.get_executor(pure=False)
    finally:
        log.setLevel(before)
