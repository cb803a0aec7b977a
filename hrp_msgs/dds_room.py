"""Room for images in Fast DDS, which is decided before ROS starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# In Fast DDS 2, and in 3, which warns of the name that was.
_OLD, _NEW = "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"
_FILES_HERE = ("DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml")


def dds_room(profiles: Path) -> dict[str, str]:
    """Return the environment in which Fast DDS has more shared memory.

    Its default segment holds two small images; what comes meanwhile at 500 Hz is lost.

    Args:
        profiles: The file that asks for more.

    Returns:
        What is to be set; nothing where the user has profiles of his own.
    """
    if any(name in os.environ for name in (_OLD, _NEW)) or any(map(os.path.exists, _FILES_HERE)):
        return {}
    prefixes = [sys.prefix, *os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)]
    # ROS calls its package "fastrtps" up to Fast DDS 2.
    is_new = any((Path(prefix) / "share" / "fastdds").is_dir() for prefix in filter(None, prefixes))
    return {_NEW if is_new else _OLD: str(profiles)}
