"""Scenes made by hand, and an independent drawing of them by tracing rays."""

import threading

import numpy as np
import pytest

from hrp_model import Body, Joint, JointType, Link, Pose
from hrp_model.geometry import Attribute, Box, Material, Mesh, Shape
from hrp_sim.engine.state import (
    BodyMotion,
    ExternalWrench,
    JointDrive,
    LinkPoses,
    SimulatedBody,
    WorldState,
)
from hrp_sim.render import Pinhole, Renderer, RendererUnavailable, Surroundings
from hrp_sim.render.gl import thread_context


def why_no_opengl():
    """Return what is missing, or nothing."""
    try:
        thread_context()
    except RendererUnavailable as error:
        return str(error)
    return ""


needs_opengl = pytest.mark.skipif(bool(why_no_opengl()), reason=why_no_opengl() or "has it")


def in_thread(work):
    """Return what a function returns in a thread of its own."""
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    (result,) = results
    return result


def body_of(name, *links):
    """A body whose links, each a tuple of shapes, all hang on the first."""
    names = [f"L{i}" for i in range(len(links))]
    return Body(
        name=name,
        links=tuple(
            Link(
                name=n,
                parent=names[0] if i else None,
                joint=Joint(type=JointType.FIXED, name=n),
                visual=tuple(shapes),
            )
            for i, (n, shapes) in enumerate(zip(names, links, strict=True))
        ),
    )


def poses_of(*poses):
    return LinkPoses(np.array([X.p for X in poses]), np.array([X.R for X in poses]))


def camera_world(bodies, poses):
    """A world of bodies at these link poses."""
    simulated = {}
    for name, body in bodies.items():
        motion = BodyMotion.zeros(body)
        motion.p[:], motion.R[:] = poses[name].p, poses[name].R
        simulated[name] = SimulatedBody(
            name, body, motion, JointDrive.zeros(body), ExternalWrench.zeros(body)
        )
    return WorldState(5_000_000, simulated)


def glowing(rgb, **looks):
    """A material that shows this 8-bit colour from every side."""
    return Material(emissive=tuple(c / 255 for c in rgb), diffuse=(0, 0, 0), **looks)


def box_at(size, p, material):
    T = np.eye(4)
    T[:3, 3] = p
    return Shape(Box(size), T, material)


def camera_matrix(lens):
    """The camera matrix K as CameraInfo should have it, written down again, shape (3, 3)."""
    focal = min(lens.width, lens.height) / 2 / np.tan(lens.field_of_view / 2)
    cx, cy = (lens.width - 1) / 2, (lens.height - 1) / 2
    return np.array([[focal, 0.0, cx], [0.0, focal, cy], [0.0, 0.0, 1.0]])


def pixel_rays(size, K, offset=(0.0, 0.0)):
    """Points at depth 1 that the pixels see, in the optical frame, shape (height, width, 3)."""
    u, v = np.meshgrid(np.arange(size[0]) + offset[0], np.arange(size[1]) + offset[1])
    return np.stack([u, v, np.ones_like(u)], axis=-1) @ np.linalg.inv(K).T


OPTICAL = Pose(R=np.diag([1.0, -1.0, -1.0]))  # of a camera that looks along -Z


def traced(size, K, X_WO, boxes, background, offset=(0.0, 0.0)):
    """Draw boxes by one ray through each pixel, shape (height, width, 3).

    Args:
        size: (width, height) in pixels.
        K: Camera matrix, shape (3, 3); the centre of the first pixel is (0, 0).
        X_WO: Pose of the optical frame: x right, y down, z forward.
        boxes: (X_WB, size, 8-bit colour) of each.
        background: 8-bit colour.
        offset: Added to the pixels' coordinates.
    """
    rays_O = pixel_rays(size, K, offset)
    nearest = np.full(rays_O.shape[:2], np.inf)
    image = np.full((*nearest.shape, 3), background, dtype=np.uint8)
    for X_WB, box_size, color in boxes:
        X_BO = X_WB.inverse() @ X_WO
        rays = rays_O @ X_BO.R.T
        with np.errstate(divide="ignore"):
            low = (-np.array(box_size) / 2 - X_BO.p) / rays
            high = (np.array(box_size) / 2 - X_BO.p) / rays
        enters = np.minimum(low, high).max(axis=-1)
        leaves = np.maximum(low, high).min(axis=-1)
        hit = (enters < leaves) & (enters > 0.0) & (enters < nearest)
        nearest[hit] = enters[hit]
        image[hit] = color
    return image


def certain(draw, tolerance):
    """Return a drawing, and where it is the same within a tolerance in pixels."""
    image = draw((0.0, 0.0))
    sure = np.ones(image.shape[:2], dtype=bool)
    for offset in ((-tolerance, 0), (tolerance, 0), (0, -tolerance), (0, tolerance)):
        sure &= (draw(offset) == image).all(axis=-1)
    return image, sure


LOOKING_ALONG_X = Pose(R=np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))

BACKGROUND = (20, 40, 60)
AROUND = Surroundings(background=tuple(c / 255 for c in BACKGROUND))
LENS = Pinhole(64, 64, 1.0, 0.01, 50.0)


def picture(diagnostics, *shapes, X_WC=LOOKING_ALONG_X):
    """What a camera at the origin sees of these shapes, shape (64, 64, 3)."""
    renderer = Renderer({"b": body_of("b", shapes)})
    renderer.prepare(diagnostics)
    return renderer.render(LENS, X_WC, {"b": poses_of(Pose())}, surroundings=AROUND).color


def wall(material, distance=2.0):
    """A wall that fills the picture, parallel to it."""
    return box_at((0.1, 40, 40), (distance, 0, 0), material)


def square(material, distance=2.0, half=0.5, **attributes):
    """A square that faces the camera; corners lower left, then counter-clockwise."""
    # Seen from the camera left is +y.
    corners = np.array([[0, 1, -1], [0, -1, -1], [0, -1, 1], [0, 1, 1]]) * half
    mesh = Mesh(
        corners + np.array([distance, 0, 0]),
        np.array([[0, 1, 2], [0, 2, 3]]),
        **attributes,
    )
    return Shape(mesh, material=material)


CORNERS = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
UNIT_ST = Attribute(np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]), CORNERS)


def middle(pixels):
    return tuple(int(c) for c in pixels[32, 32])
