"""Readers of model files, and modules that they share."""
