"""What the writer and the reader of URDF must agree on."""

from __future__ import annotations

import numpy as np

# URDF wants a finite number where the model has no limit; no real joint comes near it.
UNLIMITED = 1e6

# A cylinder lies along Y in a Body and along Z in URDF: +90 degrees about X.
Y_TO_Z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
Y_TO_Z.setflags(write=False)

# A root of this name is the world itself.
WORLD = "world"
