"""Where the programs begin; ``hrp_model``, ``hrp_sim`` and ``hrp_msgs`` do the work."""
