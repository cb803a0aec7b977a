"""The page of a running simulation in the browser."""
