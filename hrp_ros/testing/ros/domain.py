"""Reserve ROS domains, so that runs on one machine do not hear each other."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

# Above, the ports of DDS may be those that the system gives to other programs.
_DOMAINS = range(1, 101)
_FIRST_PORT = 31_000


@contextmanager
def reserved_domain() -> Iterator[int]:
    """Yield a domain that nobody else has reserved on this machine.

    Raises:
        OSError: All are reserved.
    """
    count = len(_DOMAINS)
    for k in range(count):
        domain = _DOMAINS[(os.getpid() + k) % count]  # other processes begin elsewhere
        # A port stands for the domain, since only one process can have it, until it ends.
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as reservation:
            try:
                reservation.bind(("127.0.0.1", _FIRST_PORT + domain))
            except OSError:
                continue
            yield domain
            return
    raise OSError(f"all {count} ROS domains for tests are reserved on this machine")


def environment_of(domain: int) -> dict[str, str]:
    """Return variables for processes in a domain that stays on this machine."""
    return {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
