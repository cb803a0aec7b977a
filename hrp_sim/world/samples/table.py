"""Which controller stands for which sample of Choreonoid."""

from __future__ import annotations

import fnmatch
import re
from typing import Final

from hrp_model import Body
from hrp_model.late_dataclass import dataclass

_LIBRARY: Final = re.compile(r"\.(so|dll|dylib)$")  # as which projects may name a program


@dataclass(frozen=True)
class Sample:
    """A controller that does what a sample does.

    Attributes:
        program: Name of the sample's program, as projects state it.
        name: Of our class in this package, as "MODULE:CLASS".
        purpose: What it does, for people.
        joints: Links on moving joints or tracks that its body must have, as patterns with "*",
            since other programs may have the same name.
        motions: Motion files of which it plays the first one that exists, as its argument
            ``motion``.
    """

    program: str
    name: str
    purpose: str
    joints: tuple[str, ...]
    motions: tuple[str, ...] = ()

    @property
    def class_name(self) -> str:
        """As ``ControllerEntry.class_name``."""
        return f"{__package__}.{self.name}"


_SR1 = ("LLEG_HIP_R", "RLEG_HIP_R", "WAIST_P")
_SR1_2D = ("LLEG_KNEE", "RLEG_KNEE", "WAIST_P")
_TRACKS = ("TRACK_L", "TRACK_R")
_CRAWLERS = ("CRAWLER_TRACK_L", "CRAWLER_TRACK_R")
_WALKS = tuple(f"${{SHARE}}/motion/SR1/SR1WalkPattern{i}.seq" for i in (1, 2, 3))
_TURRET = ("TURRET_Y", "TURRET_P")
_ROUND = "drives a round until it is commanded"
_BACK = "drives forward and back until it is commanded"
_PILE = "puts a box on another one"
_LOOK = "looks around until it is commanded"

SAMPLES: Final = (
    Sample("SR1MinimumController", "sr1:Stand", "stands", _SR1),
    Sample("SR1WalkPatternController", "sr1:Walk", "walks", _SR1, _WALKS),
    Sample("SR1WalkPatternController", "sr1:Walk2D", "walks in a plane", _SR1_2D, _WALKS),
    Sample("SR1LiftupController", "lift:Lift", "lifts a box and throws it", _SR1),
    Sample("PA10PickupController", "pick:PickPA10", _PILE, ("J7", "HAND_L")),
    Sample("UniversalRobotPickupController", "pick:PickUR", _PILE, ("WRIST3", "Finger1_knuckle")),
    Sample("TankJoystickController", "drive:Course", _ROUND, _TRACKS),
    Sample("TankTutorial_TrackController", "drive:Course", _ROUND, _TRACKS),
    Sample("TankTutorial_TurretController1", "pd:HoldBarrel", "holds the barrel", _TURRET),
    Sample("TankTutorial_TurretController2", "sway:LookAround", _LOOK, _TURRET),
    Sample("SampleCrawlerController", "drive:TurnOnTheSpot", "drives and turns", _CRAWLERS),
    Sample("SampleCrawlerJoystickController", "drive:BackAndForth", _BACK, _CRAWLERS),
    Sample("FourWheelCarJoystickController", "drive:Course", _ROUND, ("REAR_WHEEL",)),
    Sample("AizuSpiderController", "drive:Course", _ROUND, ("L_TRACK", "R_TRACK")),
    Sample("AizuWheelController", "drive:Course", _ROUND, ("L_WHEEL", "R_WHEEL")),
    Sample("DoubleArmV7Controller", "drive:Course", _ROUND, _TRACKS),
    Sample("Jaco2Controller", "sway:MoveArm", "moves until it is commanded", ("*WRIST1", "*HAND")),
    Sample("ConveyorController", "conveyor:Belt", "runs the belt", ("TRACK",)),
    Sample("SpringModelController", "pd:Spring", "acts as a spring", ("UPPER",)),
    Sample("PendulumSampleController", "swing:SwingUp", "swings the pendulum up", ("ARM",)),
    Sample("QuadcopterController", "fly:Fly", "flies a circle", ("PROP0", "PROP3")),
)
_CLASSES: Final = frozenset(sample.class_name for sample in SAMPLES)


def sample_for(program: str, body: Body) -> Sample | None:
    """Return the sample that stands for a program of Choreonoid; None if there is none.

    Args:
        program: Its name, as a project states it.
        body: The body that it controls.
    """
    name, links = _LIBRARY.sub("", program), [link.name for link in body.jointed_links]
    for sample in SAMPLES:
        if sample.program == name and all(fnmatch.filter(links, x) for x in sample.joints):
            return sample
    return None


def is_sample(class_name: str) -> bool:
    """Return whether a ``ControllerEntry.class_name`` is that of a sample, whose code is ours."""
    return class_name in _CLASSES
