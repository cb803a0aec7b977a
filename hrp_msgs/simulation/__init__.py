"""Messages, services and the action of simulation_interfaces."""
