"""What ``model_node`` publishes of a robot: description, frames, limits, health. Without ROS."""
