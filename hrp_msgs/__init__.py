"""ROS 2 messages, topics and node utilities, independent of the model and the simulation.

- ``names``: names of topics, services and frames, and valid ROS names from model names.
- ``messages``: message classes, of ROS or, without it, made from the definitions.
- ``readings``: the values of sensors.
- ``convert``: pure conversions between numbers and messages.
- ``recording``: recordings as MCAP files.
- ``node``: parameters, QoS profiles, executors, logging and launch arguments of nodes.
- ``topics``: publishers and subscriptions of a robot, its sensors and its world.
- ``interfaces``: definitions of standard interface packages for machines that lack them.

Import a conversion from its module::

    from hrp_msgs.convert.sensors import ImuConverter
    from hrp_msgs.convert.basic import joint_trajectory
"""
