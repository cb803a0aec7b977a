"""How the parameters of a node become a world."""
