"""Modules that the fork server of ``bounded_reading`` loads for all its processes."""

import gc

import bounded_reading  # noqa: F401

import hrp_model.cli.dump
import hrp_model.urdf  # noqa: F401

# The garbage collector of a process would copy the memory pages of all objects that it visits.
gc.collect()
gc.freeze()
