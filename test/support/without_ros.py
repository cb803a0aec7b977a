"""Makes ROS impossible to import in this process, wherever it is installed: import this first."""

import sys


class _Blocker:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top == "rclpy" or (top.endswith(("_msgs", "_interfaces")) and top != "hrp_msgs"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


sys.meta_path.insert(0, _Blocker())
