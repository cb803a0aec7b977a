"""Numbers to ROS 2 messages and back: converters, QoS, topic and frame names.

This is the ground floor of the ROS side: it knows neither the model nor the simulation.
Import the module of the message you need, e.g. ``from hrp_msgs.convert.imu import ImuConverter``.
"""
