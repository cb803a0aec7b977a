"""Scenarios: a world, how long it runs, what happens meanwhile, and what is expected."""

from .conditions import Condition, ContactBetween, Distance, ExpectedCondition, Part, When
from .names import Names
from .reader import load_scenario, read_course, read_scenario
from .run import CourseOutcome, CourseRun, run_scenario
from .scenario import CommandEvent, Course, Event, PushEvent, Scenario, SwitchEvent
from .watch import ConditionOutcome

__all__ = [
    "CommandEvent",
    "Condition",
    "ConditionOutcome",
    "ContactBetween",
    "Course",
    "CourseOutcome",
    "CourseRun",
    "Distance",
    "Event",
    "ExpectedCondition",
    "Names",
    "Part",
    "PushEvent",
    "Scenario",
    "SwitchEvent",
    "When",
    "load_scenario",
    "read_course",
    "read_scenario",
    "run_scenario",
]
