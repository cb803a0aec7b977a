"""Results of runs: as text, as JSON, and compared with expectations."""

from .expectations import Expectation, ExpectationError, Outcome
from .meters import Meter, meters
from .quantities import quantities, values
from .recorder import RunRecorder
from .report import result_lines, result_object, speed_lines
from .result import RunResult, result_of

__all__ = [
    "Expectation",
    "ExpectationError",
    "Meter",
    "Outcome",
    "RunRecorder",
    "RunResult",
    "meters",
    "quantities",
    "result_lines",
    "result_object",
    "result_of",
    "speed_lines",
    "values",
]
