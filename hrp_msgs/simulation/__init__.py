"""simulation_interfaces: its messages from plain numbers and back, and its action."""
