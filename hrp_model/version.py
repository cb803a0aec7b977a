"""Version of the package: setup.py, both commands and ``__version__`` take it from here."""

__version__ = "0.1.0"
