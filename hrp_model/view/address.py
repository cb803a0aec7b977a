"""Addresses of pages: where a server listens, and which pages it lets in."""

from __future__ import annotations

import errno
import ipaddress
from urllib.parse import urlsplit

from ..program.command import UsageError

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 8080
_EVERYWHERE = ("0.0.0.0", "::", "")  # hosts that mean all addresses of the machine


def page_url(host: str, port: int) -> str:
    """Return the URL at which this machine opens the page of a server.

    Args:
        host: Address that the server listens on.
        port: Its port.
    """
    name = "localhost" if host in (LOOPBACK, *_EVERYWHERE) else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def is_own_page(origin: str | None, host: str, listening: str) -> bool:
    """Return whether a page that connects was served by the server itself.

    Browsers let every page connect to every server (RFC 6455, 10.2), and a foreign name may lead
    to this machine.

    Args:
        origin: The server of the page; None if no page connects, but a program.
        host: Name and port by which the server was reached.
        listening: Address that the server listens on.
    """
    if origin is None:
        return True
    try:
        name, server = urlsplit(f"//{host}").hostname, urlsplit(origin).netloc
    except ValueError:
        return False
    is_name_known = not _is_loopback(listening) or _is_loopback(name or "")
    return is_name_known and server == host


def check_address(host: str, port: int) -> None:
    """Check that a server can listen on an address; viser's would wait for ever.

    Raises:
        UsageError: It cannot.
    """
    import socket  # which takes long to import, and runs without a page need not

    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise port_refused(port, error.strerror or str(error)) from None
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"--host {host}: cannot listen on this address: {reason}") from None


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine, and no name that others may define."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def port_refused(port: int, reason: str) -> UsageError:
    """Return the error for a port that cannot be used."""
    return UsageError(
        f"--port {port}: {reason}; choose another port, or leave the option out to take a free one"
    )
