"""The node that describes one body of a simulation."""
