"""Random YAML text that is nearly right: body files, libraries of nodes and world files."""

from __future__ import annotations

import random

_PLACED = "translation rotation scale"
_COMMON = f"name id on {_PLACED} elements"
# What each type of node may say; how well the readers know these words is theirs to show.
KEYS = {
    "Link": "name jointType joint_type joint_id jointId joint_axis jointAxis joint_range "
    "jointRange "
    "joint_velocity_range max_joint_velocity max_joint_effort joint_displacement gear_ratio "
    "rotor_inertia equivalent_rotor_inertia torque_const encoder_pulse encoderPulse "
    "mass center_of_mass centerOfMass inertia material "
    f"import parent label joint_name info {_PLACED} elements",
    "SubBody": f"uri prefix suffix device_prefix joint_id_offset parent joint_type {_PLACED}",
    "ContinuousTrack": "name parent numJoints joint_offset jointOffset initialJointAngles elements",
    "Skip": "name elements",
    "RigidBody": f"mass center_of_mass centerOfMass inertia {_PLACED} elements",
    "Transform": f"{_PLACED} elements name",
    "Group": "elements name",
    "Shape": f"geometry appearance {_PLACED} name",
    "Visual": f"shape resource elements {_PLACED}",
    "Collision": f"shape resource elements {_PLACED}",
    "Resource": f"uri url node fragment metadata {_PLACED} exclude",
    "AccelerationSensor": f"max_acceleration maxAcceleration {_COMMON}",
    "RateGyroSensor": f"max_angular_velocity {_COMMON}",
    "IMU": f"max_acceleration max_angular_velocity {_COMMON}",
    "ForceSensor": f"max_force maxForce max_torque {_COMMON}",
    "Camera": "format lens_type lensType width height field_of_view fieldOfView frame_rate "
    "near_clip_distance far_clip_distance min_distance max_distance detection_rate "
    f"error_deviation optical_frame optical_frame_rotation {_COMMON}",
    "RangeSensor": "yaw_range yaw_step yaw_samples min_yaw_angle max_yaw_angle pitch_range "
    "pitch_step pitch_samples min_pitch_angle max_pitch_angle scanAngle scanStep scan_rate "
    "frame_rate min_distance max_distance detection_rate error_deviation optical_frame "
    f"optical_frame_rotation {_COMMON}",
    "SpotLight": "color intensity ambient direction beam_width cut_off_angle cut_off_exponent "
    f"attenuation {_COMMON}",
    "PointLight": f"color intensity ambient ambientIntensity attenuation {_COMMON}",
    "DirectionalLight": f"color intensity ambient direction {_COMMON}",
    "MarkerDevice": f"marker_type size color {_COMMON}",
    "Thruster": f"force_offset {_COMMON}",
    "Box": "size",
    "Sphere": "radius division_number",
    "Cylinder": "radius height top bottom side divisionNumber",
    "Capsule": "radius height divisionNumber",
    "Cone": "radius height bottom side divisionNumber",
    "Extrusion": "cross_section crossSection spine orientation scale begin_cap end_cap "
    "crease_angle ccw convex solid",
    "ElevationGrid": "x_dimension xDimension z_dimension zDimension x_spacing z_spacing height "
    "color colors color_per_vertex normal normals crease_angle texCoord ccw",
    "IndexedFaceSet": "vertices faces coordinate coordIndex normals normal_indices colors "
    "color_indices tex_coords tex_coord_indices crease_angle solid",
    "TriangleMesh": "vertices faces normals colors tex_coords",
    "LineSet": "vertices lines",
}
_GEOMETRIES = ("Box", "Sphere", "Cylinder", "Capsule", "Cone", "Extrusion", "ElevationGrid",
               "IndexedFaceSet", "TriangleMesh", "Resource")  # fmt: skip
