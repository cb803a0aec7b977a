"""The tools of ROS 2, for tests that run them: skipped where they are not."""

import pytest


@pytest.fixture(scope="session")
def ros(tmp_path_factory):
    """Return a workspace with this package, in a ROS domain of its own."""
    import ros_tools

    if reason := ros_tools.missing():
        pytest.skip(reason)
    workspace = ros_tools.Workspace(tmp_path_factory.mktemp("ros"))
    workspace.ask_until("The daemon", "ros2", "daemon", "start")  # late on a loaded machine
    yield workspace
    workspace.ask("ros2", "daemon", "stop")
