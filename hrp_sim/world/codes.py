"""Every code that a world, its sensors and the advice about it add to those of models.

Explained as in ``hrp_model.program.codes``; behind ``hrp-sim run --list-codes``.
"""

from __future__ import annotations

from hrp_model.program.codes import Rule

__all__ = ["CODES"]

_WORLDS = {
    "bad-namespace": (
        "a body has a namespace that is none",
        "write letters, digits and '_' with slashes between, or \"\" for none",
    ),
    "duplicate-name": (
        "two bodies have the same name",
        "give one of them another 'name'",
    ),
    "foreign-setting": (
        "a setting of Choreonoid has no effect here",
        "nothing needs to be done; leave it out if it is not what you mean",
    ),
    "maybe-degrees": (
        "an angle makes sense in degrees, but is read in radians",
        "write the angle in radians: 90 degrees are 1.5708 rad",
    ),
    "missing-world": (
        "there is no such world",
        "check the path, name a world of this package, or source the world's package",
    ),
    "name-collision": (
        "two bodies or sensors would have the same topic",
        "rename one: topics hold letters, digits and '_' only",
    ),
    "not-a-world": ("a file is no world", "write a list 'bodies', or name a model itself"),
    "out-of-range": ("a number makes no sense", "write one within the range that is told"),
    "unusable-physics": (
        "the physics cannot take a body or a setting",
        "correct what the message names",
    ),
    "two-rotations": ("a rotation is given twice", "leave out 'rpy' or 'rotation'"),
}
_MATERIALS = {
    "missing-name": ("a material has no name", "write the name that links call it by"),
    "missing-pair": (
        "a contact material lacks the names of two materials",
        "write 'materials: [A, B]'; one against itself is [A, A]",
    ),
    "not-materials": (
        "a file holds no materials",
        "write a list 'materials' or 'contact_materials'",
    ),
    "one-friction": (
        "sticking and sliding cannot have different friction here",
        "nothing needs to be done; write 'friction' alone to say which one counts",
    ),
    "unlisted-material": (
        "a contact material names a material that nearly has the name of another",
        "correct the name, or add it to the list 'materials'",
    ),
    "unused-materials": (
        "no link in the world has a material of its table",
        "give links of a .body a 'material', or leave out the table",
    ),
    "unused-key": (
        "a material is described for another physics library",
        "nothing needs to be done; only friction and restitution count here",
    ),
}
_SENSORS = {
    "duplicate-sensor": ("two sensors have the same name", "rename one of the devices"),
    "idle-force-sensor": (
        "a force sensor has no joint above it",
        "put it on a link that hangs on another",
    ),
    "idle-option": (
        "a sensor has an option that means nothing to it",
        "leave it out, or give it to a sensor of the kinds that are told",
    ),
    "no-encoder": (
        "a model does not say what encoders its joints have",
        "write 'encoderPulse' in its joints, the pulses per turn of the motor",
    ),
    "no-fisheye": ("a camera is drawn without its lens", "write a lens type of NORMAL"),
    "no-image": ("a camera delivers no image", "write an image type if it shall deliver one"),
    "no-renderer": (
        "nothing can draw what cameras see",
        "install an OpenGL with EGL, as Mesa has",
    ),
    "not-simulated": (
        "a device is of a type that is neither a sensor nor a light",
        "nothing needs to be done; what it does in other software is left out",
    ),
    "too-fast": (
        "a sensor is asked for more samples than the physics takes steps",
        "ask for a lower rate, or take a smaller time_step",
    ),
    "too-many-lights": (
        "a world has more lights than are drawn at once",
        "switch off those that are far from the cameras, or leave them out",
    ),
    "undrawable-shape": (
        "a shape of a model is not in the pictures of cameras",
        "correct its numbers, or show it with fewer triangles",
    ),
    "unknown-option": (
        "sensors have no such option, or not here",
        "check its spelling; docs/sensors.md has the table",
    ),
    "unknown-sensor": (
        "there is no such sensor",
        "check the spelling; hrp-sim sensors WORLD lists all of them",
    ),
    "unusable-device": ("a device has impossible settings", "correct what the message names"),
}
_ADVICE = {
    "coarse-step": (
        "a time step is too long for contacts",
        "write a time step of 0.02 or less; 0.001 suits most robots",
    ),
    "damped-by-step": (
        "the time step damps a servo that would swing",
        "write a shorter time step, a smaller kp or a larger kd",
    ),
    "explicit-damping": (
        "a controller of efforts has a largest stable gain",
        "command positions, shorten the step, or stay below the gain that is told",
    ),
    "fast-start": (
        "a link moves so fast that it can pass through others",
        "shorten the time step, or start slower",
    ),
    "heavy-on-light": (
        "a body carries one that is too heavy for the solver 'quick'",
        "write solver: world, or more iterations",
    ),
    "mended-inertia": (
        "an inertia is not positive definite, and the least change that can move is simulated",
        "write an inertia that is positive definite, as of any real thing",
    ),
    "mended-mass": (
        "a link moves or is weighed without mass, and one too small to matter is simulated",
        "write its mass and inertia, or join it to another by a fixed joint",
    ),
    "nothing-below": (
        "a free body has nothing below it that could catch it",
        "add a floor, as package://hrp_ros/models/floor.body, or write fixed: true",
    ),
    "open-at-start": (
        "closed loops are open where a body starts",
        "start with the joint positions that are told, or mend the extra joints",
    ),
    "slowed-by-step": (
        "a servo is faster than the time step can follow",
        "nothing needs to be done if it only has to hold; else shorten the time step",
    ),
    "soft-constraints": (
        "joints and contacts give way under the weight of a body",
        "write a smaller cfm",
    ),
    "start-beyond-limit": (
        "a joint starts beyond its limit and is thrown back",
        "start within the range, widen it, or switch joint limits off",
    ),
    "starts-inside": (
        "a body starts deep inside another",
        "place it where it touches nothing, or just",
    ),
    "tall-stack": (
        "bodies stand on one another, and the solver 'world' loses stacks",
        "write predict_sticking: true, or solver: quick",
    ),
    "too-weak": (
        "a drive is too weak to hold its joint where it starts",
        "check the effort limits and their unit, or start in another posture",
    ),
    "uncorrected-errors": (
        "constraints hardly take back their errors",
        "write an erp of 0.2 to 0.8; the default is 0.4",
    ),
    "uneven-chain": (
        "a link carries too much for the solver 'quick'",
        "write solver: world, or more iterations",
    ),
}
_EXPECTATIONS = {
    "bad-expectation": (
        "an expectation of a run cannot be read",
        "write a quantity, an operator and a number with its unit, as 'humanoid.tilt < 10 deg'",
    ),
    "unknown-quantity": (
        "an expectation is about something that a run does not measure",
        "check the spelling; docs/simulation.md lists the quantities",
    ),
}
CODES = {
    code: Rule(*lines)
    for table in (_WORLDS, _MATERIALS, _SENSORS, _ADVICE, _EXPECTATIONS)
    for code, lines in sorted(table.items())
}
