"""Diagnostic codes of worlds, sensors and advice, listed by ``hrp-sim run --list-codes``.

Codes of models are in ``hrp_model.program.codes``.
"""

from __future__ import annotations

from hrp_model.program.codes import Rule

__all__ = ["CODES"]

_WORLDS = {
    "bad-motion": (
        "a motion file is incomplete or inconsistent",
        "correct the frame or line, or save the motion again",
    ),
    "bad-namespace": (
        "the namespace of a body is not a valid ROS namespace",
        "use letters, digits and '_', separated by slashes, or \"\" for none",
    ),
    "bad-bounds": (
        "the bounds of a named pose are incomplete or inverted",
        "give 'lower' and 'upper', two corners [x, y, z] with lower below upper",
    ),
    "bad-rotation": (
        "a rotation of a project is invalid",
        "give an axis and an angle in degrees, [x, y, z, degrees], or a rotation matrix",
    ),
    "duplicate-name": (
        "two bodies, joints between bodies or named poses have the same name",
        "give one of them a different 'name'",
    ),
    "foreign-controller": (
        "a controller is a program of another simulator",
        "see docs/controllers.md for how to write one; or control the joints by topics",
    ),
    "foreign-item": (
        "an item of a project has no effect here",
        "see docs/projects.md for what is read",
    ),
    "foreign-setting": (
        "a setting of another simulator has no effect here",
        "no action needed; remove the setting if you rely on its effect",
    ),
    "maybe-degrees": (
        "an angle is plausible in degrees only, but angles are in radians",
        "write the angle in radians: 90 degrees = 1.5708 rad",
    ),
    "missing-motion": (
        "a motion that a project plays is missing",
        "check its path; give the folder of a variable in it with --variable NAME=FOLDER",
    ),
    "missing-materials": (
        "the default table of materials is missing",
        "give the folder that has it with --variable SHARE=FOLDER",
    ),
    "missing-project": (
        "a project in a project is missing",
        "check its path; variables in it are set with --variable",
    ),
    "missing-world": (
        "the world does not exist",
        "check the path, use a bundled world, or source the package that contains the world",
    ),
    "name-collision": (
        "two bodies or sensors would have the same topic",
        "rename one of them; topic names contain only letters, digits and '_'",
    ),
    "no-bodies": (
        "a project has no bodies",
        "open the project that contains the world, or add a BodyItem",
    ),
    "no-motion": (
        "a project plays no motion where it has a player for one",
        "add a BodyMotionItem or PoseSeqItem to the player, or remove it",
    ),
    "not-a-motion": (
        "the file is not a motion",
        "give a body motion or key poses of Choreonoid, or lines of a time and joint positions",
    ),
    "not-a-project": (
        "the file is not a project",
        "check that it was saved by Choreonoid, with the key 'items'",
    ),
    "not-a-world": (
        "the file is not a world file",
        "add a list 'bodies', or give the model file itself",
    ),
    "out-of-range": (
        "a number is out of range",
        "use a value within the range in the message",
    ),
    "outside-world": (
        "bodies are outside of the world that is simulated",
        "move them into the WorldItem",
    ),
    "project-cycle": (
        "projects contain each other",
        "remove one of the sub-projects",
    ),
    "several-simulators": (
        "a project has several simulators",
        "choose another one with --simulator",
    ),
    "same-body": (
        "a joint between bodies connects two links of one body",
        "connect two bodies, or write an extra joint in the model",
    ),
    "several-worlds": (
        "a project has several worlds",
        "move all bodies into one world, or split the project",
    ),
    "truncated-recording": (
        "a recording has no proper end",
        "no action needed, if its program was killed or is still writing",
    ),
    "two-rotations": (
        "a rotation is given twice",
        "remove 'rpy' or 'rotation'",
    ),
    "unknown-body": (
        "a joint or item refers to a body that the world does not have",
        "check the spelling of the body's name",
    ),
    "unusable-scene": (
        "the shapes of a SceneItem, or of a BodyItem with a scene, cannot be read",
        "ignore it for a SceneItem, which does not collide; else convert the file to .obj or .stl",
    ),
    "unknown-simulator": (
        "a project has no simulator of this name",
        "use one of the names in the message",
    ),
    "unusable-physics": (
        "the physics engine cannot simulate a body or use a setting",
        "correct the item named in the message",
    ),
    "unusable-recording": (
        "a recording cannot be read, or lacks what the command needs",
        "give an MCAP file of ROS 2 messages, of robots with robot_description, tf and tf_static",
    ),
}
_CONTROLLERS = {
    "bad-controller": (
        "a controller names no body or no class of a controller",
        "write 'class: MODULE:CLASS' or 'class: FILE.py:CLASS', and the name of a body",
    ),
    "controller-blocks": (
        "a call of a controller took longer than a second",
        "compute in initialize(), or in a thread of the controller's own",
    ),
    "controller-failed": (
        "a controller raised an exception or computed nonsense; the run goes on without it",
        "correct the line in the message; docs/controllers.md lists the rules",
    ),
    "controller-restarted": (
        "the own state of a controller is not in a saved state; restoring that starts it again",
        "give it the methods save and restore",
    ),
    "controllers-off": (
        "the controllers of a world that a service loads do not run",
        "set the parameter 'run_controllers' of sim_node if you trust the world",
    ),
}
_MATERIALS = {
    "missing-name": ("a material or a named pose has no name", "add the name that others refer to"),
    "missing-pair": (
        "a contact material does not name two materials",
        "write 'materials: [A, B]'; a material against itself is [A, A]",
    ),
    "not-materials": (
        "the file contains no materials",
        "add a list 'materials' or 'contact_materials'",
    ),
    "one-friction": (
        "static and dynamic friction differ, but only one coefficient is used",
        "no action needed; write 'friction' alone to choose the coefficient",
    ),
    "unlisted-material": (
        "a contact material refers to an unlisted material with a name similar to a listed one",
        "correct the name, or add it to the list 'materials'",
    ),
    "unused-materials": (
        "no link in the world uses a material of its table",
        "give links of a .body a 'material', or remove the table",
    ),
    "unused-key": (
        "a material has properties that only other physics engines use",
        "no action needed; only friction and restitution are used here",
    ),
}
_SENSORS = {
    "duplicate-sensor": ("two sensors have the same name", "rename one of the devices"),
    "idle-force-sensor": (
        "a force sensor has no parent joint",
        "attach it to a link below a joint",
    ),
    "idle-option": (
        "an option has no effect on this kind of sensor",
        "remove it, or set it for a sensor of the kinds in the message",
    ),
    "no-encoder": (
        "the model does not specify the encoders of its joints",
        "add 'encoderPulse' to its joints, the pulses per turn of the motor",
    ),
    "no-image": (
        "a camera has no image type and publishes no image",
        "set an image type to publish images",
    ),
    "no-renderer": (
        "no OpenGL renderer is available for camera images",
        "install an OpenGL implementation with EGL, such as Mesa",
    ),
    "not-simulated": (
        "a device is of a type that is not simulated",
        "no action needed; the device is ignored",
    ),
    "too-fast": (
        "the rate of a sensor exceeds the rate of physics steps",
        "use a lower sensor rate or a smaller time_step",
    ),
    "too-many-lights": (
        "a world has more lights than can be rendered at once",
        "switch off or remove lights far from the cameras",
    ),
    "undrawable-shape": (
        "a shape cannot be rendered in camera images",
        "correct its dimensions, or use a mesh with fewer triangles",
    ),
    "unknown-option": (
        "sensors have no such option, or it cannot be set here",
        "check the spelling; docs/sensors.md lists all options",
    ),
    "unknown-sensor": (
        "the sensor does not exist",
        "check the spelling; 'hrp-sim sensors WORLD' lists all sensors",
    ),
    "unusable-device": (
        "a device has invalid settings",
        "correct the setting named in the message",
    ),
}
_ADVICE = {
    "collision-meshes": (
        "the shapes as which the collision meshes of a link collide",
        "no action needed; convex_meshes under 'physics' chooses others",
    ),
    "slow-meshes": (
        "finding the contacts of meshes takes longer than the time step",
        "set convex_meshes, or give the link simpler collision shapes",
    ),
    "coarse-step": (
        "the time step is too long for stable contacts",
        "use a time step of at most 0.02 s; 0.001 s suits most robots",
    ),
    "damped-by-step": (
        "the time step adds damping to an underdamped servo",
        "use a shorter time step, a smaller kp or a larger kd",
    ),
    "explicit-damping": (
        "the damping gain of an effort controller has an upper stability limit",
        "command positions, shorten the time step, or stay below the gain in the message",
    ),
    "fast-start": (
        "a link starts so fast that it can pass through others",
        "use a shorter time step or a lower initial velocity",
    ),
    "heavy-on-light": (
        "a body rests on one too light for the solver 'quick'",
        "use solver: world, or more iterations",
    ),
    "mended-inertia": (
        "an inertia is not positive definite; a slightly larger one is simulated",
        "write a positive definite inertia",
    ),
    "mended-mass": (
        "a movable link, or one on a force sensor, has no mass; a small mass is simulated",
        "add its mass and inertia, or attach it to another link by a fixed joint",
    ),
    "links-overlap": (
        "links of a body never collide, because they overlap or touch at the start",
        "if they should, let them start apart; self_collision and excluded pairs do the same",
    ),
    "nothing-below": (
        "a free body has nothing below it to land on",
        "give it collision shapes, and a floor such as package://hrp_ros/models/floor.body",
    ),
    "open-at-start": (
        "closed loops, joints between bodies or mimic joints are open in the initial posture",
        "start with the positions in the message, or correct the joints",
    ),
    "one-way-gears": (
        "mimic joints exert nothing on their leaders with this solver",
        "write solver: world",
    ),
    "slowed-by-step": (
        "a servo is faster than the time step can resolve",
        "no action needed if it only holds a position; otherwise use a shorter time step",
    ),
    "soft-constraints": (
        "joints and contacts give way under the weight of a body",
        "use a smaller cfm",
    ),
    "start-beyond-limit": (
        "a joint starts beyond its position limit and is pushed back hard",
        "start within the limits, widen them, or write joint_limits: false",
    ),
    "starts-inside": (
        "a body starts deep inside another",
        "place it so that it does not overlap other bodies",
    ),
    "tall-stack": (
        "the solver 'dense' cannot hold a stack of this many bodies",
        "use predict_sticking: true, or solver: world",
    ),
    "too-weak": (
        "an actuator is too weak to hold its joint in the initial posture",
        "check the effort limits and their unit, or start in another posture",
    ),
    "uncorrected-errors": (
        "constraint errors are hardly corrected",
        "use an erp of 0.2 to 0.8; the default is 0.4",
    ),
    "uneven-chain": (
        "a link carries too much mass for the solver 'quick'",
        "use solver: world, or more iterations",
    ),
}
_SCENARIOS = {
    "bad-study": (
        "a variation of a study, or what it keeps, is incomplete",
        "see docs/studies.md for what can be written",
    ),
    "bad-event": (
        "an event of a scenario is incomplete",
        "give its time and one of push, command, set_enabled; docs/studies.md lists the keys",
    ),
    "no-device": (
        "a scenario switches a device that the world does not have",
        "check the spelling; 'hrp-sim sensors WORLD' lists sensors",
    ),
    "not-a-scenario": (
        "the file is not a scenario or study",
        "write a mapping with 'world', 'duration' and further keys",
    ),
    "too-many-cases": (
        "a study has too many cases, or keeps too much of them",
        "use fewer values, a lower rate, or several studies",
    ),
    "unknown-distribution": (
        "scipy has no distribution of this name",
        "use a name of scipy.stats, such as norm, uniform or lognorm",
    ),
}
_EXPECTATIONS = {
    "bad-expectation": (
        "the expectation cannot be parsed",
        "write a quantity, an operator and a number with unit, e.g. 'humanoid.tilt < 10 deg'",
    ),
    "unknown-quantity": (
        "the quantity of an expectation is not measured",
        "check the spelling; docs/simulation.md lists the quantities",
    ),
}
CODES = {
    code: Rule(*lines)
    for table in (_WORLDS, _CONTROLLERS, _MATERIALS, _SENSORS, _ADVICE, _SCENARIOS, _EXPECTATIONS)
    for code, lines in sorted(table.items())
}
