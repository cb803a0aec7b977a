"""Normals of corners, against the definition taken word by word."""

import numpy as np
from each_case import all_cases

from hrp_model.geometry import Mesh
from hrp_model.shapes.meshing import corner_normals


def by_definition(mesh):
    """Return the mean of the faces around each corner's vertex that meet its own face."""
    corners = mesh.vertices[mesh.triangles]
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    faces /= np.linalg.norm(faces, axis=1, keepdims=True)
    result = np.zeros_like(corners)
    for f, triangle in enumerate(mesh.triangles):
        for c, vertex in enumerate(triangle):
            for other, corner in zip(*np.nonzero(mesh.triangles == vertex), strict=True):
                if np.arccos(np.clip(faces[f] @ faces[other], -1, 1)) <= mesh.crease_angle + 1e-9:
                    a, b, d = (corners[other, (corner + i) % 3] for i in range(3))
                    cosine = (b - a) @ (d - a) / np.linalg.norm(b - a) / np.linalg.norm(d - a)
                    result[f, c] += faces[other] * np.arccos(np.clip(cosine, -1, 1))
    return result / np.linalg.norm(result, axis=2, keepdims=True)


@all_cases("crease_angle", [0.05, 0.5, 0.8, 1.5, 2.5, 3.1])
@all_cases("seed", range(3))
def test_a_normal_is_the_mean_over_the_faces_within_the_crease_angle(crease_angle, seed):
    """On a rough surface, where some corners are smooth, some sharp and some both."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(7.0), np.arange(7.0))
    heights = np.where(x + y < 7, 0.05, 2.0) * rng.uniform(size=x.shape)
    points = np.stack([x, y, heights], axis=-1).reshape(-1, 3)
    a = (np.arange(6)[:, None] * 7 + np.arange(6)).ravel()
    triangles = np.concatenate([np.stack([a, a + 1, a + 8], 1), np.stack([a, a + 8, a + 7], 1)])
    mesh = Mesh(points, triangles, crease_angle=crease_angle)
    np.testing.assert_allclose(corner_normals(mesh), by_definition(mesh), atol=1e-9)


def test_corners_of_a_smooth_vertex_have_the_same_normal_to_the_last_bit():
    """So that they become one vertex of a mesh file."""
    rng = np.random.default_rng(3)
    ring = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    rim = np.column_stack([np.cos(ring), np.sin(ring), 0.1 * rng.uniform(size=12)])
    points = np.concatenate([[[0, 0, 0.2]], rim])
    i = np.arange(12)
    triangles = np.stack([0 * i, 1 + i, 1 + (i + 1) % 12], axis=1)
    normals = corner_normals(Mesh(points, triangles, crease_angle=2.0))[:, 0]
    assert len(np.unique(normals, axis=0)) == 1
