"""Scenarios: a world, how long it runs, what happens meanwhile, and what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from hrp_model.rigid import Array

from ...world.config import WorldConfig
from .conditions import Condition, ExpectedCondition
from .names import Names


@dataclass(frozen=True, eq=False, kw_only=True)
class PushEvent:
    """A force and a torque on a link for a limited time.

    Attributes:
        time: When it begins, in [s].
        body, link: Names of the body and its link.
        force: In [N], shape (3,).
        torque: In [N m], shape (3,).
        duration: In [s].
        point: Point of application in the link's frame, in [m], shape (3,).
        local: Whether force and torque are expressed in the link's frame; else in W.
    """

    time: float
    body: str
    link: str
    force: Array
    torque: Array = field(default_factory=lambda: np.zeros(3))
    duration: float
    point: Array = field(default_factory=lambda: np.zeros(3))
    local: bool = False


@dataclass(frozen=True, kw_only=True)
class CommandEvent:
    """A command to the joints of a body.

    Attributes:
        time: In [s].
        body: Name of the body.
        positions: By joint name, in [rad] or [m].
        velocities: By joint name, in [rad/s] or [m/s].
        efforts: By joint name, in [N m] or [N].
    """

    time: float
    body: str
    positions: Mapping[str, float] = field(default_factory=dict)
    velocities: Mapping[str, float] = field(default_factory=dict)
    efforts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SwitchEvent:
    """A sensor, light, holder or conveyor that is switched on or off.

    Attributes:
        time: In [s].
        device: Its name, one of ``Simulation.devices``.
        on: Whether it is on from then on.
    """

    time: float
    device: str
    on: bool


Event: TypeAlias = PushEvent | CommandEvent | SwitchEvent


@dataclass(frozen=True, kw_only=True)
class Course:
    """What happens in a run.

    Attributes:
        duration: In [s].
        events: By their time; each takes effect in the first step that begins at or after it.
        stop: Conditions of which each ends the run as soon as it holds.
        expectations: Conditions on which the success of the run depends.
    """

    duration: float
    events: tuple[Event, ...] = ()
    stop: tuple[Condition, ...] = ()
    expectations: tuple[ExpectedCondition, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A world and what happens in it.

    Attributes:
        world: With its controllers, and with the changes that the scenario makes.
        course: What happens.
        names: To which the course may refer.
    """

    world: WorldConfig
    course: Course
    names: Names