_NODES = tuple(KEYS)[4:21]
_INSIDE = {
    "appearance": "material texture texture_transform",
    "material": "ambient diffuse diffuseColor emissive specular shininess transparency",
    "texture": "uri url repeat repeat_s",
    "texture_transform": "center scale translation rotation",
    "metadata": "length_unit upper_axis",
}
_WORDS = (
    *("A", "B", "C", "revolute", "prismatic", "free", "fixed", "slide", "rotate", "X", "-Y", "all"),
    *("'#aabbcc'", "'#12'", "link", "seen", "POINT_CLOUD", "FISHEYE", "robotics"),
    *("pseudoContinuousTrack", "true", "no", "unlimited", "COLOR", "COLOR_DEPTH", "gl", "cv"),
    *("part.stl", "part.wrl", "nodes.yaml", "other.body", "m.body", "loop.body", "N", "tool", ""),
    *("millimeter", "Y", "arc", "degree", "hinge", "ball", "non_adjacent", "~", "腕"),
)
_OPTIONS = (
    *("rate", "angular_velocity_stdev", "orientation", "force_stdev", "wrench_on", "encoders"),
    *("wrench_cutoff", "error_deviation", "detection_rate", "own_body", "spread_scan"),
    *("headlight", "background", "nonsense"),
)
_NUMBERS = (
    *("0", "1", "-1", "2", "0.5", "3", "90", "-180", "1e-9", "1e308", ".nan", "inf", "-inf"),
    *("010", "0x1F", "1e999", "1000000000", "2147483648", "99999999999999999999", "1,2"),
)
_COUNTS = (0, 1, 2, 3, 3, 3, 4, 4, 6, 8, 9, 12)


