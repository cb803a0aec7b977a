"""Geometry processing: face sets, tessellation, normals, textures, bounding boxes."""
