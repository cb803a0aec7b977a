"""World files and what else a world is made from."""
