"""Geometry processing: face sets, tessellation, normals, textures, measures."""
