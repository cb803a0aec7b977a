"""Workers of a Dask cluster that runs already."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from hrp_model.diagnostics import needs_extra
from hrp_model.program.command import UsageError

_ADDRESS = re.compile(r"((tcp|tls|ws|wss)://)?[^/\s]+:[0-9]+/?")
_ENCRYPTED = ("tls://", "wss://")
_CONNECT_SECONDS, _WORKER_SECONDS = 5.0, 10.0


@contextmanager
def connected(address: str) -> Iterator[Executor]:
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
