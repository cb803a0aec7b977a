"""YAML as a tree of nodes with their places in the file."""
