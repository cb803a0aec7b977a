"""Room for images in Fast DDS, which is decided before ROS starts. Knows no ROS."""

from __future__ import annotations

import os

from hrp_model.resources import share_folder

# Its name in Fast DDS 2 and 3.
_PROFILE_VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")


def give_dds_room() -> None:
    """Let Fast DDS have more shared memory, unless the user has profiles of his own.

    Its default segment holds two small images; what comes meanwhile at 500 Hz is lost.
    """
    own_files = ("DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml")
    if any(name in os.environ for name in _PROFILE_VARIABLES) or any(
        map(os.path.exists, own_files)
    ):
        return
    profiles = str(share_folder() / "config" / "fastdds.xml")
    os.environ.update(dict.fromkeys(_PROFILE_VARIABLES, profiles))
