"""Codes of problems with nodes, keys and elements of a model file."""

from __future__ import annotations

CODES = {
    "axis-not-unit": ("a joint axis does not have length 1", "write the axis with length 1"),
    "bad-attribute": (
        "the number of normals, colours or texture coordinates is wrong",
        "write one for each face, corner or vertex, as the mesh declares",
    ),
    "bad-division-number": (
        "a division number is out of range",
        "leave the number out, or write one in the range",
    ),
    "bad-efficiency": (
        "the efficiency of a gear is not above 0 and at most 1",
        "write the share of the effort that it passes on, 0.6 for 60 %",
    ),
    "bad-geometry": (
        "a <geometry> does not contain exactly one shape",
        "write one shape in each <geometry>, and a <visual> or <collision> for each shape",
    ),
    "bad-humanoid-body": (
        "the root of a robot is not one Joint",
        "put exactly one Joint in humanoidBody",
    ),
    "bad-image": (
        "a PixelTexture's pixels do not fit its size",
        "write width, height and components, then one number for each pixel",
    ),
    "bad-index": (
        "a face uses a vertex that does not exist",
        "export the mesh again; vertex indices begin at 0",
    ),
    "bad-inertia": ("an inertia does not have 9 numbers", "write xx xy xz, yx yy yz, zx zy zz"),
    "bad-joint-id": (
        "a joint id is out of range",
        "number the joints 0, 1, 2 and so on",
    ),
    "bad-nesting": ("Visual and Collision are nested", "put them side by side"),
    "bad-size": ("a shape has an invalid size", "write sizes above zero"),
    "bent-device": (
        "a device is in a Transform that mirrors or shears",
        "place devices by translation and rotation only",
    ),
    "color-range": (
        "a colour component is not in 0..1, and is clipped",
        "write red, green, blue and alpha from 0 to 1 (not 0 to 255)",
    ),
    "default-inertia": (
        "an inertia is missing",
        "write the inertia of every moving link, in kg m^2",
    ),
    "default-mass": (
        "a mass is missing",
        "write mass, centre of mass and inertia of every moving link",
    ),
    "displacement-unit": (
        "a joint displacement is in the file's angle unit",
        "write it in the unit that the file declares",
    ),
    "duplicate-element": ("an element is given twice", "remove one of the two"),
    "duplicate-frame-name": (
        "two links, joints or frames of an SDF have the same name",
        "give each of them a unique name",
    ),
    "frame-cycle": (
        "poses of an SDF are relative to each other",
        "write one of them relative to another frame, or to the model",
    ),
    "nested-model": (
        "a model of an MJCF contains another one",
        "write the bodies of both into one model",
    ),
    "surface-out-of-range": (
        "a friction, restitution, stiffness or damping of a contact is out of range",
        "write a number in the range that the message states",
    ),
    "unknown-frame": (
        "a pose or axis names a frame that does not exist",
        "check the spelling of relative_to, attached_to or expressed_in",
    ),
    "unstated-mass": (
        "the mass of a link is to be derived from its shapes",
        "write mass and inertia; for SDF, 'gz sdf -p FILE --expand-auto-inertials' prints them",
    ),
    "duplicate-joint-name": ("two joints have the same name", "give each joint a unique name"),
    "duplicate-link": ("two links have the same name", "give each link a unique name"),
    "duplicate-link-name": ("two links have the same name", "give each link a unique name"),
    "duplicate-material": (
        "two materials have the same name",
        "remove one of the two, or rename it",
    ),
    "empty-mesh": ("a mesh has no triangles", "remove it, or export the mesh again"),
    "empty-scene": (
        "the file has neither shapes nor joints",
        "check that this is the model's main file",
    ),
    "externproto": (
        "an EXTERNPROTO is not loaded",
        "copy the PROTO into the file if its nodes matter",
    ),
    "gazebo-name": (
        "a sensor has names of topics or frames for Gazebo",
        "no action needed; rename the sensor to choose its topics and frames here",
    ),
    "ignored-field": ("a field has no effect", "remove it, and express it in another way"),
    "imported": ("keys were imported from another node", "no action is needed"),
    "inline-list": ("an Inline lists several files that exist", "write one Inline for each file"),
    "inner-free-joint": (
        "a joint below the root is free",
        "use a joint type that connects it to its parent",
    ),
    "instance-cycle": (
        "an articulated system of a COLLADA file contains itself",
        "instantiate another articulated system, which has the kinematics",
    ),
    "joint-in-segment": (
        "a Joint is inside a Segment",
        "move it beside the Segment, to the children of its parent Joint",
    ),
    "large-face": ("a face has very many vertices", "triangulate it when exporting the mesh"),
    "left-out": ("a part without meaning here is left out", "no action is needed"),
    "link-cycle": ("a link is its own ancestor", "check the parents, which must lead to the root"),
    "loose-joint": (
        "a Joint is outside of a Humanoid",
        "move it into the Humanoid's humanoidBody",
    ),
    "mismatched-attribute": (
        "normals, colours or texture coordinates do not match the faces",
        "write one for each face, corner or vertex, as the mesh declares",
    ),
    "mimic-cycle": (
        "mimic joints follow each other in a cycle",
        "remove one <mimic>, as one joint must lead the others",
    ),
    "misplaced-node": (
        "a node has no meaning at this place",
        "move it to the field for such nodes",
    ),
    "missing-attribute": (
        "a required attribute is missing",
        "write the attribute that the message names",
    ),
    "missing-element": (
        "a required element is missing",
        "write the element that the message names",
    ),
    "missing-joint-type": ("a joint has no type", "write jointType: fixed, free, rotate or slide"),
    "missing-key": ("a required key is missing", "write the key that the message names"),
    "missing-limit": (
        "a joint has no position, velocity or effort limits",
        'write <limit lower="..." upper="..." velocity="..." effort="..."/>',
    ),
    "moved-joint": (
        "a Joint is inside a Transform that moves it",
        "write the pose into the Joint's own translation and rotation",
    ),
    "negative-resistance": (
        "a friction or damping is negative, and treated as zero",
        "write zero or more: friction in N m (or N), damping in N m s/rad (or N s/m)",
    ),
    "nested-humanoid": ("a Humanoid is inside another one", "combine their Joints into one tree"),
    "newer-version": (
        "an attribute is of a newer version of the format than the file states",
        "state the newer version",
    ),
    "no-format": (
        "a camera has no image format",
        "write format: COLOR, or DEPTH, COLOR_DEPTH, POINT_CLOUD, COLOR_POINT_CLOUD",
    ),
    "no-links": ("the model has no links", "write a list of links"),
    "no-surface": (
        "lines and points have no surface",
        "use faces for visual and collision shapes",
    ),
    "no-version": ("the version of the format is missing", "write format_version: 2.0"),
    "not-used": ("a part of the file is not used", "check it against the documentation"),
    "outside-humanoid": (
        "a node outside the Humanoid is not part of the robot",
        "move it into the Segment of a Joint",
    ),
    "planar-joint": (
        "planar joints are not supported",
        "write two prismatic joints and a continuous one",
    ),
    "radian": (
        "angles are in radians, but the format has degrees only",
        "write the angles in degrees, or give the file format_version 1.0",
    ),
    "root-with-parent": ("the root link has a parent", "remove its parent, or choose another root"),
    "route": ("a ROUTE has no effect", "remove it"),
    "scaled-mass": (
        "a Segment is scaled but its mass is not",
        "write mass and inertia of the scaled part, and remove the scale",
    ),
    "script": ("a Script has no effect", "remove it"),
    "second-humanoid": ("the file has several robots", "put each robot into a separate file"),
    "second-parent": (
        "a link has two parent joints",
        "remove one of the joints, as a URDF is a tree",
    ),
    "second-root": ("two links have no parent", "give every link except the root a parent"),
    "shape-outside-segment": (
        "a shape is outside of a Segment",
        "move it into a Segment of its Joint",
    ),
    "short-inertia": (
        "an inertia has 6 numbers instead of 9",
        "write xx xy xz, yx yy yz, zx zy zz",
    ),
    "short-list": ("a list has fewer values than needed", "write one value for each point"),
    "two-velocity-limits": (
        "a joint has two velocity limits",
        "write joint_velocity_range or max_joint_velocity, not both",
    ),
    "type-mismatch": ("a node has two types", "remove one of the two"),
    "unknown-attribute": (
        "an element has no such attribute",
        "check the spelling against the documentation of the format",
    ),
    "unknown-axis": (
        "a joint axis is invalid",
        "write three numbers, or X, Y, Z, -X, -Y or -Z",
    ),
    "unknown-device": (
        "a device type is unknown",
        "check the spelling; unknown devices are kept as data only",
    ),
    "unknown-element": (
        "an element is unknown at this place",
        "check the spelling against the documentation of the format",
    ),
    "unknown-field": (
        "a node has no such field",
        "check the spelling against the documentation of the format",
    ),
    "unknown-geometry": ("a geometry type is unknown", "use a type that the message lists"),
    "unknown-image-type": (
        "an image type is unknown",
        "write COLOR, MONO, DEPTH, COLOR_DEPTH, MONO_DEPTH or NONE",
    ),
    "unknown-joint": ("a joint does not exist or cannot move", "check the spelling of its name"),
    "unknown-joint-type": (
        "a joint type is unknown",
        "write revolute or rotate, prismatic or slide, fixed or free",
    ),
    "unknown-key": (
        "a key is unknown",
        "check the spelling against the documentation of the format",
    ),
    "unknown-material": (
        "a material is not in any .mtl file of the mesh",
        "check the spelling against the .mtl file",
    ),
    "unknown-node": (
        "a node does not exist",
        "check the spelling against the file that should contain it",
    ),
    "unknown-parent": (
        "the parent of a link does not exist",
        "check the spelling of the parent's name",
    ),
    "unknown-root": ("the root link does not exist", "check the spelling of root_link"),
    "unknown-type": (
        "a node type is unknown",
        "check the spelling; unknown types are kept as data only",
    ),
    "unknown-word": (
        "a value is not one of those allowed for its key",
        "use a value that the message lists",
    ),
    "unnamed-device": (
        "a device has no name",
        "name it, as topics and frames are named after devices",
    ),
    "unnamed-link": ("a link has no name", "name it, as frames are named after links"),
    "unreadable-texture": (
        "the image of a texture is invalid",
        "open it in a viewer and save it as PNG",
    ),
    "unsupported-texture": (
        "this type of texture is not supported",
        "save its image to a file and use ImageTexture",
    ),
    "zero-axis": (
        "an axis or a direction has length zero",
        "write a vector of length 1, or leave the rotation out",
    ),
}
