"""Codes of whole models: what no file format allows for."""

from __future__ import annotations

CODES = {
    "asymmetric-inertia": (
        "an inertia is not symmetric",
        "write each product of inertia on both sides of the diagonal",
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
    "frame-name-collision": (
        "two links or devices would have the same frame",
        "give every link and device a name of its own",
    ),
    "illegal-name": (
        "a name has characters that URDF or TF cannot carry",
        'use printable characters, and no "/" in front',
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
    "inverted-limits": ("limits are the wrong way round", "write the lower limit first"),
    "inverted-range": ("a range is the wrong way round", "write the lower limit first"),
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
    "light-angle": (
        "the beam of a light is impossible",
        "write an angle from 0 to 180 degrees, in the unit of the file",
    ),
    "mass-outside-shape": (
        "a centre of mass lies far outside its shape",
        "write it in m, relative to the origin of its own link",
    ),
    "massless-link": (
        "a link moves but has no mass",
        "a simulation needs the mass of everything that it accelerates",
    ),
    "moving-root": ("the root has a joint that moves", "put a fixed or free link above it"),
    "negative-mass": ("a mass is negative", "write a mass of zero or more"),
    "no-inertia": (
        "a link has mass but no inertia",
        "a simulation needs the inertia of everything that it turns",
    ),
    "not-finite": (
        "a number is not finite",
        "write a number; leave a limit out where there is none",
    ),
    "one-sided-range": (
        "a velocity or effort cannot change its sign",
        "write the range as -limit to limit",
    ),
    "open-loops": (
        "closed loops are left open",
        "URDF knows trees only; the simulation closes the loops",
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
    "shape-without-mesh": (
        "shapes have no mesh file",
        "hrp-model urdf writes mesh files with -o or --mesh-dir",
    ),
    "topic-name-collision": (
        "two sensors would have the same topic",
        'rename one: topics hold letters, digits and "_" only',
    ),
    "unknown-link": ("a link does not exist", "check the spelling of the link's name"),
}
