"""World configuration: world files, materials, sensor options and names of bodies."""
