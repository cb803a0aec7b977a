"""Entry point of pytest, which is loaded in every run where hrp_ros is installed."""

from __future__ import annotations

import pytest


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the hooks, unless pytest is older than 7: Ubuntu 22.04 has 6.2.

    It would refuse them, and with them every run of others.
    """
    if hasattr(pytest, "StashKey"):
        from . import hooks

        pluginmanager.register(hooks, hooks.__name__)
