"""Results of runs: as text, as JSON, and compared with expectations."""

from .expectations import Expectation, ExpectationError, Outcome
from .quantities import Meter, meters, quantities
from .recorder import RunRecorder, Starts
from .result import RunResult, present_lines, result_lines, result_object, result_of, speed_lines

__all__ = [
    "Expectation",
    "ExpectationError",
    "Meter",
    "Outcome",
    "RunRecorder",
    "RunResult",
    "Starts",
    "meters",
    "present_lines",
    "quantities",
    "result_lines",
    "result_object",
    "result_of",
    "speed_lines",
]
