"""Checks of many models: file selection, settings, baselines and summary."""
