"""Checks of many models: which files, which of their problems count, and the sums."""