class YamlGrammar:
    """Writes documents; every choice comes from ``rng``."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._anchors = 0

    def body(self) -> str:
        """Return a body file."""
        rng = self._rng
        lines = ["format: ChoreonoidBody", f"format_version: {rng.choice(('1.0', '2.0', '1.1'))}"]
        lines += ["name: T", *(["angle_unit: radian"] if rng.random() < 0.2 else [])]
        lines.append("links:")
        for i in range(rng.randint(1, 4)):
            kind = rng.choice(("Link", "Link", "Link", "Link", "SubBody", "ContinuousTrack"))
            entry = self._node(kind, 5)
            more = f"parent: {rng.choice('ABC')}, " if i else ""
            lines.append(f"  - {{ name: {'ABCD'[i]}, {more}{entry[1:]}")
        if rng.random() < 0.3:
            lines.append(f"extra_joints: [ {self._extra_joint()}, {self._extra_joint()} ]")
        if rng.random() < 0.3:
            rules = f"{{ disabled_links: {self._scalars(2)}, disabled_link_chain_level: 1 }}"
            lines.append(f"collision_detection: {rules}")
        return "\n".join(lines) + "\n"

    def world(self) -> str:
        """Return a world file."""
        rng = self._rng
        settings = ("time_step", "solver", "gravity", "joint_limits", "friction", "iterations")
        physics = [f"{key}: {self._scalar()}" for key in rng.sample(settings, 2)]
        bodies = []
        for _ in range(rng.randint(1, 3)):
            keys = rng.sample(("name", "position", "rpy", "rotation", "joints", "joint_velocities",
                               "velocity", "fixed", "control", "sensors"), 4)  # fmt: skip
            entry = [f"{key}: {self._world_value(key)}" for key in keys]
            model = rng.choice(("arm.body", "part.wrl", "missing.body", "part.stl", "m.yaml"))
            bodies.append("{ " + ", ".join([f"model: {model}", *entry]) + " }")
        sensors = f"sensors: {self._options()}\n" if rng.random() < 0.5 else ""
        return f"physics: {{ {', '.join(physics)} }}\n{sensors}bodies: [ {', '.join(bodies)} ]\n"

    def fragment(self) -> str:
        """Return one node in flow style, for anywhere in a file."""
        return self._node(self._rng.choice(tuple(KEYS)), 3)

    def entry(self) -> str:
        """Return one key with a value."""
        kind = self._rng.choice(tuple(KEYS))
        return self._entry(kind, self._rng.choice(KEYS[kind].split()), 2)

    def _extra_joint(self) -> str:
        keys = ("link1_name", "link2_name", "joint_type", "axis", "translation_in_link1")
        return "{ " + ", ".join(f"{key}: {self._scalar()}" for key in keys) + " }"

    def _options(self) -> str:
        chosen = self._rng.sample(_OPTIONS, 3)
        return "{ " + ", ".join(f"{name}: {self._scalar()}" for name in chosen) + " }"

    def _world_value(self, key: str) -> str:
        if key == "sensors":
            sensor = self._rng.choice(("joint_states", "odometry", "WRIST", "A", "''"))
            return f"{{ {sensor}: {self._options()} }}"
        if key in ("position", "rpy"):
            return self._numbers(3)
        if key in ("joints", "joint_velocities"):
            return f"{{ J1: {self._number()}, {self._scalar()}: 1 }}"
        if key == "control":
            mode = self._rng.choice(("hold", "none", "position", "effort"))
            return f"{{ mode: {mode}, kp: {self._number()}, joints: {{ J1: {mode} }} }}"
        return self._scalars(3)

    def _node(self, kind: str, depth: int) -> str:
        keys = KEYS[kind].split()
        chosen = self._rng.sample(keys, min(len(keys), self._rng.randint(1, 5)))
        if "elements" in keys and depth > 2 and "elements" not in chosen:
            chosen.append("elements")
        return "{ " + ", ".join(self._entry(kind, key, depth - 1) for key in chosen) + " }"

    def _entry(self, kind: str, key: str, depth: int) -> str:
        rng = self._rng
        if rng.random() < 0.03:
            return f"<<: {self._alias()}"
        value = self._value(kind, key, depth)
        if rng.random() < 0.08 and value[0] in "[{":
            self._anchors += 1
            value = f"&a{self._anchors} {value}"
        elif rng.random() < 0.05:
            value = self._alias()
        return f"{key}: {value}"

    def _alias(self) -> str:
        return f"*a{self._rng.randint(1, max(self._anchors, 1))}"

    def _value(self, kind: str, key: str, depth: int) -> str:
        rng = self._rng
        if rng.random() < 0.05:
            return rng.choice((self._scalar(), self._numbers(rng.choice(_COUNTS)), "{}", "[]"))
        if key == "elements":
            return self._elements(depth)
        if key == "geometry":
            chosen = rng.choice(_GEOMETRIES)
            return f"{{ type: {chosen}, {self._node(chosen, depth)[1:]}"
        if key in ("shape", "resource"):
            return self._node(key.capitalize(), depth)
        if key in _INSIDE and depth > 0:
            inner = _INSIDE[key].split()
            pairs = (
                [f"{k}: {self._value(kind, k, depth - 1)}" for k in rng.sample(inner, 2)]
                if len(inner) > 1
                else []
            )
            return "{ " + ", ".join(pairs) + " }"
        if rng.random() < 0.4:
            return self._numbers(rng.choice(_COUNTS))
        return self._scalar()

    def _elements(self, depth: int) -> str:
        if depth <= 0:
            return "[]"
        kinds = [self._rng.choice(_NODES) for _ in range(self._rng.randint(1, 3))]
        if self._rng.random() < 0.3:
            return "{ " + ", ".join(f"{k}: {self._node(k, depth - 1)}" for k in kinds) + " }"
        nodes = [f"{{ type: {k}, {self._node(k, depth - 1)[1:]}" for k in kinds]
        return "[ " + ", ".join(nodes) + " ]"

    def _numbers(self, count: int) -> str:
        if self._rng.random() < 0.6:
            return "[ " + ", ".join(str(self._rng.randint(-1, 4)) for _ in range(count)) + " ]"
        return "[ " + ", ".join(self._number() for _ in range(count)) + " ]"

    def _scalars(self, count: int) -> str:
        return "[ " + ", ".join(self._scalar() for _ in range(count)) + " ]"

    def _number(self) -> str:
        return self._rng.choice(_NUMBERS[: self._rng.choice((8, len(_NUMBERS)))])

    def _scalar(self) -> str:
        return self._number() if self._rng.random() < 0.5 else self._rng.choice(_WORDS) or "''"
