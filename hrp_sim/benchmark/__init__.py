"""``hrp-sim bench``: the engine beside the same scenes in plain C, measured in turns."""
