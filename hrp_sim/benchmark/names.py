"""Names of the scenes, for the command line; the scenes are in ``scenes``."""

SCENE_NAMES = (
    *("humanoid", "arm", "pile", "mesh-feet", "tracks"),
    *("scan", "layers", "camera", "filming", "samples"),
)
ALL = "all"
