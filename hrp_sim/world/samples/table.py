"""Which controller stands for which sample of Choreonoid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hrp_model import Body

_LIBRARY: Final = re.compile(r"\.(so|dll|dylib)$")  # as which projects may name a program


@dataclass(frozen=True)
class Sample:
    """A controller that does what a sample does.

    Attributes:
        name: Of its class in this package, as "MODULE:CLASS".
        purpose: What it does, for people.
        joints: Links on moving joints or tracks that its body must have, since other programs may
            have the same name.
        motions: Motion files of which it plays the first one that exists, as its argument
            ``motion``.
    """

    name: str
    purpose: str
    joints: tuple[str, ...]
    motions: tuple[str, ...] = ()

    @property
    def class_name(self) -> str:
        """As ``ControllerEntry.class_name``."""
        return f"{__package__}.{self.name}"


_SR1 = ("LLEG_HIP_R", "RLEG_HIP_R", "WAIST_P")
_TRACKS = ("TRACK_L", "TRACK_R")
_CRAWLERS = ("CRAWLER_TRACK_L", "CRAWLER_TRACK_R")
_WALKS = tuple(f"${{SHARE}}/motion/SR1/SR1WalkPattern{i}.seq" for i in (1, 2, 3))
_ROUND = "drives a round until it is commanded"

SAMPLES: Final[Mapping[str, Sample]] = {
    "SR1MinimumController": Sample("sr1:Stand", "stands", _SR1),
    "SR1WalkPatternController": Sample("sr1:Walk", "walks", _SR1, _WALKS),
    "SR1LiftupController": Sample("lift:Lift", "lifts a box and throws it", _SR1),
    "PA10PickupController": Sample(
        "pick:Pick", "puts a box on another one", ("J7", "HAND_L", "HAND_R")
    ),
    "TankJoystickController": Sample("drive:Course", _ROUND, _TRACKS),
    "TankTutorial_TrackController": Sample("drive:Course", _ROUND, _TRACKS),
    "TankTutorial_TurretController1": Sample("pd:HoldBarrel", "holds the barrel", ("TURRET_P",)),
    "TankTutorial_TurretController2": Sample(
        "turret:LookAround", "looks around until it is commanded", ("TURRET_Y", "TURRET_P")
    ),
    "SampleCrawlerController": Sample(
        "drive:TurnOnTheSpot", "drives and turns on the spot", _CRAWLERS
    ),
    "SampleCrawlerJoystickController": Sample(
        "drive:BackAndForth", "drives forward and back until it is commanded", _CRAWLERS
    ),
    "FourWheelCarJoystickController": Sample(
        "drive:Course", _ROUND, ("REAR_WHEEL", "STEERING_RIGHT")
    ),
    "AizuSpiderController": Sample("drive:Course", _ROUND, ("L_TRACK", "R_TRACK")),
    "AizuWheelController": Sample("drive:Course", _ROUND, ("L_WHEEL", "R_WHEEL")),
    "ConveyorController": Sample("conveyor:Belt", "runs the belt", ("TRACK",)),
    "SpringModelController": Sample("pd:Spring", "acts as a spring", ("UPPER",)),
    "PendulumSampleController": Sample("swing:SwingUp", "swings the pendulum up", ("ARM",)),
}
_CLASSES: Final = frozenset(sample.class_name for sample in SAMPLES.values())


def sample_for(program: str, body: Body) -> Sample | None:
    """Return the sample that stands for a program of Choreonoid; None if there is none.

    Args:
        program: Its name, as a project states it.
        body: The body that it controls.
    """
    sample = SAMPLES.get(_LIBRARY.sub("", program))
    has = {link.name for link in body.jointed_links}
    return sample if sample and has.issuperset(sample.joints) else None


def is_sample(class_name: str) -> bool:
    """Return whether a ``ControllerEntry.class_name`` is that of a sample, whose code is ours."""
    return class_name in _CLASSES
