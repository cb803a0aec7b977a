#!/usr/bin/env python3
"""Draw a picture of a study for the documentation.

hrp-sim sweep examples/studies/pushed_humanoid.yaml --out pushed
python scripts/study_picture.py examples/studies/pushed_humanoid.yaml pushed humanoid.fell \
    docs/pictures/pushed_humanoid.png
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hrp_sim import sweep
from hrp_sim.studies import StudyFolder, StudyRun, load_study
from hrp_sim.studies.report import picture_of

COLORS = 64  # few, for a small file


def main(study_file: str, folder: str, quantity: str, output: str) -> None:
    """Draw the first plot of a kept quantity, of cases that are finished."""
    study = load_study(study_file)
    cases = StudyFolder(Path(folder), study).cases
    result = sweep(study.world_of, study.cases(), StudyRun(study), folder=cases)
    picture = Image.open(io.BytesIO(picture_of(study, result, quantity)))
    small = picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    small.save(output, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
