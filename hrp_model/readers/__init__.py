"""Readers of model files, and what they share."""
