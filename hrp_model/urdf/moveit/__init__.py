"""What MoveIt needs to know of a robot besides its URDF: planning groups, collision pairs, SRDF."""
