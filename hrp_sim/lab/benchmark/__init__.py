"""How fast a world runs on this machine, where the time goes, and what makes it faster."""
