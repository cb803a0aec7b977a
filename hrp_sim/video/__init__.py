"""Films and pictures of simulations and recorded runs, by this project's renderer."""
