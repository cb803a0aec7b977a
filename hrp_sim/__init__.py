"""Simulation of robot models: physics, controllers and sensors, without ROS.

Example::

    from hrp_sim import Simulation, load_world

    sim = Simulation(load_world("world.yaml"))
    readings = sim.step()  # {sensor name: reading}
"""

