"""Settings of Fast DDS, which are decided before ROS starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# In Fast DDS 2, and in 3, which warns of the name that was. Files of the one are not read by the
# other.
_OLD, _NEW = "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"
_OLD_FILE, _NEW_FILE = "fastrtps.xml", "fastdds.xml"
_FILES_HERE = ("DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml")


def fastdds_environment(folder: Path) -> dict[str, str]:
    """Return the environment in which Fast DDS loses no messages that it could keep.

    It gets more shared memory, of which the default holds two small images; and it
    announces its samples more often, so that subscribers request missed ones while it has them.

    Args:
        folder: Of the files with these settings, one for each version.

    Returns:
        Variables to be set; none where the user has profiles of his own.
    """
    if any(name in os.environ for name in (_OLD, _NEW)) or any(map(os.path.exists, _FILES_HERE)):
        return {}
    prefixes = [sys.prefix, *os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)]
    # ROS calls its package "fastrtps" up to Fast DDS 2.
    is_new = any((Path(prefix) / "share" / "fastdds").is_dir() for prefix in filter(None, prefixes))
    variable, file = (_NEW, _NEW_FILE) if is_new else (_OLD, _OLD_FILE)
    return {variable: str(folder / file)}
