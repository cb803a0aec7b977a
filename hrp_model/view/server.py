"""The server of a page: viser's, closed to foreign pages.

Only this module uses private parts of viser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..diagnostics import MissingLibraryError
from .address import is_own_page

try:
    import viser
except ImportError:
    raise MissingLibraryError(
        "the viewer needs viser: pip install 'hrp_ros[view]', or pip install viser"
    ) from None

if TYPE_CHECKING:
    from viser.infra import WebsockClientConnection, WebsockServer

_POLICY_VIOLATION = 1008  # RFC 6455, 7.4.1


def websocket_server(server: viser.ViserServer) -> WebsockServer:
    """Return the part of a server that pages connect to, with its private ``_live_connections``.

    Raises:
        MissingLibraryError: The installed version of viser does not have them.
    """
    try:
        found = server._websock_server
        _ = found._live_connections
    except AttributeError as error:
        raise MissingLibraryError(
            f"the viewer cannot use viser {viser.__version__} ({error}): "
            "pip install --upgrade 'hrp_ros[view]'"
        ) from None
    return found


class PageServer(viser.ViserServer):
    """A server that contacts nobody, and that pages of other servers cannot use.

    Args:
        host: Address of the network interface to listen on.
        port: The port, or the next one that is free; 0 takes any.

    Raises:
        MissingLibraryError: The installed version of viser does not fit.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host=host, port=port, verbose=False)
        try:
            websockets = websocket_server(self)
        except MissingLibraryError:
            self.stop()
            raise

        @websockets.on_client_connect
        async def _(client: WebsockClientConnection) -> None:
            """Close the connection of a foreign page before anything is sent."""
            connection = websockets._live_connections.get(client.client_id)
            if connection is None or connection.request is None:
                return
            headers = connection.request.headers
            if not is_own_page(headers.get("Origin"), headers.get("Host", ""), host):
                await connection.close(_POLICY_VIOLATION, "This page belongs to another server.")

        websockets.disconnect_all_clients()  # who came before this check connects again

    def request_share_url(self, verbose: bool = True) -> str | None:  # noqa: ARG002
        """Refuse: a browser may ask for an address on a public server."""
        return None
