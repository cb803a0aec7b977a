"""Version of the package, used by setup.py, both commands and ``__version__``."""

__version__ = "0.1.0"
