"""Body to plain data for JSON; docs/dump-schema.json describes the result.

Lengths in [m], angles in [rad], masses in [kg]; an infinite limit is None, a missing joint or
device id is -1.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..body import Body, ExtraJoint, Link
from ..geometry import Box, Capsule, Cone, Cylinder, Geometry, Material, Mesh, Shape, Sphere
from ..kinematics import BodyState
from ..kinematics.postures import Posture
from ..shapes import measure
from ..shapes.tessellate import shape_mesh
from .dump_devices import Json, dump_device, limit


def dump_body(body: Body, postures: Sequence[Posture] | None = None) -> Json:
    """Return a body as plain data.

    Args:
        body: The model.
        postures: Postures for which poses, centre of mass, mass matrix and gravity torques are
            added.

    Raises:
        KeyError: A posture names an unknown joint.
    """
    data: Json = {
        "model_name": body.name,
        "mass": float(body.total_mass),
        "links": [_link(link) for link in body.links],
        "joints": [None if link is None else link.joint.name for link in body.joints],
        "devices": [dump_device(device) for device in body.devices],
        "extra_joints": [_extra_joint(joint) for joint in body.extra_joints],
        "self_collision_disabled": sorted(sorted(p) for p in body.self_collision_disabled),
        "collision_disabled": sorted(body.collision_disabled),
    }
    if postures is not None:
        data["poses"] = [dump_posture(body, posture) for posture in postures]
    return data


def dump_posture(body: Body, posture: Posture) -> Json:
    """Return a body's poses and dynamics in one posture; raises KeyError as ``dump_body``."""
    state = BodyState(body)
    index = {link.joint.name: i for i, link in enumerate(body.moving_links)}
    for name, value in posture.q.items():
        if name not in index:
            raise KeyError(f"body '{body.name}' has no moving joint '{name}'")
        state.q[index[name]] = value
    if posture.root_p is not None:
        state.p[0] = posture.root_p
    if posture.root_R is not None:
        state.R[0] = posture.root_R
    state.calc_forward_kinematics()
    names = [link.name for link in body.links]
    return {
        "root_p": state.p[0].tolist(),
        "root_R": state.R[0].tolist(),
        "q": dict(zip(index, state.q.tolist(), strict=True)),
        "p": dict(zip(names, state.p.tolist(), strict=True)),
        "R": dict(zip(names, state.R.tolist(), strict=True)),
        "center_of_mass": state.calc_cm().tolist() if body.total_mass > 0.0 else None,
        "mass_matrix": state.calc_mass_matrix().tolist(),
        "mass_matrix_joints": list(index),
        "gravity_torque": dict(zip(index, state.gravity_torque().tolist(), strict=True)),
    }


def _link(link: Link) -> Json:
    joint = link.joint
    visual = _shapes(link.visual)
    return {
        "name": link.name,
        "parent": link.parent,
        "joint_name": joint.name,
        "joint_type": joint.type.value,
        "joint_id": -1 if joint.id is None else joint.id,
        "axis": joint.axis.tolist(),
        "b": link.X_PL.p.tolist(),
        "Rb": link.X_PL.R.tolist(),
        "q_initial": float(joint.initial),
        "q_lower": limit(joint.position.lower),
        "q_upper": limit(joint.position.upper),
        "dq_lower": limit(joint.velocity.lower),
        "dq_upper": limit(joint.velocity.upper),
        "u_lower": limit(joint.effort.lower),
        "u_upper": limit(joint.effort.upper),
        "mass": float(link.mass),
        "c": link.center_of_mass.tolist(),
        "I": link.inertia.tolist(),
        "Jm2": float(joint.equivalent_rotor_inertia),
        "encoder_pulse": None if joint.encoder_pulse is None else float(joint.encoder_pulse),
        "visual": visual,
        "collision": visual if link.collision == link.visual else _shapes(link.collision),
    }


def _shapes(shapes: tuple[Shape, ...]) -> Json:
    meshes = [shape_mesh(shape) for shape in shapes]
    boxes = (box for box in map(measure.bounding_box, meshes) if box is not None)
    whole = measure.union(boxes)
    return {
        "num_shapes": len(shapes),
        "triangles": sum(len(mesh.triangles) for mesh in meshes),
        "bbox_min": None if whole is None else whole.low.tolist(),
        "bbox_max": None if whole is None else whole.high.tolist(),
        "area": sum(map(measure.area, meshes)),
        "signed_volume": sum(map(measure.signed_volume, meshes)),
        "shapes": [_shape(s, m) for s, m in zip(shapes, meshes, strict=True)],
    }


def _shape(shape: Shape, mesh: Mesh) -> Json:
    box = measure.bounding_box(mesh)
    return {
        "name": shape.name,
        "type": type(shape.geometry).__name__,
        **_size(shape.geometry),
        "T": shape.T_FG.tolist(),
        "triangles": len(mesh.triangles),
        "bbox_min": None if box is None else box.low.tolist(),
        "bbox_max": None if box is None else box.high.tolist(),
        "area": measure.area(mesh),
        "material": _material(shape.material),
    }


def _size(geometry: Geometry) -> Json:
    if isinstance(geometry, Box):
        return {"size": geometry.size.tolist()}
    if isinstance(geometry, Sphere):
        return {"radius": float(geometry.radius)}
    if isinstance(geometry, Mesh):
        return {"vertices": len(geometry.vertices)}
    size: Json = {"radius": float(geometry.radius), "height": float(geometry.height)}
    faces: tuple[str, ...] = ()
    if isinstance(geometry, Cylinder):
        faces = ("top", "bottom", "side")
    elif isinstance(geometry, Cone):
        faces = ("bottom", "side")
    else:
        assert isinstance(geometry, Capsule)
    return size | {face: getattr(geometry, face) for face in faces}


def _material(material: Material) -> Json:
    texture = material.texture
    return {
        "name": material.name,
        "diffuse": list(material.diffuse),
        "specular": list(material.specular),
        "emissive": list(material.emissive),
        "ambient": material.ambient,
        "shininess": material.shininess,
        "transparency": material.transparency,
        "texture": None if texture is None else str(texture.path or texture.name),
    }


def _extra_joint(joint: ExtraJoint) -> Json:
    return {
        "type": joint.type.value,
        "name": joint.name,
        "link1": joint.links[0],
        "p_in_link1": joint.X_AJ.p.tolist(),
        "R_in_link1": joint.X_AJ.R.tolist(),
        "link2": joint.links[1],
        "p_in_link2": joint.X_BJ.p.tolist(),
        "R_in_link2": joint.X_BJ.R.tolist(),
        "axis": joint.axis.tolist(),
    }
