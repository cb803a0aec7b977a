"""The ``hrp-model`` command."""
