"""The error for libraries that are not installed."""


class MissingLibraryError(ImportError):
    """A library that is needed for what was asked is not installed; the message names it."""
