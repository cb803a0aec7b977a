"""A ``model_node`` that publishes a body of a test instead of a file."""

from hrp_model import Diagnostics
from hrp_model.description.description import DescriptionOptions, describe
from hrp_model.files.writer import mesh_folder
from hrp_model.frames import Base, FrameOptions


def publish(node, body):
    """Publish a body with the frames that its own names and the parameter ``base`` give."""
    frames = FrameOptions(base=Base(node.settings["base"]))
    options = DescriptionOptions.from_parameters(node.settings).with_frames(frames)
    node._start(describe(body, options, mesh_folder(), Diagnostics.silent()))
