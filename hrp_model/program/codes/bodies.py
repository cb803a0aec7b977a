"""Codes of problems of a Body, whatever its file format."""

from __future__ import annotations

CODES = {
    "asymmetric-inertia": (
        "an inertia is not symmetric",
        "write each product of inertia on both sides of the diagonal",
    ),
    "coarse-encoder": (
        "the steps of an encoder are too coarse",
        "write its pulses per turn of the motor, and the gear ratio of the joint",
    ),
    "degrees-as-radians": (
        "limits in radians look like degrees",
        "write the limits in radians, or declare degrees if the format supports that",
    ),
    "detection-rate": (
        "a detection rate is not in 0..1",
        "write a number from 0 to 1",
    ),
    "device-id-gap": (
        "the ids of the devices of one type have a gap",
        "number the devices of each type 0, 1, 2, ... without gaps",
    ),
    "dropped-by-gazebo": (
        "Gazebo drops a link without mass, and all links below it",
        "give the link a mass, or connect it by a fixed joint to a link with a mass",
    ),
    "duplicate-device-id": (
        "two devices of one type have the same id",
        "number the devices of each type 0, 1, 2, ... without duplicates",
    ),
    "duplicate-device-name": (
        "two devices have the same name",
        "give each device a unique name, as topics and frames are named after devices",
    ),
    "duplicate-joint-id": (
        "two joints have the same id",
        "number the joints 0, 1, 2, ...; leave the id out for passive joints",
    ),
    "empty-range": (
        "a range is empty",
        "leave the range out if the joint is unlimited, or make the joint fixed",
    ),
    "empty-shape": ("a shape has a size of zero or less", "write sizes above zero"),
    "field-of-view": (
        "a field of view is invalid",
        "write the full angle in the unit of the file, between 0 and 180 degrees",
    ),
    "flat-collision-shape": (
        "a collision shape has no thickness",
        "a flat mesh is thickened by up to 1 mm; model its thickness if that matters",
    ),
    "frame-name-collision": (
        "two links or devices would have the same frame name",
        "give every link and device a unique name",
    ),
    "illegal-name": (
        "a name has characters that URDF or TF do not allow",
        'use printable characters, without a leading "/" and without leading or trailing blanks',
    ),
    "image-size": ("the size of an image is invalid", "write width and height in pixels"),
    "inertia-not-positive": (
        "an inertia is not positive definite",
        "check the units (kg m^2) and the signs of the products of inertia",
    ),
    "inertia-out-of-proportion": (
        "an inertia does not fit the size of the shape",
        "check the units: kg m^2 = 1e7 g cm^2 = 1e6 kg mm^2, and shapes in m",
    ),
    "inertia-triangle": (
        "an inertia violates the triangle inequality of rigid bodies",
        "check the unit (kg m^2), and that it is about the centre of mass",
    ),
    "initial-out-of-range": (
        "an initial joint position is outside the limits",
        "write an initial position within the limits",
    ),
    "initial-overlap": (
        "links overlap in the initial posture, though no joint connects them",
        "the SRDF disables collisions between them; if they are real, change the posture",
    ),
    "inverted-range": ("a range is inverted and means no limit", "write the lower limit first"),
    "joint-id-gap": (
        "the joint ids have a gap",
        "number the joints 0, 1, 2, ... without gaps",
    ),
    "joint-id-too-large": (
        "a joint id is too large",
        "number the joints 0, 1, 2, ... without gaps",
    ),
    "joint-name-collision": (
        "two joints would have the same name",
        "give every joint a unique name",
    ),
    "joint-named-like-link": (
        "a joint has the name of a link",
        "use --frame-prefix, or --link-naming segment for a model with named Segments",
    ),
    "light-angle": (
        "the beam angle of a light is invalid",
        "write an angle from 0 to 180 degrees, in the unit of the file",
    ),
    "light-strength": (
        "the colour or intensity of a light is invalid",
        "write colours from 0 to 1 (not 0 to 255), and no negative intensities",
    ),
    "loop-gap": (
        "a closed loop is open",
        "check the pose of the extra joint on each of its links, its axis, and the initial posture",
    ),
    "lopsided-limits": (
        "the velocity or effort limits of the two directions differ",
        "URDF has one limit: the lower velocity and the larger effort; write -limit to limit",
    ),
    "mass-outside-shape": (
        "a centre of mass is far outside its shape",
        "write it in m, relative to the origin of its link",
    ),
    "massless-link": (
        "a moving link has no mass",
        "write the mass of every moving link, as a simulation needs it",
    ),
    "moving-root": ("the root has a moving joint", "add a fixed or free root link above it"),
    "negative-mass": ("a mass is negative", "write a mass of zero or more"),
    "no-inertia": (
        "a link has mass but no inertia",
        "write the inertia of every moving link, as a simulation needs it",
    ),
    "no-segment": (
        "a link has no named Segment for --link-naming segment",
        "put its shapes into a Segment with a name, or use --link-naming joint",
    ),
    "no-virtual-joint": (
        "the root is fixed away from the world's origin, which SRDF cannot represent",
        "put the root at the origin, or publish the transform from the world to it",
    ),
    "not-decomposed": (
        "a mesh could not be decomposed into convex parts; its convex hull is used",
        "simplify the mesh or split it in the model, or use --collision convex",
    ),
    "not-finite": (
        "a number is not finite",
        "write a number; leave the limit out if there is none",
    ),
    "one-sided-range": (
        "a range of velocities or efforts allows one direction only",
        "write the range as -limit to limit",
    ),
    "nothing-to-control": (
        "the <ros2_control> block has no joint to command",
        "give joints with motors a joint id, or leave the block out",
    ),
    "open-loops": (
        "closed loops are cut open, as a URDF is a tree",
        "use -o, which writes the loops to loops.yaml beside the URDF",
    ),
    "reserved-name": (
        "a frame has a name that a simulator reserves",
        "rename it, or use --frame-prefix",
    ),
    "scan-range": (
        "the angular range of a scan is invalid",
        "write the total angle in the unit of the file, up to 360 degrees",
    ),
    "scan-step": (
        "the angle between rays is invalid",
        "write a step above zero and up to the range, in the unit of the file",
    ),
    "sensor-distance": (
        "a range of distances is empty",
        "write a minimum below the maximum, in m",
    ),
    "sensor-limit": (
        "a limit of a sensor is zero or negative",
        "write a limit above zero, or leave it out",
    ),
    "sensor-rate": (
        "a rate is invalid",
        "write a rate in Hz, above 0 and up to 10000",
    ),
    "several-segments": (
        "a link has several Segments, and is named after the first",
        "keep one named Segment in each link, or use --link-naming joint",
    ),
    "shape-without-mesh": (
        "a shape has no mesh file and is left out",
        "use -o or --mesh-dir of hrp-model urdf to write mesh files",
    ),
    "still-track": (
        "a continuous track becomes a fixed joint",
        "URDF has no tracks: configure them in the simulator, or model wheels",
    ),
    "topic-name-collision": (
        "two sensors would have the same topic",
        'rename one; topics consist of letters, digits and "_"',
    ),
    "unknown-link": ("a link does not exist", "check the spelling of the link's name"),
    "unsound-constraint": (
        "an extra joint is invalid and left out",
        "write two existing links, finite positions, and an axis that is not zero",
    ),
}
