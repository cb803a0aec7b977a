"""Codes of the parts of a model: nodes and keys that say too little, too much or nothing."""

from __future__ import annotations

CODES = {
    "axis-not-unit": ("a joint axis does not have length 1", "write the axis with length 1"),
    "bad-attribute": (
        "normals, colours or texture coordinates do not fit",
        "give one for each face, corner or vertex, as the mesh says",
    ),
    "bad-division-number": (
        "a shape asks for an impossible number of corners",
        "leave the number out, or write one in the range",
    ),
    "bad-geometry": (
        "a <geometry> does not hold one shape",
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
        "count vertices from 0, and export the mesh again",
    ),
    "bad-inertia": ("an inertia does not have 9 numbers", "write xx xy xz, yx yy yz, zx zy zz"),
    "bad-joint-id": (
        "a joint id is out of reason",
        "number the joints from 0 on: 0, 1, 2 and so forth",
    ),
    "bad-nesting": ("Visual and Collision are inside one another", "put them side by side"),
    "bad-size": ("a shape has an impossible size", "write sizes above zero"),
    "bent-device": (
        "a device stands in a Transform that mirrors or shears",
        "place devices by translation and rotation only",
    ),
    "color-range": (
        "a number of a colour is not from 0 to 1, and is cut there",
        "write red, green, blue and alpha from 0 to 1, not to 255",
    ),
    "default-inertia": (
        "an inertia is missing",
        "write the inertia of everything that moves, in kg m^2",
    ),
    "default-mass": (
        "a mass is missing",
        "write mass, centre of mass and inertia of everything that moves",
    ),
    "displacement-unit": (
        "a joint displacement is in the file's angle unit",
        "write it in the unit that the file declares",
    ),
    "duplicate-element": ("an element stands twice where one may", "remove one of the two"),
    "duplicate-joint-name": ("two joints have the same name", "give each joint a name of its own"),
    "duplicate-link": ("two links have the same name", "give each link a name of its own"),
    "duplicate-link-name": ("two links have the same name", "give each link a name of its own"),
    "duplicate-material": (
        "two materials have the same name",
        "remove one of the two, or rename it",
    ),
    "empty-mesh": ("a mesh has no face of three corners", "remove it, or export the mesh again"),
    "empty-scene": (
        "the file shows nothing and moves nothing",
        "check that this is the model's main file",
    ),
    "externproto": (
        "an EXTERNPROTO is not fetched",
        "write the PROTO in the file itself if its nodes matter",
    ),
    "ignored-field": ("a field has no effect", "remove it, and write what it does in another way"),
    "imported": ("keys were imported from another node", "nothing needs to be done"),
    "inline-list": ("an Inline lists several files that exist", "write one Inline for each file"),
    "inner-free-joint": (
        "a joint inside the robot is free",
        "give it a type that ties it to its parent",
    ),
    "joint-in-segment": (
        "a Joint stands in a Segment",
        "put it beside the Segment, among the children of its parent Joint",
    ),
    "large-face": ("a face has very many corners", "cut it into triangles where the mesh is made"),
    "left-out": ("something has no meaning here and is left out", "nothing needs to be done"),
    "link-cycle": ("a link is its own ancestor", "check the parents: one must lead to the root"),
    "lopsided-scan": (
        "the layers of a scan are not as far below its middle as above",
        "turn the sensor by the difference, and write -angle to angle",
    ),
    "loose-joint": (
        "a Joint stands outside of a Humanoid",
        "put it into the Humanoid's humanoidBody",
    ),
    "mismatched-attribute": (
        "normals, colours or texture coordinates do not match",
        "give one for each face, corner or vertex, as the mesh says",
    ),
    "mimic-cycle": (
        "joints follow one another in a circle",
        "remove one <mimic>: one joint must lead the others",
    ),
    "misplaced-node": (
        "a node stands where it has no meaning",
        "move it to the field that is meant for it",
    ),
    "missing-attribute": (
        "a needed attribute is missing",
        "write the attribute that the message names",
    ),
    "missing-element": ("a needed element is missing", "write the element that the message names"),
    "missing-joint-type": ("a joint has no type", "write jointType: fixed, free, rotate or slide"),
    "missing-key": ("a needed key is missing", "write the key that the message names"),
    "missing-limit": (
        "a joint does not say how far, how fast or with what effort it can move",
        'write <limit lower="..." upper="..." velocity="..." effort="..."/>',
    ),
    "moved-joint": (
        "a Joint stands in a Transform that moves it",
        "write the place into the Joint's own translation and rotation",
    ),
    "negative-resistance": (
        "a friction or damping is negative, and counts as zero",
        "write zero or more: friction in N m (or N), damping in N m s/rad (or N s/m)",
    ),
    "nested-humanoid": ("a robot stands inside a robot", "join their Joints into one tree"),
    "no-format": (
        "a camera does not say what it delivers",
        "write format: COLOR, or DEPTH, COLOR_DEPTH, POINT_CLOUD, COLOR_POINT_CLOUD",
    ),
    "no-links": ("the model has no links", "write a list of links"),
    "no-surface": (
        "lines and points have no surface",
        "use faces for what is to be seen and touched",
    ),
    "no-version": ("the version of the format is missing", "write format_version: 2.0"),
    "not-used": ("something says nothing that can be used", "check it against the documentation"),
    "outside-humanoid": (
        "a node beside the robot is no part of it",
        "move it into the Segment of a Joint",
    ),
    "planar-joint": (
        "a joint is planar, which is not known here",
        "write two prismatic joints and a continuous one",
    ),
    "radian": (
        "angles are in radians where the format has degrees only",
        "write the angles in degrees, or give the file format_version 1.0",
    ),
    "root-with-parent": ("the root link has a parent", "remove its parent, or name another root"),
    "route": ("a ROUTE has no effect", "remove it"),
    "scaled-mass": (
        "a Segment is scaled but its mass is not",
        "write mass and inertia of the scaled part, and remove the scale",
    ),
    "script": ("a Script has no effect", "remove it"),
    "second-humanoid": ("the file holds several robots", "put each robot in a file of its own"),
    "second-parent": (
        "a link hangs on two joints",
        "URDF tells trees only: remove one of the joints",
    ),
    "second-root": ("two links have no parent", "give every link but the root a parent"),
    "shape-outside-segment": (
        "a shape stands outside of a Segment",
        "put it into a Segment of its Joint",
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
    "type-mismatch": ("a node says two types", "remove one of the two"),
    "unknown-attribute": (
        "an element has no such attribute",
        "check the spelling against the documentation of the format",
    ),
    "unknown-axis": (
        "a joint axis is not understood",
        "write three numbers, or X, Y, Z or their opposites",
    ),
    "unknown-device": (
        "a device is not known",
        "check the spelling; unknown devices are kept as data only",
    ),
    "unknown-element": (
        "an element has no meaning where it stands",
        "check the spelling against the documentation of the format",
    ),
    "unknown-field": (
        "a node has no such field",
        "check the spelling against the documentation of the format",
    ),
    "unknown-geometry": ("a geometry is not known", "use a geometry that the message names"),
    "unknown-image-type": (
        "a camera type is not known",
        "write COLOR, MONO, DEPTH, COLOR_DEPTH, MONO_DEPTH or NONE",
    ),
    "unknown-joint": ("a joint does not exist or cannot move", "check the spelling of its name"),
    "unknown-joint-type": (
        "a joint type is not known",
        "write revolute or rotate, prismatic or slide, fixed or free",
    ),
    "unknown-key": (
        "a key is not known",
        "check the spelling against the documentation of the format",
    ),
    "unknown-material": (
        "a material has a name that no library of the file holds",
        "check the spelling against the .mtl file",
    ),
    "unknown-node": (
        "a node or the name of one is not known",
        "check the spelling against the file that should hold it",
    ),
    "unknown-parent": (
        "the parent of a link does not exist",
        "check the spelling of the parent's name",
    ),
    "unknown-root": ("the root link does not exist", "check the spelling of root_link"),
    "unknown-type": (
        "a node type is not known",
        "check the spelling; unknown types are kept as data only",
    ),
    "unknown-word": (
        "a word is none of those that its key takes",
        "use a word that the message names",
    ),
    "unnamed-device": (
        "a device has no name",
        "name it: topics and frames are named after devices",
    ),
    "unnamed-link": ("a link has no name", "name it: frames are named after links"),
    "unreadable-texture": (
        "the picture of a texture cannot be used",
        "open it in a viewer and save it as PNG",
    ),
    "unsupported-texture": (
        "a texture of this kind is not drawn",
        "put its picture in a file and use ImageTexture",
    ),
    "zero-axis": (
        "an axis or a direction has length zero",
        "write one of length 1, or leave the rotation out",
    ),
}
