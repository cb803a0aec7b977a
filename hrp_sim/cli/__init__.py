"""The ``hrp-sim`` command."""
