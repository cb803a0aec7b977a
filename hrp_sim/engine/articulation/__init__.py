"""A placed body as flat arrays of rigid groups, joints and shapes, for any engine."""
