"""Conventions shared by the reader and the writer of URDF."""

from __future__ import annotations

import numpy as np

# Cylinders are along Y in a Body and along Z in URDF: +90 degrees about X.
Y_TO_Z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
Y_TO_Z.setflags(write=False)

# A root link of this name is the world.
WORLD = "world"
