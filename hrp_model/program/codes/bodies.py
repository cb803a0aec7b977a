"""Codes of whole models: what no file format allows for."""

from __future__ import annotations

CODES = {
    "asymmetric-inertia": (
        "an inertia is not symmetric",
        "write each product of inertia on both sides of the diagonal",
    ),
    "coarse-encoder": (
        "an encoder tells next to nothing of its joint",
        "write its pulses per turn of the motor, and the gear ratio of the joint",
    ),
    "degrees-as-radians": (
        "angles are degrees where radians are meant",
        "write the limits in radians, or declare degrees where the format can",
    ),
    "detection-rate": (
        "the share of rays that return is not in 0..1",
        "write a number from 0 to 1",
    ),
    "device-id-gap": (
        "the ids of devices of one kind have a gap",
        "number the devices of each kind 0, 1, 2, ... without leaving one out",
    ),
    "dropped-by-gazebo": (
        "Gazebo leaves out a link without mass, and all that hangs on it",
        "give the link a mass, or join it by a fixed joint to one that has a mass",
    ),
    "duplicate-device-id": (
        "two devices of one kind have the same id",
        "number the devices of each kind 0, 1, 2 and so forth",
    ),
    "duplicate-device-name": (
        "two devices have the same name",
        "topics and frames are named after devices: give each its own name",
    ),
    "duplicate-joint-id": (
        "two joints have the same id",
        "number the joints 0, 1, 2, ...; leave the id out for joints not driven",
    ),
    "empty-range": (
        "a range leaves no room",
        "leave the range out if the joint is free to move, or make the joint fixed",
    ),
    "empty-shape": ("a shape has no extent", "write sizes above zero"),
    "field-of-view": (
        "a field of view is impossible",
        "write the full angle, in the unit of the file: above 0, below 180 degrees",
    ),
    "flat-collision-shape": (
        "a collision shape has no thickness",
        "a flat mesh is made up to 1 mm thick: model its thickness if that matters",
    ),
    "frame-name-collision": (
        "two links or devices would have the same frame",
        "give every link and device a name of its own",
    ),
    "illegal-name": (
        "a name has characters that URDF or TF cannot carry",
        'use printable characters, no "/" in front, and no blank in front or at the end',
    ),
    "image-size": ("an image has an impossible size", "write width and height in pixels"),
    "inertia-not-positive": (
        "an inertia is not positive",
        "check the units (kg m^2) and the signs of the products of inertia",
    ),
    "inertia-out-of-proportion": (
        "an inertia does not fit the size of the shape",
        "check the units: kg m^2 = 1e7 g cm^2 = 1e6 kg mm^2, and shapes in m",
    ),
    "inertia-triangle": (
        "no rigid body has such an inertia",
        "check the units (kg m^2), and that it is about the centre of mass",
    ),
    "initial-out-of-range": ("a joint starts outside its range", "write a start within the range"),
    "initial-overlap": (
        "links overlap in the initial posture, though no joint connects them",
        "the SRDF turns off collisions between them; if those are real, change the posture",
    ),
    "inverted-range": ("a range is inverted and means no limit", "write the lower limit first"),
    "joint-id-gap": (
        "the joint ids have a gap",
        "number the joints 0, 1, 2, ... without leaving one out",
    ),
    "joint-id-too-large": (
        "a joint id is larger than any table of joints",
        "number the joints 0, 1, 2, ... without leaving one out",
    ),
    "joint-name-collision": (
        "two joints would have the same name",
        "give every joint a name of its own",
    ),
    "joint-named-like-link": (
        "joints have the names of links",
        "use --frame-prefix, or --link-naming segment for a model with named Segments",
    ),
    "light-angle": (
        "the beam of a light is impossible",
        "write an angle from 0 to 180 degrees, in the unit of the file",
    ),
    "light-strength": (
        "a light has an impossible colour or strength",
        "write colours from 0 to 1, not to 255, and no negative numbers",
    ),
    "loop-gap": (
        "the two ends of a closed loop do not meet",
        "check where the extra joint is on each of its links, its axis, and the initial posture",
    ),
    "lopsided-limits": (
        "a velocity or effort has different limits in its two directions",
        "URDF takes the lesser velocity and the larger effort for both: write -limit to limit",
    ),
    "mass-outside-shape": (
        "a centre of mass lies far outside its shape",
        "write it in m, relative to the origin of its own link",
    ),
    "massless-link": (
        "links move but have no mass",
        "a simulation needs the mass of everything that it accelerates",
    ),
    "moving-root": ("the root has a joint that moves", "put a fixed or free link above it"),
    "negative-mass": ("a mass is negative", "write a mass of zero or more"),
    "no-inertia": (
        "a link has mass but no inertia",
        "a simulation needs the inertia of everything that it turns",
    ),
    "no-segment": (
        "a link has no named Segment, which its name was to come from",
        "put its shapes in a Segment with a name, or use --link-naming joint",
    ),
    "no-virtual-joint": (
        "the root is fixed away from the world's origin, which an SRDF cannot say",
        "put the root at the origin, or publish the transform from the world to it",
    ),
    "not-decomposed": (
        "a mesh could not be split into convex parts, and its hull is used",
        "simplify the mesh or split it in the model, or use --collision convex",
    ),
    "not-finite": (
        "a number is not finite",
        "write a number; leave a limit out where there is none",
    ),
    "one-sided-range": (
        "a range of velocities or efforts allows one direction only",
        "write the range as -limit to limit",
    ),
    "nothing-to-control": (
        "controllers have no joint to command",
        "give the joints that have motors a joint id, or leave <ros2_control> out",
    ),
    "open-loops": (
        "closed loops are left open",
        "URDF knows trees only; with -o the loops are written to loops.yaml beside it",
    ),
    "reserved-name": (
        "a frame has the name of a simulator's own",
        "give it another name, or use --frame-prefix",
    ),
    "scan-range": (
        "the angle that a scan covers is impossible",
        "write the total angle, in the unit of the file: up to 360 degrees",
    ),
    "scan-step": (
        "the angle between rays is impossible",
        "write a step above zero and not beyond the range, in the unit of the file",
    ),
    "sensor-distance": (
        "distances leave nothing to be measured",
        "write the near distance first, in m",
    ),
    "sensor-limit": (
        "a limit leaves nothing to be measured",
        "write a limit above zero, or leave it out",
    ),
    "sensor-rate": (
        "a rate is impossible",
        "write how often the sensor measures in a second: above 0, up to 10000",
    ),
    "several-segments": (
        "a link has several Segments to be named after",
        "leave one named Segment in each link, or use --link-naming joint",
    ),
    "shape-without-mesh": (
        "shapes have no mesh file",
        "hrp-model urdf writes mesh files with -o or --mesh-dir",
    ),
    "still-track": (
        "a continuous track becomes a fixed joint",
        "URDF knows no tracks: describe them to the simulator, or model wheels",
    ),
    "topic-name-collision": (
        "two sensors would have the same topic",
        'rename one: topics hold letters, digits and "_" only',
    ),
    "unknown-link": ("a link does not exist", "check the spelling of the link's name"),
    "unsound-constraint": (
        "an extra joint does not close a loop, and is left out",
        "give it two links that exist, finite positions, and an axis that is not zero",
    ),
}
