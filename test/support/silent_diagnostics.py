"""Diagnostics that are collected without being logged."""

from hrp_model.diagnostics import Diagnostics

silent = Diagnostics.silent
