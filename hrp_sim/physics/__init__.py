"""The Engine port and its data: settings, state, contact points, materials, snapshots."""
