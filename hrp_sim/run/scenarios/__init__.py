"""Scenarios: a world, how long it runs, what happens meanwhile, and what is expected."""

from .conditions import (
    Condition,
    ConditionOutcome,
    ContactBetween,
    Distance,
    ExpectedCondition,
    Part,
    When,
)
from .course import (
    CommandEvent,
    Course,
    CourseOutcome,
    CourseRun,
    Event,
    Names,
    PushEvent,
    Scenario,
    SwitchEvent,
    run_scenario,
)
from .reader import load_scenario, read_course, read_scenario

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
