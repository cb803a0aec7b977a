"""Studies: many runs of a scenario in which values vary, with tables and a report."""

from .folder import StudyFolder
from .study import Study, StudyRun, check_first, load_study

__all__ = ["Study", "StudyFolder", "StudyRun", "check_first", "load_study"]
