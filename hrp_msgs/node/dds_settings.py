"""Environment variables of Fast DDS, to be set before ROS starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Variables of Fast DDS 2 and 3; version 3 warns of the old one, and file formats differ.
_OLD, _NEW = "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"
_OLD_FILE, _NEW_FILE = "fastrtps.xml", "fastdds.xml"
_FILES_HERE = ("DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml")


def fastdds_environment(folder: Path) -> dict[str, str]:
    """Return environment variables that let Fast DDS lose fewer messages.

    The settings increase shared memory, whose default holds two small images, and the rate of
    heartbeats, so that subscribers request missed samples while these are in the history.

    Args:
        folder: Folder of the settings files, one for each version.

    Returns:
        Variables to set; none if the user has own profiles.
    """
    if any(name in os.environ for name in (_OLD, _NEW)) or any(map(os.path.exists, _FILES_HERE)):
        return {}
    prefixes = [sys.prefix, *os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)]
    # ROS calls its package "fastrtps" up to Fast DDS 2.
    is_new = any((Path(prefix) / "share" / "fastdds").is_dir() for prefix in filter(None, prefixes))
    variable, file = (_NEW, _NEW_FILE) if is_new else (_OLD, _OLD_FILE)
    return {variable: str(folder / file)}
