"""Mesh files of a URDF: binary glTF and STL."""
