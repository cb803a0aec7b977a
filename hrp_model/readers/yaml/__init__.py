"""YAML as a tree of nodes that know their place in the file."""
