"""What the server of ``bounded_reading`` loads, and all processes have that it forks."""

import gc

import bounded_reading  # noqa: F401
import collada  # noqa: F401
import trimesh  # noqa: F401

import hrp_model.cli.dump
import hrp_model.urdf  # noqa: F401

# The garbage collector of a process would copy the pages of everything that it looks at.
gc.collect()
gc.freeze()
