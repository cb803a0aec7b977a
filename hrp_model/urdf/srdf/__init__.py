"""Body to SRDF: groups, end effectors and disabled collision pairs for MoveIt."""
