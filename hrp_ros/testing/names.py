"""Names of options and settings, and what tests carry; without an import of the simulation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

# Options of pytest.
UPDATE, ARTIFACTS = "--hrp-update-baseline", "--hrp-artifacts"
# Settings in its configuration file.
FILES, TOLERANCE = "hrp_scenario_files", "hrp_baseline_tolerance"

WRITTEN = "hrp_ros_baseline"  # property of tests that have written baselines
# Called with the report of a test that ran scenarios.
COMPLETE: pytest.StashKey[Callable[[pytest.TestReport], None]] = pytest.StashKey()
