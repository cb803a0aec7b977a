"""Readers of mesh files: STL, OBJ, COLLADA, glTF, PLY."""
