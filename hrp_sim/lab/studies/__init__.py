"""Studies: many runs of a scenario in which values vary, with tables and a report."""

from .folder import StudyFolder
from .reader import check_first, load_study
from .study import Study, StudyRun

__all__ = ["Study", "StudyFolder", "StudyRun", "check_first", "load_study"]
